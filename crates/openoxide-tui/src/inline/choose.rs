//! A question whose answers the caller names: those of another program, in its words.

use std::{
    io::{self, BufRead, Write},
    sync::atomic::{AtomicBool, Ordering},
};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use openoxide_protocol::{
    ApprovalRequest,
    escape::{Lines, visible},
};

use super::{
    AskError, AskOptions, Input,
    console::{Console, Typed, settle},
    keys::{is_end, is_enter},
    lines::{AGAIN, Line, read_line},
    options::Keys,
    render::{Page, RenderOptions, body},
    terminal::{RawTerminal, Terminal, width},
    unseen::Unseen,
};

use crate::style::{Style, Tone};

/// Below an answer: the columns that its keys take.
const INDENT: &str = "          ";
/// What is said where the reviewer gives none of the answers.
const NONE: &str = "not answered here";

/// One of the answers that a caller offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The keys that give it; [`Offer::ESCAPE`] is one. `v` is taken, and of letters only the small ones are read.
    pub keys: Vec<char>,
    /// What it means. It may hold what an agent wrote.
    pub meaning: String,
    /// Whether it deserves a second look.
    pub careful: bool,
}

impl Offer {
    /// The key Esc; where lines are read, the word `esc`.
    pub const ESCAPE: char = '\u{1b}';

    fn names(&self) -> Vec<String> {
        self.keys.iter().copied().map(name).collect()
    }
}

fn name(key: char) -> String {
    if key == Offer::ESCAPE { "Esc".to_owned() } else { key.to_string() }
}

/// Asks at the terminal of this process.
pub(super) fn choose(
    request: &ApprovalRequest,
    offers: &[Offer],
    options: &AskOptions,
) -> Result<Option<usize>, AskError> {
    let withdrawn = options.withdrawn.as_deref();
    let mut terminal = RawTerminal::open(withdrawn, options.input == Input::Keys)?;
    if options.input == Input::Keys {
        return Chooser::new(&mut terminal, request, offers, options.style).run();
    }
    let left = settle(&mut terminal)?;
    drop(terminal);
    if left {
        return Ok(None);
    }
    let lines = (&mut io::stdin().lock() as &mut dyn BufRead, &mut io::stderr().lock() as _);
    choose_line(request, offers, (width(), withdrawn), lines)
}

/// Returns the question as text, with the answers that are offered.
fn page(request: &ApprovalRequest, offers: &[Offer], options: &RenderOptions<'_>) -> String {
    let mut page = Page::new(options);
    body(request, options, &mut page);
    page.blank();
    list(offers, options.input, &mut page);
    page.text
}

/// Adds each answer with its keys, a line or more each, and the keys that answer nothing.
fn list(offers: &[Offer], input: Input, page: &mut Page) {
    for offer in offers {
        let keys = format!("  {:<7} ", format!("[{}]", offer.names().join(" ")));
        let tone = if offer.careful { Tone::Careful } else { Tone::Body };
        page.marked((Tone::Strong, &keys), INDENT, tone, &offer.meaning);
    }
    let leave = if input == Input::Keys { "Ctrl-C" } else { "Ctrl-D" };
    Keys(vec![("v", "view all"), (leave, "leave it unanswered")]).show(page);
}

/// One question at one terminal.
struct Chooser<'a, T> {
    console: Console<'a, T>,
    request: &'a ApprovalRequest,
    offers: &'a [Offer],
    options: RenderOptions<'a>,
}

impl<'a, T: Terminal> Chooser<'a, T> {
    fn new(
        terminal: &'a mut T,
        request: &'a ApprovalRequest,
        offers: &'a [Offer],
        style: Style,
    ) -> Self {
        let options = RenderOptions { width: terminal.width(), style, ..RenderOptions::default() };
        Self { console: Console::new(terminal), request, offers, options }
    }

    fn run(mut self) -> Result<Option<usize>, AskError> {
        if settle(self.console.terminal)? {
            return Ok(None);
        }
        self.draw(false)?;
        let chosen = self.talk();
        let last = match &chosen {
            Ok(chosen) => self.say(said(self.offers, *chosen)),
            Err(error) => self.say(&error.to_string()),
        };
        // The answer stands even if it could not be repeated on the screen.
        last.and_then(|()| self.console.terminal.write("\n")).ok();
        chosen
    }

