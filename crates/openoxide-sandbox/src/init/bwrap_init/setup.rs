//! The start of `bwrap`, with its pipes and its limits.

use std::{io, os::fd::OwnedFd};

use rustix::{
    io::Errno,
    pipe::{PipeFlags, pipe_with},
    process::{Pid, Resource, Rlimit, getpid, prlimit, set_child_subreaper, setsid},
};

use crate::{
    init::{
        bwrap_init::{
            bwrap_command::{self, BwrapPipes},
            bwrap_status,
            monitor::{self, BwrapMonitor},
        },
        init_context::{InitContext, failure_message},
        program_terminal::{self, send_terminal},
        worker,
    },
    interface::{ResourceLimits, SandboxError, SetupContext as _},
    ipc::{InitMessage, ProgressEvent},
    sys,
};

/// The ends of two pipes that the monitor keeps.
struct MonitorPipes {
    /// The pipe from which the status of `bwrap` is read.
    status: OwnedFd,
    /// The pipe that `bwrap` waits on before it starts the program.
    start_gate: OwnedFd,
}

/// Starts and monitors `bwrap`, and returns the exit status of this process, which has one thread.
pub(crate) fn run(world: &InitContext<'_>) -> i32 {
    match start_bwrap(world) {
        Ok(attending) => attending.run(),
        Err(error) => {
            // If the supervisor is gone, no process receives the message.
            drop(world.socket.send(&failure_message(error), &[]));
            1
        }
    }
}

fn start_bwrap<'a>(world: &InitContext<'a>) -> Result<BwrapMonitor<'a>, SandboxError> {
    let InitContext { launch, socket: wire, progress, .. } = *world;
    setsid().with_step(|| "making a session".to_owned())?;
    // Every orphan of `bwrap` becomes a child of this process, which waits until none is left.
    set_child_subreaper(Some(getpid())).with_step(|| "waiting for processes".to_owned())?;
    worker::check_streams(launch).with_step(|| "relaying input and output".to_owned())?;
    if launch.terminal {
        let terminal = send_terminal(wire)?;
        program_terminal::set_controlling_terminal(&terminal)
            .with_step(|| "taking the terminal".to_owned())?;
    }
    let heard = sys::create_signalfd(monitor::HANDLED_SIGNALS)
        .with_step(|| "receiving signals".to_owned())?;
    let (ours, theirs) = create_pipes().with_step(|| "making pipes".to_owned())?;
    let call = bwrap_command::BwrapCommand::new(world, theirs)?;
    let Some(bwrap) = sys::fork_into_namespaces(sys::NamespaceFlags::NONE)
        .with_step(|| "making a process".to_owned())?
    else {
        drop((ours, heard));
        call.exec_bwrap(launch, wire, world.shares);
    };
    drop(call);
    let mut said = Vec::new();
    let first = bwrap_status::read_child_pid(&ours.status, &mut said).ok_or(Errno::IO);
    let first = first.with_step(|| "starting bwrap, which reports the reason".to_owned())?;
    set_limits(first, launch.limits).with_step(|| "setting limits".to_owned())?;
    let told = wire.send(&InitMessage::RestrictionsApplied { landlock: false }, &[]);
    told.with_step(|| "reporting to the supervisor".to_owned())?;
    progress.record(ProgressEvent::Starting).with_step(|| "recording the start".to_owned())?;
    release_bwrap(ours.start_gate).with_step(|| "resuming bwrap".to_owned())?;
    Ok(BwrapMonitor {
        launch,
        socket: wire,
        progress,
        signals: heard,
        bwrap,
        first_process: first,
        status: ours.status,
        status_output: said,
    })
}

fn create_pipes() -> io::Result<(MonitorPipes, BwrapPipes)> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
    let (begin, word) = pipe_with(PipeFlags::CLOEXEC)?;
    Ok((
        MonitorPipes { status: read, start_gate: word },
        BwrapPipes { status: write, start_gate: begin },
    ))
}

/// Sets the process limit of the first process inside. There it applies to the namespace only.
/// Before the namespace exists, it would apply to all processes of this user.
fn set_limits(first: Pid, limits: ResourceLimits) -> io::Result<()> {
    let Some(processes) = limits.processes else { return Ok(()) };
    let limit = Rlimit { current: Some(processes), maximum: Some(processes) };
    prlimit(Some(first), Resource::Nproc, limit)?;
    Ok(())
}

fn release_bwrap(begin: OwnedFd) -> io::Result<()> {
    rustix::io::write(begin, b"!")?;
    Ok(())
}
