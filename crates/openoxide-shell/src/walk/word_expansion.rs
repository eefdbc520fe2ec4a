//! The expansion of a word to the words that a program gets.

use super::{
    expanded_word::{ExpandedWord, ParameterValue},
    numeric_output,
    script_walk::ScriptWalk,
    value_text::is_unsplit_byte,
};
use crate::{
    programs::WordSource,
    syntax::{
        brace_expansion, is_name,
        syntax_tree::{
            ArraySubscript, CommandList, ExpansionForm, ParameterExpansion, ShellWord, WordPiece,
        },
    },
};

impl ScriptWalk<'_> {
    /// Expands a word without word splitting and pathname expansion: after `=`, in quotes, after
    /// `<<<`.
    pub(super) fn expand_without_splitting(&self, word: &ShellWord<'_>) -> ExpandedWord {
        let mut text = ExpandedWord { is_quoted: true, ..ExpandedWord::default() };
        for (index, piece) in word.pieces.iter().enumerate() {
            match piece {
                WordPiece::Unquoted(plain) => {
                    self.push_plain_text(plain, index, word.pieces.len(), true, &mut text);
                }
                piece => self.push_piece(piece, true, &mut text),
            }
        }
        text
    }

    /// Expands a word, and passes each word that its braces produce to `show`. Returns whether
    /// `show` returned true for all of them.
    pub(super) fn expand_each_word(
        &self,
        word: &ShellWord<'_>,
        show: &mut dyn FnMut(&ExpandedWord) -> bool,
    ) -> bool {
        if !brace_expansion::may_expand(&word.pieces) {
            return show(&self.expand_word(&word.pieces));
        }
        match brace_expansion::expand_pieces(&word.pieces) {
            None => {
                let obscure = brace_expansion::are_obscure(&word.pieces);
                let (many, tainted, wordy) = (true, true, true);
                show(&ExpandedWord {
                    may_be_many_words: many,
                    is_tainted: tainted,
                    has_text_gap: wordy,
                    obscure,
                    ..ExpandedWord::default()
                })
            }
            Some(words) => {
                words.iter().filter(|word| !show(&self.expand_brace_parts(word))).count() == 0
            }
        }
    }

    fn expand_brace_parts(&self, parts: &[brace_expansion::BracePart<'_, '_>]) -> ExpandedWord {
        let mut text = ExpandedWord::default();
        let mut run = String::new();
        let mut index = 0;
        for part in parts {
            match part {
                brace_expansion::BracePart::Letter(letter) => run.push(*letter),
                brace_expansion::BracePart::Piece(piece) => {
                    self.push_plain_text(&run, index, usize::MAX, false, &mut text);
                    index += run.len() + 1;
                    run.clear();
                    self.push_piece(piece, false, &mut text);
                }
            }
        }
        self.push_plain_text(&run, index, index + 1, false, &mut text);
        self.note_pattern_files(&mut text);
        text
    }

    /// Records which files a word names, if it is a pattern.
    fn note_pattern_files(&self, text: &mut ExpandedWord) {
        text.finish_bracket_pattern();
        if text.is_pattern && text.gaps.is_empty() {
            let changed = text.may_split_otherwise || self.has_changed_globbing();
            text.paths = (!changed).then(|| WordSource::Pattern(text.text.clone()));
            text.obscure |= changed;
        }
    }

    fn expand_word(&self, pieces: &[WordPiece<'_>]) -> ExpandedWord {
        let mut text = ExpandedWord::default();
        if let Some(paths) = self.find_expanded_files(pieces) {
            text.paths = Some(paths);
            text.push_unknown(matches!(pieces, [WordPiece::Quoted(_)]));
            return text;
        }
        for (index, piece) in pieces.iter().enumerate() {
            match piece {
                WordPiece::Unquoted(plain) => {
                    self.push_plain_text(plain, index, pieces.len(), false, &mut text);
                }
                piece => self.push_piece(piece, false, &mut text),
            }
        }
        self.note_pattern_files(&mut text);
        text
    }

    /// Returns the files that a word names, if it consists of a single expansion.
    fn find_expanded_files(&self, pieces: &[WordPiece<'_>]) -> Option<WordSource> {
        if self.are_tokens(pieces) {
            return Some(WordSource::Tokens);
        }
        let parameter = match pieces {
            // This is a pipe, not a file.
            [WordPiece::Process(list)] if !list.is_empty() => {
                return Some(WordSource::DescendantsOf {
                    roots: Vec::new(),
                    bare: false,
                    search: None,
                });
            }
            [WordPiece::Command(list)] => {
                return self
                    .find_substitution_files(list)
                    .and_then(|paths| paths.read_from_stream(false));
            }
            [WordPiece::Parameter(parameter)] => parameter,
            [WordPiece::Quoted(inner)] => match inner.as_slice() {
                [WordPiece::Parameter(parameter)] => parameter,
                _ => return None,
            },
            _ => return None,
        };
        let quoted = matches!(pieces, [WordPiece::Quoted(_)]);
        match self.lookup_parameter(parameter) {
            ParameterValue::Files(paths) if !self.has_changed_globbing() => {
                if paths.is_listed_in_script() {
                    Some(paths)
                } else {
                    paths.read_from_stream(quoted)
                }
            }
            _ => None,
        }
    }

    /// Returns whether a word consists of tokens and of text that git accepts next to the name of a
    /// commit: `$base..HEAD`. Without its tokens, it must not look like an option.
    fn are_tokens(&self, pieces: &[WordPiece<'_>]) -> bool {
        let beside = |text: &str| {
            text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".~^".contains(&byte))
        };
        let unknown = pieces.iter().filter(|piece| !matches!(piece, WordPiece::Unquoted(_)));
        unknown.count() > 0
            && !self.has_changed_globbing()
            && pieces.iter().all(|piece| match piece {
                WordPiece::Unquoted(text) => beside(text),
                WordPiece::Quoted(inner) => inner.is_empty() || self.are_tokens(inner),
                WordPiece::Command(list) => {
                    self.find_substitution_files(list) == Some(WordSource::Tokens)
                }
                WordPiece::Parameter(parameter) => {
                    self.lookup_parameter(parameter) == ParameterValue::Files(WordSource::Tokens)
                }
                _ => false,
            })
    }

    /// Returns which files the output of a substitution names, if known.
    pub(super) fn find_substitution_files(&self, list: &CommandList<'_>) -> Option<WordSource> {
        let place = std::ptr::from_ref(list).addr();
        let found = self.substitution_outputs.iter().find(|(at, _)| *at == place);
        let changed = self.has_changed_globbing() || self.has_inherited_traps();
        found.filter(|_| !changed).map(|(_, paths)| paths.clone())
    }

    /// Returns whether the script changes which files a pattern matches.
    fn has_changed_globbing(&self) -> bool {
        self.current_scan.changes_globbing
            || self.previous_scan.changes_globbing
            || self.has_changed_ifs()
            || self.current_scan.assigns_variable("GLOBIGNORE")
            || self.previous_scan.assigns_variable("GLOBIGNORE")
    }

    /// Adds unquoted text. It is the piece at `index` of `count` pieces.
    fn push_plain_text(
        &self,
        plain: &str,
        index: usize,
        count: usize,
        value: bool,
        text: &mut ExpandedWord,
    ) {
        let mut plain = plain;
        if index == 0 && plain.starts_with('~') {
            plain = self.push_tilde(plain, count == 1, text);
        }
        if plain.contains('~') && [":~", "=~"].iter().any(|mark| plain.contains(mark)) {
            text.push_gap(true);
            // bash expands this tilde in a word that looks like an assignment. A plain shell does
            // not.
            text.obscure |= !value && index == 0 && begins_with_assignment(plain);
        }
        if let Some(at) = plain.find(['*', '?', '[']).filter(|_| !value) {
            text.mark_split(text.text.len() + at);
        }
        if !value && plain.contains(['*', '?']) {
            text.is_pattern = true;
            text.may_be_many_words = true;
            text.is_tainted = true;
            text.has_text_gap = true;
        }
        if !value && plain.contains('[') {
            text.has_open_bracket = true;
        }
        text.text.push_str(plain);
    }

    /// Adds the expansion of a tilde, and returns the text after it.
    fn push_tilde<'t>(&self, plain: &'t str, whole: bool, text: &mut ExpandedWord) -> &'t str {
        let end = plain.find('/').unwrap_or(plain.len());
        let (user, rest) = plain.split_at_checked(end).unwrap_or((plain, ""));
        match self.home_directory() {
            Some(home) if user == "~" && (whole || !rest.is_empty()) => text.text.push_str(home),
            _ => {
                // A pattern in such a directory is not matched against the files there.
                let whole = whole && !rest.contains(['*', '?', '[']);
                // The location of another user's home is not known, but the rest of the path shows
                // what is accessed in it. `~2` and `~-1` are entries of the directory stack. `~+`
                // is the working directory in bash, and a literal name in a plain shell.
                if whole
                    && user == "~+"
                    && let ParameterValue::Known(here) = self.lookup_variable("PWD")
                {
                    let roots = vec![format!("{here}{rest}"), format!("./{user}{rest}")];
                    text.paths =
                        Some(WordSource::DescendantsOf { roots, bare: false, search: None });
                }
                let user = user.trim_start_matches('~');
                if whole && user.starts_with(|first: char| first.is_ascii_alphabetic()) {
                    let home = if user == "root" { "/root" } else { &format!("/home/{user}") };
                    let roots = vec![format!("{home}{rest}")];
                    text.paths =
                        Some(WordSource::DescendantsOf { roots, bare: false, search: None });
                }
                text.obscure |= text.paths.is_none();
                text.push_gap(true);
            }
        }
        rest
    }

    fn push_piece(&self, piece: &WordPiece<'_>, quoted: bool, text: &mut ExpandedWord) {
        match piece {
            WordPiece::Unquoted(plain) => {
                text.may_split_otherwise |= plain.contains(['*', '?', '[', '\\']);
                text.text.push_str(plain);
            }
            WordPiece::Literal(fixed) => {
                text.is_quoted = true;
                text.may_split_otherwise |= fixed.contains(['*', '?', '[', '\\']);
                text.text.push_str(fixed);
            }
            WordPiece::Quoted(pieces) => {
                text.is_quoted = true;
                pieces.iter().for_each(|piece| self.push_piece(piece, true, text));
            }
            WordPiece::Parameter(parameter) => self.push_parameter(parameter, quoted, text),
            WordPiece::Command(list) => {
                let numeric = self.prints_number(list);
                text.may_have_blank_gap = true;
                self.push_unknown_text(quoted, !numeric, text);
            }
            WordPiece::Backquote(..) => self.push_unknown_text(quoted, true, text),
            WordPiece::Arithmetic(_) => self.push_unknown_number(quoted, text),
            // An empty process substitution is not a word.
            WordPiece::Process(list) => {
                text.push_gap(true);
                text.may_be_many_words |= list.is_empty();
            }
            // Its elements were expanded at their own positions, and none of their text is read
            // again.
            WordPiece::Array(_) => text.push_gap(true),
            WordPiece::Translated(pieces) => {
                text.obscure = true;
                self.push_unknown_text(!has_multi_word_parameter(pieces), true, text);
            }
        }
    }

    /// Returns whether the output of a substitution consists only of digits, blanks and signs.
    pub(super) fn prints_number(&self, list: &CommandList<'_>) -> bool {
        numeric_output::prints_number(list)
            && !self.is_reprogrammed()
            && !self.has_inherited_traps()
    }

    /// Returns whether a trap may run in a substitution and print something there.
    fn has_inherited_traps(&self) -> bool {
        (self.current_scan.has_traps || self.previous_scan.has_traps)
            && (self.current_scan.inherits_traps || self.previous_scan.inherits_traps)
    }

    fn is_reprogrammed(&self) -> bool {
        self.current_scan.changes_programs
            || self.previous_scan.changes_programs
            || self.current_scan.has_functions()
            || self.previous_scan.has_functions()
    }

    /// Adds text that the script does not show.
    fn push_unknown_text(&self, one_word: bool, tainted: bool, text: &mut ExpandedWord) {
        text.push_gap(tainted);
        text.is_tainted |= tainted;
        text.may_be_many_words |= !one_word || !text.is_quoted && self.has_changed_ifs();
    }

    /// Adds an unknown number. `IFS` may split it at a digit.
    fn push_unknown_number(&self, quoted: bool, text: &mut ExpandedWord) {
        text.push_gap(false);
        text.may_be_many_words |= !quoted && self.has_changed_ifs();
    }

    fn push_parameter(
        &self,
        parameter: &ParameterExpansion<'_>,
        quoted: bool,
        text: &mut ExpandedWord,
    ) {
        text.reveals_secret |=
            parameter.form != ExpansionForm::Length && self.is_secret(parameter.name);
        match self.lookup_parameter(parameter) {
            ParameterValue::Known(value) => {
                let splits =
                    !quoted && (self.has_changed_ifs() || !value.bytes().all(is_unsplit_byte));
                if splits {
                    text.mark_split(text.text.len());
                }
                text.may_be_many_words |= splits || !quoted && value.is_empty();
                text.may_split_otherwise |=
                    text.may_be_many_words || value.contains(['*', '?', '[', '\\']);
                text.text.push_str(&value);
            }
            ParameterValue::Files(_) => {
                text.push_gap(true);
                text.may_be_many_words |= !quoted;
                text.is_tainted = true;
            }
            ParameterValue::Number => self.push_unknown_number(quoted, text),
            lookup => {
                text.push_gap(true);
                text.may_be_many_words |= !quoted || is_multi_word_parameter(parameter);
                text.is_tainted |= lookup == ParameterValue::Tainted;
            }
        }
    }

    fn has_changed_ifs(&self) -> bool {
        self.current_scan.assigns_variable("IFS") || self.previous_scan.assigns_variable("IFS")
    }
}

/// Returns whether a word begins like an assignment.
fn begins_with_assignment(plain: &str) -> bool {
    plain.split_once('=').is_some_and(|(name, _)| is_name(name.strip_suffix('+').unwrap_or(name)))
}

/// Returns whether these pieces contain `$@` or a similar expansion to several words.
fn has_multi_word_parameter(pieces: &[WordPiece<'_>]) -> bool {
    pieces.iter().any(|piece| match piece {
        WordPiece::Parameter(parameter) => is_multi_word_parameter(parameter),
        WordPiece::Quoted(pieces) => has_multi_word_parameter(pieces),
        _ => false,
    })
}

fn is_multi_word_parameter(parameter: &ParameterExpansion<'_>) -> bool {
    matches!(parameter.name, "@" | "*")
        || matches!(parameter.subscript, Some(ArraySubscript::All))
        // The variable that is referred to may be `$@`.
        || matches!(parameter.form, ExpansionForm::Names | ExpansionForm::Indirect)
        || has_multi_word_parameter(&parameter.operand)
}
