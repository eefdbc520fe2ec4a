//! Builtins that are given the names of variables.

use openoxide_protocol::{CommandWord, CommandWords};

use super::{
    Walk,
    assign::{Value, is_number},
    simple::Call,
};
use crate::{findings::Code, syntax::is_name};

impl Walk<'_> {
    /// `declare`, `local`, `export`, `readonly`.
    pub(super) fn declare(&mut self, call: &Call<'_>) {
        let name = call.argv.known_word(0).unwrap_or_default();
        let (mut options, mut exports) = (true, name == "export");
        // Where the assignment may be refused, the old value stays.
        let mut certain = name != "readonly" && (name != "local" || !self.inside.is_empty());
        self.seen.readonly |= name == "readonly";
        for (index, word) in call.argv.iter().enumerate().skip(1) {
            match word {
                CommandWord::Known("--") => options = false,
                CommandWord::Known(text) if options && text.starts_with(['-', '+']) => {
                    // Integer variables evaluate their values, and name references stand for other
                    // names. Both attributes are permanent.
                    if !text.bytes().skip(1).all(|letter| b"aAxrgpfFtI".contains(&letter)) {
                        return self.opaque(call.text, call.span, Code::Evaluated);
                    }
                    self.seen.arrays |= text.contains(['a', 'A']);
                    exports |= text.contains('x');
                    self.seen.readonly |= text.contains('r');
                    certain &= !text.contains(['r', 'p', 'f', 'F']);
                }
                CommandWord::Known(text) | CommandWord::KnownPrefix(text) => {
                    if exports {
                        let name = text.split(['=', '+', '[']).next().unwrap_or_default();
                        self.note_alteration(name, call.span);
                    }
                    self.declared(call, index, text, matches!(word, CommandWord::Known(_)));
                    if !certain {
                        self.state.variables.clear();
                    }
                }
                CommandWord::AnyWords => return self.opaque(call.text, call.span, Code::Evaluated),
            }
        }
    }

    fn declared(&mut self, call: &Call<'_>, index: usize, text: &str, whole: bool) {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None if whole => (text, None),
            None => return self.opaque(call.text, call.span, Code::Evaluated),
        };
        if value.is_some_and(|value| self.is_expanded_again(value, whole, call.tainted.has(index)))
        {
            self.opaque(call.text, call.span, Code::Evaluated);
        }
        let appends = name.ends_with('+');
        let name = name.strip_suffix('+').unwrap_or(name);
        let value = match value {
            Some(value) if whole && !appends => Value::Known(value.to_owned()),
            Some(_) if call.numbers.has(index) && index < 64 => Value::Number,
            _ => Value::Text,
        };
        // `export x` alone leaves the value as it is.
        let named = if text.contains('=') { value } else { Value::Number };
        self.name(call, name, named);
        if !text.contains('=') {
            self.state.variables.forget(name);
        }
    }

    /// Returns whether a value may be `(…)`. If a builtin assigns such a value to an array, its
    /// words are expanded once more.
    fn is_expanded_again(&self, value: &str, whole: bool, tainted: bool) -> bool {
        if value.starts_with('(') {
            return !whole || value.contains(['$', '`', '<', '>', '[']);
        }
        let arrays = self.seen.arrays || self.known.arrays;
        !whole && value.is_empty() && tainted && arrays
    }

    /// Notes that a builtin assigns to what `name` names, and looks at its subscript.
    pub(super) fn name(&mut self, call: &Call<'_>, name: &str, value: Value) {
        if is_name(name) {
            self.check_value(name, &value, call.span, call.text);
            return self.assign(name, value);
        }
        match name.split_once('[') {
            Some((array, subscript)) if is_name(array) => {
                self.may_fail(); // `08` is no number.
                let subscript = subscript.strip_suffix(']').unwrap_or("$");
                if !(is_number(subscript) || matches!(subscript, "@" | "*")) {
                    self.opaque(call.text, call.span, Code::Evaluated);
                }
                self.seen.arrays = true;
                self.check_value(array, &Value::Text, call.span, call.text);
                self.assign(array, Value::Text);
            }
            Some(_) => self.opaque(call.text, call.span, Code::Evaluated),
            // Without a name, the builtin fails.
            None => {}
        }
    }

    /// Notes that a builtin assigns to the variable that the word at `index` names.
    pub(super) fn named_at(&mut self, call: &Call<'_>, index: usize, value: Value) {
        if let Some(word) = call.argv.iter().nth(index) {
            self.named(call, word, value);
        }
    }

    /// Notes that a builtin assigns to the variables that the words from `index` on name.
    pub(super) fn named_from(&mut self, call: &Call<'_>, index: usize, value: &Value) {
        call.argv.iter().skip(index).for_each(|word| self.named(call, word, value.clone()));
    }

    fn named(&mut self, call: &Call<'_>, word: CommandWord<'_>, value: Value) {
        match word {
            CommandWord::Known(name) => self.name(call, name, value),
            CommandWord::KnownPrefix(_) | CommandWord::AnyWords => {
                self.assign_anything();
                self.opaque(call.text, call.span, Code::Evaluated);
            }
        }
    }

    /// `read`, `mapfile`, `unset`, `getopts`, `wait`, `printf`: options first, then names. Returns where the operands
    /// begin; `valued` are the letters that take a value, `naming` those whose value is a name.
    pub(super) fn named_options(
        &mut self,
        call: &Call<'_>,
        valued: &str,
        naming: &str,
    ) -> Option<usize> {
        let mut index = 1;
        while let Some(option) = option_at(&call.argv, index)? {
            index += 1;
            let Some(at) = option.find(|letter| valued.contains(letter)) else { continue };
            let letter = option.get(at..at + 1).unwrap_or_default();
            let attached = option.get(at + 1..).unwrap_or_default();
            if !naming.contains(letter) {
                // A word of which not even the number is known can be a value and names.
                if attached.is_empty() && call.argv.iter().nth(index) == Some(CommandWord::AnyWords)
                {
                    return None;
                }
                index += usize::from(attached.is_empty());
            } else if attached.is_empty() {
                self.named_at(call, index, Value::Text);
                index += 1;
            } else {
                self.name(call, attached, Value::Text);
            }
        }
        if call.argv.known_word(index) == Some("--") {
            index += 1;
        }
        Some(index)
    }
}

/// Returns the letters of the option at `index`: none when operands begin there, nothing when that is not known.
#[expect(clippy::option_option, reason = "not known and not there are two answers")]
fn option_at(argv: &CommandWords, index: usize) -> Option<Option<String>> {
    match argv.iter().nth(index) {
        None | Some(CommandWord::Known("--" | "-")) => Some(None),
        Some(CommandWord::Known(text)) => {
            Some(text.strip_prefix('-').filter(|text| text.is_ascii()).map(str::to_owned))
        }
        Some(CommandWord::KnownPrefix(text)) if !text.is_empty() && !text.starts_with('-') => {
            Some(None)
        }
        Some(CommandWord::KnownPrefix(_) | CommandWord::AnyWords) => None,
    }
}
