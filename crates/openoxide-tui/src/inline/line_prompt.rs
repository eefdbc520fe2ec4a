//! The prompt for a terminal without escape sequences: the same text, answered with a line.

use std::{
    io::{self, BufRead, Read as _, Write},
    sync::atomic::{AtomicBool, Ordering},
};

use openoxide_protocol::{ApprovalRequest, ApprovalResponse, GrantScope};

use crate::{
    inline::{
        ask_error::AskError,
        ask_options::AskOptions,
        batch::{PromptAnswer, answer_each},
        console::discard_input,
        grant_menu::{GrantMenu, HistoryLookup},
        hidden_content::HiddenContent,
        input_mode::InputMode,
        line_editor::LineEditor,
        paged_lines::PagedLines,
        prompt_options::PromptOptions,
        render::render_prompt,
        render_options::{BatchPosition, RenderOptions},
        terminal::{RawTerminal, terminal_size},
        text_page::TextPage,
    },
    style::{TextStyle, TextTone},
};

/// The maximum number of retries. After that, the request is cancelled.
pub(super) const MAX_RETRIES: usize = 3;
/// The maximum length of a line. A longer line is not an answer.
const MAX_LINE_BYTES: u64 = 8192;

/// The meaning of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
enum LineReply {
    Choice(PromptAnswer),
    ShowAll,
    /// A request to show the rules that "always" would save.
    GrantMenu,
    /// "Always" with a choice and a limit.
    Prefix(String),
}

/// A line of the input.
pub(super) enum InputLine {
    Text(String),
    /// The line is too long or is not text.
    Unusable,
    /// The end of the input. A line without a line feed is also treated as the end, because an
    /// incomplete answer is not valid.
    End,
}

/// Asks about each of `requests` on `writer` and reads the answers from `reader`, for rows of
/// `width` columns.
///
/// The end of the input cancels, and so do too many lines that are not answers. Data that `reader`
/// already contains cannot be distinguished from an answer: the caller must ensure that a person
/// writes the input.
///
/// # Errors
/// Returns an error if reading or writing failed. Answers that were already given are void.
pub fn ask_lines(
    requests: &[ApprovalRequest],
    width: u16,
    reader: &mut dyn BufRead,
    writer: &mut dyn Write,
) -> Result<Vec<ApprovalResponse>, AskError> {
    answer_each(requests, |request, batch| {
        let screen = PagedLines::new(&mut *writer, None);
        ask_request(request, batch, width, (None, None), (&mut *reader, screen))
    })
}

/// Asks about each of `requests` at the terminal of this process.
pub(crate) fn ask_terminal(
    requests: &[ApprovalRequest],
    options: &AskOptions,
) -> Result<Vec<ApprovalResponse>, AskError> {
    answer_each(requests, |request, batch| {
        let mut terminal = RawTerminal::open(options.withdrawn.as_deref(), false)?;
        let cancelled = discard_input(&mut terminal)?;
        drop(terminal);
        if cancelled {
            return Ok(PromptAnswer::Single(ApprovalResponse::Cancelled));
        }
        let (size, mut error) = (terminal_size(), io::stderr().lock());
        let screen = PagedLines::new(&mut error, Some(size));
        let lines = (&mut io::stdin().lock() as &mut dyn BufRead, screen);
        let with = (options.withdrawn.as_deref(), options.history_lookup.as_ref());
        ask_request(request, batch, size.columns, with, lines)
    })
}

fn ask_request(
    request: &ApprovalRequest,
    batch: Option<BatchPosition<'_>>,
    width: u16,
    (withdrawn, recall): (Option<&AtomicBool>, Option<&HistoryLookup>),
    (reader, mut screen): (&mut dyn BufRead, PagedLines<'_>),
) -> Result<PromptAnswer, AskError> {
    let mut options = RenderOptions {
        width,
        style: TextStyle::Plain,
        show_all: false,
        input: InputMode::Lines,
        batch,
    };
    let offers = PromptOptions::from_request(request, batch);
    screen.show_question("", &render_prompt(request, &options))?;
    let (mut again, mut has_shown_summary) = (MAX_RETRIES, false);
    loop {
        screen.show_mark()?;
        let line = read_line(reader)?;
        if withdrawn.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Err(AskError::Withdrawn); // The line does not matter: the question is void.
        }
        let reply = match line {
            InputLine::Text(line) => {
                parse_reply(&line, offers).and_then(|reply| parse_grant(request, reply))
            }
            InputLine::Unusable => None,
            InputLine::End => {
                let answer = PromptAnswer::Single(ApprovalResponse::Cancelled);
                return Ok(show_answer(answer, &mut screen));
            }
        };
        match reply {
            Some(reply) if approves_hidden_content(&reply, request, &options) => {
                options.show_all = true;
                let all = render_prompt(request, &options);
                screen.show_question("The request was not fully visible. All of it:\n", &all)?;
            }
            Some(reply) if is_approval(&reply) && screen.has_unread_pages() => {
                screen.show_next_page()?;
            }
            Some(LineReply::Choice(choice)) => return Ok(show_answer(choice, &mut screen)),
            Some(LineReply::ShowAll) => {
                has_shown_summary |= request.presentation.summary.is_some()
                    && !options.show_all
                    && !screen.has_unread_pages();
                options.show_all = true;
                screen.show_question("", &render_prompt(request, &options))?;
                if has_shown_summary {
                    screen.discard_pages();
                }
            }
            Some(LineReply::GrantMenu | LineReply::Prefix(_)) => {
                screen.show_line(&format!(
                    "\n{}",
                    render_grant_menu(request, recall, &options).trim_end()
                ))?;
            }
            None if again == 0 => {
                let answer = PromptAnswer::Single(ApprovalResponse::Cancelled);
                return Ok(show_answer(answer, &mut screen));
            }
            None => {
                again -= 1;
                screen.show_line("Not a valid answer. Type one of:")?;
                screen.show_line(offers.render_keys(&options).trim_end())?;
            }
        }
    }
}

