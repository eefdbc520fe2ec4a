//! The audit log: records of decisions, answers and outcomes.
//!
//! A decision is valid even if its record could not be written, unless the policy requires records
//! ([`audit_violation_reason`]).

use std::{io, os::unix::process::ExitStatusExt as _, process::ExitStatus, time::Duration};

use openoxide_adapters::{
    agent_hook::{self, AgentHookEvent},
    tool_action,
};
use openoxide_permission::{OperationRefusal, Permit};
use openoxide_protocol::{
    Action, ApprovalRequest, Decision, Effect, Obligation, Operation, PermissionMode,
    PresentationKind,
};
use openoxide_store::{
    UserEnvironment,
    audit::{
        AnswerRecord, AnsweredEvent, AuditError, AuditEvent, DecisionRecord, EnforcementRecord,
        Journal, OutcomeRecord,
    },
};

use crate::{
    error::InterruptedError,
    presentation::action_title,
    review_record::{ReviewOutcome, ReviewRecord},
};

/// The command that records a decision, and the agent that it acts for.
#[derive(Clone, Copy, Debug)]
pub struct RecordOrigin {
    /// The command: `hook`, `run`, `codex review`.
    pub via: &'static str,
    /// The agent, or `person`.
    pub agent: &'static str,
}

impl RecordOrigin {
    /// A person's own `openoxide run`.
    pub const RUN: Self = Self { via: "run", agent: "person" };
    /// A request of Codex that `openoxide codex review` answers.
    pub const CODEX_REVIEW: Self = Self { via: "codex review", agent: "codex" };
    /// A call of a program that uses this crate. The program names its agent.
    pub const LIBRARY: Self = Self { via: "openoxide-engine", agent: "agent" };
    /// A call of a Python program that uses the package `tool_approval`.
    pub const PYTHON: Self = Self { via: "tool_approval", agent: "python" };
}

/// The confinement of a command, for its audit record.
#[derive(Debug, Default)]
pub struct ConfinementRecord {
    /// The backend, and the restrictions that it enforces more strictly than requested.
    pub enforcement: Option<EnforcementRecord>,
    /// The accesses that were refused while the command ran.
    pub denials: Vec<String>,
    /// The findings after the command ended.
    pub findings: Vec<String>,
    /// The checkpoint with the previous versions of the files that the command has changed.
    pub checkpoint: Option<String>,
}

/// Returns the reason why a decision does not apply: the policy requires its record, and the record
/// could not be written.
#[must_use]
pub fn audit_violation_reason<T>(
    decision: &Decision,
    written: &Result<T, AuditError>,
) -> Option<String> {
    let required = decision.obligations.contains(&Obligation::Audit);
    let error = written.as_ref().err().filter(|_| required && decision.effect != Effect::Deny)?;
    Some(format!("the policy requires an audit record, but writing it failed: {error}"))
}

/// The audit journal of a user.
#[derive(Clone, Debug)]
pub struct AuditLog {
    environment: UserEnvironment,
}

impl AuditLog {
    /// Returns the log in the directories of this environment. This opens no file.
    #[must_use]
    pub const fn new(environment: UserEnvironment) -> Self {
        Self { environment }
    }

    /// Records that a call of an agent was not decided, and the effect that the agent was told
    /// instead. The call is `None` if its payload was not understood.
    ///
    /// # Errors
    /// If the record could not be written.
    pub fn record_undecided_call(
        &self,
        agent: &str,
        call: Option<&agent_hook::AgentHookCall>,
        told: Effect,
        why: &str,
    ) -> Result<u64, AuditError> {
        let undecided = record_without_decision(told, why);
        match call {
            Some(call) => {
                let action = tool_action::parse_action(&call.tool, &call.input);
                self.record_agent_call(agent, call, &action, undecided)
            }
            None => self.append_agent_decision(agent, undecided),
        }
    }

    /// Records that an operation was refused because every operation is.
    ///
    /// # Errors
    /// Returns an error if the record could not be written.
    pub fn record_refusal(
        &self,
        origin: RecordOrigin,
        operation: &Operation,
        why: &str,
    ) -> Result<u64, AuditError> {
        self.record_operation(origin, operation, record_without_decision(Effect::Deny, why))
    }

    /// Records that an operation was not decided, because the hooks were interrupted.
    ///
    /// # Errors
    /// If the record could not be written.
    pub fn record_interruption(
        &self,
        origin: RecordOrigin,
        operation: &Operation,
    ) -> Result<u64, AuditError> {
        let why = InterruptedError.to_string();
        self.record_operation(origin, operation, record_without_decision(Effect::Ask, &why))
    }

    /// Records that a request was answered from another terminal. The program that asked may be
    /// killed before it records the answer itself.
    ///
    /// # Errors
    /// If the record could not be written.
    pub fn record_answer(
        &self,
        request: &ApprovalRequest,
        via: &str,
        answer: AnswerRecord,
    ) -> Result<u64, AuditError> {
        let command = request.presentation.kind == PresentationKind::Command;
        let title = if command { &request.presentation.content } else { &request.title };
        self.append_decision(DecisionRecord {
            via: via.to_owned(),
            agent: "person".to_owned(),
            session: request.session.to_string(),
            task: request.task.clone(),
            tool: request.tool.clone(),
            title: title.clone(),
            cwd: request.cwd.to_string(),
            answer: Some(answer),
            ..DecisionRecord::new(&request.decision, PermissionMode::default())
        })
    }

