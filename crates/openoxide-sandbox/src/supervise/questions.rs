//! Questions about hosts and files, put to the process that has started the supervisor: it knows who can be asked.
//!
//! One is put at a time, and while it stands the person's terminal is theirs.

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

use super::turn::Turn;
use crate::{
    LiveAnswer, LiveQuestion, NetworkReviewer,
    called::{FromCaller, ToCaller},
    terminal::{Relay, ready},
    wire::Wire,
};

/// How often is looked whether somebody still wants to know.
const LOOK: Duration = Duration::from_millis(100);

/// One question, and where its answer goes.
struct Question {
    what: LiveQuestion,
    answer: mpsc::Sender<LiveAnswer>,
    /// Nobody wants to know any more.
    gone: Arc<AtomicBool>,
}

/// The questions that stand.
pub(super) struct Questions {
    caller: Wire,
    turn: Turn,
    asked: mpsc::Receiver<Question>,
    ask: mpsc::Sender<Question>,
    woken: PipeReader,
    wake: PipeWriter,
    waiting: VecDeque<Question>,
    put: Option<Question>,
}

impl Questions {
    pub(super) fn new(caller: Wire, turn: Turn) -> io::Result<Self> {
        let (ask, asked) = mpsc::channel();
        let (woken, wake) = io::pipe()?;
        let waiting = VecDeque::new();
        Ok(Self { caller, turn, asked, ask, woken, wake, waiting, put: None })
    }

    /// What to wait for.
    pub(super) fn waits(&self) -> Vec<PollFd<'_>> {
        vec![
            PollFd::new(self.caller.descriptor(), PollFlags::IN),
            PollFd::new(&self.woken, PollFlags::IN),
        ]
    }

    /// Returns who puts questions here.
    pub(super) fn asking(&self) -> Asking {
        Asking { ask: Mutex::new(self.ask.clone()), wake: self.wake.try_clone().ok() }
    }

    /// Hears questions and answers, and puts the next one. False: whoever could answer is gone.
    pub(super) fn attend(&mut self, relay: &mut Option<Relay>) -> bool {
        if ready(self.woken.as_fd()) {
            let mut bytes = [0; 64];
            drop(self.woken.read(&mut bytes));
        }
        self.waiting.extend(self.asked.try_iter());
        self.waiting.retain(|question| !question.gone.load(Ordering::Relaxed));
        if self.put.as_ref().is_some_and(|put| put.gone.swap(false, Ordering::Relaxed)) {
            // It is answered all the same, and who has answered it listens again.
            drop(self.caller.send(&ToCaller::Withdrawn, &[]));
        }
        if ready(self.caller.descriptor().as_fd()) && !self.hear(relay) {
            return false;
        }
        while self.put.is_none()
            && let Some(next) = self.waiting.pop_front()
        {
            self.put(next, relay);
        }
        true
    }

    fn put(&mut self, next: Question, relay: &mut Option<Relay>) {
        relay.iter_mut().for_each(Relay::pause);
        self.turn.take();
        let said = self.caller.send(&ToCaller::Ask(next.what.clone()), &[]);
        self.put = Some(next);
        if said.is_err() {
            // What cannot be said cannot be asked; that whoever could answer is gone is heard of next.
            self.answer(LiveAnswer::No, relay);
        }
    }

    fn answer(&mut self, answer: LiveAnswer, relay: &mut Option<Relay>) {
        if let Some(question) = self.put.take() {
            relay.iter_mut().for_each(Relay::resume);
            self.turn.give_back();
            // Whoever waited has given up by now.
            _ = question.answer.send(answer);
        }
    }

    fn hear(&mut self, relay: &mut Option<Relay>) -> bool {
        match self.caller.receive() {
            Ok(Some((FromCaller::Answer(answer), _))) => {
                self.answer(answer, relay);
                true
            }
            Ok(None) | Err(_) => false,
        }
    }
}

/// Who puts questions.
pub(super) struct Asking {
    ask: Mutex<mpsc::Sender<Question>>,
    wake: Option<PipeWriter>,
}

impl Asking {
    /// Asks, and waits for the answer as long as somebody wants to know.
    pub(super) fn put(&self, what: LiveQuestion, gone: &dyn Fn() -> bool) -> LiveAnswer {
        let (answer, answered) = mpsc::channel();
        let ask = self.ask.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let withdrawn = Arc::new(AtomicBool::new(false));
        let sent = ask.send(Question { what, answer, gone: Arc::clone(&withdrawn) }).is_ok();
        if !(sent && self.wake()) {
            return LiveAnswer::No;
        }
        loop {
            match answered.recv_timeout(LOOK) {
                Ok(answer) => return answer,
                Err(RecvTimeoutError::Timeout) if !gone() => {}
                Err(_) => break,
            }
        }
        withdrawn.store(true, Ordering::Relaxed);
        // Where nobody is woken, nobody is left.
        self.wake();
        LiveAnswer::No
    }

    fn wake(&self) -> bool {
        self.wake.as_ref().is_some_and(|mut wake| wake.write_all(b"?").is_ok())
    }
}

impl NetworkReviewer for Asking {
    fn ask(&self, host: &str, port: u16) -> LiveAnswer {
        self.put(LiveQuestion::Host { host: host.to_owned(), port }, &|| false)
    }
}
