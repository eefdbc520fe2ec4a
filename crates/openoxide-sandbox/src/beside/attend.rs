//! What the process beside does while the program runs.

use std::os::fd::{AsFd as _, OwnedFd};

use rustix::{
    event::{PollFd, PollFlags, poll},
    process::{
        Pid, Signal, WaitOptions, WaitStatus, kill_process, kill_process_group, wait, waitpid,
    },
};

use super::{ended, is_handed_on};
use crate::{
    Launch,
    progress::{Event, ProgressWriter},
    sys,
    wire::{Message, Wire},
};

/// Its own, those that keys make, and what the supervisor ends it with.
pub(super) const HEARD: &[Signal] =
    &[Signal::CHILD, Signal::INT, Signal::QUIT, Signal::WINCH, Signal::TERM, Signal::HUP];

/// What it works with.
pub(super) struct Attending<'a> {
    pub(super) launch: &'a Launch,
    pub(super) wire: &'a Wire,
    pub(super) progress: &'a ProgressWriter,
    pub(super) heard: OwnedFd,
    pub(super) bwrap: Pid,
    /// The first process inside, which leads the group of the program.
    pub(super) first: Pid,
    pub(super) status: OwnedFd,
    pub(super) said: Vec<u8>,
}

impl Attending<'_> {
    /// Waits until the program has ended, or nobody is there any more for whom it runs. Nothing of it is left then. Returns the
    /// status of this process.
    pub(super) fn attend(mut self) -> i32 {
        let status = self.wait();
        self.end_all();
        let Some(status) = status else { return 1 };
        ended::rest(&self.status, &mut self.said);
        let message = ended::message(status, &self.said, self.launch);
        let event = match message {
            Message::Ended(end) => Event::Ended(end),
            _ => Event::NotExecuted,
        };
        // The supervisor hears the same next.
        drop(self.progress.record(event));
        i32::from(self.wire.send(&message, &[]).is_err())
    }

    /// Returns how `bwrap` has ended; none where all is to end now.
    fn wait(&self) -> Option<WaitStatus> {
        loop {
            let mut both = [
                PollFd::new(&self.heard, PollFlags::IN),
                PollFd::new(self.wire.descriptor(), PollFlags::IN),
            ];
            _ = poll(&mut both, None);
            let [_, said] = &both;
            let said = !said.revents().is_empty();
            while let Some(signal) = sys::take_signal(self.heard.as_fd()) {
                match signal {
                    Signal::TERM | Signal::HUP => return None,
                    signal if is_handed_on(signal) => self.hand_on(signal),
                    _ => {}
                }
            }
            if let Some(status) = self.reap() {
                return Some(status);
            }
            if said && !self.obey() {
                return None;
            }
        }
    }

    /// The first process itself is not ended by it: nothing outside ends the first one of a namespace but SIGKILL.
    fn hand_on(&self, signal: Signal) {
        _ = kill_process_group(self.first, signal);
    }

    /// Takes the ends of all children that have ended; returns that of `bwrap`.
    fn reap(&self) -> Option<WaitStatus> {
        let mut end = None;
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            if pid == self.bwrap {
                end = Some(status);
            }
        }
        end
    }

    /// Does what was said. False: the supervisor is gone.
    fn obey(&self) -> bool {
        match self.wire.receive() {
            Ok(Some((Message::Signal(number), _))) => {
                if let Some(signal) = Signal::from_named_raw(number) {
                    self.hand_on(signal);
                }
                true
            }
            Ok(Some(_)) => true,
            Ok(None) | Err(_) => false,
        }
    }

    /// Kills `bwrap`, with which its first process is killed (`--die-with-parent`), with which all others are. Each becomes a
    /// child of this process when its parent ends. A number is used only while it is that of a child that was not waited for.
    fn end_all(&self) {
        for child in [self.bwrap, self.first] {
            if matches!(waitpid(Some(child), WaitOptions::NOHANG), Ok(None)) {
                _ = kill_process(child, Signal::KILL);
            }
        }
        while !matches!(wait(WaitOptions::empty()), Err(rustix::io::Errno::CHILD)) {}
    }
}
