//! The accesses that a decision grants.

use openoxide_protocol::{Access, AccessDecision, Decision, Effect};

/// The accesses that may happen now.
pub(super) fn granted_accesses(decision: &Decision) -> impl Iterator<Item = &Access> {
    let granted = |part: &&AccessDecision| part.decision != Effect::Deny;
    decision.parts.iter().filter(granted).map(|part| &part.access)
}
