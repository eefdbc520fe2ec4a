//! Approvals in the agent's own dialog.
//!
//! A hook can leave a call to the agent, which asks a person in its own dialog. The answer is not
//! reported. But if the agent reports that the call has ended, then it was approved. From then on,
//! the identical call is allowed in the same session.
//!
//! A program that the agent started could send a forged report to the hook. An approval therefore
//! belongs to the process that the call came from, and applies only to calls that come from the
//! same process: a report of another process has no effect on the agent's calls. A report also has
//! to come from a hook that this process started after the call. So a program that the agent
//! started before, such as an MCP server, cannot pass what the agent sent to it on to a hook.

use openoxide_adapters::{
    agent_hook::{
        AgentCallResult, AgentHookCall, AgentHookEvent, EndedAgentCall, is_user_prompt_tool,
    },
    tool_action,
};
use openoxide_protocol::{
    Action, Decision, Effect, HookAnswer, HookDecision, Obligation, OperationFacts, PermissionMode,
};
use openoxide_store::{
    AnnouncedCall, ApprovedCall, ClientProcess, SessionCalls, UserEnvironment,
    audit::{AnswerRecord, OutcomeRecord, UtcTimestamp},
    directory_identity,
};

use crate::{
    agent_check::AgentCall,
    audit_log::AuditLog,
    digest::{digest_agent_operation, digest_call},
    engine::Engine,
};

/// The reason of a call that was approved earlier in the session.
pub const APPROVED_EARLIER: &str = "you approved the same call earlier in this session";

/// The end of the first question of a session that a rule can answer.
const RULE_HINT: &str = "; if you approve it, `openoxide allow last` offers a rule for such calls";

/// The prefix of Claude Code's message about a command that failed.
const EXIT_CODE_PREFIX: &str = "Exit code ";

impl Engine {
    /// Returns an allow instead of a question that a person has answered for the identical call of
    /// this session.
    pub(crate) fn apply_agent_approval(
        &self,
        agent: &AgentCall<'_>,
        facts: &OperationFacts,
        hooks: &[HookAnswer],
        decision: Decision,
    ) -> Decision {
        let AgentCall { agent: name, call, client, .. } = agent;
        let applies = has_dialog(call.mode) && is_repeatable(&decision, hooks);
        let Some(client) = client.as_ref().filter(|_| applies) else {
            return decision;
        };
        let client = client.identity.clone();
        let Ok(calls) = SessionCalls::for_session(self.environment(), name, &call.session_id)
        else {
            return decision;
        };
        if !calls.is_approved(&ApprovedCall { client, operation: operation_digest(call, facts) }) {
            return decision;
        }
        let reason = APPROVED_EARLIER.to_owned();
        let (effect, rule, suggested_rules) = (Effect::Allow, None, Vec::new());
        Decision { effect, reason, rule, suggested_rules, ..decision }
    }

    /// Returns a question with a hint about how to save a rule for such calls, once in a session of
    /// an agent with a dialog. A question that no rule can answer has no hint.
    pub fn with_rule_hint(
        &self,
        agent: &str,
        call: &AgentHookCall,
        decision: Decision,
    ) -> Decision {
        let applies = call.event == AgentHookEvent::PreToolUse
            && decision.effect == Effect::Ask
            && decision.rule.is_none()
            && !decision.suggested_rules.is_empty()
            && has_dialog(call.mode);
        let is_first = || {
            let calls = SessionCalls::for_session(self.environment(), agent, &call.session_id);
            calls.and_then(|calls| calls.take_rule_hint()).unwrap_or(false)
        };
        if !applies || !is_first() {
            return decision;
        }
        let reason = format!("{}{RULE_HINT}", decision.reason);
        Decision { reason, ..decision }
    }

