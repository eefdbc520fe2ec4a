//! A question with answers that the caller provides, such as those of another program.

use std::{
    io::{self, BufRead, Write},
    sync::atomic::{AtomicBool, Ordering},
};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use openoxide_protocol::{
    ApprovalRequest,
    escape::{LineMode, escape_text},
};

use crate::{
    inline::{
        ask_error::AskError,
        ask_options::AskOptions,
        console::{ConsoleInput, PromptConsole, discard_input},
        hidden_content::HiddenContent,
        input_mode::InputMode,
        line_prompt::{InputLine, MAX_RETRIES, read_line},
        paged_lines::PagedLines,
        prompt_options::KeyHints,
        prompt_state::{is_cancel_key, is_enter_key},
        render::show_body,
        render_options::RenderOptions,
        screen_pages::ScreenSize,
        terminal::{RawTerminal, TerminalIo, terminal_size},
        text_page::TextPage,
    },
    style::{TextStyle, TextTone},
};

/// The indentation of the lines below an answer: the width of its keys.
const INDENT: &str = "          ";
/// The text that is shown if the reviewer chooses none of the answers.
const NO_ANSWER_TEXT: &str = "not answered here";

/// One of the answers that a caller offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerOption {
    /// The keys that select the answer, for example [`AnswerOption::ESCAPE`]. `v` is reserved, and
    /// only lower-case letters are read.
    pub keys: Vec<char>,
    /// The meaning of the answer. It may contain text written by an agent.
    pub meaning: String,
    /// True if the answer is shown as a warning.
    pub is_risky: bool,
}

impl AnswerOption {
    /// The key Esc. Where lines are read, the word `esc`.
    pub const ESCAPE: char = '\u{1b}';

    fn key_names(&self) -> Vec<String> {
        self.keys.iter().copied().map(key_name).collect()
    }
}

fn key_name(key: char) -> String {
    if key == AnswerOption::ESCAPE { "Esc".to_owned() } else { key.to_string() }
}

/// Asks a question at the terminal of this process and reads a key.
pub(super) fn choose_by_key(
    request: &ApprovalRequest,
    offers: &[AnswerOption],
    options: &AskOptions,
) -> Result<Option<usize>, AskError> {
    let withdrawn = options.withdrawn.as_deref();
    let mut terminal = RawTerminal::open(withdrawn, options.input == InputMode::Keys)?;
    if options.input == InputMode::Keys {
        return ChoicePrompt::new(&mut terminal, request, offers, options.style).run();
    }
    let left = discard_input(&mut terminal)?;
    drop(terminal);
    if left {
        return Ok(None);
    }
    let lines = (&mut io::stdin().lock() as &mut dyn BufRead, &mut io::stderr().lock() as _);
    choose_by_line(request, offers, (terminal_size(), withdrawn), lines)
}

/// Returns the question and the offered answers as text.
fn render_page(
    request: &ApprovalRequest,
    offers: &[AnswerOption],
    options: &RenderOptions<'_>,
) -> String {
    let mut page = TextPage::new(options);
    show_body(request, options, &mut page);
    page.push_blank_row();
    show_options(offers, options.input, &mut page);
    page.text
}

/// Adds each answer with its keys, and the keys that do not answer.
fn show_options(offers: &[AnswerOption], input: InputMode, page: &mut TextPage) {
    for offer in offers {
        let keys = format!("  {:<7} ", format!("[{}]", offer.key_names().join(" ")));
        let tone = if offer.is_risky { TextTone::Warning } else { TextTone::Body };
        page.push_marked_block((TextTone::Strong, &keys), INDENT, tone, &offer.meaning);
    }
    let leave = if input == InputMode::Keys { "Ctrl-C" } else { "Ctrl-D" };
    KeyHints(vec![("v", "view all"), (leave, "leave it unanswered")]).show(page);
}

/// A question at a terminal.
struct ChoicePrompt<'a, T> {
    console: PromptConsole<'a, T>,
    request: &'a ApprovalRequest,
    answers: &'a [AnswerOption],
    options: RenderOptions<'a>,
}

impl<'a, T: TerminalIo> ChoicePrompt<'a, T> {
    fn new(
        terminal: &'a mut T,
        request: &'a ApprovalRequest,
        answers: &'a [AnswerOption],
        style: TextStyle,
    ) -> Self {
        let options = RenderOptions { width: terminal.width(), style, ..RenderOptions::default() };
        Self { console: PromptConsole::new(terminal), request, answers, options }
    }

    fn run(mut self) -> Result<Option<usize>, AskError> {
        if discard_input(self.console.terminal)? {
            return Ok(None);
        }
        self.draw(false)?;
        let chosen = self.read_choice();
        let last = match &chosen {
            Ok(chosen) => self.show_status(describe_choice(self.answers, *chosen)),
            Err(error) => self.show_status(&error.to_string()),
        };
        // The answer is valid even if it could not be shown on the screen.
        last.and_then(|()| self.console.terminal.write("\n")).ok();
        chosen
    }

