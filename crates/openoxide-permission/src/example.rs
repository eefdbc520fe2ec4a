//! The examples that a rule brings along: does it match what its author thinks it matches?

use openoxide_protocol::{AbsPath, Words};

use crate::{
    glob,
    pattern::{command, host, path},
    rule::{Anchors, Rule, RuleError, Space},
};

/// Says whether a rule matches an example: a command, a path (a relative one counts from the rule's base and from the
/// working directory), a host or a name.
///
/// # Errors
/// When the example is no such thing, pointing into it.
pub fn try_example(rule: &Rule, example: &str, anchors: Anchors<'_>) -> Result<bool, RuleError> {
    for pattern in &rule.patterns {
        let Some(subject) = subject(pattern.space, example, anchors)? else { continue };
        if glob::matches(&pattern.code, &subject, pattern.space.manner(rule.effect)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the example in the form of subjects; nothing when it cannot be one of this space.
fn subject(
    space: Space,
    example: &str,
    anchors: Anchors<'_>,
) -> Result<Option<Vec<u8>>, RuleError> {
    Ok(match space {
        Space::Exec => {
            let words: Words = command::words(example)?.into_iter().collect();
            Some(words.as_bytes().to_vec())
        }
        Space::Fetch => Some(host::parts(host_of(example)).into_bytes()),
        Space::Tool | Space::Delegate | Space::DoomLoop => {
            Some(format!("{example}\0").into_bytes())
        }
        Space::Read | Space::Edit | Space::External => {
            Some(path::parts(&absolute(example, anchors)).into_bytes())
        }
        Space::ReadHere | Space::EditHere | Space::ExternalHere
            if example.starts_with(['/', '~']) =>
        {
            None
        }
        Space::ReadHere | Space::EditHere | Space::ExternalHere => {
            Some(path::parts(&AbsPath::root().join(example)).into_bytes())
        }
    })
}

fn absolute(example: &str, anchors: Anchors<'_>) -> AbsPath {
    match (example.strip_prefix("~/"), anchors.home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => anchors.base.join(example),
    }
}

/// Returns the host of an example that may be a whole address.
fn host_of(example: &str) -> &str {
    let rest = example.split_once("://").map_or(example, |(_, rest)| rest);
    rest.split(['/', ':']).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use openoxide_protocol::Effect;

    use super::*;
    use crate::parse;

    #[test]
    fn an_example_is_read_as_what_the_rule_is_about() {
        let (home, base) = (AbsPath::new("/h").unwrap(), AbsPath::new("/p").unwrap());
        let anchors = Anchors { home: Some(&home), base: &base };
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
        ] {
            for effect in [Effect::Allow, Effect::Deny] {
                let rule = parse(rule, effect, anchors).unwrap();
                assert_eq!(
                    try_example(&rule, example, anchors),
                    Ok(expected),
                    "{rule:?} {example}"
                );
            }
        }
    }

    #[test]
    fn an_example_that_is_no_command_is_an_error() {
        let base = AbsPath::root();
        let anchors = Anchors { home: None, base: &base };
        let rule = parse("Bash(echo *)", Effect::Allow, anchors).unwrap();
        assert_eq!(try_example(&rule, "echo 'x", anchors).unwrap_err().at, 5..7);
    }
}