    /// Stores a call that the agent executes or asks a person about, until the agent reports its
    /// end. A call that cannot be stored has no outcome in the audit log.
    pub(crate) fn announce_call(
        &self,
        agent: &AgentCall<'_>,
        facts: &OperationFacts,
        hooks: &[HookAnswer],
        (decision, record): (&Decision, Option<u64>),
    ) {
        let AgentCall { agent: name, call, client, .. } = agent;
        let is_announced = call.event == AgentHookEvent::PreToolUse
            && !call.call_id.is_empty()
            && decision.effect != Effect::Deny
            && !is_user_prompt_tool(&call.tool)
            && !self.confines(decision);
        if !is_announced {
            return;
        }
        let announced = AnnouncedCall {
            call: call.call_id.clone(),
            client: client.as_ref().map(|client| client.identity.clone()),
            hook_start: client.as_ref().map(|client| client.hook_start),
            input: digest_call(&call.tool, &call.input).to_string(),
            operation: operation_digest(call, facts),
            record,
            is_question: decision.effect == Effect::Ask && has_dialog(call.mode),
            is_repeatable: is_repeatable(decision, hooks),
            answered_at: UtcTimestamp::now().0,
        };
        let calls = SessionCalls::for_session(self.environment(), name, &call.session_id);
        drop(calls.and_then(|calls| calls.announce(announced)));
    }
}

/// Records the end of a call that a hook has answered. If the hook left the call to the agent and
/// the report comes from the same process as the call, a person has approved it. The hook that
/// reports has to be started after the one that announced the call.
///
/// Nothing is recorded about a call that the hook has not answered, or that another process
/// reports. Returns whether the end was recorded.
#[must_use]
pub fn record_ended_call(
    environment: &UserEnvironment,
    agent: &str,
    ended: &EndedAgentCall,
    client: Option<&ClientProcess>,
) -> bool {
    let Ok(calls) = SessionCalls::for_session(environment, agent, &ended.session_id) else {
        return false;
    };
    let identity = client.map(|client| client.identity.as_str());
    let Ok(Some(announced)) = calls.end(&ended.call_id, identity) else { return false };
    let AnnouncedCall { operation, is_repeatable, record, answered_at, .. } = &announced;
    let is_later = |client: &&ClientProcess| {
        announced.hook_start.is_some_and(|start| start <= client.hook_start)
    };
    let approving_client = client.filter(is_later).filter(|_| is_approved(&announced, ended));
    let waited = UtcTimestamp::now().0.saturating_sub(*answered_at);
    let answer = approving_client.map(|_| {
        Box::new(AnswerRecord::approved_in_agent(waited.saturating_sub(ended.duration_ms)))
    });
    if let Some(client) = approving_client.filter(|_| *is_repeatable) {
        let (client, operation) = (client.identity.clone(), operation.clone());
        // Without the approval, the person is asked again.
        drop(calls.add_approved(ApprovedCall { client, operation }));
    }
    let Some(decision_seq) = *record else { return false };
    let outcome = OutcomeRecord { decision_seq, answer, ..outcome_record(ended) };
    AuditLog::new(environment.clone()).record_agent_outcome(outcome).is_ok()
}

fn is_approved(announced: &AnnouncedCall, ended: &EndedAgentCall) -> bool {
    announced.is_question
        && has_dialog(ended.mode)
        && announced.input == digest_call(&ended.tool, &ended.input).to_string()
}

fn outcome_record(ended: &EndedAgentCall) -> OutcomeRecord {
    let action = tool_action::parse_action(&ended.tool, &ended.input);
    let is_command = matches!(action, Action::Command { .. });
    let (status, failure) = match &ended.result {
        AgentCallResult::Succeeded => (is_command.then_some(0), None),
        AgentCallResult::Interrupted => (None, Some("interrupted".to_owned())),
        AgentCallResult::Failed(message) => match parse_exit_code(message) {
            Some(code) if is_command => (Some(code), None),
            _ => (None, Some(message.clone())),
        },
    };
    let duration_ms = ended.duration_ms;
    OutcomeRecord { status, failure, duration_ms, ..OutcomeRecord::default() }
}

fn parse_exit_code(message: &str) -> Option<i32> {
    let digits = message.strip_prefix(EXIT_CODE_PREFIX)?.lines().next()?;
    digits.trim().parse().ok()
}

