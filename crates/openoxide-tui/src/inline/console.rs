//! Input that a reviewer types at a terminal, key by key, and the status row that responds to it.

use std::{collections::VecDeque, time::Duration};

use crossterm::event::{Event, KeyEvent, KeyEventKind};

use crate::{
    inline::{
        ask_error::AskError,
        prompt_state::{is_cancel_key, is_enter_key},
        screen_pages::{ScreenPages, ScreenSize},
        terminal::TerminalIo,
    },
    text_wrap::{display_width, wrap_words},
};

/// The time without input that is required before the question is shown.
const QUIET_PERIOD: Duration = Duration::from_millis(50);
/// The required time without input after something was typed. A person who is typing pauses longer
/// than this only to read.
const READING_PAUSE: Duration = Duration::from_millis(400);
/// The minimum time between two keys. Keys that arrive faster were not pressed one by one.
const BURST_INTERVAL: Duration = Duration::from_millis(25);
/// The time without resize events after which a resize is complete. A terminal sends many of them
/// while it is resized.
const RESIZE_INTERVAL: Duration = Duration::from_millis(120);
/// The interval at which the prompt checks whether the question was withdrawn.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Discards all input that was typed so far, and returns whether it included Ctrl-C.
pub(crate) fn discard_input(terminal: &mut impl TerminalIo) -> Result<bool, AskError> {
    let mut quiet = QUIET_PERIOD;
    while let Some(event) = terminal.next_event(quiet)? {
        match event {
            Event::Key(key) if is_cancel_key(key) => return Ok(true),
            Event::Key(_) | Event::Paste(_) => quiet = READING_PAUSE,
            _ => {}
        }
    }
    Ok(false)
}

/// A terminal with its unprocessed input.
pub(crate) struct PromptConsole<'a, T> {
    pub(crate) terminal: &'a mut T,
    /// Events that were read ahead and not processed yet.
    pending: VecDeque<Event>,
    /// The pages of the question that were not shown yet, if it does not fit the screen.
    pages: ScreenPages,
    /// The size of the screen for which the pages were made.
    size: ScreenSize,
    /// The time from which on the question on the screen can be assumed to have been read.
    ready_at: Duration,
}

/// An input of the reviewer.
pub(crate) enum ConsoleInput {
    Key(KeyEvent),
    Paste(String),
    /// Several keys that arrived at once.
    Burst,
    /// A key that was pressed before the question can have been read.
    Early,
    Resized,
}

impl<'a, T: TerminalIo> PromptConsole<'a, T> {
    pub(crate) fn new(terminal: &'a mut T) -> Self {
        let size = terminal.size();
        let (pending, pages) = (VecDeque::new(), ScreenPages::default());
        Self { terminal, pending, pages, size, ready_at: Duration::ZERO }
    }

    /// Writes a question or a part of one. Keys are ignored for a moment, because a person who is
    /// typing has not read it yet.
    pub(crate) fn show_question(&mut self, text: &str) -> Result<(), AskError> {
        self.ready_at = self.terminal.elapsed() + READING_PAUSE;
        self.repeat_question(text)
    }

    /// Writes a question that was shown before, for another size of the screen.
    pub(crate) fn repeat_question(&mut self, text: &str) -> Result<(), AskError> {
        self.size = self.terminal.size();
        self.pages = ScreenPages::new(text, self.size);
        self.terminal.write(text)
    }

    /// Returns whether the question does not fit the screen and not all of its pages were shown.
    pub(crate) fn has_unread_pages(&self) -> bool {
        !self.pages.is_empty()
    }

    /// Writes the next page of a question that does not fit the screen.
    pub(crate) fn show_next_page(&mut self) -> Result<(), AskError> {
        self.ready_at = self.terminal.elapsed() + READING_PAUSE;
        let page = self.pages.next_page(self.size.columns);
        page.map_or(Ok(()), |page| self.terminal.write(&page))
    }

    /// Forgets the pages of a part of the question that is no longer asked.
    pub(crate) fn discard_pages(&mut self) {
        self.pages = ScreenPages::default();
    }

    /// Returns whether the question has to be drawn again: its width is another one, or pages that
    /// were made for another height are unread.
    pub(crate) fn requires_redraw(&self) -> bool {
        let size = self.terminal.size();
        size.columns != self.size.columns || (size != self.size && self.has_unread_pages())
    }

    /// Waits for the next input. If `written` is set, the reviewer is writing text, so keys at any
    /// speed are accepted.
    pub(crate) fn next_input(&mut self, written: bool) -> Result<ConsoleInput, AskError> {
        loop {
            match self.next_event(POLL_INTERVAL)? {
                Some(Event::Key(key)) if key.kind == KeyEventKind::Release => {}
                Some(Event::Key(key)) if written || is_cancel_key(key) => {
                    return Ok(ConsoleInput::Key(key));
                }
                Some(Event::Key(key)) => {
                    let early = self.terminal.elapsed() < self.ready_at;
                    return match self.check_single_key(key)? {
                        ConsoleInput::Key(key) if early && !is_cancel_key(key) => {
                            Ok(ConsoleInput::Early)
                        }
                        typed => Ok(typed),
                    };
                }
                Some(Event::Paste(text)) => return Ok(ConsoleInput::Paste(text)),
                Some(Event::Resize(..)) => return self.wait_for_resize(),
                _ => {}
            }
        }
    }

    /// Replaces the last row with `text`, or writes it below if it is too long for one row.
    pub(crate) fn show_status(&mut self, text: &str, width: u16) -> Result<(), AskError> {
        let width = usize::from(width);
        if display_width(text) + 2 < width {
            return self.terminal.write(&format!("\r\x1b[K> {text}"));
        }
        let rows = wrap_words(text, width.saturating_sub(2).max(8)).join("\n  ");
        self.terminal.write(&format!("\n> {rows}"))
    }

    /// Checks that `key` was the only key. A following Enter is allowed, as after an answer by
    /// line.
    fn check_single_key(&mut self, key: KeyEvent) -> Result<ConsoleInput, AskError> {
        let (mut quiet, mut pasted, mut resized) = (BURST_INTERVAL, is_enter_key(key), false);
        let mut alone = true;
        while let Some(event) = self.next_event(quiet)? {
            match event {
                Event::Key(next) if is_cancel_key(next) => return Ok(ConsoleInput::Key(next)),
                Event::Key(next) if next.kind == KeyEventKind::Release => {}
                Event::Key(next) if is_enter_key(next) && !pasted => {}
                Event::Key(_) | Event::Paste(_) => {
                    (alone, pasted, quiet) = (false, true, QUIET_PERIOD);
                }
                Event::Resize(..) => resized = true,
                _ => {}
            }
        }
        self.pending.extend(resized.then_some(Event::Resize(0, 0)));
        Ok(if alone { ConsoleInput::Key(key) } else { ConsoleInput::Burst })
    }

    /// Waits until the size of the terminal no longer changes.
    fn wait_for_resize(&mut self) -> Result<ConsoleInput, AskError> {
        while let Some(event) = self.next_event(RESIZE_INTERVAL)? {
            if !matches!(event, Event::Resize(..)) {
                self.pending.push_back(event);
                break;
            }
        }
        Ok(ConsoleInput::Resized)
    }

    fn next_event(&mut self, within: Duration) -> Result<Option<Event>, AskError> {
        match self.pending.pop_front() {
            Some(event) => Ok(Some(event)),
            None => self.terminal.next_event(within),
        }
    }
}
