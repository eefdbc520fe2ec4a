//! The approvals of a session: for identical calls, and by rules that are not saved for the project.

use std::collections::HashMap;

use openoxide_permission::{EvaluationContext, SessionGrants};
use openoxide_protocol::{
    Access, ApprovalRequest, ApprovalResponse, Effect, GrantScope, GrantTerms, OperationDigest,
};

use crate::review_record::{ReviewOutcome, ReviewRecord};

/// The approvals that a reviewer gave for more than one call of a session.
#[derive(Debug, Default)]
pub(crate) struct SessionApprovals {
    /// The approved operations, with the accesses that the reviewer was shown. If a file or a link
    /// has changed so that an operation has other accesses, it is not covered.
    operations: HashMap<OperationDigest, Vec<Access>>,
    /// The rules that were approved and that the grant file of the project does not keep.
    rules: SessionGrants,
}

impl SessionApprovals {
    /// Returns whether earlier approvals cover a request.
    pub(crate) fn covers(
        &self,
        request: &ApprovalRequest,
        context: &EvaluationContext<'_>,
    ) -> bool {
        !request.requires_explicit_approval
            && (self.covers_operation(request) || self.rules_cover(request, context))
    }

    fn covers_operation(&self, request: &ApprovalRequest) -> bool {
        let approved = self.operations.get(&request.digest);
        approved.is_some_and(|accesses| accesses.iter().eq(request_accesses(request)))
    }

    /// Returns whether rules cover each access that requires approval. A request that offers no
    /// rules asks what no rule can answer.
    fn rules_cover(&self, request: &ApprovalRequest, context: &EvaluationContext<'_>) -> bool {
        !request.decision.suggested_rules.is_empty()
            && request.decision.parts.iter().all(|part| {
                part.decision == Effect::Allow
                    || self.rules.granted_rules_allow(context, &part.access)
            })
    }

    /// Remembers an approval, if it is for more than one call.
    pub(crate) fn remember(&mut self, review: &ReviewRecord, context: &EvaluationContext<'_>) {
        let (request, ReviewOutcome::Answered { response, .. }) =
            (review.request(), review.outcome())
        else {
            return;
        };
        if request.requires_explicit_approval {
            return;
        }
        if matches!(response, ApprovalResponse::Approved { scope: GrantScope::Session, .. }) {
            let accesses = request_accesses(request).cloned().collect();
            self.operations.insert(request.digest, accesses);
        }
        if let Some(terms) = request.granted_terms(response).filter(|terms| !has_limits(terms)) {
            self.rules.add_rules(&unsaved_rules(terms), context);
        }
    }
}

fn request_accesses(request: &ApprovalRequest) -> impl Iterator<Item = &Access> {
    request.decision.parts.iter().map(|part| &part.access)
}

/// Returns whether an approval ends before the session. It applies once then.
const fn has_limits(terms: &GrantTerms) -> bool {
    terms.expires_in_seconds.is_some()
        || terms.max_uses.is_some()
        || terms.directory.is_some()
        || terms.until_task_end
}

/// Returns the rules that the grant file does not keep. Rules about commands are in the file, where
/// they can be revoked.
fn unsaved_rules(terms: GrantTerms) -> Vec<String> {
    terms.rules.into_iter().filter(|rule| !rule.starts_with("Bash")).collect()
}
