//! The supervisor: it starts the first process inside, and waits outside until all is over.

mod attendant;
mod questions;

use std::{path::Path, time::SystemTime};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use crate::{
    Guarded, Launch, Registry, Report,
    error::{SandboxError, Step as _},
    inside::{self, Owner},
    sys,
    wire::Wire,
};
use attendant::Attendant;
use openoxide_protocol::Network;

/// Runs a program confined, and waits for its end. Signals that would end this process are handed on to the program.
///
/// This process must have one thread; it has more afterwards. With `caller`, hosts that the profile does not name are asked
/// about there; when that end closes, everything ends.
///
/// # Errors
/// Where the confinement could not be set up; nothing was run then.
pub fn supervise(launch: &Launch) -> Result<Report, SandboxError> {
    run(launch, None)
}

pub(crate) fn run(launch: &Launch, caller: Option<Wire>) -> Result<Report, SandboxError> {
    let registry = Registry::open(Path::new(launch.registry.as_str()));
    let registry = registry.step(|| "opening the registry".to_owned())?;
    registry.sweep().step(|| "clearing the registry".to_owned())?;
    let guarded = Guarded::find(&launch.profile);
    let guarded = guarded.step(|| "looking at what is protected".to_owned())?;
    let held = registry.hold(&guarded).step(|| "putting placeholders".to_owned())?;
    let owner = Owner::current();
    let started = SystemTime::now();
    let (wire, inner) = Wire::pair().step(|| "making a socket".to_owned())?;
    let signals = sys::signal_descriptor(attendant::HEARD);
    let signals = signals.step(|| "hearing of signals".to_owned())?;
    let network = !matches!(launch.profile.network, Network::On);
    let first = sys::fork_into(sys::Namespaces::all(network));
    let Some(first) = first.step(|| "making namespaces".to_owned())? else {
        drop(wire);
        drop(caller);
        let world = inside::World { launch, guarded: &guarded, held, owner, wire: &inner };
        sys::end(inside::run(world));
    };
    drop(inner);
    let mut attendant = Attendant::new(launch, wire, signals, caller);
    let end = attendant.watch();
    _ = kill_process(first, Signal::KILL);
    reap(first);
    held.release().step(|| "taking placeholders away".to_owned())?;
    let _since = started;
    Ok(attendant.report(end?))
}

fn reap(first: Pid) {
    _ = rustix::io::retry_on_intr(|| waitpid(Some(first), WaitOptions::empty()));
}
