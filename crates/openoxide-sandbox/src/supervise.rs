//! The supervisor: it starts the first process inside, and waits outside until all is over.

mod aftermath;
mod attendant;
mod changes;
mod confine;
mod limits;
mod otherwise;
mod questions;
mod streams;
mod turn;
mod watch;

use std::{path::Path, time::Duration};

use crate::{
    Backend, Guarded, Launch, Plan, Registry, Report,
    control_group::ControlGroup,
    error::{SandboxError, Step as _},
    janitor::Janitor,
    progress::{self, ProgressWriter},
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
    reported(launch, None)
}

/// The same, by this backend and no other.
///
/// # Errors
/// Where it does not hold the whole profile here, or could not be set up; nothing was run then.
pub fn supervise_by(launch: &Launch, backend: Backend) -> Result<Report, SandboxError> {
    reported(launch, Some(backend))
}

/// Runs it, and corrects the result by what the processes inside recorded: all of them have ended by then.
fn reported(launch: &Launch, by: Option<Backend>) -> Result<Report, SandboxError> {
    let (reader, writer) = progress::pair().step(|| "making a pipe".to_owned())?;
    let result = run(launch, by, None, &writer);
    drop(writer);
    reader.read(Duration::ZERO).settle(result, &launch.profile)
}

/// The same; hosts that the profile does not name are asked about at `caller`, and when that end closes, everything ends.
pub(crate) fn run(
    launch: &Launch,
    by: Option<Backend>,
    caller: Option<Wire>,
    progress: &ProgressWriter,
) -> Result<Report, SandboxError> {
    let profile =
        with_other_names(&launch.profile).step(|| "looking for unreadable files".to_owned())?;
    let launch = &Launch { profile, ..launch.clone() };
    let wanted = by.map(|backend| otherwise::wanted(backend, launch)).transpose()?;
    let guarded = Guarded::find_except(&launch.profile, &launch.changeable)
        .step(|| "looking for protected files".to_owned())?;
    let registry = Registry::open(Path::new(launch.registry.as_str()));
    let registry = registry.step(|| "opening the registry".to_owned())?;
    registry.sweep().step(|| "clearing up after killed runs".to_owned())?;
    let (group, unlimited) = match ControlGroup::make(launch.limits) {
        Ok(group) => (group, None),
        Err(error) => (None, limits::gap(launch.limits, &error)),
    };
    // Before the first placeholder there is somebody who would take it away.
    let janitor = Janitor::start(&registry, &guarded, &launch.profile, group.as_ref());
    let janitor = janitor.step(|| "making a process".to_owned())?;
    let (guarded, group, wanted) = (&guarded, group.as_ref(), wanted.as_ref());
    let run = Run { launch, guarded, group, wanted, progress };
    let report = run.hold(&registry, caller);
    janitor.dismiss();
    report.map(|report| Report { unlimited, ..report })
}

/// One run, once everything is known that it needs.
struct Run<'a> {
    launch: &'a Launch,
    guarded: &'a Guarded,
    group: Option<&'a ControlGroup>,
    wanted: Option<&'a Plan>,
    progress: &'a ProgressWriter,
}

impl Run<'_> {
    /// Makes the placeholders, runs the program, and takes them away again.
    fn hold(&self, registry: &Registry, caller: Option<Wire>) -> Result<Report, SandboxError> {
        let Self { launch, guarded, group, wanted, progress } = *self;
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
        let mut attempt =
            Attempt { launch, guarded, group, guards: &guards, questions, progress, turn };
        let report = match wanted {
            Some(plan) if plan.backend == Backend::Bubblewrap => attempt.by_bubblewrap(plan),
            Some(_) => attempt.by_namespaces().flatten(),
            None => otherwise::by_any(&mut attempt),
        };
        let released = placeholders.release().step(|| "taking placeholders away".to_owned());
        match (report, released) {
            (Ok(report), Err(error)) => {
                Ok(Report { interrupted: Some(error.to_string()), ..report })
            }
            (report, _) => report,
        }
    }
}
