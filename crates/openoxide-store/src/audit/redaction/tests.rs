use proptest::prelude::*;
use serde_json::json;

use super::*;

/// Texts with their expected redaction. The secrets are invented; the formats are those of the
/// issuers.
const TABLE: &[(&str, &str)] = &[
    // Names, in shell syntax.
    ("GITHUB_TOKEN=abc gh pr list", "GITHUB_TOKEN=[redacted] gh pr list"),
    ("export DB_PASSWORD='a b'; ls", "export DB_PASSWORD=[redacted]; ls"),
    ("PGPASSWORD=x\\ y psql", "PGPASSWORD=[redacted] psql"),
    ("SECRET=a'b c'd ls", "SECRET=[redacted] ls"),
    ("TOKEN=$'a b' ls", "TOKEN=[redacted] ls"),
    ("TOKEN= ls", "TOKEN= ls"),
    ("app --password=hunter2 --user me", "app --password=[redacted] --user me"),
    ("app --password hunter2 --user me", "app --password [redacted] --user me"),
    ("app --password \"hunter 2\" x", "app --password [redacted] x"),
    ("app --client-secret 'x y' z", "app --client-secret [redacted] z"),
    ("app --password --user me", "app --password --user me"),
    (
        "MYSQL_PWD=x DB_PASS=y npm_config__auth=z ls",
        "MYSQL_PWD=[redacted] DB_PASS=[redacted] npm_config__auth=[redacted] ls",
    ),
    ("PWD=/home/u ls", "PWD=/home/u ls"),
    // Headers.
    (
        "curl -H 'Authorization: Basic dXNlcjpwYXNz' x.io",
        "curl -H 'Authorization: [redacted]' x.io",
    ),
    ("curl -H \"X-Api-Key: abc def\" x.io", "curl -H \"X-Api-Key: [redacted] def\" x.io"),
    ("curl -H \"X-Api-Key: abc\" x.io", "curl -H \"X-Api-Key: [redacted]\" x.io"),
    ("curl -H 'Cookie: a=b; c=d' x.io", "curl -H 'Cookie: [redacted]' x.io"),
    ("GET /\nCookie: a=b; c=d\nHost: x", "GET /\nCookie: [redacted]\nHost: x"),
    ("send Bearer abc.def to x", "send Bearer [redacted] to x"),
    // JSON, and JSON in a string.
    (r#"{"password": "a b", "user": "me"}"#, r#"{"password": [redacted], "user": "me"}"#),
    (r#"curl -d '{"token":"x","n":1}' x.io"#, r#"curl -d '{"token":[redacted],"n":1}' x.io"#),
    (r#"curl -d "{\"secret\":\"x y\",\"n\":1}""#, r#"curl -d "{\"secret\":[redacted],\"n\":1}""#),
    (r#"{"accessToken":12345}"#, r#"{"accessToken":[redacted]}"#),
    // URLs.
    ("git clone https://me:s3cr/et@x.io/a.git", "git clone https://me:[redacted]@x.io/a.git"),
    ("psql postgres://u:p@h:5432/db", "psql postgres://u:[redacted]@h:5432/db"),
    ("git clone https://0123456789abcdef0123@x.io/a", "git clone https://[redacted]@x.io/a"),
    ("git clone ssh://git@github.com/a/b", "git clone ssh://git@github.com/a/b"),
    ("curl http://localhost:8080/a@b", "curl http://localhost:8080/a@b"),
    (
        "curl 'https://x.io/?access_token=abc&n=1'",
        "curl 'https://x.io/?access_token=[redacted]&n=1'",
    ),
    // Token formats, at any position.
    ("echo ghp_0123456789abcdefghijABCDEFGHIJ012345", "echo [redacted]"),
    ("echo 'a\\nghp_0123456789abcdefghijABCDEFGHIJ012345'", "echo 'a\\n[redacted]'"),
    ("x github_pat_11AAAAAAA0123456789_abcdefghijklmnop y", "x [redacted] y"),
    ("aws configure set x AKIAIOSFODNN7EXAMPLE", "aws configure set x [redacted]"),
    ("x wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKE7 y", "x [redacted] y"),
    ("x=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKE7", "x=[redacted]"),
    (
        "git show da39a3ee5e6b4b0d3255bfef95601890afd80709",
        "git show da39a3ee5e6b4b0d3255bfef95601890afd80709",
    ),
    ("echo sk-proj-0123456789abcdef", "echo [redacted]"),
    ("echo task-manager-with-a-long-name", "echo task-manager-with-a-long-name"),
    ("x xoxb-123456789012-abc y", "x [redacted] y"),
    (
        "echo eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
        "echo [redacted]",
    ),
    (
        "echo '-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\nbnNz\n-----END OPENSSH PRIVATE KEY-----' > k",
        "echo '[redacted]' > k",
    ),
    ("-----BEGIN PRIVATE KEY-----\nabc", "[redacted]"),
    ("-----BEGIN CERTIFICATE-----\nabc", "-----BEGIN CERTIFICATE-----\nabc"),
    // Options of programs.
    ("mysql -u me -phunter2 db", "mysql -u me -p[redacted] db"),
    ("mysql -p db", "mysql -p db"),
    ("ls && /usr/bin/mysqldump -p'a b' db", "ls && /usr/bin/mysqldump -p[redacted] db"),
    ("sshpass -p hunter2 ssh x", "sshpass -p [redacted] ssh x"),
    ("docker login -u me -p hunter2 x.io", "docker login -u me -p [redacted] x.io"),
    ("docker run -p 80:80 x", "docker run -p 80:80 x"),
    ("mkdir -p a/b", "mkdir -p a/b"),
    ("curl -u me:hunter2 x.io", "curl -u me:[redacted] x.io"),
    ("curl --user me:hunter2 x.io", "curl --user me:[redacted] x.io"),
    ("curl -u me x.io", "curl -u me x.io"),
    // Text without secrets.
    ("git commit -m 'use basic auth'", "git commit -m 'use basic auth'"),
    ("npm run build && git push", "npm run build && git push"),
    ("grep -rn secret src", "grep -rn secret src"),
];

#[test]
fn secrets_are_taken_out_and_the_rest_stays() {
    let wrong: Vec<_> = TABLE
        .iter()
        .map(|(text, expected)| (*text, redact(text).into_owned(), *expected))
        .filter(|(_, found, expected)| found != expected)
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Guards I33.
#[test]
fn every_text_in_a_record_is_cleaned_and_bounded() {
    let long = "x ".repeat(10_000);
    let mut value =
        json!({ "a": ["ghp_0123456789abcdefghij", { "b": "password=x" }], "long": long, "n": 1 });
    redact_value(&mut value);
    assert_eq!(value["a"], json!(["[redacted]", { "b": "password=[redacted]" }]));
    let shown = value["long"].as_str().unwrap();
    assert!(shown.len() < 1_100 && shown.ends_with("[… 19000 bytes]"), "{shown}");
    assert_eq!(value["n"], 1);
}

#[test]
fn half_a_secret_at_the_end_of_the_scanned_text_is_not_written() {
    let token = format!("ghp_{}", "a1".repeat(18));
    // Long secrets become short when they are redacted, so the end of the scanned text is recorded.
    let filler = format!("password={} ", "q".repeat(990));
    for before in MAX_SCANNED_BYTES - 60..MAX_SCANNED_BYTES + 2 {
        let start = filler.repeat(before / 1000) + &"z".repeat(before % 1000);
        let found = redact_and_truncate(&format!("{start} {token} rest")).into_owned();
        assert!(found.len() < 300 && found.starts_with("password=[redacted] password="), "{found}");
        assert!(!found.contains("ghp_") && !found.contains("qq"), "{before}: {found}");
    }
}

proptest! {
    #[test]
    fn any_text_is_taken(text in "(?s)([a-z=:\"'\\\\ @/é-]|token|://|-----BEGIN PRIVATE KEY|mysql -p|ghp_){0,60}") {
        let found = redact(&text).into_owned();
        prop_assert!(found.len() <= text.len() + text.len() * REDACTED.len());
    }

    #[test]
    fn a_named_value_never_stays(name in "[A-Z_]{0,4}(TOKEN|SECRET|PASSWORD)", value in "[Q-Z0-9]{6,20}", before in "[a-p '\"]{0,20}") {
        let text = format!("{before} {name}={value} x");
        prop_assert!(!redact(&text).contains(&value), "{}", redact(&text));
    }
}
