//! Requests of a confined command while it runs: for a host, a socket, or a file (`live_changes`). Each one
//! passes hooks, rules, a person and the audit journal.

use std::net::IpAddr;

use openoxide_engine::{
    CheckHost, CheckOptions, ConfinementRecord, EngineWarning, ExecutionPermit, InterruptWatch,
    RecordOrigin, Remedy, ReviewRecord, RunHost, connection_input,
};
use openoxide_protocol::{
    AbsPath, Action, ApprovalResponse, GrantScope, Operation, SandboxRestrictions,
};
use openoxide_sandbox::{
    PostRunFinding, RuntimeDecision, RuntimeRequest, SandboxDenial, SandboxReport,
};
use openoxide_store::audit::RequestedConfinement;
use openoxide_tui::{LineMode, can_ask, escape_text};
use serde_json::{Value, json};

use super::run_context::{RunContext, requested_confinement};
use crate::{
    commands::{
        call_operation,
        run::{approval::ApprovalVerdict, explicit_approval, quarantine_restore},
    },
    confinement_report::{ReportedCommand, print_report, unavailable_port_note},
    terminal_host::TerminalHost,
    user_messages,
};

impl RunContext<'_> {
    /// Decides about an operation in the same way as about any other.
    pub(super) fn decide_operation(
        &self,
        operation: &Operation,
        gone: &dyn Fn() -> bool,
    ) -> RuntimeDecision {
        self.decide_with_options(operation, self.check_options(), gone)
    }

    /// Returns the options for a request of the command.
    pub(super) fn check_options(&self) -> CheckOptions {
        CheckOptions::new(RecordOrigin::RUN, requested_confinement(self.args))
    }

    /// Decides about an operation. If a person approves the offered directory, later operations can
    /// use that approval.
    pub(super) fn decide_with_options(
        &self,
        operation: &Operation,
        options: CheckOptions,
        gone: &dyn Fn() -> bool,
    ) -> RuntimeDecision {
        let offered = options.offered_directory.clone();
        let Ok(approval) = self.check_operation(operation, options, Some(gone)) else {
            return RuntimeDecision::Rejected;
        };
        let response = approval.review.as_ref().map(ReviewRecord::response);
        if let (ApprovalVerdict::Allowed(_), Some(response)) = (&approval.verdict, response)
            && matches!(response, ApprovalResponse::Approved { scope: GrantScope::Directory, .. })
        {
            self.approved_directories.borrow_mut().extend(offered);
        }
        match (approval.verdict, approval.review) {
            (ApprovalVerdict::Allowed(_), review) => decision_from_review(review.as_ref()),
            (_, None) => RuntimeDecision::DeniedByRule,
            (_, Some(_)) => RuntimeDecision::Rejected,
        }
    }

    /// Returns the operation that decides about a connection, or about the private address that the
    /// host leads to.
    pub(super) fn fetch_operation(
        &self,
        host: &str,
        private_address: Option<IpAddr>,
        port: u16,
    ) -> Operation {
        let input = connection_input(host, private_address, port);
        let url = input.get("url").and_then(Value::as_str).unwrap_or_default().to_owned();
        let action = Action::Fetch { url };
        let operation = call_operation::new_person_operation(
            "WebFetch".to_owned(),
            action,
            input,
            self.engine.cwd(),
        );
        Operation { session: self.session, ..operation }
    }

    /// Returns the operation that decides about a connection to a socket.
    pub(super) fn connect_operation(&self, socket: &str) -> Operation {
        let socket = socket.to_owned();
        let input = json!({ "socket": socket });
        let action = Action::Connect { socket };
        let operation = call_operation::new_person_operation(
            "Socket".to_owned(),
            action,
            input,
            self.engine.cwd(),
        );
        Operation { session: self.session, ..operation }
    }
}

