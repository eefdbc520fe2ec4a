//! Simple commands: words are expanded, redirections opened, and something runs.

use openoxide_protocol::{CommandWords, Span};

use super::{Source, Walk, assign::Value, environment, portable, state::State};
use crate::{
    findings::Code,
    programs::{Arguments, Paths},
    syntax::{
        is_name,
        tree::{Piece, Redirect, Simple, Target, Word},
    },
};

/// A command about to run.
#[derive(Debug)]
pub(super) struct Call<'c> {
    pub(super) text: &'c str,
    pub(super) span: Span,
    /// The standard input, if the script determines it.
    pub(super) input: Input,
    pub(super) argv: CommandWords,
    /// The unknown words that are names of files.
    pub(super) paths: Vec<(usize, Paths)>,
    /// The source of the words that are not known.
    pub(super) sources: Vec<(usize, &'c str)>,
    /// The words that may contain text that the script does not show.
    pub(super) tainted: Mask,
    /// The words that are assignments of unknown numbers.
    pub(super) numbers: Mask,
    /// Variables are assigned for this command that may change what it does.
    pub(super) altered: bool,
    /// Whether its words contain a variable of the environment that looks like a secret.
    pub(super) reveals: bool,
    /// One of its words is in the script, but what it expands to is not worked out.
    pub(super) obscure: bool,
}

impl<'c> Call<'c> {
    /// Returns the call of known words, which are the whole script.
    pub(super) fn plain(text: &'c str, argv: CommandWords) -> Self {
        Self {
            text,
            span: Span::new(0, text.len()),
            input: Input::Inherited,
            argv,
            paths: Vec::new(),
            sources: Vec::new(),
            tainted: Mask::default(),
            numbers: Mask::default(),
            altered: false,
            reveals: false,
            obscure: false,
        }
    }

    /// Returns the source of a word that is not known, shortened.
    pub(super) fn source(&self, index: usize) -> Option<&'c str> {
        const MOST: usize = 60;
        let (_, source) = self.sources.iter().find(|(at, _)| *at == index)?;
        let end = source.char_indices().nth(MOST).map_or(source.len(), |(end, _)| end);
        source.get(..end)
    }

    /// Returns the words, and the facts about those that stand for files.
    pub(super) fn arguments(&self) -> Arguments<'_> {
        Arguments { words: &self.argv, paths: &self.paths }
    }
}

/// The standard input of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Input {
    /// The standard input of the script.
    Inherited,
    /// A file.
    File,
    /// Text that is not known.
    Redirected,
    /// This text.
    Text(String),
}

/// A set of the first words of a command; beyond those, every word is in it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mask(u64);

impl Mask {
    /// Returns the set of all words.
    pub(super) const fn all() -> Self {
        Self(u64::MAX)
    }

    pub(super) fn has(self, index: usize) -> bool {
        index >= 64 || self.0 >> index & 1 == 1
    }

    fn set(&mut self, index: usize, value: bool) {
        if index < 64 && value {
            self.0 |= 1 << index;
        }
    }
}

