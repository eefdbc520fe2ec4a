//! Builtins that take the names of variables.

use openoxide_protocol::CommandWord;

use super::{
    assignments::AssignedValue, command_call::CommandCall, environment_variables,
    script_walk::ScriptWalk, value_text::is_arithmetic_number,
};
use crate::{findings::FindingCode, syntax::is_name};

impl ScriptWalk<'_> {
    /// Walks `declare`, `local`, `export` or `readonly`.
    pub(super) fn walk_declaration(&mut self, call: &CommandCall<'_>) {
        let name = call.argv.known_word(0).unwrap_or_default();
        let (mut options, mut exports) = (true, name == "export");
        // If the assignment may be rejected, the old value is kept.
        let mut certain =
            name != "readonly" && (name != "local" || !self.active_functions.is_empty());
        self.current_scan.has_readonly |= name == "readonly";
        for (index, word) in call.argv.iter().enumerate().skip(1) {
            match word {
                CommandWord::Known("--") => options = false,
                CommandWord::Known(text) if options && text.starts_with(['-', '+']) => {
                    // Integer variables evaluate their values, and name references refer to other
                    // names. Both attributes are permanent.
                    if !text.bytes().skip(1).all(|letter| b"aAxrgpfFtI".contains(&letter)) {
                        return self.add_opaque_access(
                            call.text,
                            call.span,
                            FindingCode::EvaluatedText,
                        );
                    }
                    self.current_scan.has_arrays |= text.contains(['a', 'A']);
                    exports |= text.contains('x');
                    self.current_scan.has_readonly |= text.contains('r');
                    certain &= !text.contains(['r', 'p', 'f', 'F']);
                }
                CommandWord::Known(text) | CommandWord::KnownPrefix(text) => {
                    if exports {
                        let name = text.split(['=', '+', '[']).next().unwrap_or_default();
                        self.note_alteration(name, call.span);
                    }
                    self.walk_declared_word(
                        call,
                        index,
                        text,
                        matches!(word, CommandWord::Known(_)),
                    );
                    if !certain {
                        self.state.variables.clear();
                    }
                }
                CommandWord::AnyWords => {
                    return self.add_opaque_access(
                        call.text,
                        call.span,
                        FindingCode::EvaluatedText,
                    );
                }
            }
        }
    }

    fn walk_declared_word(
        &mut self,
        call: &CommandCall<'_>,
        index: usize,
        text: &str,
        whole: bool,
    ) {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None if whole => (text, None),
            None => {
                return self.add_opaque_access(call.text, call.span, FindingCode::EvaluatedText);
            }
        };
        let appends = name.ends_with('+');
        let name = name.strip_suffix('+').unwrap_or(name);
        let tainted = call.tainted.contains(index);
        if value.is_some_and(|value| self.is_array_value(name, value, whole, tainted)) {
            self.add_opaque_access(call.text, call.span, FindingCode::EvaluatedText);
        }
        let value = match value {
            Some(value) if whole && !appends => AssignedValue::Known(value.to_owned()),
            Some(_) if call.numbers.contains(index) && index < 64 => AssignedValue::Number,
            _ => AssignedValue::Text,
        };
        // `export x` without a value does not change the value.
        let named = if text.contains('=') { value } else { AssignedValue::Number };
        self.note_assigned_name(call, name, named);
        if !text.contains('=') {
            self.state.variables.forget(name);
        }
    }

    /// Returns whether a value may be `(…)`. If a builtin assigns such a value to an array, its
    /// words are expanded once more.
    fn is_array_value(&self, name: &str, value: &str, whole: bool, tainted: bool) -> bool {
        if value.starts_with('(') {
            return !whole || value.contains(['$', '`', '<', '>', '[']);
        }
        let arrays = self.current_scan.has_arrays
            || self.previous_scan.has_arrays
            || environment_variables::is_shell_array(name);
        !whole && value.is_empty() && tainted && arrays
    }

    /// Records that a builtin assigns to the variable `name`, and checks its subscript.
    pub(super) fn note_assigned_name(
        &mut self,
        call: &CommandCall<'_>,
        name: &str,
        value: AssignedValue,
    ) {
        if is_name(name) {
            self.check_special_variable(name, &value, call.span, call.text);
            return self.note_assignment(name, value);
        }
        match name.split_once('[') {
            Some((array, subscript)) if is_name(array) => {
                self.note_possible_failure(); // `08` is not a valid number.
                let subscript = subscript.strip_suffix(']').unwrap_or("$");
                if !(is_arithmetic_number(subscript) || matches!(subscript, "@" | "*")) {
                    self.add_opaque_access(call.text, call.span, FindingCode::EvaluatedText);
                }
                self.current_scan.has_arrays = true;
                self.check_special_variable(array, &AssignedValue::Text, call.span, call.text);
                self.note_assignment(array, AssignedValue::Text);
            }
            Some(_) => self.add_opaque_access(call.text, call.span, FindingCode::EvaluatedText),
            // Without a name, the builtin fails.
            None => {}
        }
    }

    /// Records that a builtin assigns to the variable that the word at `index` names.
    pub(super) fn note_name_at(
        &mut self,
        call: &CommandCall<'_>,
        index: usize,
        value: AssignedValue,
    ) {
        if let Some(word) = call.argv.iter().nth(index) {
            self.note_assigned_variable(call, word, value);
        }
    }

    /// Records that a builtin assigns to the variables that the words from `index` on name.
    pub(super) fn note_names_from(
        &mut self,
        call: &CommandCall<'_>,
        index: usize,
        value: &AssignedValue,
    ) {
        call.argv
            .iter()
            .skip(index)
            .for_each(|word| self.note_assigned_variable(call, word, value.clone()));
    }

    fn note_assigned_variable(
        &mut self,
        call: &CommandCall<'_>,
        word: CommandWord<'_>,
        value: AssignedValue,
    ) {
        match word {
            CommandWord::Known(name) => self.note_assigned_name(call, name, value),
            CommandWord::KnownPrefix(_) | CommandWord::AnyWords => {
                self.note_any_assignment();
                self.add_opaque_access(call.text, call.span, FindingCode::EvaluatedText);
            }
        }
    }

    /// Parses the options of `read`, `mapfile`, `unset`, `getopts`, `wait` or `printf`, which
    /// precede the names. Returns the index of the first operand, or `None` if it is unknown.
    /// `valued` are the letters that take a value, and `naming` are those whose value is a name.
    pub(super) fn parse_name_options(
        &mut self,
        call: &CommandCall<'_>,
        valued: &str,
        naming: &str,
    ) -> Option<usize> {
        let words: Vec<CommandWord<'_>> = call.argv.iter().collect();
        let mut index = 1;
        while let Some(option) = option_letters(words.get(index).copied())? {
            index += 1;
            let Some(at) = option.find(|letter| valued.contains(letter)) else { continue };
            let letter = option.get(at..at + 1).unwrap_or_default();
            let attached = option.get(at + 1..).unwrap_or_default();
            if !naming.contains(letter) {
                // An unknown number of words can be a value and names.
                if attached.is_empty() && words.get(index) == Some(&CommandWord::AnyWords) {
                    return None;
                }
                index += usize::from(attached.is_empty());
            } else if attached.is_empty() {
                if let Some(word) = words.get(index) {
                    self.note_assigned_variable(call, *word, AssignedValue::Text);
                }
                index += 1;
            } else {
                self.note_assigned_name(call, attached, AssignedValue::Text);
            }
        }
        if words.get(index) == Some(&CommandWord::Known("--")) {
            index += 1;
        }
        Some(index)
    }
}

/// Returns the letters of an option: `Some(None)` if operands begin with this word, `None` if that
/// is unknown.
#[expect(clippy::option_option, reason = "not known and not there are two answers")]
fn option_letters(word: Option<CommandWord<'_>>) -> Option<Option<&str>> {
    match word {
        None | Some(CommandWord::Known("--" | "-")) => Some(None),
        Some(CommandWord::Known(text)) => {
            Some(text.strip_prefix('-').filter(|text| text.is_ascii()))
        }
        Some(CommandWord::KnownPrefix(text)) if !text.is_empty() && !text.starts_with('-') => {
            Some(None)
        }
        Some(CommandWord::KnownPrefix(_) | CommandWord::AnyWords) => None,
    }
}
