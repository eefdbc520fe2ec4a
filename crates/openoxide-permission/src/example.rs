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
