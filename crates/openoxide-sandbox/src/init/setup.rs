//! The setup of a sandbox by the first process inside.

use std::io;

use openoxide_protocol::NetworkAccess;

use crate::{
    backend::INIT_NAME,
    init::{
        identity,
        init_context::{InitContext, failure_message},
        mounts::{self, ReportedTrees},
        namespace_limits,
        program_terminal::{self, send_terminal},
        reaper,
        remount::RemountState,
        worker,
    },
    interface::{LaunchConfig, SandboxError, SetupContext as _},
    ipc::{InitMessage, MessageSocket},
    network::{namespace_setup, open_diagnostics},
    sys,
};

/// Sets up the sandbox, waits for the program, and returns the exit status of this process. The
/// process is the only one in its namespaces and has one thread.
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

fn set_up<'a>(world: &InitContext<'a>) -> Result<reaper::InitProcess<'a>, SandboxError> {
    let InitContext {
        launch,
        mount_plan: guards,
        identity: owner,
        socket: wire,
        progress,
        shares,
        ..
    } = *world;
    rustix::thread::set_name(INIT_NAME).with_step(|| "naming the first process".to_owned())?;
    owner
        .map_identity()
        .with_step(|| "keeping the user's identity in a user namespace".to_owned())?;
    namespace_limits::apply_limits(shares);
    let trees = mounts::mount_all(launch, guards)?;
    send_trees(world, trees).with_step(|| "reporting to the supervisor".to_owned())?;
    if !matches!(launch.profile.network, NetworkAccess::On) {
        set_up_network(launch, wire).with_step(|| "making a network".to_owned())?;
    }
    let terminal = launch.terminal.then(|| send_terminal(wire)).transpose()?;
    // Open in the worker until it executes the program: when the inner end is closed everywhere, the
    // outer end reports the end of the output.
    let _inner = terminal
        .as_deref()
        .map(program_terminal::lead_session)
        .transpose()
        .with_step(|| "making a session with a terminal".to_owned())?;
    identity::set_not_dumpable().with_step(|| "making the process undumpable".to_owned())?;
    let ended = reaper::child_exit_descriptor().with_step(|| "waiting for processes".to_owned())?;
    let unreadable = launch.profile.unreadable.iter().cloned().collect();
    let kept = RemountState::new(guards, unreadable).with_step(|| "watching mounts".to_owned())?;
    let child = sys::fork_into_namespaces(sys::NamespaceFlags::NONE)
        .with_step(|| "making a process".to_owned())?;
    match child {
        Some(worker) => Ok(reaper::InitProcess {
            worker,
            has_terminal: terminal.is_some(),
            child_exits: ended,
            socket: wire,
            progress,
            remount_state: kept,
        }),
        None => worker::exec_program(world, terminal.as_deref()),
    }
}

/// Sends the supervisor the private trees that it reads after the run.
fn send_trees(world: &InitContext<'_>, trees: ReportedTrees) -> io::Result<()> {
    let plan = world.mount_plan;
    if !plan.private_configs.is_empty() || !plan.private_hooks.is_empty() {
        world.socket.send(&InitMessage::PrivateConfigs, &[trees.configs])?;
    }
    if !world.launch.saved_files.is_empty() {
        let (paths, directories): (Vec<_>, Vec<_>) =
            trees.temporary.into_iter().map(|(path, tree)| (path.into(), tree)).unzip();
        world.socket.send(&InitMessage::TemporaryDirectories(paths), &directories)?;
    }
    Ok(())
}

/// Sets up the network, and sends the supervisor the descriptors that it needs.
fn set_up_network(launch: &LaunchConfig, wire: &MessageSocket) -> io::Result<()> {
    wire.send(&InitMessage::Diagnostics, &[open_diagnostics()?])?;
    let network = &launch.profile.network;
    let listeners = namespace_setup::prepare(network, launch.has_reviewer)?;
    if listeners.is_empty() {
        return Ok(());
    }
    namespace_setup::mount_resolv_conf()?;
    wire.send(&InitMessage::Listeners { request: None }, &listeners)
}
