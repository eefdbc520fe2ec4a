//! From a word to the words that a program gets.

use openoxide_protocol::CommandWords;

use super::{Walk, braces, environment, number, state::Certain};
use crate::{
    programs::Paths,
    syntax::{
        is_name,
        tree::{Form, List, Parameter, Piece, Subscript, Word},
    },
};

/// The expansion of one word, or of one of the words that its braces produce.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct Text {
    text: String,
    /// The positions of unknown text in `text`.
    gaps: Vec<usize>,
    /// Whether it may become any number of words.
    many: bool,
    /// Something in it may be text that the script does not show.
    tainted: bool,
    /// A gap may be empty, or hold blanks.
    hollow: bool,
    /// Its gaps hold more than digits.
    wordy: bool,
    quoted: bool,
    /// Whether it contains an unquoted `[`. It is a pattern if a `]` follows.
    bracket: bool,
    /// The files that are meant, if it is a pattern or comes from one.
    paths: Option<Paths>,
    /// Whether it contains a variable of the environment that looks like a secret.
    reveals: bool,
    /// Whether its source is in the script, but its expansion is not computed.
    obscure: bool,
    /// Whether it contains an unquoted `*` or `?`.
    pattern: bool,
    /// Whether it may become several words for another reason, or contains quoted text that looks
    /// like a pattern.
    scattered: bool,
    /// The first position in `text` that may be subject to word splitting or pathname expansion.
    split_from: Option<usize>,
}

/// The known facts about the value of a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Lookup {
    Known(String),
    Number,
    /// The name of one of these files.
    Files(Paths),
    /// A value from the environment that the script is started in. No script writes it.
    Environment,
    /// Possibly any text.
    Tainted,
}

impl Text {
    /// Returns the text, if it is wholly known and one word.
    pub(super) fn known(&self) -> Option<&str> {
        (self.gaps.is_empty() && !self.many).then_some(self.text.as_str())
    }

    /// Returns whether it contains only numbers.
    pub(super) fn is_numbers(&self) -> bool {
        !self.wordy && super::assign::is_number(&self.text)
    }

    /// Returns whether it is one number, which is never empty and stays one word even if it is not
    /// quoted.
    pub(super) fn is_one_number(&self) -> bool {
        let empty = self.text.is_empty() && self.gaps.is_empty();
        self.is_numbers()
            && !self.may_be_empty()
            && !empty
            && !self.text.contains([' ', '\t', '\n'])
    }

    /// Returns whether it may be empty or several words.
    pub(super) const fn may_be_empty(&self) -> bool {
        self.hollow || self.many
    }

    /// Returns whether it is `name=` and a number.
    pub(super) fn is_number_assigned(&self) -> bool {
        let value = self.text.split_once('=').map(|(_, value)| value);
        !self.many && !self.wordy && value.is_some_and(super::assign::is_number)
    }

    /// Returns whether it may contain text that the script does not show.
    pub(super) fn is_tainted(&self) -> bool {
        self.tainted || self.is_mixed()
    }

    /// Returns whether it contains an option, a subscript or code next to something unknown that
    /// may be empty: `"$nothing"-v`, `"$nothing"'a[$(b)]'`.
    fn is_mixed(&self) -> bool {
        let code = self.text.starts_with('-') || self.text.contains(['[', '(', '$', '`']);
        code && !self.gaps.is_empty()
    }

    /// Returns whether it contains a variable of the environment that looks like a secret.
    pub(super) const fn reveals(&self) -> bool {
        self.reveals
    }

    /// Returns whether its source is in the script, but its expansion is not computed.
    pub(super) const fn is_obscure(&self) -> bool {
        self.obscure
    }

    /// Returns the files that it stands for, if it stands only for files.
    pub(super) fn paths(&self) -> Option<&Paths> {
        self.paths.as_ref()
    }

    /// Returns the facts about it as the word of a command, if it is not wholly known.
    pub(super) fn word_paths(&self) -> Option<Paths> {
        self.paths.clone().or_else(|| self.is_numeric().then_some(Paths::Number))
    }

    /// Returns whether it is one word that is not known, and a number.
    fn is_numeric(&self) -> bool {
        !self.gaps.is_empty() && !self.many && !self.wordy && matches!(self.text.as_str(), "" | "-")
    }

