use openoxide_protocol::AbsPath;

use super::*;

fn read_text(text: &str) -> PolicyFile {
    let base = AbsPath::new("/p").unwrap();
    parse_policy(
        text,
        LayerKind::User,
        "policy.toml",
        PathAnchors { home: Some(&base), base: &base },
    )
}

fn rules(file: &PolicyFile) -> Vec<(u32, String)> {
    let said = |rule: &Rule| (rule.line, format!("{} {}", rule.effect.as_str(), rule.text));
    file.layer.rules.iter().map(said).collect()
}

const GOOD: &str = r#"#:schema https://example.invalid/policy
mode = "accept_edits"

[permissions]
combining = "last-match"
deny  = ["Bash(git push --force *)", "Read(~/.ssh/**)"]
ask   = ["Bash(git push *)"]
allow = ["Bash(npm run *)",
         "mcp__github__get_*"]

[[permissions.rule]]
permission = "bash"
pattern = "terraform apply *"
action = "ask"
reason = "changes production"
match = ["terraform apply -auto-approve"]
not_match = ["terraform plan"]
"#;

#[test]
fn the_contracts_example_is_read_in_order() {
    let file = read_text(GOOD);
    assert_eq!(file.problems, []);
    let expected = [
        (6, "deny Bash(git push --force *)"),
        (6, "deny Read(~/.ssh/**)"),
        (7, "ask Bash(git push *)"),
        (8, "allow Bash(npm run *)"),
        (9, "allow mcp__github__get_*"),
        (13, "ask bash(terraform apply *)"),
    ];
    assert_eq!(rules(&file), expected.map(|(line, text)| (line, text.to_owned())));
    assert_eq!(file.layer.mode, Some(PermissionMode::AcceptEdits));
    assert_eq!(file.layer.combining_algorithm, CombiningAlgorithm::LastMatch);
    assert_eq!(file.layer.rules[5].reason.as_deref(), Some("changes production"));
}

/// Guards I04.
#[test]
fn every_error_is_found_at_once_and_points_at_its_text() {
    let text = r#"mode = "yolo"
[permissions]
deny = ["Bash(rm *)", "bsh(ls)"]
allow = ["Bash(ls *)", "Read(!x)", 7]
alow = []
"#;
    let file = read_text(text);
    let found: Vec<_> = file
        .problems
        .iter()
        .map(|p| (text.get(p.span.clone()).unwrap(), p.help.is_some()))
        .collect();
    let expected = [("\"yolo\"", true), ("bsh", true), ("!", true), ("7", false), ("alow", true)];
    assert_eq!(found, expected);
    assert_eq!(
        rules(&file),
        [(3, "deny Bash(rm *)".to_owned())],
        "its allows fall, its denies stay"
    );
    assert_eq!(file.layer.mode, None);
}

#[test]
fn only_problems_in_restrictive_rules_may_lose_a_restriction() {
    let file = read_text("[permissions]\nallow = [\"Bash(\"]\n");
    assert!(file.problems.iter().all(|problem| !problem.loses_restriction));
    for text in
        ["[permissions]\ndeny = [\"Bash(\"]\n", "[permissions\n", "[permisions]\ndeny = []\n"]
    {
        assert!(read_text(text).problems.iter().any(|problem| problem.loses_restriction), "{text}");
    }
}

#[test]
fn the_readable_part_of_broken_toml_is_kept() {
    let file =
        read_text("[permissions]\ndeny = [\"Bash(rm *)\"]\nallow = [\"Bash(ls)\"\nask = ?\n");
    assert!(!file.problems.is_empty());
    assert!(file.layer.rules.iter().all(|rule| rule.effect != Effect::Allow));
}

#[test]
fn an_example_that_does_not_hold_is_a_problem() {
    let text = r#"
[[permissions.rule]]
permission = "bash"
pattern = "terraform apply *"
action = "deny"
match = ["terraform plan"]
not_match = ["terraform apply x"]
"#;
    let file = read_text(text);
    let spans: Vec<_> = file.problems.iter().map(|p| text.get(p.span.clone()).unwrap()).collect();
    assert_eq!(spans, ["\"terraform plan\"", "\"terraform apply x\""]);
    assert_eq!(file.layer.rules.len(), 1, "the deny stays");
}

#[test]
fn a_long_rule_without_its_parts_is_a_problem() {
    for text in [
        "[[permissions.rule]]\npattern = \"x\"\naction = \"ask\"\n",
        "[[permissions.rule]]\npermission = \"bash\"\naction = \"ask\"\n",
        "[[permissions.rule]]\npermission = \"bash\"\npattern = \"x\"\n",
        "[[permissions.rule]]\npermission = \"bash\"\npattern = \"x\"\naction = \"perhaps\"\n",
        "[[permissions.rule]]\npermission = \"frob\"\npattern = \"x\"\naction = \"ask\"\n",
        "[permissions]\nrule = 1\n",
    ] {
        assert_eq!(read_text(text).problems.len(), 1, "{text}");
    }
}

#[test]
fn escapes_do_not_mislead_the_pointer() {
    let text = "[permissions]\ndeny = [\"Bash(a\\tb\"]\n";
    let file = read_text(text);
    assert_eq!(text.get(file.problems[0].span.clone()).unwrap(), "\"Bash(a\\tb\"");
}

#[test]
fn only_ask_rules_have_a_reviewer() {
    let rule = |action: &str, reviewer: &str| {
        read_text(&format!(
            "[[permissions.rule]]\npermission = \"bash\"\npattern = \"x\"\naction = \"{action}\"\nreviewer = \"{reviewer}\"\n"
        ))
    };
    assert!(rule("ask", "human").layer.rules[0].requires_human);
    for (action, reviewer) in [("allow", "human"), ("deny", "human"), ("ask", "model")] {
        let file = rule(action, reviewer);
        assert_eq!(file.problems.len(), 1, "{action} {reviewer}");
        assert_eq!(file.problems[0].span.start, 78 + action.len(), "{action} {reviewer}");
    }
}

#[test]
fn unproved_programs_ask_if_the_setting_is_ask_or_invalid() {
    for (text, asks, problems) in [
        ("", false, 0),
        ("[permissions]\nunproved = \"allow\"\n", false, 0),
        ("[permissions]\nunproved = \"ask\"\n", true, 0),
        ("[permissions]\nunproved = \"deny\"\n", true, 1),
        ("[permissions]\nunproved = true\n", true, 1),
        ("[permissions]\nunproved = \"ask\"\nalow = []\n", true, 1),
    ] {
        let file = read_text(text);
        assert_eq!((file.asks_unproved, file.problems.len()), (asks, problems), "{text}");
        assert!(file.problems.iter().all(|problem| problem.loses_restriction), "{text}");
    }
}
