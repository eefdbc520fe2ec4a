//! Forwarding of questions about hosts and files to the process that started the supervisor. That
//! process knows whom to ask.
//!
//! Questions are sent one at a time. While one is open, the terminal is reserved for the person.

use std::{
    collections::VecDeque,
    io::{self, PipeReader, PipeWriter, Read as _, Write as _},
    os::fd::AsFd as _,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    time::Duration,
};

use rustix::event::{PollFd, PollFlags};

use crate::{
    interface::{RuntimeDecision, RuntimeRequest},
    ipc::{CallerMessage, MessageSocket, SupervisorMessage, is_readable},
    network::{NetworkReviewer, ReviewedConnection},
    supervisor::{terminal_lease::TerminalLease, terminal_relay::TerminalRelay},
};

/// The interval at which a client checks whether the answer is still needed.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// One question, and the channel for its answer.
struct RelayedRequest {
    request: RuntimeRequest,
    answer: mpsc::Sender<RuntimeDecision>,
    /// True if the answer is not needed any more.
    withdrawn: Arc<AtomicBool>,
}

/// The open questions.
pub(super) struct ReviewRelay {
    caller: MessageSocket,
    terminal_lease: TerminalLease,
    incoming: mpsc::Receiver<RelayedRequest>,
    sender: mpsc::Sender<RelayedRequest>,
    wake_reader: PipeReader,
    wake_writer: PipeWriter,
    waiting: VecDeque<RelayedRequest>,
    current: Option<RelayedRequest>,
}

impl ReviewRelay {
    pub(super) fn new(caller: MessageSocket, turn: TerminalLease) -> io::Result<Self> {
        let (ask, asked) = mpsc::channel();
        let (woken, wake) = io::pipe()?;
        let waiting = VecDeque::new();
        Ok(Self {
            caller,
            terminal_lease: turn,
            incoming: asked,
            sender: ask,
            wake_reader: woken,
            wake_writer: wake,
            waiting,
            current: None,
        })
    }

    /// Returns the socket of a relay that was not used.
    pub(super) fn into_caller(self) -> MessageSocket {
        self.caller
    }

    /// Returns the descriptors to poll.
    pub(super) fn poll_descriptors(&self) -> Vec<PollFd<'_>> {
        vec![
            PollFd::new(self.caller.descriptor(), PollFlags::IN),
            PollFd::new(&self.wake_reader, PollFlags::IN),
        ]
    }

    /// Returns a client that can send questions to this relay.
    pub(super) fn create_client(&self) -> ReviewClient {
        ReviewClient {
            sender: Mutex::new(self.sender.clone()),
            wake_writer: self.wake_writer.try_clone().ok(),
        }
    }

    /// Receives questions and answers, and sends the next question. Returns false if the process
    /// that could answer is gone.
    pub(super) fn process_events(&mut self, relay: &mut Option<TerminalRelay>) -> bool {
        if is_readable(self.wake_reader.as_fd()) {
            let mut bytes = [0; 64];
            drop(self.wake_reader.read(&mut bytes));
        }
        self.waiting.extend(self.incoming.try_iter());
        self.waiting.retain(|question| !question.withdrawn.load(Ordering::Relaxed));
        if self.current.as_ref().is_some_and(|put| put.withdrawn.swap(false, Ordering::Relaxed)) {
            // The question is still answered. The caller receives messages again after its answer.
            drop(self.caller.send(&SupervisorMessage::Withdrawn, &[]));
        }
        if is_readable(self.caller.descriptor().as_fd()) && !self.receive_decision(relay) {
            return false;
        }
        while self.current.is_none()
            && let Some(next) = self.waiting.pop_front()
        {
            self.send_request(next, relay);
        }
        true
    }

    fn send_request(&mut self, next: RelayedRequest, relay: &mut Option<TerminalRelay>) {
        relay.iter_mut().for_each(TerminalRelay::pause);
        self.terminal_lease.acquire();
        let said = self.caller.send(&SupervisorMessage::Ask(next.request.clone()), &[]);
        self.current = Some(next);
        if said.is_err() {
            // If the question cannot be sent, it is rejected. If the caller is gone, this is
            // received next.
            self.finish_request(RuntimeDecision::Rejected, relay);
        }
    }

    fn finish_request(&mut self, answer: RuntimeDecision, relay: &mut Option<TerminalRelay>) {
        if let Some(question) = self.current.take() {
            relay.iter_mut().for_each(TerminalRelay::resume);
            self.terminal_lease.release();
            // Sending fails only if the waiting thread has given up by now.
            _ = question.answer.send(answer);
        }
    }

    fn receive_decision(&mut self, relay: &mut Option<TerminalRelay>) -> bool {
        match self.caller.receive() {
            Ok(Some((CallerMessage::Answer(answer), _))) => {
                self.finish_request(answer, relay);
                true
            }
            Ok(None) | Err(_) => false,
        }
    }
}

/// A client that sends questions.
pub(super) struct ReviewClient {
    sender: Mutex<mpsc::Sender<RelayedRequest>>,
    wake_writer: Option<PipeWriter>,
}

impl ReviewClient {
    /// Sends a question, and waits for the answer as long as it is needed.
    pub(super) fn ask_and_wait(
        &self,
        what: RuntimeRequest,
        gone: &dyn Fn() -> bool,
    ) -> RuntimeDecision {
        let (answer, answered) = mpsc::channel();
        let ask = self.sender.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let withdrawn = Arc::new(AtomicBool::new(false));
        let sent = ask
            .send(RelayedRequest { request: what, answer, withdrawn: Arc::clone(&withdrawn) })
            .is_ok();
        if !(sent && self.wake_relay()) {
            return RuntimeDecision::Rejected;
        }
        loop {
            match answered.recv_timeout(POLL_INTERVAL) {
                Ok(answer) => return answer,
                Err(RecvTimeoutError::Timeout) if !gone() => {}
                Err(_) => break,
            }
        }
        withdrawn.store(true, Ordering::Relaxed);
        // If the relay cannot be woken, it has ended.
        self.wake_relay();
        RuntimeDecision::Rejected
    }

    fn wake_relay(&self) -> bool {
        self.wake_writer.as_ref().is_some_and(|mut wake| wake.write_all(b"?").is_ok())
    }
}

impl NetworkReviewer for ReviewClient {
    fn ask(&self, connection: &ReviewedConnection) -> RuntimeDecision {
        let ReviewedConnection { host, private_address, port } = connection.clone();
        let request = match private_address {
            Some(address) => RuntimeRequest::PrivateAddress { host, address, port },
            None => RuntimeRequest::Host { host, port },
        };
        self.ask_and_wait(request, &|| false)
    }
}
