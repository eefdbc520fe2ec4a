//! Questions about calls of an agent that wait in the request queue, so that a person can answer
//! them in another terminal.

use openoxide_adapters::{agent_hook::AgentHookCall, tool_action};
use openoxide_protocol::{
    ApprovalResponse, CallId, Decision, Effect, GrantScope, HookAnswer, Operation, OperationFacts,
    Principal,
};
use openoxide_store::{
    ApprovedCall, ClientProcess, SessionCalls, SessionCallsError, UserEnvironment,
    audit::{AnswerRecord, RequestedConfinement},
};

use crate::{
    agent_approvals::{is_repeatable, operation_digest},
    agent_check::AgentCall,
    audit_log::RecordOrigin,
    check_host::CheckHost,
    digest::digest_call,
    engine::Engine,
    error::InterruptedError,
    ids::new_session_id,
    operation_check::{CheckOptions, PendingApproval},
    queued_request::QueuedRequest,
    review_record::{ReviewOutcome, ReviewRecord, WaitError},
};

/// The requesters of questions of hooks, as reviewers see them.
pub(crate) const HOOK_REQUESTERS: [&str; 2] = ["Claude Code", "Codex"];

/// The reason of a call that a person approved in another terminal.
const APPROVED_ELSEWHERE: &str = "approved in another terminal";
/// The reason of a call that a person denied in another terminal.
const DENIED_ELSEWHERE: &str = "denied in another terminal";

/// Returns the agent's id of a call that the same process announced and that has not ended. A
/// permission request does not contain it. Returns `None` if several calls have the same input.
#[must_use]
pub fn find_announced_call(
    environment: &UserEnvironment,
    agent: &str,
    call: &AgentHookCall,
    client: Option<&ClientProcess>,
) -> Option<String> {
    let calls = SessionCalls::for_session(environment, agent, &call.session_id).ok()?;
    let input = digest_call(&call.tool, &call.input).to_string();
    calls.find_announced(&input, client.map(|client| client.identity.as_str()))
}

impl Engine {
    /// Registers a question about a call and waits for its answer, as long as the caller allows.
    /// Returns the decision after the answer and the answer. Without an answer, the decision is the
    /// question itself. Returns `None` if there is no question, or if it cannot be registered.
    ///
    /// # Errors
    /// If the wait was interrupted.
    pub(crate) fn wait_for_answer(
        &self,
        agent: &AgentCall<'_>,
        (facts, hooks): (&OperationFacts, &[HookAnswer]),
        decision: &Decision,
        host: &dyn CheckHost,
    ) -> Result<Option<(Decision, Option<AnswerRecord>)>, InterruptedError> {
        let Some(options) = agent.wait.filter(|_| decision.effect == Effect::Ask) else {
            return Ok(None);
        };
        // The call runs without the sandbox after an answer. A policy that allows it only in the
        // sandbox does not answer the question.
        let Ok(engine) = self.reopen().map(Self::without_confinement) else { return Ok(None) };
        let Some(pending) = engine.pending_agent_call(agent, facts, hooks) else {
            return Ok(None);
        };
        host.on_wait_started();
        let queued = pending.register(options, host);
        let review = queued.map(QueuedRequest::wait);
        host.on_wait_ended();
        let Ok(review) = review else { return Ok(None) };
        let answer = review.to_answer_record();
        // If the question stays marked, the end of the call would be taken for an approval in the dialog.
        let is_settled = answer.is_none() || self.settle_announced_question(agent).is_ok();
        let decision = answered_decision(&review, decision)?;
        if !is_settled && decision.effect != Effect::Deny {
            return Ok(None);
        }
        if is_session_approval(&review) {
            self.remember_session_approval(agent, facts, hooks, &review);
        }
        Ok(Some((decision, answer)))
    }

