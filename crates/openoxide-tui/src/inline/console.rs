//! What a reviewer types at a terminal, key by key, and the row that answers to it.

use std::{collections::VecDeque, time::Duration};

use crossterm::event::{Event, KeyEvent, KeyEventKind};

use super::{
    AskError,
    prompt_state::{is_cancel_key, is_enter_key},
    terminal::TerminalIo,
};
use crate::text_wrap::{display_width, wrap_words};

/// So long nothing may be typed before the question is shown.
const QUIET_PERIOD: Duration = Duration::from_millis(50);
/// So long, if something was: whoever is typing pauses longer than that only to read.
const READING_PAUSE: Duration = Duration::from_millis(400);
/// Keys that come closer together than this were not pressed one by one.
const BURST_INTERVAL: Duration = Duration::from_millis(25);
/// A terminal that is being resized says so many times.
const RESIZE_INTERVAL: Duration = Duration::from_millis(120);
/// How often is looked whether the question still stands.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Discards everything that was typed until now, and says whether Ctrl-C was among it.
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

/// A terminal with what was typed there and not yet looked at.
pub(crate) struct PromptConsole<'a, T> {
    pub(crate) terminal: &'a mut T,
    /// Events that were read too early.
    pending: VecDeque<Event>,
    /// When the question that is on the screen can have been read.
    ready_at: Duration,
}

/// What the reviewer did.
pub(crate) enum ConsoleInput {
    Key(KeyEvent),
    Paste(String),
    /// Several keys at once.
    Burst,
    /// A key before the question can have been read.
    Early,
    Resized,
}

impl<'a, T: TerminalIo> PromptConsole<'a, T> {
    pub(crate) const fn new(terminal: &'a mut T) -> Self {
        Self { terminal, pending: VecDeque::new(), ready_at: Duration::ZERO }
    }

    /// Writes a question or a part of one. For a while no key answers it: whoever is typing has not read it.
    pub(crate) fn show_question(&mut self, text: &str) -> Result<(), AskError> {
        self.ready_at = self.terminal.elapsed() + READING_PAUSE;
        self.terminal.write(text)
    }

    /// Waits for what the reviewer does next. While something is `written`, keys come at any speed.
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

    /// Puts `text` in the place of the last row, or below it if it is too long for one.
    pub(crate) fn show_status(&mut self, text: &str, width: u16) -> Result<(), AskError> {
        let width = usize::from(width);
        if display_width(text) + 2 < width {
            return self.terminal.write(&format!("\r\x1b[K> {text}"));
        }
        let rows = wrap_words(text, width.saturating_sub(2).max(8)).join("\n  ");
        self.terminal.write(&format!("\n> {rows}"))
    }

    /// Makes sure that `key` was pressed by itself, or with Enter behind it as where lines are read.
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

    /// Waits until the terminal keeps its size.
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
