//! One attempt to confine a program, by one backend.

use std::{io, mem, os::fd::OwnedFd, path::Path};

use openoxide_protocol::NetworkAccess;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use crate::{
    backend::EnforcementPlan,
    init::{self, HostIdentity, InitContext, bwrap_init},
    interface::{LaunchConfig, PostRunFinding, SandboxError, SandboxReport, SetupContext as _},
    ipc::{MessageSocket, ProgressWriter},
    network::PublishedListener,
    post_run::{apply_private_configs, hold_private_hooks, limit_findings},
    protected_paths::{MountPlan, ProtectedPaths},
    resource_limits::{ControlGroup, ResourceShares},
    staging::stage_private_copies,
    supervisor::{
        directory_watches::DirectoryWatches,
        event_loop::{self, SupervisorLoop},
        post_run_scan::PostRunScan,
        review_relay::ReviewRelay,
        run_killer::RunKiller,
        streams::StreamPipes,
        terminal_lease::TerminalLease,
    },
    sys,
};

/// One attempt to run a program with a backend.
pub(super) struct BackendAttempt<'a> {
    pub(super) launch: &'a LaunchConfig,
    pub(super) protected_paths: &'a ProtectedPaths,
    /// The control group that limits memory and processes, if there is one.
    pub(super) group: Option<&'a ControlGroup>,
    pub(super) mount_plan: &'a MountPlan,
    pub(super) reviews: Option<ReviewRelay>,
    /// The record of the program's start and end.
    pub(super) progress: &'a ProgressWriter,
    /// The terminal, which either the program or a question uses.
    pub(super) terminal_lease: TerminalLease,
    /// The listeners of the host for published ports.
    pub(super) published_listeners: Vec<PublishedListener>,
    /// The instance for the watches of the writable directories, until a run uses it.
    pub(super) watches: Option<DirectoryWatches>,
    /// True if the confinement was complete, so the program may have started.
    pub(super) is_set_up: bool,
}

/// The process that is started first.
#[derive(Clone, Copy)]
struct FirstProcess {
    namespaces: sys::NamespaceFlags,
    run: fn(&InitContext<'_>) -> i32,
    /// The signal that ends the process.
    end_signal: Signal,
}

impl BackendAttempt<'_> {
    /// Runs the program in new namespaces.
    ///
    /// # Errors
    /// The outer error means that the sandbox was never set up. This process still has one thread,
    /// nothing was read from its input, and another backend can be tried.
    pub(super) fn run_in_namespaces(
        &mut self,
    ) -> Result<Result<SandboxReport, SandboxError>, SandboxError> {
        let network = !matches!(self.launch.profile.network, NetworkAccess::On);
        let namespaces = sys::NamespaceFlags::all(network);
        self.run(FirstProcess { namespaces, run: init::run, end_signal: Signal::KILL })
    }

