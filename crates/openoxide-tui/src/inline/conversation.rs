//! The way from a question to its answer, key by key.

use std::{collections::VecDeque, time::Duration};

use crossterm::event::{Event, KeyEvent, KeyEventKind};
use openoxide_protocol::{ApprovalRequest, ApprovalResponse, Recalled};

use super::{
    AskError, AskOptions, Input, Recall,
    always::Always,
    batch::{Choice, answer_each},
    keys::{Prompt, Step, is_end, is_enter},
    options::Offers,
    render::{Batch, Page, RenderOptions, render},
    terminal::{RawTerminal, Terminal},
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

/// Asks about each of `requests` at the terminal of this process.
pub(crate) fn ask_group(
    requests: &[ApprovalRequest],
    options: &AskOptions,
) -> Result<Vec<ApprovalResponse>, AskError> {
    let mut terminal = RawTerminal::open(options.withdrawn.as_deref(), true)?;
    answer_each(requests, |request, batch| {
        Conversation::new(&mut terminal, request, options, batch).run()
    })
}

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

/// One question at one terminal.
struct Conversation<'a, T> {
    terminal: &'a mut T,
    request: &'a ApprovalRequest,
    options: RenderOptions<'a>,
    prompt: Prompt,
    recall: Option<Recall>,
    /// What was recalled, once somebody wanted to know.
    recalled: Option<Vec<Recalled>>,
    /// Events that were read too early.
    pending: VecDeque<Event>,
}

/// What the reviewer did.
enum Typed {
    Key(KeyEvent),
    Paste(String),
    /// Several keys at once.
    Burst,
    Resized,
}

impl<'a, T: Terminal> Conversation<'a, T> {
    fn new(
        terminal: &'a mut T,
        request: &'a ApprovalRequest,
        options: &AskOptions,
        batch: Option<Batch<'a>>,
    ) -> Self {
        let width = terminal.width();
        let (style, recall) = (options.style, options.recall.clone());
        let options = RenderOptions { width, style, whole: false, input: Input::Keys, batch };
        let prompt = Prompt::new(Offers::of(request, batch), Always::of(request));
        let (recalled, pending) = (None, VecDeque::new());
        Self { terminal, request, options, prompt, recall, recalled, pending }
    }

    fn run(mut self) -> Result<Choice, AskError> {
        if settle(self.terminal)? {
            return Ok(Choice::This(ApprovalResponse::Cancelled));
        }
        self.draw(false)?;
        let outcome = self.talk();
        let last = match &outcome {
            Ok(choice) => self.status(&choice.describe()),
            Err(error) => self.status(&error.to_string()),
        };
        // The answer stands even if it could not be repeated on the screen.
        last.and_then(|()| self.terminal.write("\n")).ok();
        outcome
    }

    fn talk(&mut self) -> Result<Choice, AskError> {
        loop {
            let step = match self.next()? {
                Typed::Key(key) => self.prompt.key(key),
                Typed::Paste(text) => self.prompt.paste(&text),
                Typed::Burst => self.prompt.burst(),
                Typed::Resized => {
                    self.redraw()?;
                    continue;
                }
            };
            if let Step::Answer(choice) = step {
                return Ok(choice);
            }
            self.show(&step)?;
        }
    }

    fn show(&mut self, step: &Step) -> Result<(), AskError> {
        match step {
            Step::Hint(hint) => self.status(hint),
            Step::Keys => self.repeat_keys("Enter alone is no answer. Press one of these keys:"),
            Step::Back => self.repeat_keys("No message. Press one of these keys:"),
            Step::Always => self.draw_always(),
            Step::Unkept => self.repeat_keys("Nothing is kept. Press one of these keys:"),
            Step::View => self.draw(true),
            Step::Message => self.draw_message(),
            Step::Answer(_) | Step::Nothing => Ok(()),
        }
    }

    /// Draws the question below what is there.
    fn draw(&mut self, whole: bool) -> Result<(), AskError> {
        self.options.width = self.terminal.width();
        self.options.whole = whole;
        self.terminal.write(&format!("\n{}> ", render(self.request, &self.options)))
    }

    fn redraw(&mut self) -> Result<(), AskError> {
        if self.terminal.width() == self.options.width {
            return Ok(());
        }
        self.draw(self.options.whole)?;
        match (self.prompt.editor(), self.prompt.always()) {
            (Some(_), _) => self.draw_message(),
            (None, Some(_)) => self.draw_always(),
            (None, None) => Ok(()),
        }
    }

    /// Puts `text` in the place of the last row, or below it if it is too long for one.
    fn status(&mut self, text: &str) -> Result<(), AskError> {
        let width = usize::from(self.options.width);
        if columns(text) + 2 < width {
            return self.terminal.write(&format!("\r\x1b[K> {text}"));
        }
        let rows = words(text, width.saturating_sub(2).max(8)).join("\n  ");
        self.terminal.write(&format!("\n> {rows}"))
    }

    fn repeat_keys(&mut self, why: &str) -> Result<(), AskError> {
        let keys = Offers::of(self.request, self.options.batch).text(&self.options);
        self.terminal.write(&format!("\r\x1b[K{why}\n{keys}> "))
    }

    /// Draws the second step of `p` in the place of the last row. Only here is looked what was asked before.
    fn draw_always(&mut self) -> Result<(), AskError> {
        let Some(always) = self.prompt.always() else { return Ok(()) };
        let recall = || self.recall.as_ref().map(|recall| recall.of(self.request));
        let recalled = self.recalled.get_or_insert_with(|| recall().unwrap_or_default());
        let mut page = Page::new(&self.options);
        always.show(recalled, &mut page);
        page.blank();
        always.keys(&mut page);
        self.terminal.write(&format!("\r\x1b[K\n{}> ", page.text))
    }

    fn draw_message(&mut self) -> Result<(), AskError> {
        const LABEL: &str = "message (Enter sends, Esc goes back): ";
        let width = usize::from(self.options.width);
        let label = if width > LABEL.len() * 2 { LABEL } else { "message: " };
        let room = width.saturating_sub(label.len() + 1).max(4);
        let text = self.prompt.editor().map(|editor| editor.tail(room)).unwrap_or_default();
        self.terminal.write(&format!("\r\x1b[K{label}{text}"))
    }

    /// Waits for what the reviewer does next.
    fn next(&mut self) -> Result<Typed, AskError> {
        loop {
            match self.event(WAIT)? {
                Some(Event::Key(key)) if key.kind == KeyEventKind::Release => {}
                Some(Event::Key(key)) if self.prompt.editor().is_some() || is_end(key) => {
                    return Ok(Typed::Key(key));
                }
                Some(Event::Key(key)) => return self.alone(key),
                Some(Event::Paste(text)) => return Ok(Typed::Paste(text)),
                Some(Event::Resize(..)) => return self.resized(),
                _ => {}
            }
        }
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

#[cfg(test)]
mod tests;
