//! `test` and `[`, whose operator `-v` expands the subscript of its array operand.

use openoxide_protocol::CommandWord;

use super::{
    command_call::CommandCall,
    script_walk::{ScriptWalk, WalkSource},
};
use crate::{findings::FindingCode, syntax};

impl ScriptWalk<'_> {
    /// Walks the words of `test` or `[`.
    pub(super) fn walk_test(&mut self, call: &CommandCall<'_>) {
        let words: Vec<CommandWord<'_>> = call.argv.iter().collect();
        let risky = words.iter().enumerate().skip(1).any(|(index, word)| {
            may_be_variable_operator(*word, call, index)
                && words
                    .get(index + 1)
                    .is_some_and(|next| may_be_array_element(*next, call, index + 1))
                || matches!(word, CommandWord::AnyWords)
                    && call.tainted.contains(index)
                    && (!is_file_name(call, index)
                        || words.iter().any(|word| is_arithmetic_operator(*word)))
        });
        if risky {
            self.add_opaque_access(call.text, call.span, FindingCode::EvaluatedText);
        }
    }

    /// Checks a word of `[[ ]]` that names a variable.
    pub(super) fn check_variable_word(
        &mut self,
        source: WalkSource<'_, '_>,
        word: &syntax::syntax_tree::ShellWord<'_>,
    ) {
        let text = self.expand_without_splitting(word);
        let harmless = match text.known_text() {
            Some(name) => !name.contains('[') || self.is_plain_arithmetic_text(name),
            None => !text.is_tainted(),
        };
        let span = self.outer_span(source, word.span);
        if !harmless {
            self.add_opaque_access(source.text_at(word.span), span, FindingCode::EvaluatedText);
        }
        if let Some((_, subscript)) = text.known_text().and_then(|name| name.split_once('[')) {
            self.note_number_assignments(subscript, span);
        }
    }
}

/// Returns whether a word is the name of a file and cannot look like an operator.
fn is_file_name(call: &CommandCall<'_>, index: usize) -> bool {
    call.paths.iter().any(|(at, paths)| *at == index && !paths.may_look_like_option())
}

/// Returns whether an operator evaluates the words next to it.
fn is_arithmetic_operator(word: CommandWord<'_>) -> bool {
    matches!(word, CommandWord::Known("-v" | "-R" | "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge"))
}

/// Returns whether a word may be an operator that takes the name of a variable.
fn may_be_variable_operator(word: CommandWord<'_>, call: &CommandCall<'_>, index: usize) -> bool {
    match word {
        CommandWord::Known(text) => matches!(text, "-v" | "-R"),
        CommandWord::KnownPrefix(text) => call.tainted.contains(index) && "-v".starts_with(text),
        CommandWord::AnyWords => call.tainted.contains(index),
    }
}

/// Returns whether a word may be the name of an array with a subscript.
fn may_be_array_element(word: CommandWord<'_>, call: &CommandCall<'_>, index: usize) -> bool {
    match word {
        CommandWord::Known(text) => text.contains('['),
        CommandWord::KnownPrefix(_) | CommandWord::AnyWords => call.tainted.contains(index),
    }
}
