//! The terminal that the prompt reads from and writes to.

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

use crate::inline::{ask_error::AskError, screen_pages::ScreenSize};

/// The size that is used if the terminal's size is unknown.
const DEFAULT_SIZE: ScreenSize = ScreenSize { columns: 80, rows: 24 };

/// The terminal operations that the prompt uses.
pub(crate) trait TerminalIo {
    /// Returns the size of the screen.
    fn size(&self) -> ScreenSize;

    /// Returns the width in columns.
    fn width(&self) -> u16 {
        self.size().columns
    }

    /// Writes `text`. A line feed starts a new row.
    fn write(&mut self, text: &str) -> Result<(), AskError>;

    /// Returns the time that has passed since a fixed moment.
    fn elapsed(&self) -> Duration;

    /// Returns the next event, or `None` if there is none within this time.
    fn next_event(&mut self, within: Duration) -> Result<Option<Event>, AskError>;
}

/// The terminal of this process. It is in raw mode until this value is dropped.
#[derive(Debug)]
pub(crate) struct RawTerminal<'a> {
    withdrawn: Option<&'a AtomicBool>,
    opened: Instant,
    _mode: RawMode,
}

impl<'a> RawTerminal<'a> {
    /// Opens the terminal. If `marks_pastes` is set, an escape sequence makes it distinguish pasted
    /// text from typed keys.
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
    fn size(&self) -> ScreenSize {
        terminal_size()
    }

    fn write(&mut self, text: &str) -> Result<(), AskError> {
        // In raw mode, a line feed does not return to the first column.
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
        // A terminal that hung up never has events again.
        if io::stdin().is_terminal() { Ok(None) } else { Err(AskError::HungUp) }
    }
}

/// Returns the size of the terminal of this process.
pub(crate) fn terminal_size() -> ScreenSize {
    let size = window_size().ok();
    let known = |value: Option<u16>, default| value.filter(|value| *value > 0).unwrap_or(default);
    ScreenSize {
        columns: known(size.as_ref().map(|size| size.columns), DEFAULT_SIZE.columns),
        rows: known(size.as_ref().map(|size| size.rows), DEFAULT_SIZE.rows),
    }
}

/// Raw mode. It is left when this value is dropped, regardless of how the prompt ended.
#[derive(Debug)]
struct RawMode {
    marks_pastes: bool,
}

impl RawMode {
    fn enter(marks_pastes: bool) -> io::Result<Self> {
        enable_raw_mode()?;
        let mode = Self { marks_pastes }; // From here on, returning an error restores the terminal.
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