impl Walk<'_> {
    /// Walks a simple command.
    pub(super) fn simple<'a>(
        &mut self,
        source: Source<'a, '_>,
        simple: &Simple<'a>,
    ) -> Option<State> {
        let was = std::mem::take(&mut self.reveals);
        simple.words.iter().for_each(|word| self.visit_word(source, word));
        let reveals = std::mem::replace(&mut self.reveals, was);
        if self.seen.globs || self.known.globs {
            self.may_fail(); // A pattern that matches nothing can be an error.
        }
        if simple.words.is_empty() {
            self.assignments_alone(source, simple);
            return None;
        }
        simple.redirects.iter().for_each(|redirect| self.redirect(source, redirect));
        let span = words_span(simple);
        let mut call = Call {
            text: source.slice(span),
            span: self.span(source, span),
            input: self.input(source, &simple.redirects),
            argv: CommandWords::new(),
            paths: Vec::new(),
            sources: Vec::new(),
            tainted: Mask::default(),
            numbers: Mask::default(),
            altered: false,
            reveals,
            obscure: false,
        };
        self.arguments(source, &simple.words, &mut call);
        if call.obscure && call.argv.known_word(0).is_none_or(|name| !reads_no_file(name)) {
            self.opaque(call.text, call.span, Code::Hidden);
        }
        self.only_bash |= !simple.assignments.is_empty() && portable::keeps_variables(&call.argv);
        let reads = self.splits_input(simple);
        let was = self.reveals;
        for assignment in &simple.assignments {
            if reads && assignment.name == "IFS" && assignment.subscript.is_none() {
                self.visit_word(source, &assignment.value);
                continue;
            }
            let stayed = self.seen.stays(assignment.name);
            self.assignment(source, assignment, false);
            self.seen.set_stays(assignment.name, stayed);
            if matches!(self.value(&assignment.value), Value::Known(text) if environment::switches_off(assignment.name, &text))
            {
                continue;
            }
            call.altered |= !environment::is_harmless(assignment.name);
            self.note_alteration(assignment.name, call.span);
        }
        call.reveals |= std::mem::replace(&mut self.reveals, was);
        if !simple.assignments.is_empty() { self.run_altered(&call) } else { self.run(&call, true) }
    }

    /// Returns whether an `IFS` before this command only determines how the command splits its
    /// input: `IFS= read -r line`.
    fn splits_input(&self, simple: &Simple<'_>) -> bool {
        let name = simple.words.first().and_then(Word::plain).unwrap_or_default();
        matches!(name, "read" | "mapfile" | "readarray") && !self.defines(name)
    }

    fn assignments_alone<'a>(&mut self, source: Source<'a, '_>, simple: &Simple<'a>) {
        // Before or after the redirections: what they see of it must not matter.
        let alone = simple.redirects.is_empty();
        // zsh runs `cat` or `more` there.
        self.only_without_zsh |= !alone && simple.assignments.is_empty();
        for assignment in &simple.assignments {
            self.assignment(source, assignment, alone);
        }
        simple.redirects.iter().for_each(|redirect| self.redirect(source, redirect));
    }

    /// Runs a command with separate variables. Its changes of them may or may not persist after it.
    fn run_altered(&mut self, call: &Call<'_>) -> Option<State> {
        let failed = self.run(call, true);
        self.settle(failed);
        None
    }

    fn arguments<'a>(&mut self, source: Source<'a, '_>, words: &[Word<'_>], call: &mut Call<'a>) {
        let declares = words.first().and_then(Word::plain).is_some_and(is_declaration);
        let mut count = 0;
        for word in words {
            if let Some(text) = word.plain()
                && text.bytes().all(is_simple)
            {
                call.argv.push(text);
                count += 1;
                continue;
            }
            // Braces make several assignments of it, as they do not before a command.
            if declares && assigns(word) && !super::braces::may_expand(&word.pieces) {
                // A plain shell splits the value.
                self.only_bash |= word.pieces.iter().any(|piece| {
                    !matches!(piece, Piece::Plain(_) | Piece::Fixed(_) | Piece::Quoted(_))
                });
                let text = self.expand_quoted(word);
                call.numbers.set(count, text.is_number_assigned());
                add(&text, source.slice(word.span), &mut count, call);
                continue;
            }
            self.only_bash |= super::braces::may_expand(&word.pieces);
            self.expand_all(word, &mut |text| {
                add(text, source.slice(word.span), &mut count, call);
                true
            });
        }
    }

    fn input<'a>(&self, source: Source<'a, '_>, redirects: &[Redirect<'a>]) -> Input {
        let Some(last) = redirects.iter().rfind(|redirect| redirect.input) else {
            return Input::Inherited;
        };
        let (pieces, end) = match &last.target {
            Target::Heredoc(index) => match source.heredocs.get(*index) {
                Some(body) => (body.as_slice(), ""),
                None => return Input::Redirected,
            },
            Target::HereString(word) => (word.pieces.as_slice(), "\n"),
            _ => return Input::File,
        };
        let mut text = String::new();
        for piece in pieces {
            match piece {
                Piece::Fixed(fixed) => text.push_str(fixed),
                Piece::Plain(plain) if plain.bytes().all(is_simple) => text.push_str(plain),
                _ => return Input::Redirected,
            }
        }
        text.push_str(end);
        Input::Text(text)
    }
}

/// Adds a word to a command that has `count` words.
fn add<'a>(text: &super::expand::Text, source: &'a str, count: &mut usize, call: &mut Call<'a>) {
    let added = text.push_to(&mut call.argv);
    if added > 0 {
        if let Some(paths) = text.word_paths() {
            call.paths.push((*count, paths));
        }
        call.reveals |= text.reveals();
        call.obscure |= text.is_obscure();
    }
    for index in *count..*count + added {
        if text.known().is_none() {
            call.sources.push((index, source));
        }
        call.tainted.set(index, text.is_tainted());
    }
    *count += added;
}

/// Returns the place of assignments and words, and of the redirections between them.
fn words_span(simple: &Simple<'_>) -> Span {
    let words = simple.words.iter().map(|word| word.span);
    let mut all = simple.assignments.iter().map(|assignment| assignment.span).chain(words);
    let first = all.next().unwrap_or(simple.span);
    Span { start: first.start, end: all.last().unwrap_or(first).end }
}

/// Returns whether the builtin `name` takes assignments as arguments.
pub(super) fn is_declaration(name: &str) -> bool {
    matches!(name, "declare" | "typeset" | "local" | "export" | "readonly")
}

/// Returns whether a builtin opens none of the files that its words could name.
fn reads_no_file(name: &str) -> bool {
    matches!(name, ":" | "[" | "cd" | "echo" | "false" | "printf" | "test" | "true")
}

/// Returns whether a word is written as an assignment.
fn assigns(word: &Word<'_>) -> bool {
    match word.pieces.first() {
        Some(Piece::Plain(text)) => text
            .split_once('=')
            .is_some_and(|(name, _)| is_name(name.strip_suffix('+').unwrap_or(name))),
        _ => false,
    }
}

/// Returns whether an unquoted byte is a literal in every word.
const fn is_simple(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'_' | b'.' | b'/' | b',' | b'@' | b'%' | b'+' | b'-')
}
