//! Copying between the program and a person's terminal, which is reserved for the person while a
//! question is open.

use std::{
    fs::File,
    io::{self, Write as _},
    os::fd::{AsFd as _, OwnedFd},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    io::{read, retry_on_intr},
    process::getpgrp,
    termios::tcgetpgrp,
};

use crate::{ipc::is_readable, supervisor::output_tail::OutputTail};

/// The time to wait before a terminal that another process uses is checked again.
const RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// The exclusive use of the terminal, either by the program or by a question.
#[derive(Clone, Debug, Default)]
pub(super) struct TerminalLease(Arc<(Mutex<bool>, Condvar)>);

impl TerminalLease {
    /// Acquires the terminal for a question. Afterwards nothing is read from it or written to it
    /// for the program.
    pub(super) fn acquire(&self) {
        *self.lock_state() = true;
    }

    /// Releases the terminal.
    pub(super) fn release(&self) {
        *self.lock_state() = false;
        self.0.1.notify_all();
    }

    fn lock_state(&self) -> MutexGuard<'_, bool> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no question is open. No question can be opened while the returned guard exists.
    fn wait_until_free(&self) -> MutexGuard<'_, bool> {
        let free = self.0.1.wait_while(self.lock_state(), |asking| *asking);
        free.unwrap_or_else(PoisonError::into_inner)
    }
}

/// The two ends of a copy, and whether each is a terminal.
pub(super) struct StreamCopy {
    pub(super) from: OwnedFd,
    pub(super) to: OwnedFd,
    pub(super) from_terminal: bool,
    pub(super) to_terminal: bool,
    pub(super) terminal_lease: TerminalLease,
}

impl StreamCopy {
    /// Copies data as it arrives, until the input ends or the output is no longer read. Returns the
    /// last part of the data. Errors are ignored, as for a program whose output is no longer read.
    pub(super) fn run(self) -> OutputTail {
        let mut tail = OutputTail::default();
        drop(self.copy_all(&mut tail));
        tail
    }

    fn copy_all(&self, tail: &mut OutputTail) -> io::Result<()> {
        let mut bytes = vec![0; 8192];
        let mut to = BlockingWriter(File::from(self.to.try_clone()?));
        loop {
            let length = if self.from_terminal {
                self.read_input(&mut bytes)?
            } else {
                retry_on_intr(|| read(&self.from, bytes.as_mut_slice()))?
            };
            let read = bytes.get(..length).unwrap_or_default();
            tail.push(read);
            let free = self.to_terminal.then(|| self.terminal_lease.wait_until_free());
            to.write_all(read)?;
            drop(free);
            if length == 0 {
                return Ok(());
            }
        }
    }

    /// Reads input that was typed for the program: not the answer to a question, and not the input
    /// of another job.
    fn read_input(&self, bytes: &mut [u8]) -> io::Result<usize> {
        loop {
            let mut one = [PollFd::new(&self.from, PollFlags::IN)];
            _ = retry_on_intr(|| poll(&mut one, None))?;
            let free = self.terminal_lease.wait_until_free();
            if self.is_in_foreground() && is_readable(self.from.as_fd()) {
                return Ok(retry_on_intr(|| read(&self.from, &mut *bytes))?);
            }
            drop(free);
            thread::sleep(RETRY_INTERVAL);
        }
    }

    /// Returns whether this process may read from the terminal. A process that reads in the
    /// background is stopped. A terminal of another session has no such restriction.
    fn is_in_foreground(&self) -> bool {
        tcgetpgrp(&self.from).map_or(true, |group| group == getpgrp())
    }
}

/// A file whose writes block, even if another user of it has set `O_NONBLOCK`. This flag is shared
/// by all users of an open file.
struct BlockingWriter(File);

impl io::Write for BlockingWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.0.write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    poll(&mut [PollFd::new(&self.0, PollFlags::OUT)], None)?;
                }
                written => return written,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
