//! The audit log: records of decisions, answers and outcomes.
//!
//! A decision holds whether or not its record could be written, unless the policy requires records: see [`audit_violation`].

use std::{io, os::unix::process::ExitStatusExt as _, process::ExitStatus, time::Duration};

use openoxide_adapters::hook;
use openoxide_permission::{Permit, Refusal};
use openoxide_protocol::{
    Action, ApprovalRequest, ApprovalResponse, Decision, Effect, Obligation, Operation,
    PermissionMode, PresentationKind,
};
use openoxide_store::{
    Environment,
    audit::{Answer, AuditError, Channel, Decided, Entry, Holding, Journal, Outcome},
};

use crate::title_of;

/// Which command records a decision, and for which agent.
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
}

/// A question to a reviewer, and how it ended.
#[derive(Debug)]
pub struct ReviewResult {
    /// The question.
    pub request: ApprovalRequest,
    /// How it ended.
    pub end: ReviewEnd,
    /// Whether an approval can be saved as a grant.
    pub keeps: bool,
}

/// How a question to a reviewer ended.
#[derive(Debug)]
pub enum ReviewEnd {
    /// It was answered: here, or from another terminal.
    Answered {
        /// The answer.
        response: ApprovalResponse,
        /// Where it was given.
        channel: Channel,
        /// Who gave it, as far as it is known.
        by: Option<String>,
    },
    /// The policy denies the call by now.
    Denied(Box<Decision>),
    /// It was not answered in time.
    Expired,
    /// The program that asked was told to end.
    Interrupted,
    /// The answer could not be waited for.
    Lost(String),
}

impl ReviewResult {
    /// Returns the answer for the gate: everything but an answer is a no.
    #[must_use]
    pub fn response(&self) -> ApprovalResponse {
        match &self.end {
            ReviewEnd::Answered { response, .. } => response.clone(),
            ReviewEnd::Denied(_)
            | ReviewEnd::Expired
            | ReviewEnd::Interrupted
            | ReviewEnd::Lost(_) => ApprovalResponse::Denied,
        }
    }

    fn answer(&self) -> Option<Answer> {
        let ReviewEnd::Answered { response, channel, by } = &self.end else { return None };
        let answer = Answer::new(&self.request, response, *channel, by.clone());
        Some(if self.keeps { answer } else { Answer { kept: None, ..answer } })
    }
}

/// How a command was confined, for its record.
#[derive(Debug, Default)]
pub struct ConfinementRecord {
    /// The backend, and what it enforces more strictly than asked.
    pub holding: Option<Holding>,
    /// Accesses that were refused while it ran.
    pub refused: Vec<String>,
    /// Findings after it had ended.
    pub found: Vec<String>,
}

/// Returns why a decision must not be acted on: the policy requires its record, and the record could not be written.
#[must_use]
pub fn audit_violation<T>(decision: &Decision, written: &Result<T, AuditError>) -> Option<String> {
    let required = decision.obligations.contains(&Obligation::Audit);
    let error = written.as_ref().err().filter(|_| required && decision.effect != Effect::Deny)?;
    Some(format!("the policy requires an audit record, but writing it failed: {error}"))
}

/// The journal of one user, as commands write to it.
#[derive(Clone, Debug)]
pub struct AuditLog {
    environment: Environment,
}

impl AuditLog {
    /// Returns the log in the directories of this environment. Nothing is opened yet.
    #[must_use]
    pub const fn new(environment: Environment) -> Self {
        Self { environment }
    }

    /// Records that a call of an agent was not understood, and so is asked about.
    ///
    /// # Errors
    /// When the record could not be written.
    pub fn record_undecided(&self, agent: &str, why: &str) -> Result<u64, AuditError> {
        self.append_agent(agent, without_grounds(Effect::Ask, why))
    }

    /// Records that nothing may be done at all.
    ///
    /// # Errors
    /// When the record could not be written.
    pub fn record_refused(
        &self,
        origin: RecordOrigin,
        operation: &Operation,
        why: &str,
    ) -> Result<u64, AuditError> {
        self.record_operation(origin, operation, without_grounds(Effect::Deny, why))
    }

    /// Records that an operation was not decided, because the hooks were interrupted.
    ///
    /// # Errors
    /// When the record could not be written.
    pub fn record_interrupted(
        &self,
        origin: RecordOrigin,
        operation: &Operation,
    ) -> Result<u64, AuditError> {
        let why = crate::InterruptedError.to_string();
        self.record_operation(origin, operation, without_grounds(Effect::Ask, &why))
    }

