//! The first process inside: it makes the world that the program sees, starts it, and ends everything with it.

mod devices;
mod identity;
mod init;
mod mounts;
mod temporary;
mod worker;

pub(crate) use identity::Owner;

use std::os::fd::OwnedFd;

use rustix::process::Pid;

use crate::{
    Launch,
    error::{SandboxError, Step as _},
    protect::Mounted,
    seccomp, sys,
    wire::{Message, Wire},
};

/// Does everything, and returns the status of this process. It is alone in its namespaces and has one thread.
pub(crate) fn run(launch: &Launch, guards: &Mounted, owner: Owner, wire: &Wire) -> i32 {
    match begin(launch, guards, owner, wire) {
        Ok((worker, ended)) => init::attend(worker, &ended, wire),
        Err(SandboxError::Setup { step, error }) => {
            let error = error.raw_os_error().unwrap_or(libc::EIO);
            // Where the supervisor is gone, nobody is left to hear it.
            drop(wire.send(&Message::Failed { step, error }, &[]));
            1
        }
        Err(SandboxError::Unavailable { .. }) => 1,
    }
}

fn begin(
    launch: &Launch,
    guards: &Mounted,
    owner: Owner,
    wire: &Wire,
) -> Result<(Pid, OwnedFd), SandboxError> {
    owner.keep().step(|| "keeping the user's identity in a user namespace".to_owned())?;
    mounts::make(launch, guards)?;
    identity::close_to_others().step(|| "closing itself to others".to_owned())?;
    let ended = init::ended_children().step(|| "waiting for processes".to_owned())?;
    let filter = seccomp::filter(seccomp::Wanted { listen: false });
    let child = sys::fork_into(sys::Namespaces::NONE).step(|| "making a process".to_owned())?;
    match child {
        Some(worker) => Ok((worker, ended)),
        None => worker::become_program(launch, &filter, wire),
    }
}
