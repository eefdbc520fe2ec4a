//! Examples in rules: a check that a rule matches what its author expects.

use openoxide_protocol::{AbsPath, CommandWords};

use crate::{
    glob,
    pattern::{command, host, path, socket},
    rule::{PathAnchors, Rule, RuleError, SubjectKind},
};

/// Returns whether a rule matches an example: a command, a path (a relative path is resolved
/// against the rule's base and the working directory), a host or a name.
///
/// # Errors
/// Returns an error with a range in the example if the example is not of the rule's kind.
pub fn matches_example(
    rule: &Rule,
    example: &str,
    anchors: PathAnchors<'_>,
) -> Result<bool, RuleError> {
    for pattern in &rule.patterns {
        let Some(subject) = to_subject(pattern.kind, example, anchors)? else { continue };
        if glob::matches(&pattern.program, &subject, pattern.kind.match_options(rule.effect)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the example in the form of a subject, or `None` if it cannot be one of this kind.
fn to_subject(
    space: SubjectKind,
    example: &str,
    anchors: PathAnchors<'_>,
) -> Result<Option<Vec<u8>>, RuleError> {
    Ok(match space {
        SubjectKind::Exec => {
            let words: CommandWords = command::split_words(example)?.into_iter().collect();
            Some(words.as_bytes().to_vec())
        }
        SubjectKind::Fetch => Some(host::to_subject(extract_host(example)).into_bytes()),
        SubjectKind::Tool | SubjectKind::Delegate | SubjectKind::DoomLoop => {
            Some(format!("{example}\0").into_bytes())
        }
        SubjectKind::Socket => Some(socket::to_example_subject(example, anchors)),
        SubjectKind::Read | SubjectKind::Edit | SubjectKind::External => {
            Some(path::to_subject(&resolve_path(example, anchors)).into_bytes())
        }
        SubjectKind::ReadFromCwd | SubjectKind::EditFromCwd | SubjectKind::ExternalFromCwd
            if example.starts_with(['/', '~']) =>
        {
            None
        }
        SubjectKind::ReadFromCwd | SubjectKind::EditFromCwd | SubjectKind::ExternalFromCwd => {
            Some(path::to_subject(&AbsPath::root().join(example)).into_bytes())
        }
    })
}

fn resolve_path(example: &str, anchors: PathAnchors<'_>) -> AbsPath {
    match (example.strip_prefix("~/"), anchors.home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => anchors.base.join(example),
    }
}

/// Returns the host of an example, which may be a whole URL.
fn extract_host(example: &str) -> &str {
    let rest = example.split_once("://").map_or(example, |(_, rest)| rest);
    rest.split(['/', ':']).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use openoxide_protocol::Effect;

    use super::*;
    use crate::parse_rule;

    #[test]
    fn an_example_is_parsed_by_the_kind_of_the_rule() {
        let (home, base) = (AbsPath::new("/h").unwrap(), AbsPath::new("/p").unwrap());
        let anchors = PathAnchors { home: Some(&home), base: &base };
        for (rule, example, expected) in [
            ("Bash(git push *)", "git push origin", true),
            ("Bash(git push *)", "git pull", false),
            ("Bash(echo 'a b')", "echo 'a b'", true),
            ("Bash(echo 'a b')", "echo a b", false),
            ("Read(~/notes/**)", "~/notes/a", true),
            ("Read(~/notes/**)", "/h/notes/a", true),
            ("Read(~/notes/**)", "~/other", false),
            ("Read(/src/**)", "src/a", true),
            ("Read(/src/**)", "/p/src/a", true),
            ("Read(/src/**)", "/src/a", false),
            ("Edit(//etc/hosts)", "/etc/hosts", true),
            ("ExternalDirectory(//srv/**)", "/srv/a", true),
            ("Read(*.env)", "a/x.env", true),
            ("Read(*.env)", "/a/x.env", false),
            ("Read(*.env)", "~/x.env", false),
            ("Edit(src/a)", "src/a", true),
            ("ExternalDirectory(a)", "a", true),
            ("WebFetch(domain:x.io)", "x.io", true),
            ("WebFetch(domain:x.io)", "https://x.io/a", true),
            ("WebFetch(domain:x.io)", "x.io:8080", true),
            ("WebFetch(domain:x.io)", "https://y.io/x.io", false),
            ("Task(explore)", "explore", true),
            ("Task(explore)", "explorer", false),
            ("DoomLoop(Bash)", "Bash", true),
            ("mcp__a__b", "mcp__a__b", true),
            ("mcp__a__b", "mcp__a__c", false),
            ("Socket(docker)", "docker", true),
            ("Socket(ssh-agent:x.io)", "ssh-agent:x.io", true),
            ("Socket(ssh-agent:x.io)", "ssh-agent:y.io", false),
            ("Socket(/run/x/*)", "/run/x/s", true),
        ] {
            for effect in [Effect::Allow, Effect::Deny] {
                let rule = parse_rule(rule, effect, anchors).unwrap();
                assert_eq!(
                    matches_example(&rule, example, anchors),
                    Ok(expected),
                    "{rule:?} {example}"
                );
            }
        }
    }

    #[test]
    fn an_example_that_is_not_a_command_is_an_error() {
        let base = AbsPath::root();
        let anchors = PathAnchors { home: None, base: &base };
        let rule = parse_rule("Bash(echo *)", Effect::Allow, anchors).unwrap();
        assert_eq!(matches_example(&rule, "echo 'x", anchors).unwrap_err().range, 5..7);
    }
}
