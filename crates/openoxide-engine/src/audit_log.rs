//! Writing down what `hook` and `run` have decided. Whatever becomes of a record, the decision stands, unless the policy wants it written.

use std::{io, os::unix::process::ExitStatusExt as _, process::ExitStatus, time::Duration};

use openoxide_adapters::hook::Call;
use openoxide_engine::{Asked, title_of};
use openoxide_permission::Refusal;
use openoxide_protocol::{
    Action, ApprovalRequest, ApprovalResponse, Decision, Effect, Obligation, Operation,
    PermissionMode, PresentationKind,
};
use openoxide_store::{
    Environment,
    audit::{Answer, AuditError, Channel, Decided, Entry, Holding, Journal, Outcome},
};

use crate::report;

/// What a person was asked, and what came of it.
#[derive(Debug)]
pub(crate) struct Reviewed {
    pub(crate) request: ApprovalRequest,
    pub(crate) end: End,
    /// Whether a yes can be kept.
    pub(crate) keeps: bool,
}

/// How a command was held, in words for the record.
#[derive(Debug, Default)]
pub(crate) struct Held {
    pub(crate) holding: Option<Holding>,
    pub(crate) refused: Vec<String>,
    pub(crate) found: Vec<String>,
}

/// How a question ended.
#[derive(Debug)]
pub(crate) enum End {
    /// A person answered: here, or from elsewhere.
    Said { response: ApprovalResponse, channel: Channel, by: Option<String> },
    /// A rule denies it by now.
    Denied(Box<Decision>),
    /// Nobody answered in time.
    Expired,
    /// Who asked was told to end.
    Interrupted,
    /// The answer could not be waited for.
    Lost(String),
}

impl Reviewed {
    /// Returns the answer for the gate: what is not plainly a yes is none.
    pub(crate) fn response(&self) -> ApprovalResponse {
        match &self.end {
            End::Said { response, .. } => response.clone(),
            _ => ApprovalResponse::Denied,
        }
    }

    fn answer(&self) -> Option<Answer> {
        let End::Said { response, channel, by } = &self.end else { return None };
        let answer = Answer::new(&self.request, response, *channel, by.clone());
        Some(if self.keeps { answer } else { Answer { kept: None, ..answer } })
    }
}

/// Writes down what a hook has decided.
///
/// # Errors
/// When it could not. Whether that matters says the decision's obligations; else it is not said, because the agent reads what a hook says.
pub(crate) fn hook(
    environment: &Environment,
    agent: &str,
    decided: Decided,
) -> Result<u64, AuditError> {
    of_agent(environment, "hook", agent, decided)
}

/// Writes down what a verb has decided about an agent's call.
///
/// # Errors
/// When it could not.
pub(crate) fn of_agent(
    environment: &Environment,
    via: &str,
    agent: &str,
    decided: Decided,
) -> Result<u64, AuditError> {
    let decided = Decided { via: via.to_owned(), agent: agent.to_owned(), ..decided };
    append(environment, &Entry::Decision(Box::new(decided)))
}

/// Returns the record of an agent's operation.
pub(crate) fn operation(operation: &Operation, decided: Decided) -> Decided {
    Decided {
        session: operation.session.to_string(),
        call: operation.call.0.clone(),
        tool: operation.tool.clone(),
        title: title(&operation.action, &operation.tool),
        cwd: operation.cwd.to_string(),
        ..decided
    }
}

/// Says why what was decided must not be done, if it has to be written down and was not.
pub(crate) fn unheld<T>(decision: &Decision, written: &Result<T, AuditError>) -> Option<String> {
    let must = decision.obligations.contains(&Obligation::Audit);
    let error = written.as_ref().err().filter(|_| must && decision.effect != Effect::Deny)?;
    Some(format!("the policy wants it written down, and it cannot be: {error}"))
}

fn append(environment: &Environment, entry: &Entry) -> Result<u64, AuditError> {
    Journal::of(environment)?.append(entry)
}

/// Returns the record of an agent's call.
pub(crate) fn call(call: &Call, action: &Action, decided: Decided) -> Decided {
    Decided {
        subagent: call.subagent.clone(),
        session: call.session.clone(),
        task: call.task(),
        call: call.call.clone(),
        tool: call.tool.clone(),
        title: title(action, &call.tool),
        cwd: call.cwd.to_string(),
        ..decided
    }
}

