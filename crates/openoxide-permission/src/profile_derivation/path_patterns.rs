//! The paths that the pattern of a rule names.

use crate::{
    glob::{self, GlobStep},
    policy_stack::PolicyStack,
    rule::SubjectKind,
};

/// Returns whether a rule that asks or denies, and that is not built in, names paths by a wildcard.
pub(super) fn has_pattern_rules(policy: &PolicyStack) -> bool {
    [SubjectKind::Read, SubjectKind::ReadFromCwd, SubjectKind::Edit, SubjectKind::EditFromCwd]
        .into_iter()
        .any(|space| {
            let rules = policy.index().restrictive_rules(space);
            (0..rules.count).any(|number| is_partial_pattern(rules.get(number).0))
        })
}

/// Returns whether a pattern names some paths by a wildcard. A pattern that matches every path does
/// not qualify, because such a rule is about tools.
fn is_partial_pattern(code: &[u8]) -> bool {
    let every = |step| matches!(step, GlobStep::Any | GlobStep::NonEmpty | GlobStep::AnyParts);
    literal_path(code).is_none() && !glob::decode_steps(code).all(every)
}

/// Returns the path that a pattern without wildcards names. The pattern also covers everything
/// below it. Returns `None` for a pattern with a wildcard.
pub(super) fn literal_path(code: &[u8]) -> Option<String> {
    let mut text = Vec::new();
    for step in glob::decode_steps(code) {
        match step {
            GlobStep::Literal(bytes) => text.extend_from_slice(bytes),
            GlobStep::Any | GlobStep::NonEmpty => break,
            GlobStep::AnyInPart
            | GlobStep::AnyChar
            | GlobStep::AnyParts
            | GlobStep::Class { .. } => return None,
        }
    }
    let whole = text.strip_suffix(b"/")?;
    String::from_utf8(whole.to_vec()).ok()
}
