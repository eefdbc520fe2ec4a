//! Assignments, and what they change.

use openoxide_protocol::Span;

use super::{Source, Walk, braces, environment, expand::Text, state::Certain};
use crate::{
    findings::Code,
    programs::Paths,
    syntax::tree::{Assignment, Piece, Word},
};

/// Longer values are not kept: put together again and again, they would grow without end.
const LONGEST: usize = 2048;
/// A loop with more rounds is walked once for all of them.
const MOST_ROUNDS: usize = 16;
/// The maximum text length in bytes times the number of rounds. A loop with a larger product is
/// walked once for all of its rounds.
const MOST_REPEATED: usize = 4 * 1024;

/// The known facts about a value that is assigned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Known(String),
    Number,
    /// The name of one of these files.
    Files(Paths),
    /// Digits and blanks, or an empty value.
    Digits,
    /// Any text.
    Text,
}

impl Value {
    fn is_number(&self) -> bool {
        match self {
            Self::Known(text) => text.is_empty() || is_number(text),
            Self::Number | Self::Digits => true,
            Self::Text | Self::Files(_) => false,
        }
    }
}

impl Walk<'_> {
    /// Notes that `name` is assigned here.
    pub(super) fn assign(&mut self, name: &str, value: Value) {
        let text = match &value {
            Value::Known(text) => !is_number(text),
            Value::Number | Value::Digits => false,
            Value::Text | Value::Files(_) => true,
        };
        self.seen.assign(name, text);
        if environment::is_shells_own(name) || self.seen.readonly || self.known.readonly {
            self.may_fail();
            self.state.variables.forget(name);
            return;
        }
        match value {
            Value::Known(text) if text.len() <= LONGEST => {
                self.state.variables.set(name, Certain::Text(text));
            }
            Value::Number => self.state.variables.set(name, Certain::Number),
            Value::Files(paths) => self.state.variables.set(name, Certain::Files(paths)),
            Value::Known(_) | Value::Digits | Value::Text => self.state.variables.forget(name),
        }
    }

    /// Notes that a variable has a value of the script's own, whatever it is.
    fn own(&mut self, name: &str) {
        let fixed = self.seen.readonly || self.known.readonly;
        if !fixed && self.state.variables.get(name).is_none() {
            self.state.variables.set(name, Certain::Own);
        }
    }

    /// Notes that any variable may have changed.
    pub(super) fn assign_anything(&mut self) {
        self.seen.wild = true;
        self.state.variables.clear();
    }

    /// Walks an assignment that is alone or before a command.
    pub(super) fn assignment<'a>(
        &mut self,
        source: Source<'a, '_>,
        assignment: &Assignment<'a>,
        alone: bool,
    ) {
        let span = self.span(source, assignment.span);
        self.visit_word(source, &assignment.value);
        if let Some(subscript) = &assignment.subscript {
            self.arithmetic(source, subscript, span);
        }
        self.seen.arrays |= assignment.subscript.is_some()
            || matches!(assignment.value.pieces.first(), Some(Piece::Array(_)));
        let simple = alone && !assignment.append && assignment.subscript.is_none();
        let value = self.value(&assignment.value);
        self.check_value(assignment.name, &value, span, source.slice(assignment.span));
        self.assign(assignment.name, if simple { value } else { Value::Text });
        if simple && environment::is_secret(assignment.name) {
            self.own(assignment.name);
        }
        if !alone {
            self.state.variables.forget(assignment.name);
        }
    }

    /// Notes what it means that this variable, of all, is assigned.
    pub(super) fn check_value(&mut self, name: &str, value: &Value, span: Span, text: &str) {
        let off = matches!(value, Value::Known(text) if environment::switches_off(name, text));
        if environment::changes_programs(name) && !off {
            self.seen.reprogrammed = true;
            self.note(Code::Environment, span);
        }
        // bash expands these once more; the other two change how names become programs.
        let harmless = matches!(value, Value::Known(text) if !text.contains(['$', '`']));
        let expanded = matches!(name, "PS4" | "PROMPT_COMMAND" | "PS0" | "PS1");
        if matches!(name, "BASH_CMDS" | "BASH_ALIASES") || expanded && !harmless {
            self.opaque(text, span, Code::Evaluated);
        }
        if environment::runs_code(name) || environment::names_place(name) {
            self.opaque(text, span, Code::Environment);
        }
        let unknown = match value {
            Value::Known(locale) => !environment::keeps_ascii(locale),
            Value::Number | Value::Digits => false,
            Value::Text | Value::Files(_) => true,
        };
        if environment::chooses_encoding(name) && unknown {
            self.opaque(text, span, Code::Environment);
        }
        // Values of these variables are evaluated, including the commands in their subscripts.
        if environment::evaluates(name) && !value.is_number() {
            self.opaque(text, span, Code::Evaluated);
        }
        if name == "CDPATH" {
            self.state.lose_place();
            self.seen.moved = true;
            self.seen.moves |= self.repeats > 0;
        }
    }

    /// Returns the value that `word` assigns, as far as it is known.
    pub(super) fn value(&self, word: &Word<'_>) -> Value {
        match word.pieces.as_slice() {
            [] => return Value::Known(String::new()),
            [Piece::Array(elements)] => {
                let numbers = elements.iter().all(|word| word.plain().is_some_and(is_number));
                return if numbers { Value::Number } else { Value::Text };
            }
            pieces => {
                if let Some(paths) = self.named_files(pieces) {
                    return Value::Files(paths);
                }
            }
        }
        self.text_value(&self.expand_quoted(word))
    }

    /// Returns the files that a program names, if its output is all that is assigned.
    fn named_files(&self, pieces: &[Piece<'_>]) -> Option<Paths> {
        match pieces {
            [Piece::Command(list)] => self.output(list),
            [Piece::Quoted(inner)] => self.named_files(inner),
            _ => None,
        }
    }

    /// Returns the value for the text of an expansion, as far as it is known.
    pub(super) fn text_value(&self, text: &Text) -> Value {
        match text.known() {
            Some(known) => Value::Known(known.to_owned()),
            None if text.is_one_number() => Value::Number,
            None if text.is_numbers() => Value::Digits,
            None => Value::Text,
        }
    }

    /// Walks the head of `for name in words`. Returns the values, if they are known and few.
    pub(super) fn for_words<'a>(
        &mut self,
        source: Source<'a, '_>,
        name: &str,
        words: Option<&[Word<'a>]>,
    ) -> Option<Vec<String>> {
        let (mut numbers, mut full) = (words.is_some(), true);
        for word in words.unwrap_or_default() {
            self.visit_word(source, word);
            numbers &= self.expand_all(word, &mut |text| text.is_numbers());
            full &= self.expand_all(word, &mut |text| text.is_one_number());
            if !self.expand_all(word, &mut |text| text.paths().is_some() || !text.is_obscure()) {
                let span = self.span(source, word.span);
                self.opaque(source.slice(word.span), span, Code::Hidden);
            }
        }
        let files = words.and_then(|words| self.files(words));
        self.check_value(name, &Value::Text, Span::default(), name);
        self.assign(
            name,
            match (numbers, full, files) {
                (true, true, _) => Value::Number,
                (true, false, _) => Value::Digits,
                (false, _, Some(files)) => Value::Files(files),
                (false, _, None) => Value::Text,
            },
        );
        let keeps = self.state.variables.get(name).is_some();
        words.filter(|_| keeps).and_then(|words| self.few_values(words, source.text.len()))
    }

    /// Returns the words, if they are known and there are so few that walking `length` bytes for
    /// each is cheap. The limit must not depend on what is known. A second walk knows less than the
    /// first, and must not take a path that the first did not take.
    fn few_values(&self, words: &[Word<'_>], length: usize) -> Option<Vec<String>> {
        let rounds = self.rounds.saturating_mul(width(words));
        if rounds > MOST_ROUNDS || rounds.saturating_mul(length) > MOST_REPEATED {
            return None;
        }
        let mut values = Vec::new();
        let known = words.iter().all(|word| {
            self.expand_all(word, &mut |text| match text.known() {
                Some(value) if !value.is_empty() => {
                    values.push(value.to_owned());
                    true
                }
                _ => false,
            })
        });
        (known && !values.is_empty()).then_some(values)
    }

    /// Returns the files that these words name, if they are known names or one pattern.
    fn files(&self, words: &[Word<'_>]) -> Option<Paths> {
        let mut roots = Vec::new();
        let mut pattern = None;
        let known = words.iter().all(|word| {
            self.expand_all(word, &mut |text| {
                pattern = text.paths().cloned();
                match text.known() {
                    // The unquoted name stays one word.
                    Some(name) if super::expand::is_one_word(name) => roots.push(name.to_owned()),
                    _ => return false,
                }
                true
            })
        });
        match (known, words.len()) {
            (true, _) => Some(Paths::Below { roots, bare: false, search: None }),
            (false, 1) => pattern,
            _ => None,
        }
    }
}

/// Returns whether `text` is a number, or contains no name that arithmetic would look up.
pub(super) fn is_number(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit() || b" +-.,:%".contains(&byte))
}

/// Returns how many words these are once their braces are expanded.
pub(super) fn width(words: &[Word<'_>]) -> usize {
    words.iter().map(|word| braces::width(&word.pieces)).sum()
}
