//! Killing of a run by a thread that finds a reason for it.

use std::{io, os::fd::OwnedFd};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// A handle that kills the first process of a run, and with it all others.
#[derive(Debug)]
pub(super) struct RunKiller {
    first_process: OwnedFd,
    end_signal: Signal,
}

impl RunKiller {
    /// Creates a handle for the first process, which must be a child that was not waited for.
    pub(super) fn new(first_process: Pid, end_signal: Signal) -> io::Result<Self> {
        let first_process = pidfd_open(first_process, PidfdFlags::empty())?;
        Ok(Self { first_process, end_signal })
    }

    /// Ends all processes of the run. The event loop notices it when its socket is closed.
    pub(super) fn kill_all(&self) {
        // If the first process has ended, all others have ended with it.
        _ = pidfd_send_signal(&self.first_process, self.end_signal);
    }
}
