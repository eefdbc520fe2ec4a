//! The accesses that a decision grants.

use openoxide_protocol::{Access, AccessDecision, Decision, Effect};

/// Returns the accesses that a decision grants.
pub(super) fn granted_accesses(decision: &Decision) -> impl Iterator<Item = &Access> {
    let granted = |part: &&AccessDecision| part.decision != Effect::Deny;
    decision.parts.iter().filter(granted).map(|part| &part.access)
}