/// Returns whether an answer approves something.
const fn is_approval(reply: &LineReply) -> bool {
    matches!(
        reply,
        LineReply::Choice(
            PromptAnswer::All | PromptAnswer::Single(ApprovalResponse::Approved { .. })
        )
    )
}

/// Returns whether an answer approves content that is not on the screen.
fn approves_hidden_content(
    reply: &LineReply,
    request: &ApprovalRequest,
    options: &RenderOptions<'_>,
) -> bool {
    let unseen = HiddenContent::new(request, options);
    match reply {
        LineReply::Choice(PromptAnswer::All) => unseen.parts || unseen.other_requests,
        LineReply::Choice(PromptAnswer::Single(ApprovalResponse::Approved { .. })) => unseen.parts,
        _ => false,
    }
}

/// Parses the choice and the limit after `p`.
fn parse_grant(request: &ApprovalRequest, reply: LineReply) -> Option<LineReply> {
    match reply {
        LineReply::Prefix(words) => {
            GrantMenu::from_request(request).parse_words(&words).and_then(reply_with)
        }
        reply => Some(reply),
    }
}

/// Returns the rules that "always" would save and the ways to choose, as text.
fn render_grant_menu(
    request: &ApprovalRequest,
    recall: Option<&HistoryLookup>,
    options: &RenderOptions<'_>,
) -> String {
    let mut page = TextPage::new(options);
    let recalled = recall.map(|recall| recall.lookup(request)).unwrap_or_default();
    GrantMenu::from_request(request).show(&recalled, &mut page);
    let how = "[p] save suggested rule; [p 1] rule 1; [p t] expires in 30 min; [p 5] 5 uses; [p 1 t] combined";
    page.push_block(TextTone::Body, ["", ""], how);
    page.text
}

/// Shows the answer. It is valid even if writing fails.
fn show_answer(choice: PromptAnswer, screen: &mut PagedLines<'_>) -> PromptAnswer {
    screen.show_line(&format!("> {}", choice.describe())).ok();
    choice
}

pub(super) fn read_line(reader: &mut dyn BufRead) -> Result<InputLine, AskError> {
    let mut bytes = Vec::new();
    (&mut *reader).take(MAX_LINE_BYTES).read_until(b'\n', &mut bytes)?;
    match bytes.strip_suffix(b"\n") {
        Some(line) => {
            Ok(String::from_utf8(line.to_vec()).map_or(InputLine::Unusable, InputLine::Text))
        }
        None if bytes.len() as u64 == MAX_LINE_BYTES => skip_line(reader),
        None => Ok(InputLine::End),
    }
}

/// Skips the rest of a line, so that its end is not read as a separate line.
fn skip_line(reader: &mut dyn BufRead) -> Result<InputLine, AskError> {
    reader.skip_until(b'\n')?;
    Ok(InputLine::Unusable)
}

/// Parses an answer like Aider: a word or a prefix of it, ignoring case. Unlike in Aider, there is
/// no default answer.
fn parse_reply(line: &str, offers: PromptOptions) -> Option<LineReply> {
    let line = line.trim_ascii();
    let (word, rest) = line.split_once([' ', '\t']).unwrap_or((line, ""));
    if is_abbreviation("message", word) {
        return parse_rejection(rest);
    }
    if is_abbreviation("prefix", word) && offers.always && !rest.is_empty() {
        return Some(LineReply::Prefix(rest.to_owned()));
    }
    // Where keys are read, a capital A means all. In a line, it is ambiguous.
    if !rest.is_empty() || word.is_empty() || (word == "A" && offers.all) {
        return None;
    }
    match word {
        "p?" | "P?" if offers.always => Some(LineReply::GrantMenu),
        _ if word.eq_ignore_ascii_case("all") => {
            offers.all.then_some(LineReply::Choice(PromptAnswer::All))
        }
        _ if word.eq_ignore_ascii_case("al") && offers.all => None,
        _ if is_abbreviation("yes", word) => approve(GrantScope::Once),
        _ if is_abbreviation("no", word) => {
            reply_with(ApprovalResponse::Rejected { message: None })
        }
        _ if is_abbreviation("always", word) && offers.session => approve(GrantScope::Session),
        _ if is_abbreviation("directory", word) && offers.directory => {
            approve(GrantScope::Directory)
        }
        _ if is_abbreviation("prefix", word) && offers.always => approve(GrantScope::Project),
        _ if is_abbreviation("skip", word) && offers.skip => {
            Some(LineReply::Choice(PromptAnswer::Skip))
        }
        _ if is_abbreviation("view", word) => Some(LineReply::ShowAll),
        _ => None,
    }
}

/// Returns whether `word` is a prefix of `whole`.
fn is_abbreviation(whole: &str, word: &str) -> bool {
    !word.is_empty() && whole.starts_with(&word.to_ascii_lowercase())
}

fn parse_rejection(text: &str) -> Option<LineReply> {
    let mut editor = LineEditor::default();
    editor.paste(text);
    editor
        .message()
        .and_then(|message| reply_with(ApprovalResponse::Rejected { message: Some(message) }))
}

const fn approve(scope: GrantScope) -> Option<LineReply> {
    reply_with(ApprovalResponse::new_approval(scope))
}

const fn reply_with(response: ApprovalResponse) -> Option<LineReply> {
    Some(LineReply::Choice(PromptAnswer::Single(response)))
}

#[cfg(test)]
mod tests;
