//! Running a permitted command, with retries that a person approves.

use std::{
    collections::BTreeSet,
    env, io,
    os::unix::process::ExitStatusExt as _,
    process::{Command, ExitStatus},
    time::Instant,
};

use openoxide_protocol::{
    AbsPath, Access, AccessRoute, Decision, NetworkAccess, Obligation, Operation, PublishedPort,
    SandboxRestrictions, SocketAccess,
};
use openoxide_sandbox::{
    CommandOutcome, ConfinedRun, LaunchConfig, ResourceLimits, RuntimeRequest, SandboxError,
    SandboxReport, StagingArea, has_terminal, project_layer_directory,
};
use openoxide_store::SandboxSettings;
use thiserror::Error;

use crate::{
    audit_log::ConfinementRecord,
    check_host::CheckHost,
    engine::Engine,
    engine_warning::EngineWarning,
    environment::sanitized_env,
    error::ProfileError,
    operation_check::ExecutionPermit,
    private_directories::{private_directories, project_directory},
    private_temp::{
        edited_paths, explicitly_granted, saved_temporary_files, visible_temporary_paths,
    },
    registry_retries::set_retry_variables,
    retry::{Attempt, Retries},
    run_host::{RunHost, RunOptions},
    sandbox_directories::registry_directory,
    sandbox_profile::{canonicalize_existing, canonicalize_or_keep},
    ssh_access::SshAccess,
};

/// A permitted command with its sandbox profile.
#[must_use]
#[derive(Debug)]
pub struct PlannedRun<'a> {
    engine: &'a Engine,
    permit: ExecutionPermit,
    options: RunOptions<'a>,
    held: Option<SandboxRestrictions>,
}

/// The result of running a command.
#[derive(Debug)]
pub struct RunReport {
    /// The status of the last attempt, or why it did not start.
    pub status: io::Result<ExitStatus>,
    /// The staged changes, if changes were staged.
    pub stage: Option<StagingArea>,
}

/// An error that prevents a permitted command from being run.
#[derive(Debug, Error)]
pub enum PlannedRunError {
    /// The permit was given for another operation.
    #[error("the permit is for another operation")]
    WrongOperation,
    /// The working directory was replaced after the check.
    #[error("the working directory is not the one that was checked")]
    DirectoryChanged,
    /// The sandbox could not be set up.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
}

impl ExecutionPermit {
    /// Derives the profile under which the permitted command runs.
    ///
    /// # Errors
    /// If no profile can be derived, or if the decision requires the sandbox and the options do not
    /// use it. Nothing may be run then.
    pub fn plan<'a>(
        self,
        engine: &'a Engine,
        options: RunOptions<'a>,
        host: &dyn CheckHost,
    ) -> Result<PlannedRun<'a>, ProfileError> {
        let held = match options.sandbox {
            Some(restriction) => {
                let restriction = engine.restriction_for(self.decision(), restriction);
                engine.sandbox_profile(self.decision(), restriction, host)?
            }
            None if self.decision().obligations.contains(&Obligation::Sandboxed) => {
                return Err(ProfileError::SandboxRequired);
            }
            None => None,
        };
        Ok(PlannedRun { engine, permit: self, options, held })
    }
}

impl PlannedRun<'_> {
    /// Returns the decision that permits the command.
    pub const fn decision(&self) -> &Decision {
        self.permit.decision()
    }

    /// Returns the profile of the first attempt, or `None` if it runs without a sandbox.
    #[must_use]
    pub const fn profile(&self) -> Option<&SandboxRestrictions> {
        self.held.as_ref()
    }

    /// Runs the command. If the sandbox stops it and a person approves the denied access, it runs
    /// again. Each attempt is recorded. The permit is used, whatever the outcome.
    ///
    /// # Errors
    /// If the sandbox could not be set up. Nothing was run in that attempt.
    pub fn run(self, host: &dyn RunHost) -> Result<RunReport, PlannedRunError> {
        let Self { engine, permit, options, held } = self;
        let (decision, record) = (permit.decision().clone(), permit.record_seq());
        let operation = permit.operation().clone();
        let is_same_directory = permit.is_in_same_directory();
        if !permit.redeem_for(&operation) {
            return Err(PlannedRunError::WrongOperation);
        }
        if !is_same_directory {
            return Err(PlannedRunError::DirectoryChanged);
        }
        let launcher = Launcher { engine, operation: &operation, options: &options };
        let places = GrantedPlaces::new(&decision, engine.home());
        let mut retries = Retries::new(engine, &operation, &options, decision.clone(), host);
        let mut next = Attempt { held, record };
        loop {
            let began = Instant::now();
            let Attempt { held: Some(held), record } = next else {
                let status = launcher.run_without_sandbox();
                let confinement = ConfinementRecord::default();
                engine.record_outcome(next.record, &status, began, confinement, host);
                return Ok(RunReport { status, stage: None });
            };
            let (report, stage) = launcher.confined(&held, &places, host)?;
            host.on_attempt_ended(&report);
            let status = exit_status(report.outcome);
            let checkpoint = stage.as_ref().filter(|_| options.checkpoint).map(StagingArea::id);
            let confinement = ConfinementRecord { checkpoint, ..host.describe(&report) };
            engine.record_outcome(record, &status, began, confinement, host);
            host.on_quarantined_files(&report.findings);
            match retries.after(&report, &held) {
                Some(again) => next = again,
                None => return Ok(RunReport { status, stage }),
            }
        }
    }
}

