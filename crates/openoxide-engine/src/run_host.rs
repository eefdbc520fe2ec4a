//! The options of a run, and the interface between the engine and the program that runs a command.

use std::{collections::BTreeSet, ffi::OsString};

use openoxide_protocol::{AbsPath, Operation, PublishedPort, SandboxRestrictions};
use openoxide_sandbox::{
    PostRunFinding, RunCanceller, RuntimeDecision, RuntimeRequest, SandboxReport,
};
use openoxide_store::audit::RequestedConfinement;

use crate::{
    audit_log::ConfinementRecord, captured_output::CapturedOutput, check_host::CheckHost,
    operation_check::ExecutionPermit, remedy::Remedy, sandbox_profile::CallerRestriction,
};

/// The options for running a permitted command.
#[derive(Clone, Debug)]
pub struct RunOptions<'a> {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The restrictions of the sandbox beyond the decision, or `None` to run without a sandbox.
    pub sandbox: Option<CallerRestriction>,
    /// The environment in the sandbox. Without a sandbox, the environment of this process is used,
    /// without variables that inject code.
    pub environment: Vec<(OsString, OsString)>,
    /// True if changes are staged and reviewed when the command has ended.
    pub stage: bool,
    /// True if changes are staged, and made without a question when the command has ended. The
    /// previous versions are kept.
    pub checkpoint: bool,
    /// True if a person is asked about changes outside of the profile while the command runs.
    pub live: bool,
    /// The ports at which programs of the host can connect to the command in the sandbox.
    pub published_ports: BTreeSet<PublishedPort>,
    /// The arguments with which this program starts itself as the supervisor of the sandbox.
    pub supervisor: &'a [&'a str],
    /// The output of the command, or `None` if it inherits the standard streams of this process.
    pub output: Option<CapturedOutput>,
}

/// The program that runs a permitted command. It answers questions and shows progress.
pub trait RunHost: CheckHost {
    /// Answers a request that a confined command waits for. `gone` returns true if the command no
    /// longer waits. In case of doubt the answer is a denial.
    fn answer(
        &self,
        question: &RuntimeRequest,
        held: &SandboxRestrictions,
        gone: &dyn Fn() -> bool,
    ) -> RuntimeDecision;

    /// Receives a handle that ends the command which has been started in the sandbox.
    fn on_attempt_started(&self, _canceller: RunCanceller) {}

    /// Shows the result of an attempt.
    fn on_attempt_ended(&self, report: &SandboxReport);

    /// Describes an attempt for the audit log.
    fn describe(&self, report: &SandboxReport) -> ConfinementRecord;

    /// Offers to restore files that an attempt has left and that were quarantined.
    fn on_quarantined_files(&self, found: &[PostRunFinding]);

    /// Returns whether a person can be asked about another attempt.
    fn can_ask(&self) -> bool;

    /// Returns whether a change of this path was refused while the command ran.
    fn was_refused(&self, path: &AbsPath) -> bool;

    /// Shows the remedy if no person can be asked.
    fn show_advice(&self, remedy: &Remedy);

    /// Asks a person this question about an operation. Only the person's answer permits the next
    /// attempt.
    fn approve_retry(
        &self,
        operation: &Operation,
        title: String,
        enforced: RequestedConfinement,
    ) -> Option<ExecutionPermit>;
}
