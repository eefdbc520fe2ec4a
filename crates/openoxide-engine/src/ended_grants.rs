//! Saved approvals that would have answered a question, but have ended.

use openoxide_permission::{EvaluationContext, SessionGrants};
use openoxide_protocol::{Decision, Effect};

use crate::engine::Engine;

impl Engine {
    /// Adds to a question the saved approval that would have answered it, and why it does not apply.
    /// Only approvals of the user are named, never entries that a project could have written.
    pub(crate) fn with_ended_grant(
        &self,
        decision: Decision,
        context: &EvaluationContext<'_>,
    ) -> Decision {
        if decision.effect != Effect::Ask {
            return decision;
        }
        let entries = self.grant_file().and_then(|file| file.read_entries().ok());
        let mut ended = entries.into_iter().flatten().filter_map(|entry| {
            let why = entry.limit_reason()?;
            let mut grants = SessionGrants::default();
            grants.add_rules(std::slice::from_ref(&entry.rule), context);
            let mut asked = decision.parts.iter().filter(|part| part.decision == Effect::Ask);
            let covers = asked.any(|part| grants.granted_rules_allow(context, &part.access));
            covers.then(|| format!("your approval `{}` does not apply: {why}", entry.rule))
        });
        match ended.next() {
            Some(note) => Decision { reason: format!("{}; {note}", decision.reason), ..decision },
            None => decision,
        }
    }
}