impl Engine {
    /// Records the outcome of a command, if its decision was recorded.
    pub fn record_outcome(
        &self,
        of: Option<u64>,
        status: &io::Result<ExitStatus>,
        began: Instant,
        confinement: ConfinementRecord,
        host: &dyn CheckHost,
    ) {
        let Some(of) = of else { return };
        let written = self.audit_log.record_outcome(of, status, began.elapsed(), confinement);
        if let Err(error) = written {
            host.warn(EngineWarning::NotRecorded(error));
        }
    }
}

/// The paths of a decision that the sandbox would hide or protect otherwise.
struct GrantedPlaces<'a> {
    /// The decision.
    decision: &'a Decision,
    /// Steering files that may be changed.
    changeable: BTreeSet<AbsPath>,
    /// Paths that are visible below the directories for temporary files.
    shown: BTreeSet<AbsPath>,
    /// Sockets of services outside that a person approved or a rule allows.
    sockets: BTreeSet<SocketAccess>,
}

impl<'a> GrantedPlaces<'a> {
    fn new(decision: &'a Decision, home: Option<&AbsPath>) -> Self {
        Self {
            decision,
            changeable: changeable(decision),
            shown: visible_temporary_paths(Some(decision), home),
            sockets: granted_sockets(decision),
        }
    }
}

/// Returns the attempts of a command.
struct Launcher<'a> {
    engine: &'a Engine,
    operation: &'a Operation,
    options: &'a RunOptions<'a>,
}

impl Launcher<'_> {
    /// The host decides about other hosts and, if the options say so, about changes of other files.
    fn confined(
        &self,
        held: &SandboxRestrictions,
        places: &GrantedPlaces<'_>,
        host: &dyn RunHost,
    ) -> Result<(SandboxReport, Option<StagingArea>), SandboxError> {
        let registry = registry_directory(self.engine.environment()).map_err(|error| {
            let step = "locating the registry".to_owned();
            SandboxError::Setup { step, error: io::Error::other(error) }
        })?;
        let options = self.options;
        let is_staged = options.stage || options.checkpoint;
        let stage = is_staged.then(|| StagingArea::prepare(&registry, held)).transpose()?;
        let cwd = canonicalize_or_keep(&self.operation.cwd);
        let ssh = SshAccess::new(self.engine);
        let mut environment = options.environment.clone();
        ssh.set_agent_variable(&mut environment);
        set_retry_variables(&mut environment, &held.network);
        let launch = LaunchConfig {
            staging_directory: stage.as_ref().map(StagingArea::directory).transpose()?,
            private_directories: private_directories(
                held,
                self.engine.home(),
                Some(places.decision),
            ),
            private_base: self.engine.home().and_then(canonicalize_existing),
            layer_directory: project_directory(held, &cwd)
                .and_then(|project| project_layer_directory(&registry, &project)),
            visible_paths: places.shown.clone(),
            saved_files: saved_temporary_files(
                places.decision,
                held,
                self.engine.roots(),
                self.engine.home(),
            ),
            profile: held.clone(),
            changeable_paths: places.changeable.clone(),
            argv: options.argv.iter().map(Into::into).collect(),
            cwd,
            environment,
            terminal: options.output.is_none() && has_terminal(),
            has_reviewer: true,
            granted_sockets: places.sockets.clone(),
            ssh_agent: ssh.agent,
            readable_copies: ssh.readable_files,
            reviews_file_changes: options.live,
            private_hosts: self.engine.private_hosts(),
            published_ports: published_ports(options, held),
            published_on_listen: published_on_listen(self.engine, held),
            limits: limits(self.engine.sandbox_settings()),
            registry,
        };
        let mut ask =
            |question: RuntimeRequest, gone: &dyn Fn() -> bool| host.answer(&question, held, gone);
        let supervised = self.run_captured(self.supervisor()?, |supervisor| {
            let run = ConfinedRun::start(&launch, supervisor)?;
            host.on_attempt_started(run.canceller());
            run.wait(&mut ask)
        });
        Ok((supervised.map_err(start_error)??, stage))
    }

    /// Returns the command that starts the supervisor of the sandbox.
    fn supervisor(&self) -> Result<Command, SandboxError> {
        let mut command = Command::new(env::current_exe().map_err(start_error)?);
        command.args(self.options.supervisor);
        Ok(command)
    }

    fn run_without_sandbox(&self) -> io::Result<ExitStatus> {
        self.run_captured(self.command(), |mut command| command.status()).flatten()
    }

    /// Runs a command whose output is captured if the options say so.
    fn run_captured<T>(&self, command: Command, run: impl FnOnce(Command) -> T) -> io::Result<T> {
        match &self.options.output {
            Some(output) => output.capture(command, run),
            None => Ok(run(command)),
        }
    }

    /// Returns the command without a sandbox. Its environment contains no variable that makes bash
    /// run something else first.
    fn command(&self) -> Command {
        let argv = &self.options.argv;
        let mut command = Command::new(argv.first().map_or("", String::as_str));
        command.args(argv.iter().skip(1));
        command.current_dir(self.operation.cwd.as_str());
        command.env_clear().envs(sanitized_env());
        command
    }
}