    /// Records how a command has ended and how it was confined.
    ///
    /// # Errors
    /// If the record could not be written.
    pub fn record_outcome(
        &self,
        of: u64,
        status: &io::Result<ExitStatus>,
        time: Duration,
        confinement: ConfinementRecord,
    ) -> Result<u64, AuditError> {
        let ended = status.as_ref().ok();
        let ConfinementRecord {
            enforcement: holding,
            denials: refused,
            findings: found,
            checkpoint,
        } = confinement;
        self.append(&AuditEvent::Outcome(OutcomeRecord {
            decision_seq: of,
            status: ended.and_then(ExitStatus::code),
            signal: ended.and_then(|status| status.signal()),
            error: status.as_ref().err().map(ToString::to_string),
            failure: None,
            duration_ms: u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
            answer: None,
            enforcement: holding,
            denials: refused,
            findings: found,
            checkpoint,
        }))
    }

    /// Records how a call has ended that the agent executed itself.
    pub(crate) fn record_agent_outcome(&self, outcome: OutcomeRecord) -> Result<u64, AuditError> {
        self.append(&AuditEvent::Outcome(outcome))
    }

    pub(crate) fn record_operation(
        &self,
        origin: RecordOrigin,
        operation: &Operation,
        decided: DecisionRecord,
    ) -> Result<u64, AuditError> {
        self.append_decision(DecisionRecord {
            via: origin.via.to_owned(),
            agent: origin.agent.to_owned(),
            session: operation.session.to_string(),
            call: operation.call.0.clone(),
            tool: operation.tool.clone(),
            title: call_title(&operation.action, &operation.tool),
            cwd: operation.cwd.to_string(),
            ..decided
        })
    }

    pub(crate) fn record_agent_call(
        &self,
        agent: &str,
        call: &agent_hook::AgentHookCall,
        action: &Action,
        decided: DecisionRecord,
    ) -> Result<u64, AuditError> {
        let decided = DecisionRecord {
            subagent: call.subagent.clone(),
            session: call.session_id.clone(),
            task: call.task_name(),
            event: Some(match call.event {
                AgentHookEvent::PreToolUse => AnsweredEvent::PreToolUse,
                AgentHookEvent::PermissionRequest => AnsweredEvent::PermissionRequest,
            }),
            call: call.call_id.clone(),
            tool: call.tool.clone(),
            title: call_title(action, &call.tool),
            cwd: call.cwd.to_string(),
            ..decided
        };
        self.append_agent_decision(agent, decided)
    }

    fn append_agent_decision(
        &self,
        agent: &str,
        decided: DecisionRecord,
    ) -> Result<u64, AuditError> {
        self.append_decision(DecisionRecord {
            via: "hook".to_owned(),
            agent: agent.to_owned(),
            ..decided
        })
    }

    fn append_decision(&self, decided: DecisionRecord) -> Result<u64, AuditError> {
        self.append(&AuditEvent::Decision(Box::new(decided)))
    }

    fn append(&self, entry: &AuditEvent) -> Result<u64, AuditError> {
        Journal::for_user(&self.environment)?.append(entry)
    }
}

/// Returns the title of a call. The title of a command is the command itself.
fn call_title(action: &Action, tool: &str) -> String {
    match action {
        Action::Command { script } => script.clone(),
        Action::Read { .. }
        | Action::Edit { .. }
        | Action::Fetch { .. }
        | Action::Connect { .. }
        | Action::CallTool
        | Action::Delegate { .. }
        | Action::Opaque { .. } => action_title(action, tool),
    }
}

pub(crate) fn record_without_decision(effect: Effect, why: &str) -> DecisionRecord {
    DecisionRecord { decision: Some(effect), reason: why.to_owned(), ..DecisionRecord::default() }
}

/// Returns the record of the gate's decision and of a reviewer's answer.
pub(crate) fn gate_decision_record(
    verdict: Result<&Permit, &OperationRefusal>,
    review: Option<&ReviewRecord>,
    mode: PermissionMode,
) -> DecisionRecord {
    let denied = review.and_then(|review| match &review.outcome {
        ReviewOutcome::Denied(decision) => Some(decision.as_ref()),
        ReviewOutcome::Answered { .. }
        | ReviewOutcome::Expired
        | ReviewOutcome::Interrupted
        | ReviewOutcome::Failed(_) => None,
    });
    let question = review.map(|review| &review.request.decision);
    let answer = review.and_then(ReviewRecord::to_answer_record);
    match denied.or(verdict_decision(verdict)).or(question) {
        Some(decision) => DecisionRecord { answer, ..DecisionRecord::new(decision, mode) },
        None => {
            let why = "the session ended before it was decided";
            DecisionRecord { mode, answer, ..record_without_decision(Effect::Ask, why) }
        }
    }
}

fn verdict_decision<'a>(verdict: Result<&'a Permit, &'a OperationRefusal>) -> Option<&'a Decision> {
    match verdict {
        Ok(permit) => Some(permit.decision()),
        Err(OperationRefusal::Denied(decision)) => Some(decision),
        Err(
            OperationRefusal::Rejected
            | OperationRefusal::Corrected { .. }
            | OperationRefusal::Cancelled,
        ) => None,
    }
}
