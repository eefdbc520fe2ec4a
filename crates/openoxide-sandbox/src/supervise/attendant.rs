//! What the supervisor does while the program runs.

use std::{
    fs, io,
    os::fd::{AsFd as _, OwnedFd},
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
    time::{Duration, Instant},
};

use openoxide_protocol::Network;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::Signal,
};

use super::{changes, questions::Questions};
use crate::{
    Backend, End, Lack, Landlock, Launch, NetworkReviewer, Plan, Report, Support,
    denial::{self, Oracle, Said, touchable},
    error::{SandboxError, Step as _},
    network::{Broker, Refused},
    notify::{self, Capture, Context, Listened, OwnSockets},
    sys,
    tail::Tail,
    terminal::{self, Relay},
    wire::{Message, Wire},
};

/// Signals that are handed on, and that of a window's size.
pub(super) const HEARD: &[Signal] = &[
    Signal::INT,
    Signal::TERM,
    Signal::HUP,
    Signal::QUIT,
    Signal::USR1,
    Signal::USR2,
    Signal::WINCH,
];

/// How long a program may take to end once it was told to.
const GRACE: Duration = Duration::from_secs(5);
/// How long the first process may take to listen on a port.
const PATIENCE: Duration = Duration::from_secs(2);
/// What somebody else does to the first process.
const KILLED: u8 = 9;

/// What is waited for at once, and what is known so far.
pub(super) struct Attendant<'a> {
    launch: &'a Launch,
    wire: Arc<Wire>,
    signals: OwnedFd,
    limit: Option<Instant>,
    relay: Option<Relay>,
    questions: &'a mut Option<Questions>,
    diagnostics: Option<OwnedFd>,
    broker: Option<Arc<Broker>>,
    more: Option<mpsc::Sender<(u16, Vec<OwnedFd>)>>,
    refused: Arc<Refused>,
    listened: Arc<Listened>,
    placed: Vec<PathBuf>,
    notified: bool,
    landlock: bool,
    stands: bool,
    over: Option<End>,
}