    fn talk(&mut self) -> Result<Option<usize>, AskError> {
        loop {
            match self.console.next(false)? {
                Typed::Key(key) if is_end(key) => return Ok(None),
                Typed::Key(key) => match letter(key) {
                    _ if is_enter(key) => self.repeat()?,
                    Some('v') => self.draw(true)?,
                    // Which of the answers approve, only their program knows; Esc never does.
                    Some(key) if key != Offer::ESCAPE && self.unseen().parts => {
                        self.draw(true)?;
                        self.say(
                            "the request was not fully visible; review it and press the key again",
                        )?;
                    }
                    Some(key) if position(self.offers, key).is_some() => {
                        return Ok(position(self.offers, key));
                    }
                    _ => self.hint("unknown key")?,
                },
                Typed::Paste(_) => self.hint("pasted input is ignored")?,
                Typed::Burst => self.hint("input too fast to be a key press; ignored")?,
                Typed::Early => self.hint("key pressed before the question was shown; ignored")?,
                Typed::Resized if self.console.terminal.width() != self.options.width => {
                    let question = self.question(self.options.whole);
                    self.console.terminal.write(&question)?;
                }
                Typed::Resized => {}
            }
        }
    }

    /// Draws the question below what is there.
    fn draw(&mut self, whole: bool) -> Result<(), AskError> {
        let question = self.question(whole);
        self.console.show_question(&question)
    }

    /// Returns the question for the width that the terminal has now.
    fn question(&mut self, whole: bool) -> String {
        self.options.width = self.console.terminal.width();
        self.options.whole = whole;
        format!("\n{}> ", page(self.request, self.offers, &self.options))
    }

    fn unseen(&self) -> Unseen {
        Unseen::new(self.request, &self.options)
    }

    fn repeat(&mut self) -> Result<(), AskError> {
        let mut page = Page::new(&self.options);
        list(self.offers, Input::Keys, &mut page);
        let why = "Enter does not select an answer. Press one of:";
        self.console.terminal.write(&format!("\r\x1b[K{why}\n{}> ", page.text))
    }

    fn hint(&mut self, why: &str) -> Result<(), AskError> {
        let names: Vec<_> = self.offers.iter().flat_map(Offer::names).collect();
        self.say(&format!("{why}; press one of: {} v", names.join(" ")))
    }

    fn say(&mut self, text: &str) -> Result<(), AskError> {
        self.console.status(&visible(text, Lines::One), self.options.width)
    }
}

/// Returns the key that was pressed. A capital is none: `A` means all elsewhere.
fn letter(key: KeyEvent) -> Option<char> {
    match key.code {
        _ if !key.modifiers.is_empty() && key.modifiers != KeyModifiers::SHIFT => None,
        KeyCode::Esc => Some(Offer::ESCAPE),
        KeyCode::Char(c) => Some(c),
        _ => None,
    }
}

fn position(offers: &[Offer], key: char) -> Option<usize> {
    offers.iter().position(|offer| offer.keys.contains(&key))
}

fn said(offers: &[Offer], chosen: Option<usize>) -> &str {
    chosen.and_then(|at| offers.get(at)).map_or(NONE, |offer| &offer.meaning)
}

/// Asks where lines are read. After too many that are no answer there is none.
fn choose_line(
    request: &ApprovalRequest,
    offers: &[Offer],
    (width, withdrawn): (u16, Option<&AtomicBool>),
    (reader, writer): (&mut dyn BufRead, &mut dyn Write),
) -> Result<Option<usize>, AskError> {
    let mut options = RenderOptions { width, input: Input::Lines, ..RenderOptions::default() };
    write!(writer, "\n{}", page(request, offers, &options))?;
    for _ in 0..=AGAIN {
        write!(writer, "> ")?;
        writer.flush()?;
        let line = read_line(reader)?;
        if withdrawn.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Err(AskError::Withdrawn); // Whatever the line says: the question was void before.
        }
        let word = match line {
            Line::Text(line) => line.trim_ascii().to_ascii_lowercase(),
            Line::Unusable => String::new(),
            Line::End => break,
        };
        let unseen = word != "esc" && Unseen::new(request, &options).parts;
        let named = offers.iter().position(|offer| is_named(offer, &word));
        if unseen && named.is_some() {
            options.whole = true;
            write!(
                writer,
                "\nThe request was not fully visible. All of it:\n{}",
                page(request, offers, &options)
            )?;
            continue;
        }
        if let Some(at) = named {
            writeln!(writer, "> {}", visible(said(offers, Some(at)), Lines::One)).ok();
            return Ok(Some(at));
        }
        options.whole |= word == "v";
        let again = if word == "v" { "" } else { "Not a valid answer.\n" };
        write!(writer, "\n{again}{}", page(request, offers, &options))?;
    }
    writeln!(writer, "> {NONE}").ok();
    Ok(None)
}

fn is_named(offer: &Offer, word: &str) -> bool {
    offer.names().iter().any(|name| name.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests;
