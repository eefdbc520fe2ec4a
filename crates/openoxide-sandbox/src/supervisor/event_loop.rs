//! The event loop of the supervisor while the program runs.

use std::{
    fs, io, mem,
    os::fd::{AsFd as _, OwnedFd},
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
    time::{Duration, Instant},
};

use openoxide_protocol::NetworkAccess;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::Signal,
};

use crate::{
    backend::{EnforcementPlan, HostFeatures, LandlockVersion, MissingFeature, SandboxBackend},
    interface::{
        CommandOutcome, LaunchConfig, PostRunFinding, SandboxError, SandboxReport,
        SetupContext as _,
    },
    ipc::{InitMessage, ListenRequest, MessageSocket, is_readable},
    network::{
        ConnectionBroker, InnerSockets, NetworkReviewer, PortPublisher, PublishedListener,
        ReachableHosts, SandboxSockets,
    },
    runtime_reviews::DenialLog,
    supervisor::{
        denial::{self, DenialChecker, DetectedDenials, resolve_accessible},
        listen_handler::ListenHandler,
        output_tail::OutputTail,
        placeholder_directories::PlaceholderDirectories,
        port_capture::PortCapture,
        request_handler,
        review_relay::ReviewRelay,
        saved_files::save_files,
        seccomp_notify::{self, SyscallContext},
        socket_pairs::SocketPairs,
        terminal_relay::TerminalRelay,
    },
    sys,
};

/// The signals that are forwarded, the one that reports a new window size, and those of job
/// control.
pub(super) const HANDLED_SIGNALS: &[Signal] = &[
    Signal::INT,
    Signal::TERM,
    Signal::HUP,
    Signal::QUIT,
    Signal::USR1,
    Signal::USR2,
    Signal::WINCH,
    Signal::TSTP,
    Signal::CONT,
];

/// The time that a program has to end after a termination signal was forwarded to it.
const TERMINATION_GRACE_PERIOD: Duration = Duration::from_secs(5);
/// The time that the first process has to start listening on a port.
const LISTEN_TIMEOUT: Duration = Duration::from_secs(2);
/// The signal that is reported if the first process was killed from outside.
const SIGKILL_NUMBER: u8 = 9;

/// The event sources that the supervisor waits for, and its state.
pub(super) struct SupervisorLoop<'a> {
    launch: &'a LaunchConfig,
    socket: Arc<MessageSocket>,
    signals: OwnedFd,
    deadline: Option<Instant>,
    relay: Option<TerminalRelay>,
    reviews: &'a mut Option<ReviewRelay>,
    diagnostics: Option<OwnedFd>,
    private_configs: Option<OwnedFd>,
    temporary_directories: Vec<(PathBuf, OwnedFd)>,
    broker: Option<Arc<ConnectionBroker>>,
    listener_sender: Option<mpsc::Sender<(ListenRequest, Vec<OwnedFd>)>>,
    pair_sender: Option<mpsc::Sender<Vec<OwnedFd>>>,
    denials: Arc<DenialLog>,
    listen_handler: Option<Arc<ListenHandler>>,
    published_listeners: Vec<PublishedListener>,
    publisher: Option<Arc<PortPublisher>>,
    placeholders: Vec<PathBuf>,
    placeholder_directories: Vec<PathBuf>,
    has_notifications: bool,
    has_landlock: bool,
    is_ready: bool,
    outcome: Option<CommandOutcome>,
}

/// The requests of the forwarder to the first process inside.
struct SocketRequester {
    socket: Arc<MessageSocket>,
    broker: Option<Arc<ConnectionBroker>>,
}

impl InnerSockets for SocketRequester {
    fn request(&self) -> io::Result<()> {
        self.socket.send(&InitMessage::OpenSockets, &[])
    }

    fn is_forwardable(&self, port: u16) -> bool {
        !self.broker.as_ref().is_some_and(|broker| broker.uses_port(port))
    }
}

