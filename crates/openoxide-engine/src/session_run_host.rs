//! The host of a command that a session runs: it decides about the hosts that the command connects
//! to.

use std::cell::RefCell;

use openoxide_protocol::{AbsPath, ApprovalResponse, GrantScope, Operation, SandboxRestrictions};
use openoxide_sandbox::{
    PostRunFinding, RunCanceller, RuntimeDecision, RuntimeRequest, SandboxReport,
};
use openoxide_store::audit::RequestedConfinement;
use serde_json::{Value, json};

use crate::{
    agent_session::{ReviewedCheck, SessionCaller, SessionReview},
    audit_log::ConfinementRecord,
    basic_host::BasicHost,
    check_host::{CheckHost, InterruptWatch},
    engine::Engine,
    engine_warning::EngineWarning,
    operation_check::ExecutionPermit,
    queued_request::WaitOptions,
    remedy::Remedy,
    review_record::ReviewRecord,
    reviewer::Reviewer,
    run_host::RunHost,
    session_approvals::SessionApprovals,
    url_host::connection_input,
};

/// The host of one command of a session.
///
/// A connection to a host that the profile does not name is an operation of its own: rules and the
/// reviewer decide about it while the command waits. A command is not run again with fewer
/// restrictions.
pub(crate) struct SessionRunHost<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) caller: SessionCaller,
    pub(crate) host: &'a BasicHost,
    pub(crate) review: RefCell<ReviewParts<'a>>,
    pub(crate) report: RefCell<Option<SandboxReport>>,
}

/// The parts of a session that a review changes.
pub(crate) struct ReviewParts<'a> {
    pub(crate) approvals: &'a mut SessionApprovals,
    pub(crate) reviewer: &'a mut dyn Reviewer,
}

impl SessionRunHost<'_> {
    fn decide_call(&self, tool: &str, input: Value, gone: &dyn Fn() -> bool) -> RuntimeDecision {
        let cwd = self.engine.cwd().clone();
        let operation = self.caller.new_operation(tool, input, cwd);
        let options = self.caller.check_options(RequestedConfinement::Confined);
        let ReviewParts { approvals, reviewer } = &mut *self.review.borrow_mut();
        let wait = WaitOptions { is_abandoned: Some(gone), ..self.caller.wait_options() };
        let review = SessionReview { host: self.host, approvals, wait, reviewer: &mut **reviewer };
        match review.check(self.engine, &operation, options) {
            ReviewedCheck { permit: Ok(_), review } => approved_scope(review.as_ref()),
            ReviewedCheck { permit: Err(_), review: None } => RuntimeDecision::DeniedByRule,
            ReviewedCheck { permit: Err(_), review: Some(_) } => RuntimeDecision::Rejected,
        }
    }
}

/// Returns the decision for a permitted connection. The decision of a rule applies to the whole
/// run.
fn approved_scope(review: Option<&ReviewRecord>) -> RuntimeDecision {
    match review.map(ReviewRecord::response) {
        Some(ApprovalResponse::Approved { scope: GrantScope::Once, .. }) => RuntimeDecision::Once,
        Some(_) => RuntimeDecision::Session,
        None => RuntimeDecision::AllowedByRule,
    }
}

impl CheckHost for SessionRunHost<'_> {
    fn warn(&self, warning: EngineWarning) {
        self.host.warn(warning);
    }

    fn watch_interrupts(&self) -> Box<dyn InterruptWatch + '_> {
        self.host.watch_interrupts()
    }
}

impl RunHost for SessionRunHost<'_> {
    fn answer(
        &self,
        question: &RuntimeRequest,
        _held: &SandboxRestrictions,
        gone: &dyn Fn() -> bool,
    ) -> RuntimeDecision {
        match question {
            RuntimeRequest::Host { host, port } => {
                self.decide_call("WebFetch", connection_input(host, None, *port), gone)
            }
            RuntimeRequest::Socket(access) => {
                self.decide_call("Socket", json!({ "socket": access.socket }), gone)
            }
            RuntimeRequest::PrivateAddress { host, address, port } => {
                self.decide_call("WebFetch", connection_input(host, Some(*address), *port), gone)
            }
            // The profile already has all files that the command may change.
            // The report of the run names the ports.
            RuntimeRequest::Change(_)
            | RuntimeRequest::PublishPort { .. }
            | RuntimeRequest::PortUnavailable { .. } => RuntimeDecision::DeniedByRule,
        }
    }

    fn on_attempt_started(&self, canceller: RunCanceller) {
        self.host.set_canceller(Some(canceller));
    }

    fn on_attempt_ended(&self, report: &SandboxReport) {
        self.report.replace(Some(report.clone()));
    }

    fn describe(&self, report: &SandboxReport) -> ConfinementRecord {
        ConfinementRecord::from_report(report)
    }

    fn on_quarantined_files(&self, _found: &[PostRunFinding]) {}

    fn can_ask(&self) -> bool {
        false
    }

    fn was_refused(&self, _path: &AbsPath) -> bool {
        false
    }

    fn show_advice(&self, _remedy: &Remedy) {}

    fn approve_retry(
        &self,
        _operation: &Operation,
        _title: String,
        _enforced: RequestedConfinement,
    ) -> Option<ExecutionPermit> {
        None
    }
}
