//! A separate terminal for a program that a person runs at a terminal.
//!
//! The program never gets the person's terminal. With it, the program could write into its input,
//! stop other jobs, or read what is typed after its end. Typed input is forwarded to the separate
//! terminal, output is forwarded from it, and its size is kept the same.

use std::{
    io,
    os::fd::{AsFd, OwnedFd},
};

use rustix::{
    event::{PollFd, PollFlags},
    io::{read, write},
    process::getpgrp,
    stdio::{stdin, stdout},
    termios::{
        OptionalActions, Termios, isatty, tcgetattr, tcgetpgrp, tcgetwinsize, tcsetattr,
        tcsetwinsize,
    },
};

use crate::{ipc::is_readable, supervisor::output_tail::OutputTail};

/// Returns whether both standard input and standard output are terminals.
#[must_use]
pub fn has_terminal() -> bool {
    isatty(stdin()) && isatty(stdout())
}

/// The person's terminal, connected to the outer end. It is in raw mode during the run, and its
/// original mode is restored at the end.
#[derive(Debug)]
pub(crate) struct TerminalRelay {
    outer: OwnedFd,
    /// The original mode of the person's terminal, while this relay has put it into raw mode.
    original_mode: Option<Termios>,
    paused: bool,
    has_input: bool,  // Whether there may be more input.
    has_output: bool, // Whether there may be more output.
    tail: OutputTail,
}

impl TerminalRelay {
    /// Connects the terminals.
    pub(crate) fn start(outer: OwnedFd) -> io::Result<Self> {
        let tail = OutputTail::default();
        let mut relay = Self {
            outer,
            original_mode: None,
            paused: false,
            has_input: true,
            has_output: true,
            tail,
        };
        relay.resize();
        if is_in_foreground() {
            relay.enter_raw_mode()?;
        }
        Ok(relay)
    }

    /// Sets the size of the inner terminal to that of the person's terminal.
    pub(crate) fn resize(&self) {
        if let Ok(size) = tcgetwinsize(stdout()) {
            _ = tcsetwinsize(&self.outer, size);
        }
    }

    /// Takes the terminal if this job is in its foreground and does not have it yet. A job in the
    /// background would be stopped if it read from the terminal or changed its mode. Its output is
    /// still forwarded.
    pub(crate) fn follow_foreground(&mut self) {
        if self.paused || !is_in_foreground() {
            return;
        }
        self.resize();
        if self.original_mode.is_none() {
            drop(self.enter_raw_mode());
        }
    }

    /// Gives the terminal back before this job is stopped.
    pub(crate) fn suspend(&mut self) {
        self.reset_terminal();
    }

    /// Puts the person's terminal into raw mode, so that keys are forwarded unchanged.
    fn enter_raw_mode(&mut self) -> io::Result<()> {
        let original = tcgetattr(stdin())?;
        let mut raw = original.clone();
        raw.make_raw();
        // The inner terminal has already processed the output. Messages of OpenOxide still need
        // their line ends converted.
        raw.output_modes = original.output_modes;
        self.original_mode = Some(original);
        Ok(tcsetattr(stdin(), OptionalActions::Drain, &raw)?)
    }

    /// Restores the mode of the person's terminal, for a question or at the end.
    fn restore(&mut self) {
        if !is_in_foreground() {
            return;
        }
        if let Some(original) = self.original_mode.take() {
            _ = tcsetattr(stdin(), OptionalActions::Drain, &original);
        }
    }

    /// Pauses the relay and restores the person's terminal for a question. Output of the program
    /// waits until [`Self::resume`].
    pub(crate) fn pause(&mut self) {
        self.paused = true;
        self.reset_terminal();
    }

    /// Restores the person's terminal, and ends states that the program may have left in it: an
    /// unfinished sequence that hides the following text, hidden or coloured text, other character
    /// sets, a scroll region. The next message must be readable.
    fn reset_terminal(&mut self) {
        if self.original_mode.is_some() {
            _ = write(stdout(), PLAIN);
        }
        self.restore();
    }

    /// Continues the relay after a question.
    pub(crate) fn resume(&mut self) {
        self.paused = false;
        self.follow_foreground();
    }

    /// Returns the descriptors to poll.
    pub(crate) fn poll_descriptors(&self) -> Vec<PollFd<'_>> {
        let mut waits = Vec::new();
        if self.paused {
            return waits;
        }
        if self.has_input && self.original_mode.is_some() {
            waits.push(PollFd::from_borrowed_fd(stdin(), PollFlags::IN));
        }
        if self.has_output {
            waits.push(PollFd::new(&self.outer, PollFlags::IN));
        }
        waits
    }

    /// Forwards the available data, once in each direction. The caller polls and calls this again.
    pub(crate) fn forward(&mut self) {
        if self.paused {
            return;
        }
        if self.has_input && self.original_mode.is_some() && is_readable(stdin()) {
            self.has_input = copy_available(stdin(), self.outer.as_fd(), None);
        }
        if self.has_output && is_readable(self.outer.as_fd()) {
            self.forward_output();
        }
    }

    fn forward_output(&mut self) {
        self.has_output = copy_available(self.outer.as_fd(), stdout(), Some(&mut self.tail));
    }

    /// Forwards the remaining output.
    pub(crate) fn finish(&mut self) {
        while self.has_output && is_readable(self.outer.as_fd()) {
            self.forward_output();
        }
        self.reset_terminal();
    }

    /// Returns the last part of the output.
    pub(crate) const fn tail(&self) -> &OutputTail {
        &self.tail
    }
}

/// Returns whether the job of this process is in the foreground of the person's terminal. A terminal
/// of another session has no jobs.
fn is_in_foreground() -> bool {
    tcgetpgrp(stdin()).map_or(true, |group| group == getpgrp())
}

/// The sequences that reset a terminal. CAN and ST end any sequence (ECMA-48 §5, §8.3.143). Then
/// characters replace existing text (IRM) and wrap (DECAWM), drawing is not delayed (2026), the
/// mouse sends no input, and colours are the terminal's own (xterm's OSC 104, 110, 111). Black on
/// black would hide a question, and another one could be drawn over it. Finally, there are plain
/// characters (SGR 0), the usual character set, a visible cursor, and the whole screen as the
/// scroll region, with the cursor at its previous position.
const PLAIN: &[u8] =
    b"\x18\x1b\\\x1b[4l\x1b[?7h\x1b[?2026l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1004l\
\x1b]104\x1b\\\x1b]110\x1b\\\x1b]111\x1b\\\x1b[0m\x0f\x1b(B\x1b[?25h\x1b7\x1b[r\x1b8";

impl Drop for TerminalRelay {
    fn drop(&mut self) {
        self.restore();
    }
}

/// Copies the available data. Returns false if no more data will arrive.
fn copy_available(from: impl AsFd, to: impl AsFd, tail: Option<&mut OutputTail>) -> bool {
    let mut bytes = [0; 8192];
    let Ok(length) = rustix::io::retry_on_intr(|| read(&from, &mut bytes)) else { return false };
    let mut left = bytes.get(..length).unwrap_or_default();
    if let Some(tail) = tail {
        tail.push(left);
    }
    while !left.is_empty() {
        match rustix::io::retry_on_intr(|| write(&to, left)) {
            Ok(written) => left = left.get(written..).unwrap_or_default(),
            Err(_) => return false,
        }
    }
    length > 0
}