impl<'a> Attendant<'a> {
    pub(super) fn new(
        launch: &'a Launch,
        wire: Wire,
        signals: OwnedFd,
        questions: &'a mut Option<Questions>,
    ) -> Self {
        let seconds = launch.limits.seconds;
        Self {
            launch,
            wire: Arc::new(wire),
            signals,
            limit: seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds)),
            relay: None,
            questions,
            diagnostics: None,
            broker: None,
            more: None,
            refused: Arc::default(),
            listened: Arc::default(),
            placed: Vec::new(),
            notified: false,
            landlock: false,
            stands: false,
            over: None,
        }
    }

    /// Waits until the first process has done what can be refused to it. Until then this process has no other thread.
    ///
    /// # Errors
    /// It was refused, and nothing was run.
    pub(super) fn stand(&mut self) -> Result<(), SandboxError> {
        while !self.stands && self.over.is_none() {
            self.over = self.turn()?;
        }
        Ok(())
    }

    /// Waits for the end.
    pub(super) fn watch(&mut self) -> Result<End, SandboxError> {
        loop {
            if let Some(end) = self.over.take() {
                return Ok(end);
            }
            self.over = self.turn()?;
        }
    }

    /// Waits for one thing or more, and does what is to be done about it. Returns the end.
    fn turn(&mut self) -> Result<Option<End>, SandboxError> {
        if self.limit.is_some_and(|limit| limit <= Instant::now()) {
            return Ok(Some(End::TimedOut));
        }
        self.wait();
        if let Some(relay) = &mut self.relay {
            relay.pass();
        }
        while let Some(signal) = sys::take_signal(self.signals.as_fd()) {
            self.hand_on(signal);
        }
        if self.questions.as_mut().is_some_and(|questions| !questions.attend(&mut self.relay)) {
            return Ok(Some(End::Signalled(KILLED)));
        }
        let end = self.hear()?;
        if let (Some(_), Some(relay)) = (end, &mut self.relay) {
            relay.finish();
        }
        Ok(end)
    }

    /// Waits until anything is there, or the time is over.
    fn wait(&self) {
        let mut waits = vec![
            PollFd::new(self.wire.descriptor(), PollFlags::IN),
            PollFd::new(&self.signals, PollFlags::IN),
        ];
        waits.extend(self.relay.iter().flat_map(Relay::waits));
        waits.extend(self.questions.iter().flat_map(Questions::waits));
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
        if !terminal::ready(self.wire.descriptor().as_fd()) {
            return Ok(None);
        }
        let Some((message, descriptors)) =
            self.wire.receive().step(|| "hearing of the sandbox".to_owned())?
        else {
            // The first process never ends without a word, unless somebody killed it.
            return Ok(Some(End::Signalled(KILLED)));
        };
        self.stands |= !matches!(message, Message::Failed { .. });
        let first = descriptors.into_iter();
        match message {
            Message::Ended(end) => return Ok(Some(end)),
            Message::Failed { step, error } => {
                let error = io::Error::from_raw_os_error(error);
                return Err(SandboxError::Setup { step, error });
            }
            Message::Terminal => self.join(first).step(|| "joining the terminals".to_owned())?,
            Message::Diagnostics => self.diagnostics = first.last(),
            Message::Listeners { port: Some(port) } => self.answer(port, first.collect()),
            Message::Listeners { port: None } => {
                self.take(first.collect()).step(|| "taking connections".to_owned())?;
            }
            Message::Restricted { landlock } => {
                self.landlock = landlock;
                self.answer_calls(first.last()).step(|| "hearing of connections".to_owned())?;
            }
            Message::Placed(path) => self.placed.push(path),
            Message::Listen(_) | Message::Signal(_) => {}
        }
        Ok(None)
    }

    fn join(&mut self, mut outer: impl Iterator<Item = OwnedFd>) -> io::Result<()> {
        self.relay = outer.next().map(Relay::begin).transpose()?;
        Ok(())
    }

    /// Hands on what was asked for. Whoever asked may have given up by now.
    fn answer(&self, port: u16, listeners: Vec<OwnedFd>) {
        drop(self.more.as_ref().map(|more| more.send((port, listeners))));
    }

    /// Takes the listeners that always stand.
    fn take(&mut self, listeners: Vec<OwnedFd>) -> io::Result<()> {
        let questions = self.questions.as_ref().filter(|_| self.launch.ask);
        let reviewer = questions.map(|questions| {
            let reviewer: Box<dyn NetworkReviewer> = Box::new(questions.asking());
            reviewer
        });
        let network = self.launch.profile.network.clone();
        self.broker = Some(Arc::new(Broker::start(listeners, network, reviewer)?));
        Ok(())
    }

    /// Answers calls of connect(2) from now on.
    fn answer_calls(&mut self, listener: Option<OwnedFd>) -> io::Result<()> {
        let Some(listener) = listener else { return Ok(()) };
        self.notified = true;
        if let Some(broker) = &self.broker {
            self.refused = broker.refused();
        }
        let context = Context {
            capture: self.broker.clone().map(|broker| self.capture(broker)),
            own: self.diagnostics.take().map(OwnSockets::new).transpose()?,
            refused: Arc::clone(&self.refused),
            listened: Arc::clone(&self.listened),
            live: changes::live(
                self.launch,
                self.questions.as_ref().map(Questions::asking),
                &self.refused,
            ),
        };
        thread::Builder::new().spawn(move || notify::serve(listener, context)).map(drop)
    }

    /// Has the first process listen on ports that somebody wants to go to.
    fn capture(&mut self, broker: Arc<Broker>) -> Capture {
        let (more, asked) = mpsc::channel();
        self.more = Some(more);
        let (wire, asked) = (Arc::clone(&self.wire), Mutex::new(asked));
        Capture::new(broker, move |port| {
            let asked = asked.lock().unwrap_or_else(PoisonError::into_inner);
            wire.send(&Message::Listen(port), &[])?;
            // What was asked for earlier, and came too late, is passed over.
            loop {
                match asked.recv_timeout(PATIENCE).map_err(io::Error::other)? {
                    (of, none) if of == port && none.is_empty() => {
                        return Err(io::ErrorKind::AddrInUse.into());
                    }
                    (of, listeners) if of == port => return Ok(listeners),
                    _ => {}
                }
            }
        })
    }

    /// Takes away what was put in the place of something that has gone, if it is still empty. Nobody is inside any more.
    pub(super) fn clear(&self) {
        for path in &self.placed {
            drop(fs::remove_dir(path));
        }
    }

    /// Says how it went.
    pub(super) fn report(&self, end: End, errors: Option<&Tail>) -> Report {
        let mut denials =
            self.broker.as_ref().map_or_else(|| self.refused.all(), |broker| broker.denials());
        let (said, known) = (self.said(errors), denials.clone());
        denials.extend(said.denials.into_iter().filter(|one| !known.contains(one)));
        let (plan, suspected) = (self.plan(), said.suspected);
        let shared = self.launch.profile.network == Network::On;
        let listened = if shared { Vec::new() } else { self.listened.ports() };
        let (found, interrupted, unlimited) = (Vec::new(), None, None);
        Report { plan, end, denials, suspected, found, listened, interrupted, unlimited }
    }

    /// What the program's own words say of files.
    fn said(&self, errors: Option<&Tail>) -> Said {
        let Some(tail) = errors.or_else(|| self.relay.as_ref().map(Relay::tail)) else {
            return Said::default();
        };
        let Launch { profile, cwd, .. } = self.launch;
        denial::said(&tail.text(), &Oracle { profile, cwd, host: &touchable })
    }

    /// What was really held.
    fn plan(&self) -> Plan {
        let lack = |why: &str| Lack { why: why.to_owned(), help: None };
        let support = Support {
            notification: self.notified.then_some(()).ok_or_else(|| lack("no listener was free")),
            landlock: self
                .landlock
                .then_some(Landlock { abi: 0, errata: 0 })
                .ok_or_else(|| lack("this kernel has none")),
            ..Support::all()
        };
        Plan::of(Backend::Namespaces, &self.launch.profile, &support)
    }
}
