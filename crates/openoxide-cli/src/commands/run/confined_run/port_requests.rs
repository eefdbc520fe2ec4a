//! Ports on which a confined command listens: a question whether to publish each one, or a note.

use openoxide_engine::{CheckOptions, RunHost as _};
use openoxide_protocol::{Action, Operation};
use openoxide_sandbox::{RuntimeDecision, SandboxReport};
use serde_json::json;

use super::run_context::RunContext;
use crate::{
    commands::{call_operation, run::approval::ApprovalVerdict},
    confinement_report::unpublished_port_note,
    user_messages,
};

impl RunContext<'_> {
    /// Decides whether a port is published, once for all attempts of the command. Only a person
    /// approves it. If no person can be asked, a note names what would publish it.
    pub(super) fn review_port(&self, port: u16, gone: &dyn Fn() -> bool) -> RuntimeDecision {
        let known = self.reviewed_ports.borrow().get(&port).copied();
        if let Some(answer) = known {
            return answer;
        }
        let answer = if self.engine.forbids_publishing() {
            user_messages::print_note(&format!(
                "a program listens on port {port}, reachable only inside the sandbox; the policy \
                 forbids to publish ports"
            ));
            RuntimeDecision::DeniedByRule
        } else if self.can_ask() {
            self.ask_about_port(port, gone)
        } else {
            user_messages::print_note(&unpublished_port_note(port));
            RuntimeDecision::DeniedByRule
        };
        // A question that was withdrawn is asked again if a program listens again.
        if answer.is_approval() || !gone() {
            self.reviewed_ports.borrow_mut().insert(port, answer);
        }
        answer
    }

    fn ask_about_port(&self, port: u16, gone: &dyn Fn() -> bool) -> RuntimeDecision {
        let operation = call_operation::new_person_operation(
            "PublishPort".to_owned(),
            Action::CallTool,
            json!({ "port": port }),
            self.engine.cwd(),
        );
        let operation = Operation { session: self.session, ..operation };
        let options = CheckOptions {
            title: Some(format!("publish port {port} at http://localhost:{port}?")),
            requires_explicit_approval: true,
            ..self.check_options()
        };
        let approval = self.check_operation(&operation, options, Some(gone));
        let approved = approval.is_ok_and(|approval| match approval.verdict {
            ApprovalVerdict::Allowed(permit) => permit.redeem_for(&operation),
            ApprovalVerdict::Denied(_) | ApprovalVerdict::Unanswerable(_) => false,
        });
        if !approved {
            return RuntimeDecision::Rejected;
        }
        user_messages::print_note(&format!(
            "port {port} is published at http://localhost:{port} until the command ends; \
             `publish = [{port}]` in `[sandbox]` of your policy publishes it without a question"
        ));
        RuntimeDecision::Session
    }

    /// Returns the report without the ports that were reported while the command ran.
    pub(super) fn without_reviewed_ports(&self, report: &SandboxReport) -> SandboxReport {
        let reviewed = self.reviewed_ports.borrow();
        let mut report = report.clone();
        report.listening_ports.retain(|port| !reviewed.contains_key(port));
        report
    }
}
