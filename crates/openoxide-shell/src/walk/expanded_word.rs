//! The known facts about the expansion of a word.

use openoxide_protocol::CommandWords;

use super::value_text::is_arithmetic_number;
use crate::programs::WordSource;

/// The expansion of one word, or of one of the words that its braces produce.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct ExpandedWord {
    pub(super) text: String,
    /// The positions of unknown text in `text`.
    pub(super) gaps: Vec<usize>,
    /// Whether it may expand to any number of words.
    pub(super) may_be_many_words: bool,
    /// Whether it may contain text that the script does not show.
    pub(super) is_tainted: bool,
    /// Whether a gap may be empty or contain blanks.
    pub(super) may_have_blank_gap: bool,
    /// Whether its gaps contain more than digits.
    pub(super) has_text_gap: bool,
    pub(super) is_quoted: bool,
    /// Whether it contains an unquoted `[`. It is a pattern if a `]` follows.
    pub(super) has_open_bracket: bool,
    /// The files that it names, if it is a pattern or comes from one.
    pub(super) paths: Option<WordSource>,
    /// Whether it contains a variable of the environment that looks like a secret.
    pub(super) reveals_secret: bool,
    /// Whether its source is in the script, but its expansion is not computed.
    pub(super) obscure: bool,
    /// Whether it contains an unquoted `*` or `?`.
    pub(super) is_pattern: bool,
    /// Whether it may become several words for another reason, or contains quoted text that looks
    /// like a pattern.
    pub(super) may_split_otherwise: bool,
    /// The first position in `text` that may be subject to word splitting or pathname expansion.
    pub(super) split_from: Option<usize>,
}

/// The known facts about the value of a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ParameterValue {
    Known(String),
    Number,
    /// The name of one of these files.
    Files(WordSource),
    /// A value from the environment that the script is started in. No script writes it.
    Environment,
    /// Possibly any text.
    Tainted,
}

impl ExpandedWord {
    /// Returns the text, if it is completely known and one word.
    pub(super) fn known_text(&self) -> Option<&str> {
        (self.gaps.is_empty() && !self.may_be_many_words).then_some(self.text.as_str())
    }

    /// Returns whether it contains only numbers.
    pub(super) fn has_only_numbers(&self) -> bool {
        !self.has_text_gap && is_arithmetic_number(&self.text)
    }

    /// Returns whether it is one number, which is never empty and stays one word even if it is not
    /// quoted.
    pub(super) fn is_single_number(&self) -> bool {
        let empty = self.text.is_empty() && self.gaps.is_empty();
        self.has_only_numbers()
            && !self.may_be_empty()
            && !empty
            && !self.text.contains([' ', '\t', '\n'])
    }

    /// Returns whether it may be empty or several words.
    pub(super) const fn may_be_empty(&self) -> bool {
        self.may_have_blank_gap || self.may_be_many_words
    }

    /// Returns whether it is `name=` followed by a number.
    pub(super) fn is_number_assigned(&self) -> bool {
        let value = self.text.split_once('=').map(|(_, value)| value);
        !self.may_be_many_words && !self.has_text_gap && value.is_some_and(is_arithmetic_number)
    }

    /// Returns whether it may contain text that the script does not show.
    pub(super) fn is_tainted(&self) -> bool {
        self.is_tainted || self.mixes_syntax_and_unknown()
    }

    /// Returns whether it contains an option, a subscript or code next to something unknown that
    /// may be empty: `"$nothing"-v`, `"$nothing"'a[$(b)]'`.
    fn mixes_syntax_and_unknown(&self) -> bool {
        let code = self.text.starts_with('-') || self.text.contains(['[', '(', '$', '`']);
        code && !self.gaps.is_empty()
    }

    /// Returns whether it contains a variable of the environment that looks like a secret.
    pub(super) const fn reveals_secret(&self) -> bool {
        self.reveals_secret
    }

    /// Returns whether its source is in the script, but its expansion is not computed.
    pub(super) const fn is_obscure(&self) -> bool {
        self.obscure
    }

    /// Returns the files that it names, if it names only files.
    pub(super) fn file_source(&self) -> Option<&WordSource> {
        self.paths.as_ref()
    }

    /// Returns the facts about it as a word of a command, if it is not completely known.
    pub(super) fn to_word_source(&self) -> Option<WordSource> {
        self.paths.clone().or_else(|| self.is_unknown_number().then_some(WordSource::Number))
    }

    /// Returns whether it is one unknown word that is a number.
    fn is_unknown_number(&self) -> bool {
        !self.gaps.is_empty()
            && !self.may_be_many_words
            && !self.has_text_gap
            && matches!(self.text.as_str(), "" | "-")
    }

    /// Returns the beginning of an option with which the first of several words certainly begins.
    fn option_prefix(&self) -> Option<&str> {
        let gap = self.gaps.first().copied().unwrap_or(self.text.len());
        let end = self.split_from.map_or(gap, |from| from.min(gap));
        self.text.get(..end).filter(|text| text.starts_with('-') && self.paths.is_none())
    }

    /// Records that the text from `at` on may be subject to word splitting or pathname expansion.
    pub(super) fn mark_split(&mut self, at: usize) {
        self.split_from.get_or_insert(at);
    }

    /// Adds text that the script does not show, as one word or as many.
    pub(super) fn push_unknown(&mut self, one_word: bool) {
        self.push_gap(true);
        self.is_tainted = true;
        self.may_be_many_words |= !one_word;
    }

    pub(super) fn push_gap(&mut self, wordy: bool) {
        self.gaps.push(self.text.len());
        self.has_text_gap |= wordy;
    }

    /// Appends the word to a command. Returns the number of words that were added.
    pub(super) fn append_to(&self, words: &mut CommandWords) -> usize {
        if self.may_be_many_words {
            let beginning = self.option_prefix();
            if let Some(beginning) = beginning {
                words.push_known_text(beginning);
                words.push_unknown_text();
                words.end_word();
            }
            words.push_any_words();
            return 1 + usize::from(beginning.is_some());
        }
        if self.text.is_empty() && self.gaps.is_empty() && !self.is_quoted {
            return 0;
        }
        let mut from = 0;
        for gap in &self.gaps {
            words.push_known_text(self.text.get(from..*gap).unwrap_or_default());
            words.push_unknown_text();
            from = *gap;
        }
        words.push_known_text(self.text.get(from..).unwrap_or_default());
        words.end_word();
        1
    }

    /// Determines whether the recorded brackets form a pattern.
    pub(super) fn finish_bracket_pattern(&mut self) {
        if self.has_open_bracket && (self.text.contains(']') || !self.gaps.is_empty()) {
            self.is_pattern = true;
            self.may_be_many_words = true;
            self.is_tainted = true;
            self.has_text_gap = true;
        }
    }
}
