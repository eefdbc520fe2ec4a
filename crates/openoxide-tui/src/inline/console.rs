//! What a reviewer types at a terminal, key by key, and the row that answers to it.

use std::{collections::VecDeque, time::Duration};

use crossterm::event::{Event, KeyEvent, KeyEventKind};

use super::{
    AskError,
    keys::{is_end, is_enter},
    terminal::Terminal,
};
use crate::wrap::{columns, words};

/// So long nothing may be typed before the question is shown.
const QUIET: Duration = Duration::from_millis(50);
/// So long, if something was: whoever is typing pauses longer than that only to read.
const REST: Duration = Duration::from_millis(400);
/// Keys that come closer together than this were not pressed one by one.
const TOGETHER: Duration = Duration::from_millis(25);
/// A terminal that is being resized says so many times.
const RESIZING: Duration = Duration::from_millis(120);
/// How often is looked whether the question still stands.
const WAIT: Duration = Duration::from_millis(250);

/// Discards everything that was typed until now, and says whether Ctrl-C was among it.
pub(crate) fn settle(terminal: &mut impl Terminal) -> Result<bool, AskError> {
    let mut quiet = QUIET;
    while let Some(event) = terminal.event(quiet)? {
        match event {
            Event::Key(key) if is_end(key) => return Ok(true),
            Event::Key(_) | Event::Paste(_) => quiet = REST,
            _ => {}
        }
    }
    Ok(false)
}

/// A terminal with what was typed there and not yet looked at.
pub(crate) struct Console<'a, T> {
    pub(crate) terminal: &'a mut T,
    /// Events that were read too early.
    pending: VecDeque<Event>,
    /// When the question that is on the screen can have been read.
    ready_at: Duration,
}

/// What the reviewer did.
pub(crate) enum Typed {
    Key(KeyEvent),
    Paste(String),
    /// Several keys at once.
    Burst,
    /// A key before the question can have been read.
    Early,
    Resized,
}

impl<'a, T: Terminal> Console<'a, T> {
    pub(crate) const fn new(terminal: &'a mut T) -> Self {
        Self { terminal, pending: VecDeque::new(), ready_at: Duration::ZERO }
    }

    /// Writes a question or a part of one. For a while no key answers it: whoever is typing has not read it.
    pub(crate) fn show_question(&mut self, text: &str) -> Result<(), AskError> {
        self.ready_at = self.terminal.now() + REST;
        self.terminal.write(text)
    }

    /// Waits for what the reviewer does next. While something is `written`, keys come at any speed.
    pub(crate) fn next(&mut self, written: bool) -> Result<Typed, AskError> {
        loop {
            match self.event(WAIT)? {
                Some(Event::Key(key)) if key.kind == KeyEventKind::Release => {}
                Some(Event::Key(key)) if written || is_end(key) => {
                    return Ok(Typed::Key(key));
                }
                Some(Event::Key(key)) => {
                    let early = self.terminal.now() < self.ready_at;
                    return match self.alone(key)? {
                        Typed::Key(key) if early && !is_end(key) => Ok(Typed::Early),
                        typed => Ok(typed),
                    };
                }
                Some(Event::Paste(text)) => return Ok(Typed::Paste(text)),
                Some(Event::Resize(..)) => return self.resized(),
                _ => {}
            }
        }
    }

    /// Puts `text` in the place of the last row, or below it if it is too long for one.
    pub(crate) fn status(&mut self, text: &str, width: u16) -> Result<(), AskError> {
        let width = usize::from(width);
        if columns(text) + 2 < width {
            return self.terminal.write(&format!("\r\x1b[K> {text}"));
        }
        let rows = words(text, width.saturating_sub(2).max(8)).join("\n  ");
        self.terminal.write(&format!("\n> {rows}"))
    }

    /// Makes sure that `key` was pressed by itself, or with Enter behind it as where lines are read.
    fn alone(&mut self, key: KeyEvent) -> Result<Typed, AskError> {
        let (mut quiet, mut pasted, mut resized) = (TOGETHER, is_enter(key), false);
        let mut alone = true;
        while let Some(event) = self.event(quiet)? {
            match event {
                Event::Key(next) if is_end(next) => return Ok(Typed::Key(next)),
                Event::Key(next) if next.kind == KeyEventKind::Release => {}
                Event::Key(next) if is_enter(next) && !pasted => {}
                Event::Key(_) | Event::Paste(_) => (alone, pasted, quiet) = (false, true, QUIET),
                Event::Resize(..) => resized = true,
                _ => {}
            }
        }
        self.pending.extend(resized.then_some(Event::Resize(0, 0)));
        Ok(if alone { Typed::Key(key) } else { Typed::Burst })
    }

    /// Waits until the terminal keeps its size.
    fn resized(&mut self) -> Result<Typed, AskError> {
        while let Some(event) = self.event(RESIZING)? {
            if !matches!(event, Event::Resize(..)) {
                self.pending.push_back(event);
                break;
            }
        }
        Ok(Typed::Resized)
    }

    fn event(&mut self, within: Duration) -> Result<Option<Event>, AskError> {
        match self.pending.pop_front() {
            Some(event) => Ok(Some(event)),
            None => self.terminal.event(within),
        }
    }
}
