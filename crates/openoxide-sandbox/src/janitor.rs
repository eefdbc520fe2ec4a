//! Who takes placeholders away when the supervisor is killed.

use std::{io, os::fd::OwnedFd};

use rustix::{
    pipe::{PipeFlags, pipe_with},
    process::{Pid, Signal, WaitOptions, kill_process, setsid, waitpid},
};

use crate::{Guarded, Registry, sys};

/// A process that waits until the supervisor and all that it has made are gone, and then sweeps. Where no placeholder is
/// needed there is none.
#[derive(Debug)]
pub(crate) struct Janitor(Option<(Pid, OwnedFd)>);

impl Janitor {
    /// Makes it. This process must have one thread.
    pub(crate) fn start(registry: &Registry, guarded: &Guarded) -> io::Result<Self> {
        if !registry.is_needed(guarded) {
            return Ok(Self(None));
        }
        // The end for writing is held by this process and the first one inside, which both keep it to themselves.
        let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
        let Some(pid) = sys::fork_into(sys::Namespaces::NONE)? else {
            drop(write);
            sys::end(wait(registry, &read));
        };
        Ok(Self(Some((pid, write))))
    }

    /// Ends it: there is nothing left for it to do.
    pub(crate) fn dismiss(self) {
        if let Some((pid, _)) = self.0 {
            _ = kill_process(pid, Signal::KILL);
            _ = rustix::io::retry_on_intr(|| waitpid(Some(pid), WaitOptions::empty()));
        }
    }
}

fn wait(registry: &Registry, supervisor: &OwnedFd) -> i32 {
    // Whoever kills the supervisor's process group does not mean this.
    _ = setsid();
    _ = rustix::io::retry_on_intr(|| rustix::io::read(supervisor, &mut [0; 1]));
    i32::from(registry.sweep().is_err())
}