    /// Runs the program with `bwrap`, which enforces this plan.
    ///
    /// # Errors
    /// Returns an error if the confinement could not be set up. Nothing was run then.
    pub(super) fn run_in_bubblewrap(
        &mut self,
        plan: &EnforcementPlan,
    ) -> Result<SandboxReport, SandboxError> {
        if self.launch.staging_directory.is_some() {
            let why = || "the backend `bubblewrap` cannot stage changes".to_owned();
            return Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP)).with_step(why);
        }
        let namespaces = sys::NamespaceFlags::NONE;
        // The first process makes sure that all the others end before it does.
        let first = FirstProcess { namespaces, run: bwrap_init::run, end_signal: Signal::TERM };
        let mut report = self.run(first)??;
        report.findings.extend(self.launch.saved_files.iter().map(|path| {
            let reason = "the backend `bubblewrap` does not save temporary files".to_owned();
            PostRunFinding::UnsavedFile { path: path.clone(), reason }
        }));
        Ok(SandboxReport { plan: plan.clone(), ..report })
    }

    fn run(
        &mut self,
        by: FirstProcess,
    ) -> Result<Result<SandboxReport, SandboxError>, SandboxError> {
        let (wire, inner) = MessageSocket::pair().with_step(|| "making a socket".to_owned())?;
        let signals = sys::create_signalfd(event_loop::HANDLED_SIGNALS);
        let signals = signals.with_step(|| "receiving signals".to_owned())?;
        let streams = StreamPipes::create(self.launch.terminal)
            .with_step(|| "inspecting the standard streams".to_owned())?;
        let owner = HostIdentity::current();
        let shares = ResourceShares::acquire(Path::new(self.launch.registry.as_str()));
        let first = match self.group {
            Some(group) => group.fork_into_group(by.namespaces),
            None => sys::fork_into_namespaces(by.namespaces),
        };
        let Some(first) = first.with_step(|| "making namespaces".to_owned())? else {
            drop((wire, self.reviews.take(), mem::take(&mut self.published_listeners)));
            drop(self.watches.take());
            let (launch, guards, progress) = (self.launch, self.mount_plan, self.progress);
            let shares = &shares;
            let world = InitContext {
                launch,
                mount_plan: guards,
                identity: owner,
                socket: &inner,
                progress,
                shares,
                address_space: launch.limits.memory.filter(|_| self.group.is_none()),
            };
            sys::exit_process(streams.install().map_or(1, |()| (by.run)(&world)));
        };
        drop(inner);
        let turn = self.terminal_lease.clone();
        let staged = self.launch.staging_directory.is_some();
        // A staged run changes no file of the host before it ends.
        let killer = (!staged).then(|| RunKiller::new(first, by.end_signal)).transpose();
        let killer = killer.inspect_err(|_| end_process(first, by.end_signal));
        let killer = killer.with_step(|| "opening the first process".to_owned())?;
        let watches = self.watches.take().or_else(DirectoryWatches::new);
        let (guarded, profile) = (self.protected_paths, &self.launch.profile);
        let aftermath = PostRunScan::start(guarded, profile, watches, killer);
        let mut attendant = SupervisorLoop::new(self.launch, wire, signals, &mut self.reviews);
        attendant.publish(mem::take(&mut self.published_listeners));
        attendant.set_placeholder_directories(self.mount_plan.placeholder_directories.clone());
        let ready = attendant.wait_until_ready();
        self.is_set_up |= ready.is_ok();
        let relayed = ready.and_then(|()| {
            streams.start_forwarding(&turn).with_step(|| "making a thread".to_owned())
        });
        let ran = relayed.map(|relayed| (attendant.wait_for_exit(), relayed));
        end_process(first, by.end_signal);
        let (end, relayed) = match ran {
            Ok(ran) => ran,
            Err(error) => {
                aftermath.cancel();
                return Err(error);
            }
        };
        attendant.finish_forwarding();
        attendant.remove_placeholders();
        Ok(end.map(|end| {
            let tail = relayed.finish(end);
            let mut found = aftermath.collect_findings();
            if let Some(copies) = attendant.private_configs() {
                found.extend(collect_private_changes(self.launch, self.mount_plan, copies));
            }
            found.extend(attendant.save_files());
            // A staged run does not change files through other hard links.
            found.retain(|one| !(staged && matches!(one, PostRunFinding::HardLink { .. })));
            let report = attendant.build_report(end, tail.as_ref());
            found.extend(report.findings);
            SandboxReport { findings: found, ..report }
        }))
    }
}

/// Stages or applies the changes of private copies, and returns findings about the others.
fn collect_private_changes(
    launch: &LaunchConfig,
    plan: &MountPlan,
    copies: &OwnedFd,
) -> Vec<PostRunFinding> {
    if let Some(stage) = &launch.staging_directory {
        return limit_findings(stage_private_copies(copies, plan, stage, &launch.profile));
    }
    let mut found = apply_private_configs(copies, &plan.private_configs);
    found.extend(limit_findings(hold_private_hooks(copies, &plan.private_hooks)));
    found
}

fn end_process(first: Pid, signal: Signal) {
    _ = kill_process(first, signal);
    _ = rustix::io::retry_on_intr(|| waitpid(Some(first), WaitOptions::empty()));
}
