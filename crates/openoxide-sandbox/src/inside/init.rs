//! The first process of its namespace: it waits for all others, and everything ends with it (pid_namespaces(7)).

use std::{
    io,
    os::fd::{AsFd as _, OwnedFd},
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    process::{Pid, Signal, WaitOptions, WaitStatus, kill_process_group, wait},
};

use super::kept::Kept;
use crate::{
    progress::{Event, ProgressWriter},
    report::End,
    sys,
    wire::{Message, Wire},
};

/// What it works with.
pub(super) struct Init<'a> {
    pub(super) worker: Pid,
    pub(super) ended: OwnedFd,
    pub(super) wire: &'a Wire,
    pub(super) progress: &'a ProgressWriter,
    pub(super) kept: Kept,
}

/// Returns a descriptor that says when children end.
pub(super) fn ended_children() -> io::Result<OwnedFd> {
    sys::signal_descriptor(&[Signal::CHILD])
}

impl Init<'_> {
    /// Waits until the program has ended, or nobody is there any more for whom it runs. Returns the status of this process.
    pub(super) fn attend(mut self) -> i32 {
        let status = self.wait();
        if status != 0 {
            self.kept.end();
        }
        status
    }

    fn wait(&mut self) -> i32 {
        loop {
            if let Some(end) = self.reap() {
                // The supervisor hears the same next; this is for whoever asks when it is gone.
                drop(self.progress.record(Event::Ended(end)));
                return i32::from(self.wire.send(&Message::Ended(end), &[]).is_err());
            }
            let mut waits = [
                PollFd::new(&self.ended, PollFlags::IN),
                PollFd::new(self.wire.descriptor(), PollFlags::IN),
                PollFd::new(self.kept.mounts(), PollFlags::PRI),
            ];
            _ = poll(&mut waits, self.kept.patience());
            let [_, said, mounts] = waits.map(|wait| !wait.revents().is_empty());
            while sys::take_signal(self.ended.as_fd()).is_some() {}
            let bare = mounts || self.kept.patience().is_some();
            let gone = said && !self.obey();
            // Where something cannot be covered again, everything ends.
            if gone || bare && self.cover().is_err() {
                return 1;
            }
        }
    }

    fn cover(&mut self) -> io::Result<()> {
        let wire = self.wire;
        // Where the supervisor is gone, that is noticed next.
        self.kept.cover(|path| drop(wire.send(&Message::Placed(path.to_owned()), &[])))
    }

    /// Takes the ends of all children that have ended; returns that of the program.
    fn reap(&self) -> Option<End> {
        let mut end = None;
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            if pid == self.worker {
                end = Some(how(status));
            }
        }
        end
    }

    /// Does what was said. False: the supervisor is gone.
    fn obey(&self) -> bool {
        match self.wire.receive() {
            Ok(Some((Message::Signal(number), _))) => {
                if let Some(signal) = Signal::from_named_raw(number) {
                    _ = kill_process_group(self.worker, signal);
                }
                true
            }
            Ok(Some((Message::Listen(port), _))) => {
                super::listen(port, self.wire);
                true
            }
            Ok(Some(_)) => true,
            Ok(None) | Err(_) => false,
        }
    }
}

fn how(status: WaitStatus) -> End {
    let byte = |number: i32| u8::try_from(number).unwrap_or(u8::MAX);
    match (status.exit_status(), status.terminating_signal()) {
        (Some(status), _) => End::Exited(byte(status)),
        (None, signal) => End::Signalled(signal.map_or(u8::MAX, byte)),
    }
}
