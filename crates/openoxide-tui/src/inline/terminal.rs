//! The terminal that the prompt speaks to.

use std::{
    io::{self, IsTerminal as _, Write as _},
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use crossterm::{
    event::{self, DisableBracketedPaste, EnableBracketedPaste, Event},
    execute,
    terminal::{disable_raw_mode, enable_raw_mode, window_size},
};

use crate::inline::ask_error::AskError;

/// The width that is used if the terminal's width is unknown.
const DEFAULT_WIDTH: u16 = 80;

/// The terminal operations that the prompt uses.
pub(crate) trait TerminalIo {
    /// Returns how many columns it has.
    fn width(&self) -> u16;

    /// Writes `text`, in which a line feed begins a row.
    fn write(&mut self, text: &str) -> Result<(), AskError>;

    /// Returns how much time has passed since some fixed moment.
    fn elapsed(&self) -> Duration;

    /// Returns the next event, or nothing if there is none for so long.
    fn next_event(&mut self, within: Duration) -> Result<Option<Event>, AskError>;
}

/// The terminal of this process, in raw mode as long as this value lives.
#[derive(Debug)]
pub(crate) struct RawTerminal<'a> {
    withdrawn: Option<&'a AtomicBool>,
    opened: Instant,
    _mode: RawMode,
}

impl<'a> RawTerminal<'a> {
    /// Opens it; `marks_pastes` has it set pasted text apart from typed keys, by an escape sequence.
    pub(crate) fn open(withdrawn: Option<&'a AtomicBool>, marks_pastes: bool) -> io::Result<Self> {
        Ok(Self { withdrawn, opened: Instant::now(), _mode: RawMode::enter(marks_pastes)? })
    }

    fn check_withdrawn(&self) -> Result<(), AskError> {
        match self.withdrawn {
            Some(flag) if flag.load(Ordering::Relaxed) => Err(AskError::Withdrawn),
            _ => Ok(()),
        }
    }
}

impl TerminalIo for RawTerminal<'_> {
    fn width(&self) -> u16 {
        terminal_width()
    }

    fn write(&mut self, text: &str) -> Result<(), AskError> {
        // In raw mode a line feed does not go back to the first column.
        let mut out = io::stderr().lock();
        out.write_all(text.replace('\n', "\r\n").as_bytes())?;
        Ok(out.flush()?)
    }

    fn elapsed(&self) -> Duration {
        self.opened.elapsed()
    }

    fn next_event(&mut self, within: Duration) -> Result<Option<Event>, AskError> {
        self.check_withdrawn()?;
        if event::poll(within)? {
            return Ok(Some(event::read()?));
        }
        // A terminal that hung up has no events either, and would have none for ever.
        if io::stdin().is_terminal() { Ok(None) } else { Err(AskError::HungUp) }
    }
}

/// Returns how many columns the terminal of this process has.
pub(crate) fn terminal_width() -> u16 {
    window_size().ok().map(|size| size.columns).filter(|width| *width > 0).unwrap_or(DEFAULT_WIDTH)
}

/// Raw mode; it ends with this value, however the prompt ended.
#[derive(Debug)]
struct RawMode {
    marks_pastes: bool,
}

impl RawMode {
    fn enter(marks_pastes: bool) -> io::Result<Self> {
        enable_raw_mode()?;
        let mode = Self { marks_pastes }; // From here on, leaving by an error restores the terminal.
        if marks_pastes {
            execute!(io::stderr(), EnableBracketedPaste)?;
        }
        Ok(mode)
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        // Errors cannot be reported if the terminal is gone.
        if self.marks_pastes {
            execute!(io::stderr(), DisableBracketedPaste).ok();
        }
        disable_raw_mode().ok();
    }
}