    /// Returns the beginning of an option that the first of several words begins with for certain.
    fn option_beginning(&self) -> Option<&str> {
        let gap = self.gaps.first().copied().unwrap_or(self.text.len());
        let end = self.split_from.map_or(gap, |from| from.min(gap));
        self.text.get(..end).filter(|text| text.starts_with('-') && self.paths.is_none())
    }

    /// Records that the text that is added next may be subject to word splitting or pathname
    /// expansion.
    fn splits_at(&mut self, at: usize) {
        self.split_from.get_or_insert(at);
    }

    /// Adds text that the script does not show, in one word or in many.
    fn unknown(&mut self, one_word: bool) {
        self.gap(true);
        self.tainted = true;
        self.many |= !one_word;
    }

    fn gap(&mut self, wordy: bool) {
        self.gaps.push(self.text.len());
        self.wordy |= wordy;
    }

    /// Adds the word to a command. Returns how many words that makes.
    pub(super) fn push_to(&self, words: &mut CommandWords) -> usize {
        if self.many {
            let beginning = self.option_beginning();
            if let Some(beginning) = beginning {
                words.push_known_text(beginning);
                words.push_unknown_text();
                words.end_word();
            }
            words.push_any_words();
            return 1 + usize::from(beginning.is_some());
        }
        if self.text.is_empty() && self.gaps.is_empty() && !self.quoted {
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
}

impl Walk<'_> {
    /// Expands a word where bash neither splits it nor looks for files: after `=`, in quotes, after `<<<`.
    pub(super) fn expand_quoted(&self, word: &Word<'_>) -> Text {
        let mut text = Text { quoted: true, ..Text::default() };
        for (index, piece) in word.pieces.iter().enumerate() {
            match piece {
                Piece::Plain(plain) => self.plain(plain, index, word.pieces.len(), true, &mut text),
                piece => self.piece(piece, true, &mut text),
            }
        }
        text
    }

    /// Expands a word, and passes each word that its braces produce to `show`. Returns whether
    /// `show` returned true for all of them.
    pub(super) fn expand_all(&self, word: &Word<'_>, show: &mut dyn FnMut(&Text) -> bool) -> bool {
        if !braces::may_expand(&word.pieces) {
            return show(&self.expand(&word.pieces));
        }
        match braces::expanded(&word.pieces) {
            None => {
                let obscure = braces::are_obscure(&word.pieces);
                let (many, tainted, wordy) = (true, true, true);
                show(&Text { many, tainted, wordy, obscure, ..Text::default() })
            }
            Some(words) => words.iter().filter(|word| !show(&self.expand_parts(word))).count() == 0,
        }
    }

    fn expand_parts(&self, parts: &[braces::Part<'_, '_>]) -> Text {
        let mut text = Text::default();
        let mut run = String::new();
        let mut index = 0;
        for part in parts {
            match part {
                braces::Part::Letter(letter) => run.push(*letter),
                braces::Part::Piece(piece) => {
                    self.plain(&run, index, usize::MAX, false, &mut text);
                    index += run.len() + 1;
                    run.clear();
                    self.piece(piece, false, &mut text);
                }
            }
        }
        self.plain(&run, index, index + 1, false, &mut text);
        self.close(&mut text);
        text
    }

    /// Notes which files a word means that is a pattern.
    fn close(&self, text: &mut Text) {
        close_pattern(text);
        if text.pattern && text.gaps.is_empty() {
            let changed = text.scattered || self.globs_changed();
            text.paths = (!changed).then(|| Paths::Pattern(text.text.clone()));
            text.obscure |= changed;
        }
    }

    fn expand(&self, pieces: &[Piece<'_>]) -> Text {
        let mut text = Text::default();
        if let Some(paths) = self.files_of(pieces) {
            text.paths = Some(paths);
            text.unknown(matches!(pieces, [Piece::Quoted(_)]));
            return text;
        }
        for (index, piece) in pieces.iter().enumerate() {
            match piece {
                Piece::Plain(plain) => self.plain(plain, index, pieces.len(), false, &mut text),
                piece => self.piece(piece, false, &mut text),
            }
        }
        self.close(&mut text);
        text
    }

    /// Returns the files that a word stands for, if it consists of a single expansion.
    fn files_of(&self, pieces: &[Piece<'_>]) -> Option<Paths> {
        if self.are_tokens(pieces) {
            return Some(Paths::Tokens);
        }
        let parameter = match pieces {
            // A pipe, and not a file.
            [Piece::Process(list)] if !list.is_empty() => {
                return Some(Paths::Below { roots: Vec::new(), bare: false, search: None });
            }
            [Piece::Command(list)] => return self.output(list).map(|paths| paths.read(false)),
            [Piece::Parameter(parameter)] => parameter,
            [Piece::Quoted(inner)] => match inner.as_slice() {
                [Piece::Parameter(parameter)] => parameter,
                _ => return None,
            },
            _ => return None,
        };
        let quoted = matches!(pieces, [Piece::Quoted(_)]);
        match self.lookup(parameter) {
            Lookup::Files(paths) if !self.globs_changed() => {
                Some(if paths.is_listed() { paths } else { paths.read(quoted) })
            }
            _ => None,
        }
    }

    /// Returns whether a word consists of tokens and of text that git accepts next to the name of a
    /// commit: `$base..HEAD`. Without its tokens, it must not look like an option.
    fn are_tokens(&self, pieces: &[Piece<'_>]) -> bool {
        let beside = |text: &str| {
            text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".~^".contains(&byte))
        };
        let unknown = pieces.iter().filter(|piece| !matches!(piece, Piece::Plain(_)));
        unknown.count() > 0
            && !self.globs_changed()
            && pieces.iter().all(|piece| match piece {
                Piece::Plain(text) => beside(text),
                Piece::Quoted(inner) => inner.is_empty() || self.are_tokens(inner),
                Piece::Command(list) => self.output(list) == Some(Paths::Tokens),
                Piece::Parameter(parameter) => {
                    self.lookup(parameter) == Lookup::Files(Paths::Tokens)
                }
                _ => false,
            })
    }

    /// Returns which files the output of a substitution names, if that is known.
    pub(super) fn output(&self, list: &List<'_>) -> Option<Paths> {
        let place = std::ptr::from_ref(list).addr();
        let found = self.substituted.iter().find(|(at, _)| *at == place);
        found.filter(|_| !self.globs_changed()).map(|(_, paths)| paths.clone())
    }

    /// Returns whether the script changes which files a pattern matches.
    fn globs_changed(&self) -> bool {
        self.seen.globs
            || self.known.globs
            || self.blanks_changed()
            || self.seen.assigns("GLOBIGNORE")
            || self.known.assigns("GLOBIGNORE")
    }

    /// Adds unquoted text, the piece `index` of `count`.
    fn plain(&self, plain: &str, index: usize, count: usize, value: bool, text: &mut Text) {
        let mut plain = plain;
        if index == 0 && plain.starts_with('~') {
            plain = self.tilde(plain, count == 1, text);
        }
        if plain.contains('~') && [":~", "=~"].iter().any(|mark| plain.contains(mark)) {
            text.gap(true);
            // bash expands it in what looks like an assignment, a plain shell does not.
            text.obscure |= !value && index == 0 && begins_with_assignment(plain);
        }
        if let Some(at) = plain.find(['*', '?', '[']).filter(|_| !value) {
            text.splits_at(text.text.len() + at);
        }
        if !value && plain.contains(['*', '?']) {
            text.pattern = true;
            text.many = true;
            text.tainted = true;
            text.wordy = true;
        }
        if !value && plain.contains('[') {
            text.bracket = true;
        }
        text.text.push_str(plain);
    }

    /// Adds the expansion of a tilde, and returns the text after it.
    fn tilde<'t>(&self, plain: &'t str, whole: bool, text: &mut Text) -> &'t str {
        let end = plain.find('/').unwrap_or(plain.len());
        let (user, rest) = plain.split_at_checked(end).unwrap_or((plain, ""));
        match self.home() {
            Some(home) if user == "~" && (whole || !rest.is_empty()) => text.text.push_str(home),
            _ => {
                // The location of another user's home is not known, but the rest of the path shows
                // what is accessed in it. `~2` and `~-1` are directories that were pushed. `~+` is
                // the working directory for bash, and a name for a plain shell.
                if whole
                    && user == "~+"
                    && let Lookup::Known(here) = self.lookup_name("PWD")
                {
                    let roots = vec![format!("{here}{rest}"), format!("./{user}{rest}")];
                    text.paths = Some(Paths::Below { roots, bare: false, search: None });
                }
                let user = user.trim_start_matches('~');
                if whole && user.starts_with(|first: char| first.is_ascii_alphabetic()) {
                    let home = if user == "root" { "/root" } else { &format!("/home/{user}") };
                    let roots = vec![format!("{home}{rest}")];
                    text.paths = Some(Paths::Below { roots, bare: false, search: None });
                }
                text.obscure |= text.paths.is_none();
                text.gap(true);
            }
        }
        rest
    }

    /// Returns the home directory, if it is known and the script leaves it alone.
    pub(super) fn home(&self) -> Option<&str> {
        let touched = self.known.assigns("HOME") || self.seen.assigns("HOME");
        self.setting.home.filter(|_| !touched).map(openoxide_protocol::AbsPath::as_str)
    }

    fn piece(&self, piece: &Piece<'_>, quoted: bool, text: &mut Text) {
        match piece {
            Piece::Plain(plain) => {
                text.scattered |= plain.contains(['*', '?', '[', '\\']);
                text.text.push_str(plain);
            }
            Piece::Fixed(fixed) => {
                text.quoted = true;
                text.scattered |= fixed.contains(['*', '?', '[', '\\']);
                text.text.push_str(fixed);
            }
            Piece::Quoted(pieces) => {
                text.quoted = true;
                pieces.iter().for_each(|piece| self.piece(piece, true, text));
            }
            Piece::Parameter(parameter) => self.parameter(parameter, quoted, text),
            Piece::Command(list) => {
                let numeric = number::prints_number(list) && !self.reprogrammed();
                text.hollow = true;
                self.unknown(quoted, !numeric, text);
            }
            Piece::Backquote(..) => self.unknown(quoted, true, text),
            Piece::Arithmetic(_) => self.number(quoted, text),
            // An empty process substitution is not a word.
            Piece::Process(list) => {
                text.gap(true);
                text.many |= list.is_empty();
            }
            // Its elements were expanded at their own positions, and none of their text is read
            // again.
            Piece::Array(_) => text.gap(true),
            Piece::Translated(pieces) => {
                text.obscure = true;
                self.unknown(!holds_several(pieces), true, text);
            }
        }
    }

    fn reprogrammed(&self) -> bool {
        self.seen.reprogrammed
            || self.known.reprogrammed
            || self.seen.defines_any()
            || self.known.defines_any()
    }

    /// Adds text that the script does not show.
    fn unknown(&self, one_word: bool, tainted: bool, text: &mut Text) {
        text.gap(tainted);
        text.tainted |= tainted;
        text.many |= !one_word || !text.quoted && self.blanks_changed();
    }

    /// Adds a number that is not known: `IFS` may split it at a digit.
    fn number(&self, quoted: bool, text: &mut Text) {
        text.gap(false);
        text.many |= !quoted && self.blanks_changed();
    }

    fn parameter(&self, parameter: &Parameter<'_>, quoted: bool, text: &mut Text) {
        text.reveals |= parameter.form != Form::Length && self.is_secret(parameter.name);
        match self.lookup(parameter) {
            Lookup::Known(value) => {
                let splits = !quoted && (self.blanks_changed() || !value.bytes().all(stays_whole));
                if splits {
                    text.splits_at(text.text.len());
                }
                text.many |= splits || !quoted && value.is_empty();
                text.scattered |= text.many || value.contains(['*', '?', '[', '\\']);
                text.text.push_str(&value);
            }
            Lookup::Files(_) => {
                text.gap(true);
                text.many |= !quoted;
                text.tainted = true;
            }
            Lookup::Number => self.number(quoted, text),
            lookup => {
                text.gap(true);
                text.many |= !quoted || is_several(parameter);
                text.tainted |= lookup == Lookup::Tainted;
            }
        }
    }

    /// Returns whether a variable may contain a secret of the environment that the script is
    /// started in.
    pub(super) fn is_secret(&self, name: &str) -> bool {
        environment::is_secret(name) && self.state.variables.get(name).is_none()
    }

    fn blanks_changed(&self) -> bool {
        self.seen.assigns("IFS") || self.known.assigns("IFS")
    }

    /// Returns the value of a parameter expansion, as far as it is known.
    pub(super) fn lookup(&self, parameter: &Parameter<'_>) -> Lookup {
        match parameter.form {
            Form::Length => Lookup::Number,
            Form::Value if parameter.subscript.is_none() => self.lookup_name(parameter.name),
            Form::Value => self.unknown_name(parameter.name),
            Form::Other | Form::Assign | Form::Substring => {
                match self.unknown_name(parameter.name) {
                    Lookup::Environment if self.all_numbers(&parameter.operand) => {
                        Lookup::Environment
                    }
                    _ => Lookup::Tainted,
                }
            }
            _ => Lookup::Tainted,
        }
    }

    fn all_numbers(&self, pieces: &[Piece<'_>]) -> bool {
        pieces.iter().all(|piece| match piece {
            Piece::Plain(text) => super::assign::is_number(text),
            Piece::Fixed(text) => super::assign::is_number(text),
            Piece::Parameter(parameter) => match self.lookup(parameter) {
                Lookup::Known(text) => super::assign::is_number(&text),
                Lookup::Number | Lookup::Environment => true,
                Lookup::Files(_) | Lookup::Tainted => false,
            },
            _ => false,
        })
    }

    /// Returns the value of a variable or special parameter, as far as it is known.
    pub(super) fn lookup_name(&self, name: &str) -> Lookup {
        match self.state.variables.get(name) {
            Some(Certain::Text(text)) => return Lookup::Known(text.clone()),
            Some(Certain::Number) => return Lookup::Number,
            Some(Certain::Files(paths)) => return Lookup::Files(paths.clone()),
            Some(Certain::Own) | None => {}
        }
        let assigned = self.seen.assigns(name) || self.known.assigns(name);
        match name {
            "#" | "?" | "$" => Lookup::Number,
            _ if environment::is_shells_number(name) && !assigned => Lookup::Number,
            "HOME" => self
                .home()
                .map_or_else(|| self.unknown_name(name), |home| Lookup::Known(home.to_owned())),
            "PWD" if !assigned => self.working_directory(),
            _ => self.unknown_name(name),
        }
    }

    fn working_directory(&self) -> Lookup {
        let Some(mut bases) = self.state.bases.known(self.setting.cwd) else {
            return Lookup::Environment;
        };
        match (bases.next(), bases.next()) {
            (Some(base), None) => Lookup::Known(base.to_string()),
            _ => Lookup::Environment,
        }
    }

    fn unknown_name(&self, name: &str) -> Lookup {
        let argument = matches!(name, "@" | "*") || name.bytes().all(|byte| byte.is_ascii_digit());
        let arguments = !self.inside.is_empty()
            || self.seen.arguments
            || self.known.arguments
            || self.depth > 0;
        let tainted = self.seen.taints(name)
            || self.known.taints(name)
            || environment::repeats_text(name)
            || argument && arguments;
        if tainted { Lookup::Tainted } else { Lookup::Environment }
    }
}

/// Decides whether the brackets that were noted are a pattern.
fn close_pattern(text: &mut Text) {
    if text.bracket && (text.text.contains(']') || !text.gaps.is_empty()) {
        text.pattern = true;
        text.many = true;
        text.tainted = true;
        text.wordy = true;
    }
}

/// Returns whether a word begins like an assignment.
fn begins_with_assignment(plain: &str) -> bool {
    plain.split_once('=').is_some_and(|(name, _)| is_name(name.strip_suffix('+').unwrap_or(name)))
}

/// Returns whether these pieces contain `$@` or a similar expansion to several words.
fn holds_several(pieces: &[Piece<'_>]) -> bool {
    pieces.iter().any(|piece| match piece {
        Piece::Parameter(parameter) => is_several(parameter),
        Piece::Quoted(pieces) => holds_several(pieces),
        _ => false,
    })
}

fn is_several(parameter: &Parameter<'_>) -> bool {
    matches!(parameter.name, "@" | "*")
        || matches!(parameter.subscript, Some(Subscript::All))
        // The variable that is named may be `$@`.
        || matches!(parameter.form, Form::Names | Form::Indirect)
        || holds_several(&parameter.operand)
}

/// Returns whether an unquoted value stays a single, unchanged word.
pub(super) fn is_one_word(value: &str) -> bool {
    !value.is_empty() && value.bytes().all(stays_whole)
}

/// Returns whether an unquoted value with this byte stays one word.
const fn stays_whole(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'_' | b'.' | b'/' | b':' | b',' | b'@' | b'%' | b'+' | b'=' | b'-')
}
