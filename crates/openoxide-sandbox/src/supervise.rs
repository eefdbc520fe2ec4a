//! The supervisor: it starts the first process inside, and waits outside until all is over.

mod aftermath;
mod attendant;
mod questions;
mod streams;
mod turn;

use std::path::Path;

use openoxide_protocol::Network;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use crate::{
    Guarded, Launch, Registry, Report,
    error::{SandboxError, Step as _},
    inside::{self, Owner},
    janitor::Janitor,
    protect::{Mounted, with_other_names},
    sys,
    wire::Wire,
};
use aftermath::Aftermath;
use attendant::Attendant;
use streams::Streams;

/// Runs a program confined, and waits for its end. Signals that would end this process are handed on to the program.
///
/// This process must have one thread; it has more afterwards.
///
/// # Errors
/// Where the confinement could not be set up; nothing was run then.
pub fn supervise(launch: &Launch) -> Result<Report, SandboxError> {
    run(launch, None)
}

/// The same; hosts that the profile does not name are asked about at `caller`, and when that end closes, everything ends.
pub(crate) fn run(launch: &Launch, caller: Option<Wire>) -> Result<Report, SandboxError> {
    let profile = with_other_names(&launch.profile);
    let launch = &Launch { profile, ..launch.clone() };
    let guarded =
        Guarded::find(&launch.profile).step(|| "looking for protected files".to_owned())?;
    let registry = Registry::open(Path::new(launch.registry.as_str()));
    let registry = registry.step(|| "opening the registry".to_owned())?;
    registry.sweep().step(|| "clearing up after killed runs".to_owned())?;
    // Before the first placeholder there is somebody who would take it away.
    let janitor = Janitor::start(&registry, &guarded, &launch.profile);
    let janitor = janitor.step(|| "making a process".to_owned())?;
    let report = hold(launch, &guarded, &registry, caller);
    janitor.dismiss();
    report
}

fn hold(
    launch: &Launch,
    guarded: &Guarded,
    registry: &Registry,
    caller: Option<Wire>,
) -> Result<Report, SandboxError> {
    let placeholders = registry.hold(guarded).step(|| "making placeholders".to_owned())?;
    let guards = guarded.without(placeholders.passed_over());
    let report = confine(launch, guarded, &guards, caller);
    placeholders.release().step(|| "taking placeholders away".to_owned())?;
    report
}

fn confine(
    launch: &Launch,
    guarded: &Guarded,
    guards: &Mounted,
    caller: Option<Wire>,
) -> Result<Report, SandboxError> {
    let owner = Owner::current();
    let (wire, inner) = Wire::pair().step(|| "making a socket".to_owned())?;
    let signals = sys::signal_descriptor(attendant::HEARD);
    let signals = signals.step(|| "hearing of signals".to_owned())?;
    let streams =
        Streams::make(launch.terminal).step(|| "looking at the standard streams".to_owned())?;
    let network = !matches!(launch.profile.network, Network::On);
    let first = sys::fork_into(sys::Namespaces::all(network));
    let Some(first) = first.step(|| "making namespaces".to_owned())? else {
        drop((wire, caller));
        let world = inside::World { launch, guards, owner, wire: &inner };
        sys::end(streams.enter().map_or(1, |()| inside::run(&world)));
    };
    drop(inner);
    let relayed = streams.relay().step(|| "making a thread".to_owned())?;
    let aftermath = Aftermath::start(guarded, &launch.profile);
    let mut attendant = Attendant::new(launch, wire, signals, caller, relayed.turn());
    let end = attendant.watch();
    _ = kill_process(first, Signal::KILL);
    reap(first);
    relayed.finish();
    let found = aftermath.find();
    Ok(Report { found, ..attendant.report(end?) })
}

fn reap(first: Pid) {
    _ = rustix::io::retry_on_intr(|| waitpid(Some(first), WaitOptions::empty()));
}