/// A command speaks for itself.
fn title(action: &Action, tool: &str) -> String {
    match action {
        Action::Command { script } => script.clone(),
        other => title_of(other, tool),
    }
}

/// Returns the record of a call that was not understood.
pub(crate) fn undecided(why: &str) -> Decided {
    without_grounds(Effect::Ask, why)
}

/// Returns the record of what is denied because nothing may be done at all.
pub(crate) fn closed(why: &str) -> Decided {
    without_grounds(Effect::Deny, why)
}

fn without_grounds(effect: Effect, why: &str) -> Decided {
    Decided { decision: Some(effect), reason: why.to_owned(), ..Decided::default() }
}

/// Returns the record of what came out of the gate.
pub(crate) fn asked(asked: &Asked, reviewed: Option<&Reviewed>, mode: PermissionMode) -> Decided {
    let denied = reviewed.and_then(|reviewed| match &reviewed.end {
        End::Denied(decision) => Some(decision.as_ref()),
        _ => None,
    });
    let question = reviewed.map(|reviewed| &reviewed.request.decision);
    match denied.or(decision(asked)).or(question) {
        Some(decision) => Decided::new(decision, mode),
        None => Decided { mode, ..undecided("the session ended before it was decided") },
    }
}

fn decision(asked: &Asked) -> Option<&Decision> {
    match asked {
        Asked::Granted(permit) => Some(permit.decision()),
        Asked::Refused(Refusal::Denied(decision)) => Some(decision),
        Asked::Refused(_) => None,
        Asked::Unanswerable(request) => Some(&request.decision),
    }
}

/// The audit of one `run`. A person is told when something cannot be written down.
pub(crate) struct Audit(Environment);

impl Audit {
    pub(crate) fn open() -> Self {
        Self(Environment::read())
    }

    /// Writes a decision down; returns its number.
    ///
    /// # Errors
    /// When it could not.
    pub(crate) fn decided(
        &self,
        operation: &Operation,
        decided: Decided,
        reviewed: Option<&Reviewed>,
    ) -> Result<u64, AuditError> {
        let answer = reviewed.and_then(Reviewed::answer);
        append(
            &self.0,
            &Entry::Decision(Box::new(Decided {
                via: "run".to_owned(),
                agent: "person".to_owned(),
                session: operation.session.to_string(),
                tool: operation.tool.clone(),
                title: title(&operation.action, &operation.tool),
                cwd: operation.cwd.to_string(),
                answer,
                ..decided
            })),
        )
    }

    /// As [`Self::decided`]; where it could not be written, a person is told.
    pub(crate) fn note(
        &self,
        operation: &Operation,
        decided: Decided,
        reviewed: Option<&Reviewed>,
    ) -> Option<u64> {
        told(self.decided(operation, decided, reviewed))
    }

    /// Writes down that somebody answered a question from elsewhere: who asked may be killed before it writes.
    pub(crate) fn answered(&self, request: &ApprovalRequest, via: &str, answer: Answer) {
        let command = request.presentation.kind == PresentationKind::Command;
        let title = if command { &request.presentation.content } else { &request.title };
        self.write(&Entry::Decision(Box::new(Decided {
            via: via.to_owned(),
            agent: "person".to_owned(),
            session: request.session.to_string(),
            task: request.task.clone(),
            tool: request.tool.clone(),
            title: title.clone(),
            cwd: request.cwd.to_string(),
            answer: Some(answer),
            ..Decided::new(&request.decision, PermissionMode::default())
        })));
    }

    /// Writes down how a command has ended, if it was written down that it might run; and how it was held, if it was.
    pub(crate) fn ended(
        &self,
        of: Option<u64>,
        status: &io::Result<ExitStatus>,
        time: Duration,
        held: Option<Held>,
    ) {
        let Some(of) = of else { return };
        let ended = status.as_ref().ok();
        let Held { holding, refused, found } = held.unwrap_or_default();
        self.write(&Entry::Outcome(Outcome {
            of,
            status: ended.and_then(ExitStatus::code),
            signal: ended.and_then(|status| status.signal()),
            error: status.as_ref().err().map(ToString::to_string),
            duration_ms: u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
            held: holding,
            refused,
            found,
        }));
    }

    fn write(&self, entry: &Entry) -> Option<u64> {
        told(append(&self.0, entry))
    }
}

/// Tells a person when something could not be written down.
pub(crate) fn told(written: Result<u64, AuditError>) -> Option<u64> {
    written.inspect_err(|error| report::note(&format!("not written down: {error}"))).ok()
}
