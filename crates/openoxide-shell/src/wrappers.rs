//! The programs that run another program, given in their arguments.

pub(crate) mod find;
mod own;
mod plain;
mod shells;
mod table;

use openoxide_protocol::{Word, Words};

pub use plain::adds_nothing;

use crate::options::{Grammar, Item, options};

/// What runs inside of a command. The command itself runs as well, with all that it does of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inside {
    /// Nothing: it is no wrapper, or runs nothing with these words.
    Nothing,
    /// One program.
    Command(Words),
    /// Several programs.
    Commands(Vec<Words>),
    /// A shell with this script.
    Script(String),
    /// Something that cannot be told, and why.
    Unknown(&'static str),
}

const UNCLEAR: Inside = Inside::Unknown("its options were not understood");
const ELSEWHERE: &str = "runs a command in another directory";
const STARTS_SHELL: &str = "starts a shell";

/// How a wrapper is unfolded.
#[derive(Clone, Copy, Debug)]
enum Unfold {
    /// By its options, and the number of operands before the command.
    Leading(Wrapper),
    /// By a function.
    Special(fn(&Words) -> Inside),
    /// Not at all.
    Opaque(&'static str),
}

/// A program that takes options, operands, and then a command.
#[derive(Clone, Copy, Debug)]
struct Wrapper {
    grammar: Grammar,
    /// How many operands stand before the command.
    before: usize,
    /// With these options no command runs.
    nothing: &'static [&'static str],
    /// With these options what runs cannot be told.
    opaque: &'static [(&'static str, &'static str)],
    /// With these options the command runs in another directory.
    moves: &'static [&'static str],
    /// Whether `NAME=VALUE` may stand before the command.
    assignments: bool,
    /// What runs if there is no command.
    alone: Option<&'static str>,
}

/// Returns what runs inside of a command. A wrapper is known by its name in whichever directory it lies.
#[must_use]
pub fn unfold(argv: &Words) -> Inside {
    let Some(name) = argv.known(0).map(base_name) else { return Inside::Nothing };
    let found = table::WRAPPERS.binary_search_by(|(entry, _)| (*entry).cmp(name));
    match found.ok().and_then(|at| table::WRAPPERS.get(at)) {
        None => Inside::Nothing,
        Some((_, Unfold::Leading(wrapper))) => wrapper.unfold(argv),
        Some((_, Unfold::Special(unfold))) => unfold(argv),
        Some((_, Unfold::Opaque(why))) => Inside::Unknown(why),
    }
}

impl Wrapper {
    const fn new(short: &'static str, long: &'static [&'static str]) -> Self {
        Self {
            grammar: Grammar::leading(short, long),
            before: 0,
            nothing: &["help", "version"],
            opaque: &[],
            moves: &[],
            assignments: false,
            alone: None,
        }
    }

    fn unfold(&self, argv: &Words) -> Inside {
        let mut items = options(argv, 1, self.grammar);
        let mut before = self.before;
        let mut moved_away = false;
        while let Some(item) = items.next() {
            match item {
                Item::Unclear => return UNCLEAR,
                Item::Option { name, .. } => {
                    if self.nothing.contains(&name) {
                        return Inside::Nothing;
                    }
                    if let Some((_, why)) = self.opaque.iter().find(|(each, _)| *each == name) {
                        return Inside::Unknown(why);
                    }
                    moved_away |= self.moves.contains(&name);
                }
                Item::Operand(Word::Many) if before > 0 => return UNCLEAR,
                Item::Operand(_) if before > 0 => before -= 1,
                Item::Operand(word) if self.assignments && is_assignment(word) => {}
                Item::Operand(_) => {
                    let command = argv.tail(items.consumed() - 1);
                    return Inside::Command(if moved_away { moved(&command) } else { command });
                }
            }
        }
        self.alone.map_or(Inside::Nothing, Inside::Unknown)
    }
}

fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// `env` and `sudo` take every word with a `=` in it for an assignment.
fn is_assignment(word: Word<'_>) -> bool {
    matches!(word, Word::Known(text) | Word::Begins(text) if text.contains('='))
}

/// Returns the command as it is when it runs in another directory: relative names are other files there, and what is
/// not named is somewhere else, too.
fn moved(command: &Words) -> Words {
    let mut words = Words::new();
    for (at, word) in command.iter().enumerate() {
        match word {
            Word::Known(text) if at == 0 || text.starts_with(['/', '-']) => words.push(text),
            Word::Begins(text) if text.starts_with('/') => push_beginning(&mut words, text),
            Word::Known(_) | Word::Begins(_) => words.push_unknown(),
            Word::Many => words.push_many(),
        }
    }
    words.push_many();
    words
}

/// Adds a word in which `placeholder` stands for something unknown.
fn push_replaced(words: &mut Words, word: Word<'_>, placeholder: &str) {
    let replaced = match word {
        Word::Many => None,
        Word::Known(text) | Word::Begins(text) => text.split_once(placeholder),
    };
    match replaced {
        Some((beginning, _)) => push_beginning(words, beginning),
        None => push(words, word),
    }
}

fn push(words: &mut Words, word: Word<'_>) {
    match word {
        Word::Known(text) => words.push(text),
        Word::Begins(text) => push_beginning(words, text),
        Word::Many => words.push_many(),
    }
}

/// Adds a word of which only the beginning is known.
fn push_beginning(words: &mut Words, text: &str) {
    words.push_piece(text);
    words.push_unknown_piece();
    words.end_word();
}

#[cfg(test)]
mod tests;