    fn read_choice(&mut self) -> Result<Option<usize>, AskError> {
        loop {
            match self.console.next_input(false)? {
                ConsoleInput::Key(key) if is_cancel_key(key) => return Ok(None),
                ConsoleInput::Key(key) => match pressed_letter(key) {
                    _ if is_enter_key(key) => self.repeat_options()?,
                    Some('v') => self.draw(true)?,
                    // Only the program that provides the answers knows which of them approve, but
                    // Esc never does.
                    Some(key) if find_option(self.answers, key).is_some() => {
                        if key == AnswerOption::ESCAPE || !self.has_hidden_content() {
                            return Ok(find_option(self.answers, key));
                        }
                        self.show_hidden_content()?;
                    }
                    _ => self.show_hint("unknown key")?,
                },
                ConsoleInput::Paste(_) => self.show_hint("pasted input is ignored")?,
                ConsoleInput::Burst => {
                    self.show_hint("input too fast to be a key press; ignored")?;
                }
                ConsoleInput::Early => {
                    self.show_hint("key pressed before the question was shown; ignored")?;
                }
                ConsoleInput::Resized if self.console.requires_redraw() => {
                    let question = self.render_question(self.options.show_all);
                    self.console.repeat_question(&question)?;
                }
                ConsoleInput::Resized => {}
            }
        }
    }

    /// Draws the question below the current screen content.
    fn draw(&mut self, whole: bool) -> Result<(), AskError> {
        let question = self.render_question(whole);
        self.console.show_question(&question)
    }

    /// Returns the question for the current width of the terminal.
    fn render_question(&mut self, whole: bool) -> String {
        self.options.width = self.console.terminal.width();
        self.options.show_all = whole;
        format!("\n{}> ", render_page(self.request, self.answers, &self.options))
    }

    fn has_hidden_parts(&self) -> bool {
        HiddenContent::new(self.request, &self.options).parts
    }

    fn has_hidden_content(&self) -> bool {
        self.has_hidden_parts() || self.console.has_unread_pages()
    }

    /// Shows the content that was not on the screen, or its next page.
    fn show_hidden_content(&mut self) -> Result<(), AskError> {
        if self.has_hidden_parts() {
            self.draw(true)?;
        }
        if self.console.has_unread_pages() {
            return self.console.show_next_page();
        }
        self.show_status("the request was not fully visible; review it and press the key again")
    }

    fn repeat_options(&mut self) -> Result<(), AskError> {
        let mut page = TextPage::new(&self.options);
        show_options(self.answers, InputMode::Keys, &mut page);
        let why = "Enter does not select an answer. Press one of:";
        self.console.terminal.write(&format!("\r\x1b[K{why}\n{}> ", page.text))
    }

    fn show_hint(&mut self, why: &str) -> Result<(), AskError> {
        let names: Vec<_> = self.answers.iter().flat_map(AnswerOption::key_names).collect();
        self.show_status(&format!("{why}; press one of: {} v", names.join(" ")))
    }

    fn show_status(&mut self, text: &str) -> Result<(), AskError> {
        self.console.show_status(&escape_text(text, LineMode::SingleLine), self.options.width)
    }
}

/// Returns the letter of the pressed key. Capital letters are ignored, because `A` means all in
/// other prompts.
fn pressed_letter(key: KeyEvent) -> Option<char> {
    match key.code {
        _ if !key.modifiers.is_empty() && key.modifiers != KeyModifiers::SHIFT => None,
        KeyCode::Esc => Some(AnswerOption::ESCAPE),
        KeyCode::Char(c) => Some(c),
        _ => None,
    }
}

fn find_option(offers: &[AnswerOption], key: char) -> Option<usize> {
    offers.iter().position(|offer| offer.keys.contains(&key))
}

fn describe_choice(offers: &[AnswerOption], chosen: Option<usize>) -> &str {
    chosen.and_then(|at| offers.get(at)).map_or(NO_ANSWER_TEXT, |offer| &offer.meaning)
}

/// Asks a question and reads lines. Returns `None` after too many lines that are not answers.
fn choose_by_line(
    request: &ApprovalRequest,
    offers: &[AnswerOption],
    (size, withdrawn): (ScreenSize, Option<&AtomicBool>),
    (reader, writer): (&mut dyn BufRead, &mut dyn Write),
) -> Result<Option<usize>, AskError> {
    let mut options =
        RenderOptions { width: size.columns, input: InputMode::Lines, ..RenderOptions::default() };
    let mut screen = PagedLines::new(writer, Some(size));
    screen.show_question("", &render_page(request, offers, &options))?;
    let mut retries = 0;
    while retries <= MAX_RETRIES {
        screen.show_mark()?;
        let line = read_line(reader)?;
        if withdrawn.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Err(AskError::Withdrawn); // The line does not matter: the question is void.
        }
        let word = match line {
            InputLine::Text(line) => line.trim_ascii().to_ascii_lowercase(),
            InputLine::Unusable => String::new(),
            InputLine::End => break,
        };
        let named = offers.iter().position(|offer| matches_name(offer, &word));
        let is_hidden = named.is_some() && word != "esc";
        if is_hidden && HiddenContent::new(request, &options).parts {
            options.show_all = true;
            let all = render_page(request, offers, &options);
            screen.show_question("The request was not fully visible. All of it:\n", &all)?;
        } else if is_hidden && screen.has_unread_pages() {
            screen.show_next_page()?;
        } else if let Some(at) = named {
            let chosen = describe_choice(offers, Some(at));
            screen.show_line(&format!("> {}", escape_text(chosen, LineMode::SingleLine))).ok();
            return Ok(Some(at));
        } else {
            retries += 1;
            options.show_all |= word == "v";
            let again = if word == "v" { "" } else { "Not a valid answer.\n" };
            screen.show_question(again, &render_page(request, offers, &options))?;
        }
    }
    screen.show_line(&format!("> {NO_ANSWER_TEXT}")).ok();
    Ok(None)
}

fn matches_name(offer: &AnswerOption, word: &str) -> bool {
    offer.key_names().iter().any(|name| name.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests;