/// Returns whether the agent asks a person in this mode. In other modes, it answers itself.
const fn has_dialog(mode: Option<PermissionMode>) -> bool {
    matches!(
        mode,
        Some(PermissionMode::Default | PermissionMode::AcceptEdits | PermissionMode::Plan)
    )
}

/// Returns whether an approval of this question also applies to identical calls. It does not if
/// nothing may be remembered: secrets, the safety floor, rules that only a person answers, hooks
/// that ask every time, and layers that a grant does not override.
pub(crate) fn is_repeatable(decision: &Decision, hooks: &[HookAnswer]) -> bool {
    let is_above = |layer: &str| ["managed", "cli"].contains(&layer);
    let asking = decision.parts.iter().filter(|part| part.decision == Effect::Ask);
    let mut rules = asking.filter_map(|part| part.rule.as_ref()).chain(&decision.rule);
    decision.effect == Effect::Ask
        && !decision.suggested_rules.is_empty()
        && !decision.obligations.contains(&Obligation::Human)
        && !hooks.iter().any(|answer| answer.decision == HookDecision::Ask)
        && !rules.any(|rule| is_above(&rule.layer))
}

/// Returns the digest of a call with its directory and the accesses that a person was asked about.
/// If a file or a link has changed so that the call has other accesses or another directory, it is
/// another operation.
pub(crate) fn operation_digest(call: &AgentHookCall, facts: &OperationFacts) -> String {
    let mut input = call.input.clone();
    // The model describes the same command in other words each time.
    if let (Some(fields), Action::Command { .. }) =
        (input.as_object_mut(), tool_action::parse_action(&call.tool, &call.input))
    {
        fields.remove("description");
    }
    let accesses = format!("{:?}", facts.accesses);
    let directory = directory_identity(&call.cwd);
    let parts = [call.tool.as_str(), call.cwd.as_str(), &directory, &input.to_string(), &accesses];
    digest_agent_operation(parts).to_string()
}

#[cfg(test)]
mod tests {
    use openoxide_protocol::RuleRef;

    use super::*;

    fn question() -> Decision {
        Decision {
            effect: Effect::Ask,
            reason: "no rule matches `make`".to_owned(),
            rule: None,
            parts: vec![],
            findings: vec![],
            suggested_rules: vec!["Bash(make *)".to_owned()],
            obligations: vec![],
        }
    }

    fn rule_of(layer: &str) -> Option<RuleRef> {
        let (layer, text) = (layer.to_owned(), "ask Bash(make *)".to_owned());
        Some(RuleRef { layer, file: None, line: None, text, reason: None })
    }

    #[test]
    fn only_a_question_that_may_be_remembered_is_repeatable() {
        assert!(is_repeatable(&question(), &[]));
        assert!(is_repeatable(&Decision { rule: rule_of("user"), ..question() }, &[]));
        for other in [
            Decision { effect: Effect::Allow, ..question() },
            Decision { suggested_rules: vec![], ..question() },
            Decision { obligations: vec![Obligation::Human], ..question() },
            Decision { rule: rule_of("managed"), ..question() },
            Decision { rule: rule_of("cli"), ..question() },
        ] {
            assert!(!is_repeatable(&other, &[]), "{other:?}");
        }
    }

    #[test]
    fn an_agent_that_answers_itself_has_no_dialog() {
        for (mode, expected) in [
            (Some(PermissionMode::Default), true),
            (Some(PermissionMode::Plan), true),
            (Some(PermissionMode::BypassPermissions), false),
            (Some(PermissionMode::DontAsk), false),
            // `auto` of Claude Code.
            (None, false),
        ] {
            assert_eq!(has_dialog(mode), expected, "{mode:?}");
        }
    }

    #[test]
    fn the_exit_code_is_read_from_the_message() {
        assert_eq!(parse_exit_code("Exit code 1"), Some(1));
        assert_eq!(parse_exit_code("Exit code 101\nerror: x"), Some(101));
        assert_eq!(parse_exit_code("File not found"), None);
    }
}
