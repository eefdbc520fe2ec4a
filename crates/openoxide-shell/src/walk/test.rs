//! `test` and `[`: `-v` expands the subscript of the array that it is given.

use openoxide_protocol::CommandWord;

use super::{Source, Walk, simple::Call};
use crate::{findings::Code, syntax};

impl Walk<'_> {
    /// Looks at the words of `test` or `[`.
    pub(super) fn test(&mut self, call: &Call<'_>) {
        let words: Vec<CommandWord<'_>> = call.argv.iter().collect();
        let risky = words.iter().enumerate().skip(1).any(|(index, word)| {
            is_operator(*word, call, index)
                && words.get(index + 1).is_some_and(|next| is_subscripted(*next, call, index + 1))
                || matches!(word, CommandWord::AnyWords)
                    && call.tainted.has(index)
                    && (!is_name_of_file(call, index) || words.iter().any(|word| computes(*word)))
        });
        if risky {
            self.opaque(call.text, call.span, Code::Evaluated);
        }
    }

    /// Looks at a word of `[[ ]]` that names a variable.
    pub(super) fn variable_word(&mut self, source: Source<'_, '_>, word: &syntax::tree::Word<'_>) {
        let text = self.expand_quoted(word);
        let harmless = match text.known() {
            Some(name) => !name.contains('[') || self.is_plain_text(name),
            None => !text.is_tainted(),
        };
        let span = self.span(source, word.span);
        if !harmless {
            self.opaque(source.slice(word.span), span, Code::Evaluated);
        }
        if let Some((_, subscript)) = text.known().and_then(|name| name.split_once('[')) {
            self.number_assignments(subscript, span);
        }
    }
}

/// Returns whether a word is the name of a file and cannot look like an operator.
fn is_name_of_file(call: &Call<'_>, index: usize) -> bool {
    call.paths.iter().any(|(at, paths)| *at == index && !paths.may_look_like_option())
}

/// Returns whether an operator evaluates the words next to it.
fn computes(word: CommandWord<'_>) -> bool {
    matches!(word, CommandWord::Known("-v" | "-R" | "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge"))
}

/// Returns whether a word may be an operator that takes the name of a variable.
fn is_operator(word: CommandWord<'_>, call: &Call<'_>, index: usize) -> bool {
    match word {
        CommandWord::Known(text) => matches!(text, "-v" | "-R"),
        CommandWord::KnownPrefix(text) => call.tainted.has(index) && "-v".starts_with(text),
        CommandWord::AnyWords => call.tainted.has(index),
    }
}

/// Returns whether a word may be the name of an array with a subscript.
fn is_subscripted(word: CommandWord<'_>, call: &Call<'_>, index: usize) -> bool {
    match word {
        CommandWord::Known(text) => text.contains('['),
        CommandWord::KnownPrefix(_) | CommandWord::AnyWords => call.tainted.has(index),
    }
}