impl CheckHost for RunContext<'_> {
    fn warn(&self, warning: EngineWarning) {
        TerminalHost.warn(warning);
    }

    fn watch_interrupts(&self) -> Box<dyn InterruptWatch + '_> {
        TerminalHost.watch_interrupts()
    }
}

impl RunHost for RunContext<'_> {
    fn answer(
        &self,
        question: &RuntimeRequest,
        held: &SandboxRestrictions,
        gone: &dyn Fn() -> bool,
    ) -> RuntimeDecision {
        match question {
            RuntimeRequest::Host { host, port } => {
                self.decide_operation(&self.fetch_operation(host, None, *port), gone)
            }
            RuntimeRequest::PrivateAddress { host, address, port } => {
                self.decide_operation(&self.fetch_operation(host, Some(*address), *port), gone)
            }
            RuntimeRequest::Socket(access) => {
                self.decide_operation(&self.connect_operation(&access.socket), gone)
            }
            RuntimeRequest::Change(change) => self.review_change(change, held, gone),
            RuntimeRequest::PublishPort { port } => self.review_port(*port, gone),
            RuntimeRequest::PortUnavailable { port, reason } => {
                user_messages::print_note(&unavailable_port_note(*port, reason));
                RuntimeDecision::DeniedByRule
            }
        }
    }

    fn on_attempt_ended(&self, report: &SandboxReport) {
        let hint = |denial: &SandboxDenial| self.connection_hint(denial);
        print_report(&self.without_reviewed_ports(report), ReportedCommand::Run, &hint);
    }

    fn describe(&self, report: &SandboxReport) -> ConfinementRecord {
        ConfinementRecord::from_report(report)
    }

    fn on_quarantined_files(&self, found: &[PostRunFinding]) {
        // Without a terminal, no question is asked anyway.
        let is_limit =
            |one: &&PostRunFinding| matches!(one, PostRunFinding::TooManyQuestions { .. });
        let shown: Vec<_> =
            found.iter().filter(|one| self.can_ask() || !is_limit(one)).cloned().collect();
        quarantine_restore::offer_restore(self, &shown);
    }

    fn can_ask(&self) -> bool {
        !self.global.no_input && can_ask()
    }

    fn was_refused(&self, path: &AbsPath) -> bool {
        self.refused_paths.borrow().contains(path)
    }

    fn show_advice(&self, remedy: &Remedy) {
        show_advice(remedy);
    }

    fn approve_retry(
        &self,
        operation: &Operation,
        title: String,
        enforced: RequestedConfinement,
    ) -> Option<ExecutionPermit> {
        let permit = explicit_approval::ask_explicit_approval(self, operation, title, enforced);
        if permit.is_none() {
            user_messages::print_line("openoxide: not retried");
        }
        permit
    }
}

/// Prints a hint if no person can be asked.
fn show_advice(remedy: &Remedy) {
    let Remedy::WritablePath(path) = remedy else {
        return user_messages::print_note(
            &"in a terminal you would be asked whether to run it without the sandbox",
        );
    };
    let place = std::path::Path::new(path.as_str());
    let directory = if place.is_dir() { Some(path.clone()) } else { path.parent() };
    let directory = directory.as_ref().map_or("", AbsPath::as_str);
    user_messages::print_note(&format!(
        "in a terminal you would be asked to allow changes to `{}`; `--add-dir {}` allows them",
        escape_text(path.as_str(), LineMode::SingleLine),
        escape_text(directory, LineMode::SingleLine),
    ));
}

/// Returns the runtime decision for an allowed operation. A rule's decision applies to the whole
/// run; a person chooses the scope.
fn decision_from_review(review: Option<&ReviewRecord>) -> RuntimeDecision {
    match review.map(ReviewRecord::response) {
        Some(ApprovalResponse::Approved { scope: GrantScope::Once, .. }) => RuntimeDecision::Once,
        Some(_) => RuntimeDecision::Session,
        None => RuntimeDecision::AllowedByRule,
    }
}
