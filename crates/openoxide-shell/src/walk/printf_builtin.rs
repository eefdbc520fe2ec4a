//! `printf`: `-v` names a variable, and so does the argument of a `%n` in the format.

use openoxide_protocol::CommandWord;

use super::{
    assignments::AssignedValue,
    builtins::{known_word, may_be_option},
    command_call::CommandCall,
    script_walk::ScriptWalk,
};

impl ScriptWalk<'_> {
    /// Records the variables to which `printf` assigns.
    pub(super) fn walk_printf(&mut self, call: &CommandCall<'_>) {
        match call.argv.iter().nth(1) {
            Some(CommandWord::Known("-v")) => {
                self.note_name_at(call, 2, AssignedValue::Text);
                self.check_printf_format(call, 3);
            }
            Some(CommandWord::Known(text)) if text.starts_with("-v") => {
                let name = text.get(2..).unwrap_or_default().to_owned();
                self.note_assigned_name(call, &name, AssignedValue::Text);
                self.check_printf_format(call, 2);
            }
            Some(CommandWord::KnownPrefix(text))
                if call.argv.len() > 2 && call.tainted.contains(1) && may_be_option(text) =>
            {
                self.note_unknown_names(call);
            }
            Some(CommandWord::AnyWords) if call.tainted.contains(1) => {
                self.note_unknown_names(call);
            }
            _ => self.check_printf_format(call, 1),
        }
    }

    /// Checks the format, which is the word at `index`. `%n` stores a number in the variable that a
    /// later word names.
    fn check_printf_format(&mut self, call: &CommandCall<'_>, index: usize) {
        let index = index + usize::from(call.argv.known_word(index) == Some("--"));
        let Some(format) = call.argv.iter().nth(index) else { return };
        if has_count_conversion(&format_text(call, index)) {
            self.note_names_from(call, index + 1, &AssignedValue::Text);
        } else if !matches!(format, CommandWord::Known(_)) && call.tainted.contains(index) {
            self.note_possible_count_variable(call, index + 1);
        }
    }

    /// Handles an unknown format. In that case, any word that is a name may be the name of a
    /// variable.
    fn note_possible_count_variable(&mut self, call: &CommandCall<'_>, from: usize) {
        let words: Vec<CommandWord<'_>> = call.argv.iter().skip(from).collect();
        let unknown = |(index, word): (usize, &CommandWord<'_>)| {
            known_word(*word).is_none() && call.tainted.contains(from + index)
        };
        if words.iter().enumerate().any(unknown) {
            return self.note_unknown_names(call);
        }
        let names = words
            .iter()
            .copied()
            .filter_map(known_word)
            .filter(|name| crate::syntax::is_name(name));
        names.for_each(|name| self.note_assigned_name(call, name, AssignedValue::Text));
    }
}

/// Returns the word at `index`, with a replacement character for its unknown text.
fn format_text(call: &CommandCall<'_>, index: usize) -> String {
    let words = call.argv.tail(index);
    let word = words.as_bytes().split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(word).into_owned()
}

/// Returns whether a format contains a `%n`, with any flags between the two characters.
fn has_count_conversion(format: &str) -> bool {
    let flag = |letter: char| !letter.is_ascii_alphabetic() || "hjlqtzL".contains(letter);
    let directives = format.replace("%%", "");
    directives
        .split('%')
        .skip(1)
        .any(|directive| directive.trim_start_matches(flag).starts_with('n'))
}