    fn pending_agent_call<'e>(
        &'e self,
        agent: &AgentCall<'_>,
        facts: &OperationFacts,
        hooks: &[HookAnswer],
    ) -> Option<PendingApproval<'e>> {
        let AgentCall { call, extra_actions, .. } = agent;
        let operation = Operation {
            session: call.session_id.parse().unwrap_or_else(|_| new_session_id()),
            call: CallId::default(),
            principal: Principal::Agent,
            tool: call.tool.clone(),
            action: tool_action::parse_action(&call.tool, &call.input),
            input: call.input.clone(),
            cwd: call.cwd.clone(),
        };
        let options = CheckOptions {
            extra_actions: extra_actions.clone(),
            ..CheckOptions::new(RecordOrigin::LIBRARY, RequestedConfinement::NotConfined)
        };
        let context = self.directory_context(&call.cwd, &self.roots);
        let policy = self.policy_without_spending(&context, facts).clone();
        self.prepare_agent_call(operation, options, (facts.clone(), hooks.to_vec()), policy)
            .into_pending_approval()
    }

    /// Stores an approval for the session. It applies to identical calls of the same process.
    fn remember_session_approval(
        &self,
        agent: &AgentCall<'_>,
        facts: &OperationFacts,
        hooks: &[HookAnswer],
        review: &ReviewRecord,
    ) {
        let AgentCall { agent: name, call, client, .. } = agent;
        let applies = is_repeatable(&review.request.decision, hooks);
        let Some(client) = client.as_ref().filter(|_| applies) else { return };
        let approved = ApprovedCall {
            client: client.identity.clone(),
            operation: operation_digest(call, facts),
        };
        let calls = SessionCalls::for_session(self.environment(), name, &call.session_id);
        // Without the approval, the person is asked again.
        drop(calls.and_then(|calls| calls.add_approved(approved)));
    }

    /// Removes the mark of a question from a call that was answered in another terminal, so that its
    /// end is not taken for an approval in the agent's dialog.
    ///
    /// # Errors
    /// If the calls of the session cannot be read or written.
    fn settle_announced_question(&self, agent: &AgentCall<'_>) -> Result<(), SessionCallsError> {
        let AgentCall { agent: name, call, client, .. } = agent;
        let input = digest_call(&call.tool, &call.input).to_string();
        let client = client.as_ref().map(|client| client.identity.as_str());
        let calls = SessionCalls::for_session(self.environment(), name, &call.session_id)?;
        calls.settle_question(&input, client)
    }
}

/// Returns the decision after a review. Without an answer, the question stays open.
///
/// # Errors
/// If the wait was interrupted.
fn answered_decision(
    review: &ReviewRecord,
    question: &Decision,
) -> Result<Decision, InterruptedError> {
    let decided = |effect, reason: String| Decision {
        effect,
        reason,
        rule: None,
        suggested_rules: Vec::new(),
        obligations: Vec::new(),
        ..question.clone()
    };
    Ok(match &review.outcome {
        ReviewOutcome::Answered { response, .. } => match response {
            ApprovalResponse::Approved { .. } => {
                decided(Effect::Allow, APPROVED_ELSEWHERE.to_owned())
            }
            ApprovalResponse::Rejected { message: Some(message) } => {
                decided(Effect::Deny, format!("{DENIED_ELSEWHERE}: {message}"))
            }
            ApprovalResponse::Rejected { message: None } | ApprovalResponse::Denied => {
                decided(Effect::Deny, DENIED_ELSEWHERE.to_owned())
            }
            ApprovalResponse::Cancelled => question.clone(),
        },
        ReviewOutcome::Denied(decision) => decision.as_ref().clone(),
        ReviewOutcome::Interrupted => return Err(InterruptedError),
        ReviewOutcome::Failed(error @ WaitError::OperationChanged(_)) => {
            Decision { reason: error.to_string(), ..question.clone() }
        }
        ReviewOutcome::Expired | ReviewOutcome::Failed(_) => question.clone(),
    })
}

fn is_session_approval(review: &ReviewRecord) -> bool {
    matches!(
        review.outcome,
        ReviewOutcome::Answered {
            response: ApprovalResponse::Approved { scope: GrantScope::Session, .. },
            ..
        }
    )
}