/// Returns the ports to publish. A command that uses the host's network publishes its ports itself.
fn published_ports(
    options: &RunOptions<'_>,
    held: &SandboxRestrictions,
) -> BTreeSet<PublishedPort> {
    let is_shared = held.network == NetworkAccess::On;
    if is_shared { BTreeSet::new() } else { options.published_ports.clone() }
}

/// Returns the ports of the policy to publish when a program listens on them.
fn published_on_listen(engine: &Engine, held: &SandboxRestrictions) -> BTreeSet<PublishedPort> {
    let ports: BTreeSet<_> = engine.sandbox_settings().publish.ports().collect();
    let is_unused = ports.is_empty() || held.network == NetworkAccess::On;
    if is_unused || engine.forbids_publishing() { BTreeSet::new() } else { ports }
}

fn start_error(error: io::Error) -> SandboxError {
    SandboxError::Setup { step: "starting the supervisor".to_owned(), error }
}

/// Returns the files whose change was allowed by name. Steering files among them stay writable.
fn changeable(decision: &Decision) -> BTreeSet<AbsPath> {
    edited_paths(decision).map(|path| canonicalize_or_keep(&path)).collect()
}

/// Returns the sockets of services outside that a person approved or a rule allows. If a rule
/// allowed the command and none matches its sockets, the sandbox asks when it connects.
fn granted_sockets(decision: &Decision) -> BTreeSet<SocketAccess> {
    let sockets = explicitly_granted(decision).filter_map(|access| {
        let Access::Socket(socket) = access else { return None };
        Some(SocketAccess { route: AccessRoute::Direct, ..socket.clone() })
    });
    sockets.collect()
}

fn limits(settings: &SandboxSettings) -> ResourceLimits {
    ResourceLimits {
        seconds: settings.limits.seconds.map(u64::from),
        memory: settings.limits.memory.map(|mebibytes| u64::from(mebibytes) << 20),
        processes: settings.limits.processes.map(u64::from),
    }
}

/// Returns the status of a command as it would be without a sandbox.
fn exit_status(end: CommandOutcome) -> io::Result<ExitStatus> {
    match end {
        CommandOutcome::Exited(status) => Ok(ExitStatus::from_raw(i32::from(status) << 8)),
        CommandOutcome::Signalled(signal) => Ok(ExitStatus::from_raw(i32::from(signal))),
        CommandOutcome::TimedOut => Err(io::ErrorKind::TimedOut.into()),
        CommandOutcome::NotFound => Err(io::ErrorKind::NotFound.into()),
        CommandOutcome::NotStarted(error) => Err(io::Error::from_raw_os_error(error)),
    }
}
