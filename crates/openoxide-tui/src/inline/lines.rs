//! The prompt for a terminal that knows no escape sequences: the same text, answered by a line.

use std::{
    io::{self, BufRead, Read as _, Write},
    sync::atomic::{AtomicBool, Ordering},
};

use openoxide_protocol::{ApprovalRequest, ApprovalResponse, GrantScope};

use super::{
    AskError, AskOptions, Input, Recall,
    always::Always,
    batch::{Choice, answer_each},
    console::settle,
    editor::Editor,
    options::Offers,
    render::{Batch, Page, RenderOptions, render},
    terminal::{RawTerminal, width},
    unseen::Unseen,
};
use crate::{Style, style::Tone};

/// So many times is asked again before the silence counts as a cancellation.
pub(super) const AGAIN: usize = 3;
/// A longer line is no answer.
const LONGEST: u64 = 8192;

/// What a line says.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Reply {
    Choice(Choice),
    View,
    /// What "always" would allow.
    Always,
    /// "Always" with the choice and the bound.
    Prefix(String),
}

/// A line of the input.
pub(super) enum Line {
    Text(String),
    /// Too long, or no text.
    Unusable,
    /// There is no more input. A line without an end counts as none: half an answer is no answer.
    End,
}

/// Asks about each of `requests` on `writer` and reads the answers from `reader`, for rows of `width` columns.
///
/// The end of the input cancels, and so do too many lines that are no answer. What `reader` already holds cannot be told
/// from an answer: the caller vouches that a person writes there.
///
/// # Errors
/// Reading or writing failed; answers that were already given are void.
pub fn ask_lines(
    requests: &[ApprovalRequest],
    width: u16,
    reader: &mut dyn BufRead,
    writer: &mut dyn Write,
) -> Result<Vec<ApprovalResponse>, AskError> {
    answer_each(requests, |request, batch| {
        ask_one(request, batch, width, (None, None), (&mut *reader, &mut *writer))
    })
}

/// Asks about each of `requests` at the terminal of this process.
pub(crate) fn ask_terminal(
    requests: &[ApprovalRequest],
    options: &AskOptions,
) -> Result<Vec<ApprovalResponse>, AskError> {
    answer_each(requests, |request, batch| {
        let mut terminal = RawTerminal::open(options.withdrawn.as_deref(), false)?;
        let cancelled = settle(&mut terminal)?;
        drop(terminal);
        if cancelled {
            return Ok(Choice::This(ApprovalResponse::Cancelled));
        }
        let lines = (&mut io::stdin().lock() as &mut dyn BufRead, &mut io::stderr().lock() as _);
        let with = (options.withdrawn.as_deref(), options.recall.as_ref());
        ask_one(request, batch, width(), with, lines)
    })
}

fn ask_one(
    request: &ApprovalRequest,
    batch: Option<Batch<'_>>,
    width: u16,
    (withdrawn, recall): (Option<&AtomicBool>, Option<&Recall>),
    (reader, writer): (&mut dyn BufRead, &mut dyn Write),
) -> Result<Choice, AskError> {
    let mut options =
        RenderOptions { width, style: Style::Plain, whole: false, input: Input::Lines, batch };
    let offers = Offers::of(request, batch);
    write!(writer, "\n{}", render(request, &options))?;
    let mut again = AGAIN;
    loop {
        write!(writer, "> ")?;
        writer.flush()?;
        let line = read_line(reader)?;
        if withdrawn.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Err(AskError::Withdrawn); // Whatever the line says: the question was void before.
        }
        let reply = match line {
            Line::Text(line) => read_reply(&line, offers).and_then(|reply| of(request, reply)),
            Line::Unusable => None,
            Line::End => return Ok(finish(Choice::This(ApprovalResponse::Cancelled), writer)),
        };
        match reply {
            Some(reply) if hides(&reply, request, &options) => {
                options.whole = true;
                let all = render(request, &options);
                write!(writer, "\nThe request was not fully visible. All of it:\n{all}")?;
            }
            Some(Reply::Choice(choice)) => return Ok(finish(choice, writer)),
            Some(Reply::View) => {
                options.whole = true;
                write!(writer, "\n{}", render(request, &options))?;
            }
            Some(Reply::Always | Reply::Prefix(_)) => {
                write!(writer, "\n{}", always(request, recall, &options))?;
            }
            None if again == 0 => {
                return Ok(finish(Choice::This(ApprovalResponse::Cancelled), writer));
            }
            None => {
                again -= 1;
                write!(writer, "Not a valid answer. Type one of:\n{}", offers.text(&options))?;
            }
        }
    }
}

