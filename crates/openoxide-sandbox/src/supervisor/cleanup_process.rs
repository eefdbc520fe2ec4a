//! A process that removes placeholders and quarantines new hooks if the supervisor is killed.

use std::{io, os::fd::OwnedFd, thread, time::Duration};

use openoxide_protocol::SandboxRestrictions;
use rustix::{
    pipe::{PipeFlags, pipe_with},
    process::{Pid, Signal, kill_process, setsid},
};

use crate::{
    post_run::quarantine_new_files,
    protected_paths::{PlaceholderRegistry, ProtectedPaths},
    resource_limits::ControlGroup,
    supervisor::stale_runs::remove_stale,
    sys,
};

/// The first process inside closes its files before the kernel ends the others.
const EXIT_GRACE_PERIOD: Duration = Duration::from_millis(100);

/// A process that waits until the supervisor and all its children are gone, and then removes
/// placeholders and looks for new hooks. No other process would know which hooks are new. It is not
/// started if nothing is writable, no placeholder is needed and there is no control group.
#[derive(Debug)]
pub(crate) struct CleanupProcess(Option<(Pid, OwnedFd)>);

impl CleanupProcess {
    /// Starts the process. `placed` are the paths of placeholders. The calling process must have only one thread.
    pub(crate) fn start(
        registry: &PlaceholderRegistry,
        guarded: &ProtectedPaths,
        placed: &ProtectedPaths,
        profile: &SandboxRestrictions,
        group: Option<&ControlGroup>,
    ) -> io::Result<Self> {
        let idle = profile.writable.is_empty() && !registry.is_needed(placed);
        if idle && group.is_none() {
            return Ok(Self(None));
        }
        // Only this process and the first one inside have the write end of the pipe.
        let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
        let Some(pid) = sys::fork_into_namespaces(sys::NamespaceFlags::NONE)? else {
            drop(write);
            wait_for_supervisor(&read);
            let swept = remove_stale(registry);
            thread::sleep(EXIT_GRACE_PERIOD);
            group.iter().for_each(|group| group.remove());
            // No process is left to report to. The new names show what happened.
            drop(quarantine_new_files(guarded, profile));
            sys::exit_process(i32::from(swept.is_err()));
        };
        Ok(Self(Some((pid, write))))
    }

    /// Stops the process, because there is nothing left to clean up.
    ///
    /// It is not waited for: it is the last process that has the inotify instance of the run open,
    /// and the kernel takes 10 to 20 ms to close that. A killed process does nothing more.
    pub(crate) fn stop(self) {
        if let Some((pid, _)) = self.0 {
            _ = kill_process(pid, Signal::KILL);
        }
    }
}

fn wait_for_supervisor(supervisor: &OwnedFd) {
    // A signal to the supervisor's process group must not kill this process.
    _ = setsid();
    _ = rustix::io::retry_on_intr(|| rustix::io::read(supervisor, &mut [0; 1]));
}