    /// Records that a request was answered from another terminal: the program that asked may be killed before it records that itself.
    ///
    /// # Errors
    /// When the record could not be written.
    pub fn record_answer(
        &self,
        request: &ApprovalRequest,
        via: &str,
        answer: Answer,
    ) -> Result<u64, AuditError> {
        let command = request.presentation.kind == PresentationKind::Command;
        let title = if command { &request.presentation.content } else { &request.title };
        self.append_decision(Decided {
            via: via.to_owned(),
            agent: "person".to_owned(),
            session: request.session.to_string(),
            task: request.task.clone(),
            tool: request.tool.clone(),
            title: title.clone(),
            cwd: request.cwd.to_string(),
            answer: Some(answer),
            ..Decided::new(&request.decision, PermissionMode::default())
        })
    }

    /// Records how a command has ended and how it was confined.
    ///
    /// # Errors
    /// When the record could not be written.
    pub fn record_outcome(
        &self,
        of: u64,
        status: &io::Result<ExitStatus>,
        time: Duration,
        confinement: ConfinementRecord,
    ) -> Result<u64, AuditError> {
        let ended = status.as_ref().ok();
        let ConfinementRecord { holding, refused, found } = confinement;
        self.append(&Entry::Outcome(Outcome {
            of,
            status: ended.and_then(ExitStatus::code),
            signal: ended.and_then(|status| status.signal()),
            error: status.as_ref().err().map(ToString::to_string),
            duration_ms: u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
            held: holding,
            refused,
            found,
        }))
    }

    pub(crate) fn record_operation(
        &self,
        origin: RecordOrigin,
        operation: &Operation,
        decided: Decided,
    ) -> Result<u64, AuditError> {
        self.append_decision(Decided {
            via: origin.via.to_owned(),
            agent: origin.agent.to_owned(),
            session: operation.session.to_string(),
            call: operation.call.0.clone(),
            tool: operation.tool.clone(),
            title: title(&operation.action, &operation.tool),
            cwd: operation.cwd.to_string(),
            ..decided
        })
    }

    pub(crate) fn record_agent_call(
        &self,
        agent: &str,
        call: &hook::Call,
        action: &Action,
        decided: Decided,
    ) -> Result<u64, AuditError> {
        let decided = Decided {
            subagent: call.subagent.clone(),
            session: call.session.clone(),
            task: call.task(),
            call: call.call.clone(),
            tool: call.tool.clone(),
            title: title(action, &call.tool),
            cwd: call.cwd.to_string(),
            ..decided
        };
        self.append_agent(agent, decided)
    }

    fn append_agent(&self, agent: &str, decided: Decided) -> Result<u64, AuditError> {
        self.append_decision(Decided { via: "hook".to_owned(), agent: agent.to_owned(), ..decided })
    }

    fn append_decision(&self, decided: Decided) -> Result<u64, AuditError> {
        self.append(&Entry::Decision(Box::new(decided)))
    }

    fn append(&self, entry: &Entry) -> Result<u64, AuditError> {
        Journal::of(&self.environment)?.append(entry)
    }
}

/// Returns the title of a call: a command is its own.
fn title(action: &Action, tool: &str) -> String {
    match action {
        Action::Command { script } => script.clone(),
        Action::Read { .. }
        | Action::Edit { .. }
        | Action::Fetch { .. }
        | Action::CallTool
        | Action::Delegate { .. }
        | Action::Opaque { .. } => title_of(action, tool),
    }
}

pub(crate) fn without_grounds(effect: Effect, why: &str) -> Decided {
    Decided { decision: Some(effect), reason: why.to_owned(), ..Decided::default() }
}

/// Returns the record of what the gate decided, and of what a reviewer answered.
pub(crate) fn gate_record(
    verdict: Result<&Permit, &Refusal>,
    review: Option<&ReviewResult>,
    mode: PermissionMode,
) -> Decided {
    let denied = review.and_then(|review| match &review.end {
        ReviewEnd::Denied(decision) => Some(decision.as_ref()),
        ReviewEnd::Answered { .. }
        | ReviewEnd::Expired
        | ReviewEnd::Interrupted
        | ReviewEnd::Lost(_) => None,
    });
    let question = review.map(|review| &review.request.decision);
    let answer = review.and_then(ReviewResult::answer);
    match denied.or(decision(verdict)).or(question) {
        Some(decision) => Decided { answer, ..Decided::new(decision, mode) },
        None => {
            let why = "the session ended before it was decided";
            Decided { mode, answer, ..without_grounds(Effect::Ask, why) }
        }
    }
}

fn decision<'a>(verdict: Result<&'a Permit, &'a Refusal>) -> Option<&'a Decision> {
    match verdict {
        Ok(permit) => Some(permit.decision()),
        Err(Refusal::Denied(decision)) => Some(decision),
        Err(Refusal::Rejected | Refusal::Corrected { .. } | Refusal::Cancelled) => None,
    }
}