/// Says whether an answer approves something that is not on the screen.
fn hides(reply: &Reply, request: &ApprovalRequest, options: &RenderOptions<'_>) -> bool {
    let unseen = Unseen::new(request, options);
    match reply {
        Reply::Choice(Choice::All) => unseen.parts || unseen.others,
        Reply::Choice(Choice::This(ApprovalResponse::Approved { .. })) => unseen.parts,
        _ => false,
    }
}

/// Takes the choice and the bound that stand behind `p`.
fn of(request: &ApprovalRequest, reply: Reply) -> Option<Reply> {
    match reply {
        Reply::Prefix(words) => Always::of(request).words(&words).and_then(this),
        reply => Some(reply),
    }
}

/// Returns what "always" would allow, as text, and how to choose.
fn always(
    request: &ApprovalRequest,
    recall: Option<&Recall>,
    options: &RenderOptions<'_>,
) -> String {
    let mut page = Page::new(options);
    let recalled = recall.map(|recall| recall.of(request)).unwrap_or_default();
    Always::of(request).show(&recalled, &mut page);
    let how = "[p] save suggested rule; [p 1] rule 1; [p t] expires in 30 min; [p 5] 5 uses; [p 1 t] combined";
    page.block(Tone::Body, ["", ""], how);
    page.text
}

/// Says what the answer was. It stands even if that could not be written.
fn finish(choice: Choice, writer: &mut dyn Write) -> Choice {
    writeln!(writer, "> {}", choice.describe()).ok();
    choice
}

pub(super) fn read_line(reader: &mut dyn BufRead) -> Result<Line, AskError> {
    let mut bytes = Vec::new();
    (&mut *reader).take(LONGEST).read_until(b'\n', &mut bytes)?;
    match bytes.strip_suffix(b"\n") {
        Some(line) => Ok(String::from_utf8(line.to_vec()).map_or(Line::Unusable, Line::Text)),
        None if bytes.len() as u64 == LONGEST => skip_line(reader),
        None => Ok(Line::End),
    }
}

/// Drops the rest of a line, so that its end is not read as a line of its own.
fn skip_line(reader: &mut dyn BufRead) -> Result<Line, AskError> {
    reader.skip_until(b'\n')?;
    Ok(Line::Unusable)
}

/// Reads an answer as Aider does: a word or its beginning, in any case. Other than there, nothing has a default.
fn read_reply(line: &str, offers: Offers) -> Option<Reply> {
    let line = line.trim_ascii();
    let (word, rest) = line.split_once([' ', '\t']).unwrap_or((line, ""));
    if is("message", word) {
        return rejection(rest);
    }
    if is("prefix", word) && offers.always && !rest.is_empty() {
        return Some(Reply::Prefix(rest.to_owned()));
    }
    // A capital A is the key for all where keys are read: here it could mean either.
    if !rest.is_empty() || word.is_empty() || (word == "A" && offers.all) {
        return None;
    }
    match word {
        "p?" | "P?" if offers.always => Some(Reply::Always),
        _ if word.eq_ignore_ascii_case("all") => offers.all.then_some(Reply::Choice(Choice::All)),
        _ if word.eq_ignore_ascii_case("al") && offers.all => None,
        _ if is("yes", word) => approved(GrantScope::Once),
        _ if is("no", word) => this(ApprovalResponse::Rejected { message: None }),
        _ if is("always", word) && offers.session => approved(GrantScope::Session),
        _ if is("prefix", word) && offers.always => approved(GrantScope::Project),
        _ if is("skip", word) && offers.skip => Some(Reply::Choice(Choice::Skip)),
        _ if is("view", word) => Some(Reply::View),
        _ => None,
    }
}

/// Says whether `word` is the beginning of `whole`.
fn is(whole: &str, word: &str) -> bool {
    !word.is_empty() && whole.starts_with(&word.to_ascii_lowercase())
}

fn rejection(text: &str) -> Option<Reply> {
    let mut editor = Editor::default();
    editor.paste(text);
    editor.message().and_then(|message| this(ApprovalResponse::Rejected { message: Some(message) }))
}

const fn approved(scope: GrantScope) -> Option<Reply> {
    this(ApprovalResponse::approved(scope))
}

const fn this(response: ApprovalResponse) -> Option<Reply> {
    Some(Reply::Choice(Choice::This(response)))
}

#[cfg(test)]
mod tests;
