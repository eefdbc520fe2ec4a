//! `printf`: `-v` names a variable, and so does the argument of a `%n` in the format.

use openoxide_protocol::CommandWord;

use super::{
    Walk,
    assign::Value,
    builtins::{known, may_be_option},
    simple::Call,
};

impl Walk<'_> {
    /// Notes which variables `printf` assigns to.
    pub(super) fn printf(&mut self, call: &Call<'_>) {
        match call.argv.iter().nth(1) {
            Some(CommandWord::Known("-v")) => {
                self.named_at(call, 2, Value::Text);
                self.formatted(call, 3);
            }
            Some(CommandWord::Known(text)) if text.starts_with("-v") => {
                let name = text.get(2..).unwrap_or_default().to_owned();
                self.name(call, &name, Value::Text);
                self.formatted(call, 2);
            }
            Some(CommandWord::KnownPrefix(text))
                if call.argv.len() > 2 && call.tainted.has(1) && may_be_option(text) =>
            {
                self.unclear_names(call);
            }
            Some(CommandWord::AnyWords) if call.tainted.has(1) => self.unclear_names(call),
            _ => self.formatted(call, 1),
        }
    }

    /// Looks at the format, the word at `index`: `%n` puts a number into the variable that a later word names.
    fn formatted(&mut self, call: &Call<'_>, index: usize) {
        let index = index + usize::from(call.argv.known_word(index) == Some("--"));
        let Some(format) = call.argv.iter().nth(index) else { return };
        if counts(&text(call, index)) {
            self.named_from(call, index + 1, &Value::Text);
        } else if !matches!(format, CommandWord::Known(_)) && call.tainted.has(index) {
            self.may_count(call, index + 1);
        }
    }

    /// Handles a format that is not known. Any word that is a name may then be the name of a
    /// variable.
    fn may_count(&mut self, call: &Call<'_>, from: usize) {
        let words: Vec<CommandWord<'_>> = call.argv.iter().skip(from).collect();
        let unknown = |(index, word): (usize, &CommandWord<'_>)| {
            known(*word).is_none() && call.tainted.has(from + index)
        };
        if words.iter().enumerate().any(unknown) {
            return self.unclear_names(call);
        }
        let names =
            words.iter().copied().filter_map(known).filter(|name| crate::syntax::is_name(name));
        names.for_each(|name| self.name(call, name, Value::Text));
    }
}

/// Returns the word at `index`, with a replacement character for its unknown text.
fn text(call: &Call<'_>, index: usize) -> String {
    let words = call.argv.tail(index);
    let word = words.as_bytes().split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(word).into_owned()
}

/// Returns whether a format contains a `%n`, with any flags between the two characters.
fn counts(format: &str) -> bool {
    let flag = |letter: char| !letter.is_ascii_alphabetic() || "hjlqtzL".contains(letter);
    let directives = format.replace("%%", "");
    directives
        .split('%')
        .skip(1)
        .any(|directive| directive.trim_start_matches(flag).starts_with('n'))
}
