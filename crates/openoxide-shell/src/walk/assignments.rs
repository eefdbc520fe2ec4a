//! Assignments and their effects.

use openoxide_protocol::Span;

use super::{
    environment_variables,
    expanded_word::ExpandedWord,
    named_resources,
    script_walk::{ScriptWalk, WalkSource},
    state::KnownValue,
    value_text::{is_arithmetic_number, stays_one_word},
};
use crate::{
    findings::FindingCode,
    programs::WordSource,
    syntax::{
        brace_expansion,
        syntax_tree::{Assignment, ShellWord, WordPiece},
    },
};

/// The maximum length of a value. Values that are appended to repeatedly would grow without limit.
const MAX_VALUE_LENGTH: usize = 2048;
/// The maximum number of rounds that are walked separately. A loop with more is walked once.
const MAX_ROUNDS: usize = 16;
/// The maximum text length in bytes times the number of rounds. A loop with a larger product is
/// walked once for all of its rounds.
const MAX_REPEATED_BYTES: usize = 4 * 1024;

/// The known facts about a value that is assigned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AssignedValue {
    Known(String),
    Number,
    /// The name of one of these files.
    Files(WordSource),
    /// Digits and blanks, or an empty value.
    Digits,
    /// Like `Digits`, if the variable is assigned at all.
    PossibleDigits,
    /// Possibly any text.
    Text,
}

impl AssignedValue {
    fn is_numeric(&self) -> bool {
        match self {
            Self::Known(text) => text.is_empty() || is_arithmetic_number(text),
            Self::Number | Self::Digits | Self::PossibleDigits => true,
            Self::Text | Self::Files(_) => false,
        }
    }
}

