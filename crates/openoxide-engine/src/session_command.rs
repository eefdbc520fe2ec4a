//! Running a shell command of an agent in the sandbox.

use std::{cell::RefCell, collections::BTreeSet, ffi::OsString, io, process::ExitStatus};

use openoxide_sandbox::SandboxReport;
use openoxide_store::audit::RequestedConfinement;
use serde_json::json;
use thiserror::Error;

use crate::{
    agent_session::AgentSession,
    captured_output::CapturedOutput,
    engine::Engine,
    environment::{sandbox_env, select_env},
    error::ProfileError,
    not_permitted_error::NotPermittedError,
    operation_check::ExecutionPermit,
    reviewer::Reviewer,
    run::PlannedRunError,
    run_host::RunOptions,
    sandbox_profile::CallerRestriction,
    session_run_host::{ReviewParts, SessionRunHost},
    supervisor_entry::{SUPERVISOR_ARGS, is_supervisor_ready},
};

/// The result of a command that has run.
#[derive(Debug)]
pub struct CommandResult {
    /// The status of the command.
    pub status: ExitStatus,
    /// The output of the command.
    pub output: CapturedOutput,
    /// The report of the sandbox, or `None` if the policy lets the command run without one.
    pub report: Option<SandboxReport>,
}

/// An error that prevents a command from being run to its end.
#[derive(Debug, Error)]
pub enum CommandRunError {
    /// The command may not be executed.
    #[error(transparent)]
    NotPermitted(#[from] NotPermittedError),
    /// The program does not start supervisors, so there is no sandbox. Nothing was run.
    #[error("the program must call `openoxide_engine::run_as_supervisor` first in `main`")]
    NoSupervisor,
    /// No profile could be derived from the decision. Nothing was run.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// The sandbox could not be set up. Nothing was run.
    #[error(transparent)]
    NotRun(#[from] PlannedRunError),
    /// The host was interrupted while the command ran, and its processes were killed.
    #[error("the command was interrupted")]
    Interrupted,
    /// The command could not be started, or exceeded its time limit.
    #[error("the command did not run to its end: {0}")]
    NotEnded(io::Error),
}

impl AgentSession {
    /// Decides about a shell command as [`Self::request_permit`] does, and runs it with bash in the
    /// sandbox, in the working directory of the session. Its input is empty, and its output is
    /// captured. [`BasicHost::interrupt`](crate::BasicHost::interrupt) kills it.
    ///
    /// The sandbox enforces what was decided: the command changes only the files of the decision,
    /// and reaches only hosts that a rule or the reviewer allows. If it connects to another host,
    /// the reviewer is asked while it waits. The limits of time and memory are those of the policy.
    ///
    /// The sandbox starts this program again: call [`run_as_supervisor`](crate::run_as_supervisor)
    /// first in `main`.
    ///
    /// # Errors
    /// Returns an error if the command was not permitted or did not run to its end. A command that
    /// ends with a status other than 0 is not an error.
    pub fn run_command(
        &mut self,
        script: &str,
        reviewer: &mut dyn Reviewer,
    ) -> Result<CommandResult, CommandRunError> {
        if !is_supervisor_ready() {
            return Err(CommandRunError::NoSupervisor);
        }
        let operation = self.new_operation("Bash", &json!({ "command": script }));
        let options = self.check_options(RequestedConfinement::Confined);
        let permit = self.request_permit_for(&operation, options, &mut *reviewer)?;
        self.run_permitted(permit, script, reviewer)
    }

    fn run_permitted(
        &mut self,
        permit: ExecutionPermit,
        script: &str,
        reviewer: &mut dyn Reviewer,
    ) -> Result<CommandResult, CommandRunError> {
        let Self { engine, host, approvals, caller } = self;
        let host = SessionRunHost {
            engine,
            caller: *caller,
            host,
            review: RefCell::new(ReviewParts { approvals, reviewer }),
            report: RefCell::new(None),
        };
        let output = CapturedOutput::default();
        let options = RunOptions {
            argv: ["bash", "--norc", "--noprofile", "-c", script].map(str::to_owned).into(),
            sandbox: Some(CallerRestriction::AsDecided),
            environment: engine.sandbox_environment(),
            stage: false,
            checkpoint: false,
            live: false,
            published_ports: BTreeSet::new(),
            supervisor: &SUPERVISOR_ARGS,
            output: Some(output.clone()),
        };
        let ended = permit.plan(engine, options, &host)?.run(&host);
        host.host.set_canceller(None);
        if host.host.is_interrupted() {
            return Err(CommandRunError::Interrupted);
        }
        let status = ended?.status.map_err(CommandRunError::NotEnded)?;
        Ok(CommandResult { status, output, report: host.report.into_inner() })
    }
}

impl Engine {
    /// Returns the environment of a command in the sandbox: the variables that programs need to
    /// find their files, and those that the policy names.
    fn sandbox_environment(&self) -> Vec<(OsString, OsString)> {
        let named = &self.sandbox_settings().environment;
        let is_named = |name: &OsString| named.contains(&*name.to_string_lossy());
        let usual = sandbox_env().filter(|(name, _)| !is_named(name));
        select_env(named).chain(usual).collect()
    }
}