impl<'a> SupervisorLoop<'a> {
    pub(super) fn new(
        launch: &'a LaunchConfig,
        wire: MessageSocket,
        signals: OwnedFd,
        reviews: &'a mut Option<ReviewRelay>,
    ) -> Self {
        let seconds = launch.limits.seconds;
        Self {
            launch,
            socket: Arc::new(wire),
            signals,
            deadline: seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds)),
            relay: None,
            reviews,
            diagnostics: None,
            private_configs: None,
            temporary_directories: Vec::new(),
            broker: None,
            listener_sender: None,
            pair_sender: None,
            denials: Arc::default(),
            listen_handler: None,
            published_listeners: Vec::new(),
            publisher: None,
            placeholders: Vec::new(),
            placeholder_directories: Vec::new(),
            has_notifications: false,
            has_landlock: false,
            is_ready: false,
            outcome: None,
        }
    }

    /// Forwards connections from these listeners while the program runs.
    pub(super) fn publish(&mut self, listeners: Vec<PublishedListener>) {
        self.published_listeners = listeners;
    }

    /// Answers programs that remove these placeholders that they are removed.
    pub(super) fn set_placeholder_directories(&mut self, directories: Vec<PathBuf>) {
        self.placeholder_directories = directories;
    }

    /// Waits until the first process has finished the steps that the kernel may refuse. Until then,
    /// this process has no other thread.
    ///
    /// # Errors
    /// Returns an error if a step was refused. Nothing was run then.
    pub(super) fn wait_until_ready(&mut self) -> Result<(), SandboxError> {
        while !self.is_ready && self.outcome.is_none() {
            self.outcome = self.poll_once()?;
        }
        Ok(())
    }

    /// Waits for the end of the run.
    pub(super) fn wait_for_exit(&mut self) -> Result<CommandOutcome, SandboxError> {
        loop {
            if let Some(end) = self.outcome.take() {
                return Ok(end);
            }
            self.outcome = self.poll_once()?;
        }
    }

    /// Waits for at least one event, and handles it. Returns the outcome if the run has ended.
    fn poll_once(&mut self) -> Result<Option<CommandOutcome>, SandboxError> {
        if self.deadline.is_some_and(|limit| limit <= Instant::now()) {
            return Ok(Some(CommandOutcome::TimedOut));
        }
        self.wait_for_event();
        if let Some(relay) = &mut self.relay {
            relay.forward();
        }
        while let Some(signal) = sys::read_signal(self.signals.as_fd()) {
            self.forward_signal(signal);
        }
        if self.reviews.as_mut().is_some_and(|questions| !questions.process_events(&mut self.relay))
        {
            return Ok(Some(CommandOutcome::Signalled(SIGKILL_NUMBER)));
        }
        let end = self.handle_message()?;
        if let (Some(_), Some(relay)) = (end, &mut self.relay) {
            relay.finish();
        }
        Ok(end)
    }

    /// Waits until an event is pending or the time limit is reached.
    fn wait_for_event(&self) {
        let mut waits = vec![
            PollFd::new(self.socket.descriptor(), PollFlags::IN),
            PollFd::new(&self.signals, PollFlags::IN),
        ];
        waits.extend(self.relay.iter().flat_map(TerminalRelay::poll_descriptors));
        waits.extend(self.reviews.iter().flat_map(ReviewRelay::poll_descriptors));
        let left = self.deadline.map(|limit| limit.saturating_duration_since(Instant::now()));
        let left = left.and_then(|left| Timespec::try_from(left).ok());
        // If a signal interrupts the wait, the caller handles that like any other event.
        _ = poll(&mut waits, left.as_ref());
    }

    fn forward_signal(&mut self, signal: Signal) {
        match signal {
            Signal::WINCH => return self.relay.iter().for_each(TerminalRelay::resize),
            Signal::CONT => return self.follow_foreground(),
            // A key of a terminal that the program does not have.
            Signal::TSTP if self.relay.is_none() => {
                self.send_signal(Signal::STOP);
                // The shell may have continued the job in the meantime.
                match sys::read_signal(self.signals.as_fd()) {
                    Some(Signal::CONT) => self.send_signal(Signal::CONT),
                    Some(other) => self.forward_signal(other),
                    None => self.suspend(),
                }
                return;
            }
            _ => self.send_signal(signal),
        }
        if matches!(signal, Signal::TERM | Signal::HUP) {
            self.deadline.get_or_insert(Instant::now() + TERMINATION_GRACE_PERIOD);
        }
    }

    fn send_signal(&self, signal: Signal) {
        // If the first process has ended, its exit is received next.
        drop(self.socket.send(&InitMessage::Signal(signal.as_raw()), &[]));
    }

    /// Stops this process and those of the same job until the job is continued, and then continues
    /// the program.
    fn suspend(&mut self) {
        if let Some(relay) = &mut self.relay {
            relay.suspend();
        }
        // If the job cannot be stopped, the program runs on.
        drop(sys::stop_process_group());
        self.follow_foreground();
        self.send_signal(Signal::CONT);
    }

    /// Uses the terminal if this job is in its foreground now.
    fn follow_foreground(&mut self) {
        if let Some(relay) = &mut self.relay {
            relay.follow_foreground();
        }
    }

    /// Receives a message from the sandbox, if there is one. Returns the outcome if the run has
    /// ended.
    fn handle_message(&mut self) -> Result<Option<CommandOutcome>, SandboxError> {
        if !is_readable(self.socket.descriptor().as_fd()) {
            return Ok(None);
        }
        let Some((message, descriptors)) =
            self.socket.receive().with_step(|| "receiving from the sandbox".to_owned())?
        else {
            // The first process always sends a message before it ends, unless it is killed.
            return Ok(Some(CommandOutcome::Signalled(SIGKILL_NUMBER)));
        };
        self.is_ready |= !matches!(message, InitMessage::Failed { .. });
        let first = descriptors.into_iter();
        match message {
            InitMessage::Ended(end) => return Ok(Some(end)),
            InitMessage::Failed { step, error } => {
                let error = io::Error::from_raw_os_error(error);
                return Err(SandboxError::Setup { step, error });
            }
            InitMessage::Terminal => {
                self.attach_terminal(first).with_step(|| "joining the terminals".to_owned())?;
            }
            InitMessage::Diagnostics => self.diagnostics = first.last(),
            InitMessage::PrivateConfigs => self.private_configs = first.last(),
            InitMessage::TemporaryDirectories(paths) => {
                self.temporary_directories = paths.into_iter().zip(first).collect();
            }
            InitMessage::Listeners { request: Some(request) } => {
                self.deliver_listeners(request, first.collect());
            }
            InitMessage::Listeners { request: None } => {
                self.start_broker(first.collect())
                    .with_step(|| "accepting connections".to_owned())?;
            }
            InitMessage::RestrictionsApplied { landlock } => {
                self.has_landlock = landlock;
                self.publish_ports().with_step(|| "publishing ports".to_owned())?;
                self.serve_syscalls(first.last())
                    .with_step(|| "receiving the seccomp notification descriptor".to_owned())?;
            }
            InitMessage::Stopped => self.suspend(),
            InitMessage::PlaceholderCreated(path) => self.placeholders.push(path),
            InitMessage::SocketPair => self.deliver_socket_pair(first.collect()),
            InitMessage::Sockets => {
                if let Some(publisher) = &self.publisher {
                    publisher.deliver(first.collect());
                }
            }
            InitMessage::Listen(_)
            | InitMessage::CreateSocketPair
            | InitMessage::OpenSockets
            | InitMessage::Signal(_) => {}
        }
        Ok(None)
    }

    fn attach_terminal(&mut self, mut outer: impl Iterator<Item = OwnedFd>) -> io::Result<()> {
        self.relay = outer.next().map(TerminalRelay::start).transpose()?;
        Ok(())
    }

    /// Delivers the requested listeners. The thread that requested them may have given up by now.
    fn deliver_listeners(&self, request: ListenRequest, listeners: Vec<OwnedFd>) {
        drop(self.listener_sender.as_ref().map(|more| more.send((request, listeners))));
    }

    /// Delivers the requested pair of sockets.
    fn deliver_socket_pair(&self, pair: Vec<OwnedFd>) {
        drop(self.pair_sender.as_ref().map(|more| more.send(pair)));
    }

    /// Starts the broker with the permanent listeners, or adds further ones to it.
    fn start_broker(&mut self, listeners: Vec<OwnedFd>) -> io::Result<()> {
        if let Some(broker) = &self.broker {
            return broker.add_listeners(listeners);
        }
        let questions = self.reviews.as_ref().filter(|_| self.launch.has_reviewer);
        let reviewer = questions.map(|questions| {
            let reviewer: Box<dyn NetworkReviewer> = Box::new(questions.create_client());
            reviewer
        });
        let hosts = ReachableHosts {
            network: self.launch.profile.network.clone(),
            private_hosts: self.launch.private_hosts.clone(),
        };
        let broker = ConnectionBroker::start(listeners, hosts, reviewer)?;
        self.broker = Some(Arc::new(broker));
        Ok(())
    }

    /// Starts forwarding connections to published ports.
    fn publish_ports(&mut self) -> io::Result<()> {
        let inner =
            SocketRequester { socket: Arc::clone(&self.socket), broker: self.broker.clone() };
        let publisher = self.publisher.insert(Arc::new(PortPublisher::new(inner)));
        publisher.publish(mem::take(&mut self.published_listeners))
    }

    /// Closes published ports, and waits until what programs have sent is forwarded. No process is
    /// left in the sandbox.
    pub(super) fn finish_forwarding(&mut self) {
        self.publisher.iter().for_each(|publisher| publisher.close());
    }

    /// Starts answering calls of connect(2).
    fn serve_syscalls(&mut self, listener: Option<OwnedFd>) -> io::Result<()> {
        let Some(listener) = listener else { return Ok(()) };
        self.has_notifications = true;
        if let Some(broker) = &self.broker {
            self.denials = broker.denial_log();
        }
        let (socket_pairs, pair_sender) = SocketPairs::new(Arc::clone(&self.socket));
        self.pair_sender = Some(pair_sender);
        let sockets = self.diagnostics.take().map(SandboxSockets::new).transpose()?.map(Arc::new);
        self.listen_handler = self.create_listen_handler(sockets.as_ref());
        let context = SyscallContext {
            socket_pairs: Some(socket_pairs),
            placeholders: PlaceholderDirectories::new(mem::take(&mut self.placeholder_directories)),
            capture: self.broker.clone().map(|broker| self.create_capture(broker)),
            sandbox_sockets: sockets,
            denials: Arc::clone(&self.denials),
            listen_handler: self.listen_handler.clone(),
            host_sockets: request_handler::create_socket_handler(
                self.launch,
                self.reviews.as_ref().map(ReviewRelay::create_client),
                &self.denials,
                self.broker.as_ref().map(|broker| broker.contacted_hosts()).unwrap_or_default(),
            ),
            file_requests: request_handler::create_handler(
                self.launch,
                self.reviews.as_ref().map(ReviewRelay::create_client),
                &self.denials,
            ),
        };
        thread::Builder::new()
            .spawn(move || seccomp_notify::serve_notifications(listener, context))
            .map(drop)
    }

    /// Creates the handler of programs that listen, if they are in a separate network.
    fn create_listen_handler(
        &self,
        sockets: Option<&Arc<SandboxSockets>>,
    ) -> Option<Arc<ListenHandler>> {
        let (sockets, publisher) = (Arc::clone(sockets?), Arc::clone(self.publisher.as_ref()?));
        let reviewer = self.reviews.as_ref().map(ReviewRelay::create_client);
        Some(Arc::new(ListenHandler::new(self.launch, publisher, sockets, reviewer)))
    }

    /// Creates a capture that makes the first process listen where programs want to connect to.
    fn create_capture(&mut self, broker: Arc<ConnectionBroker>) -> PortCapture {
        let (more, asked) = mpsc::channel();
        self.listener_sender = Some(more);
        let (wire, asked) = (Arc::clone(&self.socket), Mutex::new(asked));
        PortCapture::new(broker, move |request| {
            let asked = asked.lock().unwrap_or_else(PoisonError::into_inner);
            wire.send(&InitMessage::Listen(request), &[])?;
            // Late answers to earlier requests are ignored.
            loop {
                match asked.recv_timeout(LISTEN_TIMEOUT).map_err(io::Error::other)? {
                    (of, none) if of == request && none.is_empty() => {
                        return Err(io::ErrorKind::AddrInUse.into());
                    }
                    (of, listeners) if of == request => return Ok(listeners),
                    _ => {}
                }
            }
        })
    }

    /// Returns the directory with the private copies of configuration, if there is one.
    pub(super) const fn private_configs(&self) -> Option<&OwnedFd> {
        self.private_configs.as_ref()
    }

    /// Copies the new temporary files that the program was permitted to create. Returns the reason
    /// for each one that was not copied. No process is left in the sandbox.
    pub(super) fn save_files(&self) -> Vec<PostRunFinding> {
        save_files(&self.launch.saved_files, &self.temporary_directories)
    }

    /// Removes the placeholders of entries that disappeared, if they are still empty. No process is
    /// left in the sandbox.
    pub(super) fn remove_placeholders(&self) {
        for path in &self.placeholders {
            drop(fs::remove_dir(path));
        }
    }

    /// Builds the report of the run.
    pub(super) fn build_report(
        &self,
        end: CommandOutcome,
        errors: Option<&OutputTail>,
    ) -> SandboxReport {
        let mut denials =
            self.broker.as_ref().map_or_else(|| self.denials.to_vec(), |broker| broker.denials());
        let (said, known) = (self.detect_denials(errors), denials.clone());
        denials.extend(said.denials.into_iter().filter(|one| !known.contains(one)));
        let (plan, suspected) = (self.enforcement_plan(), said.has_suspected);
        let shared = self.launch.profile.network == NetworkAccess::On;
        let handler = self.listen_handler.as_ref().filter(|_| !shared);
        let listened = handler.map(|handler| handler.unpublished_ports()).unwrap_or_default();
        let log = self.broker.as_ref().map(|broker| broker.denial_log());
        let found = log.as_ref().unwrap_or(&self.denials).unasked_finding().into_iter().collect();
        let (interrupted, unlimited) = (None, None);
        SandboxReport {
            plan,
            outcome: end,
            denials,
            has_suspected_denial: suspected,
            findings: found,
            listening_ports: listened,
            run_error: interrupted,
            unenforced_limits: unlimited,
            reached_limits: Vec::new(),
        }
    }

    /// Returns the denials of file accesses that the program's error output mentions.
    fn detect_denials(&self, errors: Option<&OutputTail>) -> DetectedDenials {
        let Some(tail) = errors.or_else(|| self.relay.as_ref().map(TerminalRelay::tail)) else {
            return DetectedDenials::default();
        };
        let LaunchConfig { profile, cwd, .. } = self.launch;
        denial::detect_denials(
            &tail.to_text(),
            &DenialChecker { profile, cwd, resolve_on_host: &resolve_accessible },
        )
    }

    /// Returns the restrictions that were enforced.
    fn enforcement_plan(&self) -> EnforcementPlan {
        let lack = |why: &str| MissingFeature { reason: why.to_owned(), help: None };
        let support = HostFeatures {
            notification: self
                .has_notifications
                .then_some(())
                .ok_or_else(|| lack("no seccomp listener was available")),
            landlock: self
                .has_landlock
                .then_some(LandlockVersion { abi: 0, errata: 0 })
                .ok_or_else(|| lack("not supported by this kernel")),
            ..HostFeatures::new_supported()
        };
        EnforcementPlan::for_profile(SandboxBackend::Namespaces, &self.launch.profile, &support)
    }
}