impl ScriptWalk<'_> {
    /// Records that `name` is assigned here.
    pub(super) fn note_assignment(&mut self, name: &str, value: AssignedValue) {
        let text = match &value {
            AssignedValue::Known(text) => !is_arithmetic_number(text),
            AssignedValue::Number | AssignedValue::Digits | AssignedValue::PossibleDigits => false,
            AssignedValue::Text | AssignedValue::Files(_) => true,
        };
        self.current_scan.add_assignment(name, text);
        if environment_variables::is_shell_variable(name)
            || self.current_scan.has_readonly
            || self.previous_scan.has_readonly
        {
            self.note_possible_failure();
            self.state.variables.forget(name);
            return;
        }
        match value {
            AssignedValue::Known(text) if text.len() <= MAX_VALUE_LENGTH => {
                self.state.variables.set(name, KnownValue::Text(text));
            }
            AssignedValue::Number => self.state.variables.set(name, KnownValue::Number),
            AssignedValue::Files(paths) => self.state.variables.set(name, KnownValue::Files(paths)),
            AssignedValue::Digits => self.state.variables.set(name, KnownValue::Digits),
            AssignedValue::PossibleDigits => self.state.variables.weaken(name),
            AssignedValue::Known(_) | AssignedValue::Text => self.state.variables.forget(name),
        }
    }

    /// Records that the script assigns a variable, without its value.
    fn own(&mut self, name: &str) {
        let fixed = self.current_scan.has_readonly || self.previous_scan.has_readonly;
        if !fixed && self.state.variables.get(name).is_none() {
            self.state.variables.set(name, KnownValue::Own);
        }
    }

    /// Forgets the values of variables that other parts of the script may have changed. Variables
    /// to which the script never assigns text stay numeric.
    pub(super) fn forget_values(&mut self) {
        let (previous, current) = (&self.previous_scan, &self.current_scan);
        let tainted =
            |name: &str| previous.is_tainted_variable(name) || current.is_tainted_variable(name);
        self.state.variables.weaken_all(|name| !tainted(name));
    }

    /// Records that any variable may have changed.
    pub(super) fn note_any_assignment(&mut self) {
        self.current_scan.any_variable_changes = true;
        self.state.variables.clear();
    }

    /// Walks an assignment by itself or before a command.
    pub(super) fn walk_assignment<'a>(
        &mut self,
        source: WalkSource<'a, '_>,
        assignment: &Assignment<'a>,
        alone: bool,
    ) {
        let span = self.outer_span(source, assignment.span);
        self.walk_word(source, &assignment.value);
        if let Some(subscript) = &assignment.subscript {
            self.walk_arithmetic(source, subscript, span);
        }
        self.current_scan.has_arrays |= assignment.subscript.is_some()
            || matches!(assignment.value.pieces.first(), Some(WordPiece::Array(_)));
        let simple = alone && !assignment.append && assignment.subscript.is_none();
        let value = self.classify_assigned_value(&assignment.value);
        self.check_special_variable(assignment.name, &value, span, source.text_at(assignment.span));
        self.note_assignment(assignment.name, if simple { value } else { AssignedValue::Text });
        if simple && environment_variables::is_secret_variable(assignment.name) {
            self.own(assignment.name);
        }
        if !alone {
            self.state.variables.forget(assignment.name);
        }
    }

    /// Records the special effects of an assignment to this variable.
    pub(super) fn check_special_variable(
        &mut self,
        name: &str,
        value: &AssignedValue,
        span: Span,
        text: &str,
    ) {
        let off = matches!(value, AssignedValue::Known(text) if environment_variables::is_disabling_assignment(name, text));
        if environment_variables::is_program_variable(name) && !off {
            self.current_scan.changes_programs = true;
            self.add_finding(FindingCode::Environment, span);
        }
        // bash expands the values of the `PS` variables and `PROMPT_COMMAND` again. `BASH_CMDS` and
        // `BASH_ALIASES` change which programs names refer to.
        let harmless = matches!(value, AssignedValue::Known(text) if !text.contains(['$', '`']));
        let expanded = matches!(name, "PS4" | "PROMPT_COMMAND" | "PS0" | "PS1");
        if matches!(name, "BASH_CMDS" | "BASH_ALIASES") || expanded && !harmless {
            self.add_opaque_access(text, span, FindingCode::EvaluatedText);
        }
        if environment_variables::is_shell_startup_variable(name)
            || environment_variables::names_place(name)
        {
            self.add_opaque_access(text, span, FindingCode::Environment);
        }
        let unknown = match value {
            AssignedValue::Known(locale) => {
                !environment_variables::is_harmless_locale(name, locale)
            }
            AssignedValue::Number | AssignedValue::Digits | AssignedValue::PossibleDigits => false,
            AssignedValue::Text | AssignedValue::Files(_) => true,
        };
        if environment_variables::names_locale(name) && unknown {
            self.add_opaque_access(text, span, FindingCode::Environment);
        }
        if named_resources::names_host(name)
            && matches!(value, AssignedValue::Text | AssignedValue::Files(_))
        {
            self.add_opaque_access(name, span, FindingCode::Environment);
        }
        // The values of these variables are evaluated, including the commands in their subscripts.
        if environment_variables::is_integer_variable(name) && !value.is_numeric() {
            self.add_opaque_access(text, span, FindingCode::EvaluatedText);
        }
        if name == "CDPATH" {
            self.state.forget_working_directory();
            self.current_scan.changes_cwd = true;
            self.current_scan.changes_cwd_repeatedly |= self.repetition_depth > 0;
        }
    }

    /// Returns the known facts about the value that `word` assigns.
    pub(super) fn classify_assigned_value(&self, word: &ShellWord<'_>) -> AssignedValue {
        match word.pieces.as_slice() {
            [] => return AssignedValue::Known(String::new()),
            [WordPiece::Array(elements)] => {
                let numbers = elements
                    .iter()
                    .all(|word| word.as_plain_text().is_some_and(is_arithmetic_number));
                return if numbers { AssignedValue::Number } else { AssignedValue::Text };
            }
            pieces => {
                if let Some(paths) = self.find_output_files(pieces) {
                    return AssignedValue::Files(paths);
                }
            }
        }
        self.classify_expanded_value(&self.expand_without_splitting(word))
    }

    /// Returns the files that a program names, if the assigned value is exactly its output.
    fn find_output_files(&self, pieces: &[WordPiece<'_>]) -> Option<WordSource> {
        match pieces {
            [WordPiece::Command(list)] => self.find_substitution_files(list),
            [WordPiece::Quoted(inner)] => self.find_output_files(inner),
            _ => None,
        }
    }

    /// Returns the known facts about the value that an expansion gives.
    pub(super) fn classify_expanded_value(&self, text: &ExpandedWord) -> AssignedValue {
        match text.known_text() {
            Some(known) => AssignedValue::Known(known.to_owned()),
            None if text.is_single_number() => AssignedValue::Number,
            None if text.has_only_numbers() => AssignedValue::Digits,
            None => AssignedValue::Text,
        }
    }

    /// Walks the head of `for name in words`. Returns the values, if they are known and few.
    pub(super) fn walk_for_words<'a>(
        &mut self,
        source: WalkSource<'a, '_>,
        name: &str,
        words: Option<&[ShellWord<'a>]>,
    ) -> Option<Vec<String>> {
        let (mut numbers, mut full) = (words.is_some(), true);
        for word in words.unwrap_or_default() {
            self.walk_word(source, word);
            numbers &= self.expand_each_word(word, &mut |text| text.has_only_numbers());
            full &= self.expand_each_word(word, &mut |text| text.is_single_number());
            if !self.expand_each_word(word, &mut |text| {
                text.file_source().is_some() || !text.is_obscure()
            }) {
                let span = self.outer_span(source, word.span);
                self.add_opaque_access(source.text_at(word.span), span, FindingCode::HiddenEffect);
            }
        }
        let files = words.and_then(|words| self.find_named_files(words));
        self.check_special_variable(name, &AssignedValue::Text, Span::default(), name);
        self.note_assignment(
            name,
            match (numbers, full, files) {
                (true, true, _) => AssignedValue::Number,
                (true, false, _) => AssignedValue::PossibleDigits,
                (false, _, Some(files)) => AssignedValue::Files(files),
                (false, _, None) => AssignedValue::Text,
            },
        );
        let keeps = self.state.variables.get(name).is_some();
        words.filter(|_| keeps).and_then(|words| self.known_loop_values(words, source.text.len()))
    }

    /// Returns the words, if they are known and there are so few that walking `length` bytes for
    /// each is cheap. The limit must not depend on known facts. A second walk knows less than the
    /// first, and must not take a path that the first did not take.
    fn known_loop_values(&self, words: &[ShellWord<'_>], length: usize) -> Option<Vec<String>> {
        let rounds = self.loop_rounds.saturating_mul(brace_word_count(words));
        if rounds > MAX_ROUNDS || rounds.saturating_mul(length) > MAX_REPEATED_BYTES {
            return None;
        }
        let mut values = Vec::new();
        let known = words.iter().all(|word| {
            self.expand_each_word(word, &mut |text| match text.known_text() {
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
    fn find_named_files(&self, words: &[ShellWord<'_>]) -> Option<WordSource> {
        let mut roots = Vec::new();
        let (mut pattern, mut count) = (None, 0);
        let known = words.iter().all(|word| {
            self.expand_each_word(word, &mut |text| {
                pattern = text.file_source().cloned();
                count += 1;
                match text.known_text() {
                    // The unquoted value stays one word.
                    Some(name) if stays_one_word(name) => {
                        roots.push(name.to_owned());
                    }
                    _ => return false,
                }
                true
            })
        });
        match (known, words.len()) {
            (true, _) => Some(WordSource::DescendantsOf { roots, bare: false, search: None }),
            // Braces expand one word to several.
            (false, 1) => pattern.filter(|_| count == 1),
            _ => None,
        }
    }
}

/// Returns the number of words after brace expansion.
pub(super) fn brace_word_count(words: &[ShellWord<'_>]) -> usize {
    words.iter().map(|word| brace_expansion::count_words(&word.pieces)).sum()
}
