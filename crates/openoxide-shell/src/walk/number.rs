//! The commands whose output is numbers, whatever they are given.

use crate::syntax::tree::{Command, Item, List, Piece, Simple, Target, Word};

/// Returns whether the output of these commands consists only of digits, blanks and signs.
pub(super) fn prints_number(list: &List<'_>) -> bool {
    let [Item { first, rest, background: false, .. }] = list.as_slice() else { return false };
    match first.commands.last() {
        Some(Command::Simple(simple)) => rest.is_empty() && is_numeric(simple),
        _ => false,
    }
}

fn is_numeric(simple: &Simple<'_>) -> bool {
    let quiet = simple.redirects.iter().all(|redirect| {
        !matches!(redirect.target, Target::Duplicate { .. }) // Errors hold text.
    });
    let words: Option<Vec<&str>> = simple.words.iter().map(known).collect();
    let (true, true, Some(words)) = (quiet, simple.assignments.is_empty(), words) else {
        return false;
    };
    match words.as_slice() {
        ["nproc"] | ["id", "-u" | "-g"] | ["grep", "-c", _] => true,
        // With an operand it prints that, too.
        ["wc", "-l" | "-w" | "-c" | "-m" | "-L"] => true,
        ["date", format] => format.strip_prefix('+').is_some_and(|format| {
            format.bytes().all(|byte| b"%sNYmdHMSju".contains(&byte)) && !format.contains("%%")
        }),
        ["seq", numbers @ ..] => numbers.iter().all(|number| super::assign::is_number(number)),
        _ => false,
    }
}

fn known<'w>(word: &'w Word<'_>) -> Option<&'w str> {
    match word.pieces.as_slice() {
        [Piece::Plain(text)] => Some(text),
        [Piece::Fixed(text)] => Some(text),
        _ => None,
    }
}
