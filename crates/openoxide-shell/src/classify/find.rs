//! `find` with nothing but tests and printing.

use openoxide_protocol::{Word, Words};

use super::Known;
use crate::wrappers::find::{Primary, primary, starts_expression};

/// Judges a whole command.
pub(super) fn judge(argv: &Words) -> Option<Known> {
    let mut known = Known { lists: true, ..Known::harmless() };
    let mut words = argv.iter().skip(1).peekable();
    while words.next_if(|word| matches!(word, Word::Known("-H" | "-L" | "-P"))).is_some() {}
    while let Some(word) = words.next_if(|word| !starts_expression(*word)) {
        known.read_word(word)?;
    }
    if known.reads.is_empty() {
        known.read(".");
    }
    while let Some(word) = words.next() {
        let Word::Known(name) = word else { return None };
        match primary(name)? {
            Primary::Test => {}
            Primary::TestOf => words.next().filter(|word| *word != Word::Many).map(|_| ())?,
            Primary::TestOfFile => known.read_word(words.next()?)?,
            Primary::Run | Primary::Change | Primary::Write => return None,
        }
    }
    Some(known)
}
