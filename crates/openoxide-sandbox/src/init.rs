//! The first process inside: it makes the world that the program sees, starts it, and ends everything with it.

mod devices;
mod identity;
mod mounts;
mod namespace_limits;
mod private_tmpfs;
mod reaper;
mod remount;
mod scratch_overlays;
mod staged_overlays;
pub(crate) mod worker;

use std::{ffi::CString, io, os::fd::OwnedFd};

pub(crate) use identity::HostIdentity;
use openoxide_protocol::NetworkAccess;
pub use private_tmpfs::is_temporary;
use remount::RemountState;

use crate::{
    LaunchConfig,
    error::{SandboxError, SetupContext as _},
    message_socket::{InitMessage, MessageSocket},
    network,
    progress::ProgressWriter,
    protected_paths::MountPlan,
    resource_shares::ResourceShares,
    seccomp_notify, sys, terminal,
};

/// The data that the init process needs.
pub(crate) struct InitContext<'a> {
    pub(crate) launch: &'a LaunchConfig,
    pub(crate) mount_plan: &'a MountPlan,
    pub(crate) identity: HostIdentity,
    pub(crate) socket: &'a MessageSocket,
    /// The writer that records the start and the end of the program.
    pub(crate) progress: &'a ProgressWriter,
    /// The run's share of the kernel objects that are counted per user.
    pub(crate) shares: &'a ResourceShares,
}

/// Sets the sandbox up, waits for the program, and returns the exit status of this process. The
/// process is alone in its namespaces and has one thread.
pub(crate) fn run(world: &InitContext<'_>) -> i32 {
    let wire = world.socket;
    match set_up(world) {
        Ok(init) => init.run(),
        Err(error) => {
            // If the supervisor is gone, no process receives the message.
            drop(wire.send(&failure_message(error), &[]));
            1
        }
    }
}

pub(crate) fn failure_message(error: SandboxError) -> InitMessage {
    let (step, error) = match error {
        SandboxError::Setup { step, error } => (step, error),
        other => (other.to_string(), io::ErrorKind::Other.into()),
    };
    InitMessage::Failed { step, error: error.raw_os_error().unwrap_or(libc::EIO) }
}

fn set_up<'a>(world: &InitContext<'a>) -> Result<reaper::InitProcess<'a>, SandboxError> {
    let InitContext { launch, mount_plan: guards, identity: owner, socket: wire, progress, shares } =
        *world;
    owner
        .map_identity()
        .with_step(|| "keeping the user's identity in a user namespace".to_owned())?;
    namespace_limits::apply_limits(shares);
    mounts::mount_all(launch, guards)?;
    if !matches!(launch.profile.network, NetworkAccess::On) {
        set_up_network(launch, wire).with_step(|| "making a network".to_owned())?;
    }
    let terminal = launch.terminal.then(|| send_terminal(wire)).transpose()?;
    identity::set_not_dumpable().with_step(|| "making the process undumpable".to_owned())?;
    let ended = reaper::child_exit_descriptor().with_step(|| "waiting for processes".to_owned())?;
    let unreadable = launch.profile.unreadable.iter().cloned().collect();
    let kept =
        RemountState::new(&guards.guards, unreadable).with_step(|| "watching mounts".to_owned())?;
    let child = sys::fork_into_namespaces(sys::NamespaceFlags::NONE)
        .with_step(|| "making a process".to_owned())?;
    match child {
        Some(worker) => Ok(reaper::InitProcess {
            worker,
            child_exits: ended,
            socket: wire,
            progress,
            remount_state: kept,
        }),
        None => worker::exec_program(world, terminal.as_deref()),
    }
}

/// Sets the network up, and gives away what the supervisor works with.
fn set_up_network(launch: &LaunchConfig, wire: &MessageSocket) -> io::Result<()> {
    wire.send(&InitMessage::Diagnostics, &[seccomp_notify::open_diagnostics()?])?;
    let listeners =
        network::namespace_setup::prepare(&launch.profile.network, launch.has_reviewer)?;
    if listeners.is_empty() {
        return Ok(());
    }
    network::namespace_setup::mount_resolv_conf()?;
    wire.send(&InitMessage::Listeners { port: None }, &listeners)
}

/// Makes a terminal for the program, and gives its outer end away. Returns the name of the inner one.
pub(crate) fn send_terminal(wire: &MessageSocket) -> Result<CString, SandboxError> {
    let made = terminal::open_pty().and_then(|(outer, name)| {
        wire.send(&InitMessage::Terminal, &[outer])?;
        Ok(name)
    });
    made.with_step(|| "making a terminal".to_owned())
}

/// Listens on one more port, and gives the sockets away; none where that cannot be.
fn listen_on_port(port: u16, wire: &MessageSocket) {
    let listeners: Vec<OwnedFd> = network::namespace_setup::listen(port).unwrap_or_default();
    // Where the supervisor is gone, that is noticed next.
    drop(wire.send(&InitMessage::Listeners { port: Some(port) }, &listeners));
}
