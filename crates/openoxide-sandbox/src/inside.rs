//! The first process inside: it makes the world that the program sees, starts it, and ends everything with it.

mod counted;
mod devices;
mod identity;
mod init;
mod kept;
mod mounts;
mod scratch;
mod staged;
mod temporary;
pub(crate) mod worker;

use std::{ffi::CString, io, os::fd::OwnedFd};

pub(crate) use identity::Owner;
use kept::Kept;
use openoxide_protocol::Network;
pub use temporary::holds as is_temporary;

use crate::{
    Launch,
    error::{SandboxError, Step as _},
    network, notify,
    progress::ProgressWriter,
    protect::Mounted,
    shares::Shares,
    sys, terminal,
    wire::{Message, Wire},
};

/// What the first process needs to know.
pub(crate) struct World<'a> {
    pub(crate) launch: &'a Launch,
    pub(crate) guards: &'a Mounted,
    pub(crate) owner: Owner,
    pub(crate) wire: &'a Wire,
    /// Where the program's start and end are recorded.
    pub(crate) progress: &'a ProgressWriter,
    /// What the run may have of objects that are counted for the user.
    pub(crate) shares: &'a Shares,
}

/// Does everything, and returns the status of this process. It is alone in its namespaces and has one thread.
pub(crate) fn run(world: &World<'_>) -> i32 {
    let wire = world.wire;
    match begin(world) {
        Ok(init) => init.attend(),
        Err(error) => {
            // Where the supervisor is gone, nobody is left to hear it.
            drop(wire.send(&failure(error), &[]));
            1
        }
    }
}

pub(crate) fn failure(error: SandboxError) -> Message {
    let (step, error) = match error {
        SandboxError::Setup { step, error } => (step, error),
        other => (other.to_string(), io::ErrorKind::Other.into()),
    };
    Message::Failed { step, error: error.raw_os_error().unwrap_or(libc::EIO) }
}

fn begin<'a>(world: &World<'a>) -> Result<init::Init<'a>, SandboxError> {
    let World { launch, guards, owner, wire, progress, shares } = *world;
    owner.keep().step(|| "keeping the user's identity in a user namespace".to_owned())?;
    counted::bound(shares);
    mounts::make(launch, guards)?;
    if !matches!(launch.profile.network, Network::On) {
        network(launch, wire).step(|| "making a network".to_owned())?;
    }
    let terminal = launch.terminal.then(|| give_terminal(wire)).transpose()?;
    identity::close_to_others().step(|| "closing itself to others".to_owned())?;
    let ended = init::ended_children().step(|| "waiting for processes".to_owned())?;
    let unreadable = launch.profile.unreadable.iter().cloned().collect();
    let kept = Kept::new(&guards.guards, unreadable).step(|| "watching mounts".to_owned())?;
    let child = sys::fork_into(sys::Namespaces::NONE).step(|| "making a process".to_owned())?;
    match child {
        Some(worker) => Ok(init::Init { worker, ended, wire, progress, kept }),
        None => worker::become_program(world, terminal.as_deref()),
    }
}

/// Sets the network up, and gives away what the supervisor works with.
fn network(launch: &Launch, wire: &Wire) -> io::Result<()> {
    wire.send(&Message::Diagnostics, &[notify::diagnostics()?])?;
    let listeners = network::inside::prepare(&launch.profile.network, launch.ask)?;
    if listeners.is_empty() {
        return Ok(());
    }
    network::inside::name_server()?;
    wire.send(&Message::Listeners { port: None }, &listeners)
}

/// Makes a terminal for the program, and gives its outer end away. Returns the name of the inner one.
pub(crate) fn give_terminal(wire: &Wire) -> Result<CString, SandboxError> {
    let made = terminal::pair().and_then(|(outer, name)| {
        wire.send(&Message::Terminal, &[outer])?;
        Ok(name)
    });
    made.step(|| "making a terminal".to_owned())
}

/// Listens on one more port, and gives the sockets away; none where that cannot be.
fn listen(port: u16, wire: &Wire) {
    let listeners: Vec<OwnedFd> = network::inside::listen(port).unwrap_or_default();
    // Where the supervisor is gone, that is noticed next.
    drop(wire.send(&Message::Listeners { port: Some(port) }, &listeners));
}
