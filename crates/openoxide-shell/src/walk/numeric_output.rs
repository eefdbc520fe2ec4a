//! The commands whose output is always numbers, for any input.

use super::value_text::is_arithmetic_number;
use crate::syntax::syntax_tree::{
    CommandList, ListItem, RedirectionTarget, ShellCommand, ShellWord, SimpleCommand, WordPiece,
};

/// Returns whether the output of these commands consists only of digits, blanks and signs.
pub(super) fn prints_number(list: &CommandList<'_>) -> bool {
    let [ListItem { first, rest, is_background: false, .. }] = list.as_slice() else {
        return false;
    };
    match first.commands.last() {
        Some(ShellCommand::Simple(simple)) => rest.is_empty() && is_numeric_program(simple),
        _ => false,
    }
}

fn is_numeric_program(simple: &SimpleCommand<'_>) -> bool {
    let quiet = simple.redirects.iter().all(|redirect| {
        !matches!(redirect.target, RedirectionTarget::Duplicate { .. }) // Error messages contain text.
    });
    let words: Option<Vec<&str>> = simple.words.iter().map(literal_text).collect();
    let (true, true, Some(words)) = (quiet, simple.assignments.is_empty(), words) else {
        return false;
    };
    match words.as_slice() {
        ["nproc"] | ["id", "-u" | "-g"] => true,
        // With `--help` it prints text.
        ["grep", "-c", pattern] => !pattern.starts_with('-'),
        // With an operand, it prints the operand as well.
        ["wc", "-l" | "-w" | "-c" | "-m" | "-L"] => true,
        ["date", format] => format.strip_prefix('+').is_some_and(|format| {
            format.bytes().all(|byte| b"%sNYmdHMSju".contains(&byte)) && !format.contains("%%")
        }),
        ["seq", numbers @ ..] => numbers.iter().all(|number| is_arithmetic_number(number)),
        _ => false,
    }
}

fn literal_text<'w>(word: &'w ShellWord<'_>) -> Option<&'w str> {
    match word.pieces.as_slice() {
        [WordPiece::Unquoted(text)] => Some(text),
        [WordPiece::Literal(text)] => Some(text),
        _ => None,
    }
}
