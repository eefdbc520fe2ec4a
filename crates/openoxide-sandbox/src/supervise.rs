//! The supervisor: it starts the first process inside, and waits outside until all is over.

use std::{
    io,
    os::fd::{AsFd as _, OwnedFd},
    time::{Duration, Instant},
};

use openoxide_protocol::Network;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, Signal, WaitOptions, kill_process, waitpid},
};

use crate::{
    Backend, End, Launch, Plan, Report,
    error::{SandboxError, Step as _},
    guard::Guards,
    inside::{self, Owner},
    sys,
    terminal::Relay,
    wire::{Message, Wire},
};

/// Runs a program confined, and waits for its end. Signals that would end this process are handed on to the program.
///
/// This process must have one thread.
///
/// # Errors
/// Where the confinement could not be set up; nothing was run then.
pub fn supervise(launch: &Launch) -> Result<Report, SandboxError> {
    let guards = Guards::find(&launch.profile);
    let owner = Owner::current();
    let signals = sys::signal_descriptor(HEARD).step(|| "hearing of signals".to_owned())?;
    let (outer, inner) = Wire::pair().step(|| "making a socket".to_owned())?;
    let network = !matches!(launch.profile.network, Network::On);
    let first = sys::fork_into(sys::Namespaces::all(network));
    let Some(first) = first.step(|| "making namespaces".to_owned())? else {
        drop(outer);
        sys::end(inside::run(launch, &guards, owner, &inner));
    };
    drop(inner);
    let limit = launch.limits.seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let end = Supervisor { wire: outer, signals, relay: None, limit }.watch();
    _ = kill_process(first, Signal::KILL);
    reap(first);
    Ok(Report { plan: plan(), end: end?, denials: Vec::new(), found: Vec::new() })
}

/// Signals that are handed on, and that of a window's size.
const HEARD: &[Signal] = &[
    Signal::INT,
    Signal::TERM,
    Signal::HUP,
    Signal::QUIT,
    Signal::USR1,
    Signal::USR2,
    Signal::WINCH,
];

/// What somebody else does to the first process.
const KILLED: u8 = 9;

/// How long a program may take to end once it was told to.
const GRACE: Duration = Duration::from_secs(5);

/// What is waited for at once.
struct Supervisor {
    wire: Wire,
    signals: OwnedFd,
    relay: Option<Relay>,
    limit: Option<Instant>,
}

impl Supervisor {
    /// Waits for the end.
    fn watch(mut self) -> Result<End, SandboxError> {
        loop {
            if self.limit.is_some_and(|limit| limit <= Instant::now()) {
                return Ok(End::TimedOut);
            }
            self.wait();
            if let Some(relay) = &mut self.relay {
                relay.pass();
            }
            while let Some(signal) = sys::take_signal(self.signals.as_fd()) {
                self.hand_on(signal);
            }
            if let Some(end) = self.hear()? {
                if let Some(relay) = &mut self.relay {
                    relay.finish();
                }
                return Ok(end);
            }
        }
    }

    /// Waits until anything is there, or the time is over.
    fn wait(&self) {
        let mut waits = vec![
            PollFd::new(self.wire.descriptor(), PollFlags::IN),
            PollFd::new(&self.signals, PollFlags::IN),
        ];
        waits.extend(self.relay.iter().flat_map(Relay::waits));
        let left = self.limit.map(|limit| limit.saturating_duration_since(Instant::now()));
        let left = left.and_then(|left| Timespec::try_from(left).ok());
        // An interruption is one of the things that are looked for.
        _ = poll(&mut waits, left.as_ref());
    }

    fn hand_on(&mut self, signal: Signal) {
        if signal == Signal::WINCH {
            return self.relay.iter().for_each(Relay::resize);
        }
        // Where nobody is there to hear it, the end is heard of next.
        drop(self.wire.send(&Message::Signal(signal.as_raw()), &[]));
        if matches!(signal, Signal::TERM | Signal::HUP) {
            self.limit.get_or_insert(Instant::now() + GRACE);
        }
    }

    /// Hears what is said from inside, if anything is; returns the end.
    fn hear(&mut self) -> Result<Option<End>, SandboxError> {
        if !self.wire.has_more() {
            return Ok(None);
        }
        match self.wire.receive().step(|| "hearing of the sandbox".to_owned())? {
            Some((Message::Ended(end), _)) => return Ok(Some(end)),
            Some((Message::Failed { step, error }, _)) => {
                let error = io::Error::from_raw_os_error(error);
                return Err(SandboxError::Setup { step, error });
            }
            Some((Message::Terminal, descriptors)) => {
                if let Some(outer) = descriptors.into_iter().next() {
                    let relay = Relay::begin(outer);
                    self.relay = Some(relay.step(|| "joining the terminals".to_owned())?);
                }
            }
            Some(_) => {}
            // The first process never ends without a word, unless somebody killed it.
            None => return Ok(Some(End::Signalled(KILLED))),
        }
        Ok(None)
    }
}

fn reap(first: Pid) {
    _ = rustix::io::retry_on_intr(|| waitpid(Some(first), WaitOptions::empty()));
}

fn plan() -> Plan {
    Plan { backend: Backend::Namespaces, clauses: Vec::new() }
}
