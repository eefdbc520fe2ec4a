//! Writing down what `hook` and `run` have decided. Whatever becomes of a record, the decision stands.

use std::{io, os::unix::process::ExitStatusExt as _, process::ExitStatus, time::Duration};

use openoxide_adapters::claude_code::Call;
use openoxide_permission::Refusal;
use openoxide_protocol::{
    Action, ApprovalRequest, ApprovalResponse, Decision, Effect, Operation, PermissionMode,
};
use openoxide_session::{Asked, title_of};
use openoxide_store::{
    Environment,
    audit::{Answer, AuditError, Channel, Decided, Entry, Journal, Outcome},
};

use crate::report;

/// What a person was asked, and said.
#[derive(Debug)]
pub(crate) struct Reviewed {
    pub(crate) request: ApprovalRequest,
    pub(crate) response: ApprovalResponse,
}

/// Writes down what a hook has decided. That it could not is not said: what a hook says is read by the agent.
pub(crate) fn hook(environment: &Environment, decided: Decided) {
    let decided = Decided { via: "hook".to_owned(), agent: "claude".to_owned(), ..decided };
    drop(append(environment, &Entry::Decision(Box::new(decided))));
}

fn append(environment: &Environment, entry: &Entry) -> Result<u64, AuditError> {
    Journal::of(environment)?.append(entry)
}

/// Returns the record of an agent's call.
pub(crate) fn call(call: &Call, action: &Action, decided: Decided) -> Decided {
    Decided {
        subagent: call.subagent.clone(),
        session: call.session.clone(),
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
    match decision(asked).or(reviewed.map(|reviewed| &reviewed.request.decision)) {
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
    pub(crate) fn decided(
        &self,
        operation: &Operation,
        decided: Decided,
        response: Option<ApprovalResponse>,
    ) -> Option<u64> {
        let choice = response.map(|response| response.review_decision());
        let answer = choice.map(|choice| Answer { channel: Channel::Terminal, choice });
        self.write(&Entry::Decision(Box::new(Decided {
            via: "run".to_owned(),
            agent: "person".to_owned(),
            session: operation.session.to_string(),
            tool: operation.tool.clone(),
            title: title(&operation.action, &operation.tool),
            cwd: operation.cwd.to_string(),
            answer,
            ..decided
        })))
    }

    /// Writes down how a command has ended, if it was written down that it might run.
    pub(crate) fn ended(&self, of: Option<u64>, status: &io::Result<ExitStatus>, time: Duration) {
        let Some(of) = of else { return };
        let ended = status.as_ref().ok();
        self.write(&Entry::Outcome(Outcome {
            of,
            status: ended.and_then(ExitStatus::code),
            signal: ended.and_then(|status| status.signal()),
            error: status.as_ref().err().map(ToString::to_string),
            duration_ms: u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
        }));
    }

    fn write(&self, entry: &Entry) -> Option<u64> {
        let written = append(&self.0, entry);
        written.inspect_err(|error| report::note(&format!("not written down: {error}"))).ok()
    }
}
