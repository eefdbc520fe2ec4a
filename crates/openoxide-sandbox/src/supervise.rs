//! The supervisor: it starts the first process inside, and waits outside until all is over.

mod aftermath;
mod attendant;
mod changes;
mod confine;
mod otherwise;
mod questions;
mod streams;
mod turn;

use std::path::Path;

use crate::{
    Backend, Guarded, Launch, Plan, Registry, Report,
    error::{SandboxError, Step as _},
    janitor::Janitor,
    protect::with_other_names,
    wire::Wire,
};
use confine::Attempt;
use questions::Questions;
use turn::Turn;

/// Runs a program confined, and waits for its end. Signals that would end this process are handed on to the program. Where own
/// namespaces are refused, another backend is used that holds the whole profile; the report says which.
///
/// This process must have one thread; it has more afterwards.
///
/// # Errors
/// Where the confinement could not be set up; nothing was run then.
pub fn supervise(launch: &Launch) -> Result<Report, SandboxError> {
    run(launch, None, None)
}

/// The same, by this backend and no other.
///
/// # Errors
/// Where it does not hold the whole profile here, or could not be set up; nothing was run then.
pub fn supervise_by(launch: &Launch, backend: Backend) -> Result<Report, SandboxError> {
    run(launch, Some(backend), None)
}

/// The same; hosts that the profile does not name are asked about at `caller`, and when that end closes, everything ends.
pub(crate) fn run(
    launch: &Launch,
    by: Option<Backend>,
    caller: Option<Wire>,
) -> Result<Report, SandboxError> {
    let profile =
        with_other_names(&launch.profile).step(|| "looking for unreadable files".to_owned())?;
    let launch = &Launch { profile, ..launch.clone() };
    let wanted = by.map(|backend| otherwise::wanted(backend, launch)).transpose()?;
    let guarded =
        Guarded::find(&launch.profile).step(|| "looking for protected files".to_owned())?;
    let registry = Registry::open(Path::new(launch.registry.as_str()));
    let registry = registry.step(|| "opening the registry".to_owned())?;
    registry.sweep().step(|| "clearing up after killed runs".to_owned())?;
    // Before the first placeholder there is somebody who would take it away.
    let janitor = Janitor::start(&registry, &guarded, &launch.profile);
    let janitor = janitor.step(|| "making a process".to_owned())?;
    let report = hold(launch, &guarded, &registry, wanted.as_ref(), caller);
    janitor.dismiss();
    report
}

fn hold(
    launch: &Launch,
    guarded: &Guarded,
    registry: &Registry,
    wanted: Option<&Plan>,
    caller: Option<Wire>,
) -> Result<Report, SandboxError> {
    // In a staged run nothing is put on the host.
    let nothing = Guarded::default();
    let placed = if launch.staged.is_some() { &nothing } else { guarded };
    let placeholders = registry.hold(placed).step(|| "making placeholders".to_owned())?;
    let guards = match launch.staged {
        Some(_) => guarded.staged(),
        None => guarded.without(placeholders.passed_over()),
    };
    let turn = Turn::default();
    let questions = caller.and_then(|caller| Questions::new(caller, turn.clone()).ok());
    let mut attempt = Attempt { launch, guarded, guards: &guards, questions, turn };
    let report = match wanted {
        Some(plan) if plan.backend == Backend::Bubblewrap => attempt.by_bubblewrap(plan),
        Some(_) => attempt.by_namespaces().flatten(),
        None => otherwise::by_any(&mut attempt),
    };
    placeholders.release().step(|| "taking placeholders away".to_owned())?;
    report
}
