//! Host patterns: `domain:example.com`, `domain:*.example.com`, `domain:*`.

use super::ParsedPattern;
use crate::{glob::Glob, rule::RuleError};

/// Parses a host pattern: the text after `domain:`.
///
/// `*.h` matches the hosts below `h`, but not `h` itself. In other positions, `*` matches within a
/// label. Case is ignored.
///
/// # Errors
/// Returns an error for every text that cannot match a host: an empty text, a scheme, a port, a
/// path, or letters outside ASCII.
pub fn parse(text: &str) -> Result<ParsedPattern, RuleError> {
    let host = text.trim_end_matches('.');
    validate(text, host)?;
    let mut glob = Glob::new();
    let labels: Vec<&str> = host.split('.').collect();
    for (index, label) in labels.iter().enumerate().rev() {
        match *label {
            "*" if index == 0 && labels.len() == 1 => glob.push_any(),
            "*" if index == 0 => glob.push_non_empty(),
            label => {
                push_label(label, &mut glob);
                glob.push_literal(b".");
            }
        }
    }
    Ok(ParsedPattern { glob, is_literal: !host.contains('*') })
}

fn push_label(label: &str, glob: &mut Glob) {
    for (index, piece) in label.split('*').enumerate() {
        if index > 0 {
            glob.push_any_in_part();
        }
        glob.push_literal(piece.to_ascii_lowercase().as_bytes());
    }
}

fn validate(text: &str, host: &str) -> Result<(), RuleError> {
    let all = 0..text.len();
    if host.is_empty() || host.split('.').any(str::is_empty) {
        return Err(RuleError::new("the host is empty or has an empty label", all));
    }
    if let Some(at) = text.find(['/', ':', '@', '?', '#']) {
        let error = RuleError::new("a host cannot have a scheme, user, port or path", at..at + 1);
        return Err(error.with_help("write the host alone: `domain:example.com`"));
    }
    if !text.is_ascii() {
        let error = RuleError::new("the host contains non-ASCII characters", all);
        return Err(error.with_help("write it in its `xn--` form"));
    }
    if let Some(at) = text.find(|c: char| c.is_ascii_whitespace() || c.is_ascii_control()) {
        return Err(RuleError::new("a host cannot contain spaces", at..at + 1));
    }
    Ok(())
}

/// Returns a host in the form of a subject: labels from the right, each followed by `.`.
#[must_use]
pub fn to_subject(host: &str) -> String {
    let mut parts = String::with_capacity(host.len() + 1);
    for label in host.trim_end_matches('.').rsplit('.') {
        parts.push_str(&label.to_ascii_lowercase());
        parts.push('.');
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{glob, rule::SubjectKind};
    use openoxide_protocol::Effect;

    fn matches(pattern: &str, host: &str) -> bool {
        let code = parse(pattern).unwrap().glob.finish();
        glob::matches(
            &code,
            to_subject(host).as_bytes(),
            SubjectKind::Fetch.match_options(Effect::Allow),
        )
    }

    #[test]
    fn hosts_are_compared_by_labels() {
        let rows: &[(&str, &[&str], &[&str])] = &[
            (
                "example.com",
                &["example.com", "EXAMPLE.com", "example.com."],
                &["a.example.com", "evilexample.com", "example.com.evil.com"],
            ),
            (
                "*.example.com",
                &["a.example.com", "a.b.example.com"],
                &["example.com", "evilexample.com"],
            ),
            ("*", &["localhost", "a.b"], &[]),
            ("example.*", &["example.org"], &["example.co.uk", "a.example.org"]),
            ("api-*.x.io", &["api-1.x.io", "api-.x.io"], &["api-1.y.x.io", "x.io"]),
            ("*.internal", &["db.internal"], &["internal", "internal.com"]),
        ];
        for (pattern, yes, no) in rows {
            for host in *yes {
                assert!(matches(pattern, host), "`{pattern}` should match `{host}`");
            }
            for host in *no {
                assert!(!matches(pattern, host), "`{pattern}` should not match `{host}`");
            }
        }
    }

    #[test]
    fn invalid_hosts_are_rejected() {
        for text in ["", "https://x.com", "x.com/path", "x.com:80", "a..b", "bücher.de", "a b"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_single_star_matches_every_host() {
        let code = |text| parse(text).unwrap().glob.finish();
        let mut any = Glob::new();
        any.push_any();
        assert_eq!(code("*"), any.finish());
        assert_ne!(code("*.io"), code("*"));
        assert!(
            !parse("*").unwrap().is_literal
                && !parse("a*.io").unwrap().is_literal
                && parse("a.io").unwrap().is_literal
        );
        assert!(!matches("x.*.io", "x.a.b.io") && matches("x.*.io", "x.a.io"));
    }

    #[test]
    fn errors_in_a_host_have_a_range() {
        for (text, at) in [("x.com/path", 5..6), ("x y", 1..2), ("x\u{1}y", 1..2), ("a@b", 1..2)] {
            assert_eq!(parse(text).unwrap_err().range, at, "{text:?}");
        }
    }
}
