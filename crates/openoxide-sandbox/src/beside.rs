//! The process beside a sandbox that `bwrap` makes: it starts `bwrap`, and is to the supervisor what the first process inside
//! is with our own namespaces.
//!
//! It has a session of its own, and the program's terminal, if there is one, is that session's. The program has none then: it reads
//! and writes a terminal and is told of keys that interrupt, but there is no control of jobs.

mod attend;
mod call;
mod ended;

use std::{io, os::fd::OwnedFd};

use rustix::{
    io::Errno,
    pipe::{PipeFlags, pipe_with},
    process::{Pid, Resource, Rlimit, Signal, getpid, prlimit, set_child_subreaper, setsid},
};

use crate::{
    Limits,
    error::{SandboxError, Step as _},
    inside::{self, World, worker},
    progress::Event,
    sys,
    wire::Message,
};
use attend::Attending;

/// The ends of two pipes that stay here.
struct Ours {
    /// What `bwrap` says.
    status: OwnedFd,
    /// It waits for a word.
    begin: OwnedFd,
}

/// Those that `bwrap` has.
struct Theirs {
    status: OwnedFd,
    begin: OwnedFd,
}

/// Does everything, and returns the status of this process, which has one thread.
pub(crate) fn run(world: &World<'_>) -> i32 {
    match begin(world) {
        Ok(attending) => attending.attend(),
        Err(error) => {
            // Where the supervisor is gone, nobody is left to hear it.
            drop(world.wire.send(&inside::failure(error), &[]));
            1
        }
    }
}

fn begin<'a>(world: &World<'a>) -> Result<Attending<'a>, SandboxError> {
    let World { launch, wire, progress, .. } = *world;
    setsid().step(|| "making a session".to_owned())?;
    // Whatever `bwrap` leaves becomes a child of this process, which waits until nothing is left.
    set_child_subreaper(Some(getpid())).step(|| "waiting for processes".to_owned())?;
    worker::check_streams(launch).step(|| "passing input and output on".to_owned())?;
    if launch.terminal {
        let terminal = inside::give_terminal(wire)?;
        worker::sit_at(&terminal).step(|| "taking the terminal".to_owned())?;
    }
    let heard = sys::signal_descriptor(attend::HEARD).step(|| "hearing of signals".to_owned())?;
    let (ours, theirs) = pipes().step(|| "making pipes".to_owned())?;
    let call = call::Call::new(world, theirs)?;
    let Some(bwrap) =
        sys::fork_into(sys::Namespaces::NONE).step(|| "making a process".to_owned())?
    else {
        drop((ours, heard));
        call.become_bwrap(launch, wire, world.shares);
    };
    drop(call);
    let mut said = Vec::new();
    let first = ended::first(&ours.status, &mut said).ok_or(Errno::IO);
    let first = first.step(|| "starting bwrap, which says why".to_owned())?;
    set_limits(first, launch.limits).step(|| "setting limits".to_owned())?;
    let told = wire.send(&Message::Restricted { landlock: false }, &[]);
    told.step(|| "telling the supervisor".to_owned())?;
    progress.record(Event::Starting).step(|| "recording the start".to_owned())?;
    go(ours.begin).step(|| "letting bwrap go on".to_owned())?;
    Ok(Attending { launch, wire, progress, heard, bwrap, first, status: ours.status, said })
}

fn pipes() -> io::Result<(Ours, Theirs)> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
    let (begin, word) = pipe_with(PipeFlags::CLOEXEC)?;
    Ok((Ours { status: read, begin: word }, Theirs { status: write, begin }))
}

/// How many processes there may be counts in the namespace alone: before it, it would count all of this user's.
fn set_limits(first: Pid, limits: Limits) -> io::Result<()> {
    let Some(processes) = limits.processes else { return Ok(()) };
    let limit = Rlimit { current: Some(processes), maximum: Some(processes) };
    prlimit(Some(first), Resource::Nproc, limit)?;
    Ok(())
}

fn go(begin: OwnedFd) -> io::Result<()> {
    rustix::io::write(begin, b"!")?;
    Ok(())
}

/// Signals that come from keys, from the supervisor, and of processes that end.
const fn is_handed_on(signal: Signal) -> bool {
    matches!(signal, Signal::INT | Signal::QUIT | Signal::WINCH)
}
