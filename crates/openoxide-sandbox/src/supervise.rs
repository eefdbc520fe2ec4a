//! The supervisor: it starts the first process inside, and waits outside until all is over.

use std::{
    io,
    os::fd::{AsFd as _, OwnedFd},
    path::Path,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, Signal, WaitOptions, kill_process, waitpid},
};

use crate::{
    Backend, End, Launch, Plan, Report,
    error::{SandboxError, Step as _},
    inside::{self, Owner},
    janitor::Janitor,
    protect::{Guarded, Mounted},
    registry::Registry,
    sys,
    wire::{Message, Wire},
};
use openoxide_protocol::Network;

/// Runs a program confined, and waits for its end. Signals that would end this process are handed on to the program.
///
/// This process must have one thread.
///
/// # Errors
/// Where the confinement could not be set up; nothing was run then.
pub fn supervise(launch: &Launch) -> Result<Report, SandboxError> {
    let guarded =
        Guarded::find(&launch.profile).step(|| "looking for protected files".to_owned())?;
    let registry = Registry::open(Path::new(launch.registry.as_str()));
    let registry = registry.step(|| "opening the registry".to_owned())?;
    registry.sweep().step(|| "clearing up after killed runs".to_owned())?;
    let mut placeholders = registry.hold(&guarded).step(|| "making placeholders".to_owned())?;
    let guards = guarded.without(placeholders.passed_over());
    let janitor =
        Janitor::start(&registry, &mut placeholders).step(|| "making a process".to_owned());
    let report = janitor.and_then(|janitor| {
        let report = confine(launch, &guards);
        janitor.dismiss();
        report
    });
    placeholders.release().step(|| "taking placeholders away".to_owned())?;
    report
}

fn confine(launch: &Launch, guards: &Mounted) -> Result<Report, SandboxError> {
    let owner = Owner::current();
    let signals = sys::signal_descriptor(PASSED_ON).step(|| "hearing of signals".to_owned())?;
    let (outer, inner) = Wire::pair().step(|| "making a socket".to_owned())?;
    let network = !matches!(launch.profile.network, Network::On);
    let first = sys::fork_into(sys::Namespaces::all(network));
    let Some(first) = first.step(|| "making namespaces".to_owned())? else {
        drop(outer);
        sys::end(inside::run(launch, guards, owner, &inner));
    };
    drop(inner);
    let end = watch(launch, &signals, &outer);
    drop(outer);
    _ = kill_process(first, Signal::KILL);
    reap(first);
    Ok(Report { plan: plan(), end: end?, denials: Vec::new(), found: Vec::new() })
}

const PASSED_ON: &[Signal] =
    &[Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT, Signal::USR1, Signal::USR2];

/// How long a program may take to end once it was told to.
const GRACE: Duration = Duration::from_secs(5);

/// Waits for the end; until then, hands signals on.
fn watch(launch: &Launch, signals: &OwnedFd, wire: &Wire) -> Result<End, SandboxError> {
    let mut limit =
        launch.limits.seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    loop {
        let mut both =
            [PollFd::new(wire.descriptor(), PollFlags::IN), PollFd::new(signals, PollFlags::IN)];
        let left = limit.map(|limit| limit.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return Ok(End::TimedOut);
        }
        let left = left.and_then(|left| Timespec::try_from(left).ok());
        _ = poll(&mut both, left.as_ref());
        let [said, _] = &both;
        if !said.revents().is_empty() {
            match wire.receive().step(|| "hearing of the sandbox".to_owned())? {
                Some((Message::Ended(end), _)) => return Ok(end),
                Some((Message::Failed { step, error }, _)) => {
                    return Err(SandboxError::Setup {
                        step,
                        error: io::Error::from_raw_os_error(error),
                    });
                }
                Some(_) => {}
                None => return Ok(End::Signalled(9)),
            }
        }
        while let Some(signal) = sys::take_signal(signals.as_fd()) {
            drop(wire.send(&Message::Signal(signal.as_raw()), &[]));
            if matches!(signal, Signal::TERM | Signal::HUP) {
                limit.get_or_insert(Instant::now() + GRACE);
            }
        }
    }
}

fn reap(first: Pid) {
    _ = rustix::io::retry_on_intr(|| waitpid(Some(first), WaitOptions::empty()));
}

fn plan() -> Plan {
    Plan { backend: Backend::Namespaces, clauses: Vec::new() }
}
