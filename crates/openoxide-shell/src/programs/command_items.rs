//! Parsing of a program's options from its words, in the same way as the program itself parses
//! them.

use openoxide_protocol::toolchains::is_known_rust_channel;

use super::{
    arguments::{ArgumentWord, WordSource},
    command_arguments::CommandArguments,
    command_spec::{CommandSpec, OptionEffect, OptionSpec, OptionValueKind},
};

/// `+NAME` with a toolchain that may not be installed.
const UNKNOWN_TOOLCHAIN: OptionSpec =
    OptionSpec { name: "+", value: OptionValueKind::Nothing, effect: OptionEffect::Asks };

/// Programs that read `--help` after a subcommand as a word of that subcommand, or for which it was
/// not tried: `direnv edit --help` starts an editor, `redis-cli save --help` contacts the server.
const HELP_FIRST: [&str; 5] = ["asdf", "direnv", "nvm", "redis-cli", "supervisorctl"];

/// The maximum depth of nested subcommands.
const MAX_SPECS: usize = 4;

/// One item on a command line.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CommandItem<'a> {
    /// An option that the program has.
    Option { option: OptionSpec, value: Option<ArgumentWord<'a>> },
    /// A number as an option, such as `-5`.
    Number,
    /// Any other word, with its index. A word that could be an option or an operand is returned
    /// after [`Self::Unclear`].
    Operand(ArgumentWord<'a>, usize),
    /// A word that is not understood. The words after it are still read, because they may be more
    /// dangerous.
    Unclear,
}

/// The items of a command line, in order.
#[derive(Debug)]
pub(crate) struct CommandItems<'a, I> {
    words: I,
    levels: [Option<&'static CommandSpec>; MAX_SPECS],
    consumed: usize,
    cluster: Option<PartialWord<'a>>,
    /// A word that could be an option and has been reported as unclear, or that is an operand.
    ambiguous_word: Option<ArgumentWord<'a>>,
    is_first_word: bool,
    operands_only: bool,
    /// The word that caused the last [`CommandItem::Unclear`], if that word could be an option.
    candidate: Option<OptionCandidate<'a>>,
    /// Whether a `--` after the last option could be its value. This is the case if the option is
    /// not in the table, or if its value could be empty.
    may_take_next: bool,
}

/// A word that is not completely known, at a position where the program accepts options.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OptionCandidate<'a> {
    /// The word.
    pub(crate) word: ArgumentWord<'a>,
    /// Its index among the words of the command.
    pub(crate) index: usize,
    /// Its kind.
    pub(crate) kind: CandidateKind,
}

/// The options that a word could be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CandidateKind {
    /// Any option, or an operand.
    Any,
    /// Any option: the word begins with `-`.
    Dashed,
    /// Any long option: the word begins with `--`.
    Long,
    /// Any single-letter option: the word begins with `-` and letters.
    Letters,
}

/// The known beginning of a word, and whether an unknown part follows.
#[derive(Clone, Copy, Debug)]
struct PartialWord<'a> {
    text: &'a str,
    is_partial: bool,
    /// Whether the values of the letters are the next words, in order: `tar tfI a.tar PROGRAM`.
    has_separate_values: bool,
}

impl<'a> PartialWord<'a> {
    const fn new(text: &'a str, is_partial: bool) -> Self {
        Self { text, is_partial, has_separate_values: false }
    }

    /// Returns whether the value of the letter before this text is the next word. A number can be
    /// attached: `tree -L2`.
    fn takes_next_words(self) -> bool {
        self.has_separate_values && !self.text.bytes().all(|byte| byte.is_ascii_digit())
    }

    fn to_argument(self) -> ArgumentWord<'a> {
        if self.is_partial {
            ArgumentWord::Prefix(self.text)
        } else {
            ArgumentWord::Known(self.text)
        }
    }
}

impl<'a> CommandArguments<'a> {
    /// Returns the options and operands in the same way as the program itself parses them.
    pub(crate) fn items(self) -> CommandItems<'a, impl Iterator<Item = ArgumentWord<'a>>> {
        let mut levels = [None; MAX_SPECS];
        levels.first_mut().into_iter().for_each(|slot| *slot = Some(self.spec));
        CommandItems {
            words: self.words(),
            levels,
            consumed: self.start,
            cluster: None,
            ambiguous_word: None,
            is_first_word: true,
            operands_only: false,
            candidate: None,
            may_take_next: false,
        }
    }

    /// Returns the operands.
    pub(crate) fn operands(self) -> impl Iterator<Item = ArgumentWord<'a>> {
        self.items().filter_map(|item| match item {
            CommandItem::Operand(arg, _) => Some(arg),
            CommandItem::Option { .. } | CommandItem::Number | CommandItem::Unclear => None,
        })
    }
}

impl<'a, I: Iterator<Item = ArgumentWord<'a>>> CommandItems<'a, I> {
    /// Returns the number of words that have been read.
    pub(crate) fn count_consumed_words(&self) -> usize {
        self.consumed
    }

    /// Continues with the options of a subcommand. The options of the levels above remain valid.
    pub(crate) fn enter_subcommand(&mut self, level: &'static CommandSpec) {
        self.levels.rotate_right(1);
        self.levels.first_mut().into_iter().for_each(|slot| *slot = Some(level));
        self.operands_only = false;
    }

    /// Accepts options after operands from here on.
    pub(crate) fn allow_options_after_operands(&mut self) {
        self.operands_only = false;
    }

    /// Returns the word that made the last item unclear, if it could be an option.
    pub(crate) fn take_candidate(&mut self) -> Option<OptionCandidate<'a>> {
        self.candidate.take()
    }

    /// Returns the levels whose options are valid here, the innermost first. Levels whose options
    /// must all precede the subcommand are omitted.
    pub(crate) fn active_specs(&self) -> impl Iterator<Item = &'static CommandSpec> {
        let above = self.levels.iter().skip(1).flatten().filter(|level| !level.traits.leading);
        self.current_level().into_iter().chain(above.copied())
    }

    fn unclear_item(&mut self, word: ArgumentWord<'a>, kind: CandidateKind) -> CommandItem<'a> {
        self.candidate = Some(OptionCandidate { word, index: self.consumed - 1, kind });
        CommandItem::Unclear
    }

    fn current_level(&self) -> Option<&'static CommandSpec> {
        self.levels.first().copied().flatten()
    }

    /// Finds an option of the innermost level that has it. After a subcommand, `-v` and `--version`
    /// of the program have a different meaning: `docker compose down -v` removes volumes. Only
    /// `--help` keeps its meaning.
    fn find_option(&self, find: impl Fn(&CommandSpec) -> Option<OptionSpec>) -> Option<OptionSpec> {
        let innermost = self.current_level().and_then(&find);
        let above = || self.levels.iter().skip(1).flatten().find_map(|level| find(level));
        let program = self.levels.iter().flatten().last();
        let is_help = |name: &str| {
            name == "help" && program.is_none_or(|program| !HELP_FIRST.contains(&program.name()))
        };
        innermost.or_else(|| {
            above().filter(|option| option.effect != OptionEffect::Ends || is_help(option.name))
        })
    }

    fn has_trait(&self, has: impl Fn(&CommandSpec) -> bool) -> bool {
        self.current_level().is_some_and(has)
    }

    fn next_word(&mut self) -> Option<ArgumentWord<'a>> {
        let word = self.words.next()?;
        self.consumed += 1;
        Some(word)
    }

    fn next_item(&mut self) -> Option<CommandItem<'a>> {
        if let Some(cluster) = self.cluster.take() {
            return Some(self.read_short_option(cluster));
        }
        if let Some(word) = self.ambiguous_word.take() {
            return Some(CommandItem::Operand(word, self.consumed - 1));
        }
        let word = self.next_word()?;
        let first = std::mem::take(&mut self.is_first_word);
        if self.operands_only {
            return Some(CommandItem::Operand(word, self.consumed - 1));
        }
        let may_be_value = std::mem::take(&mut self.may_take_next);
        Some(match word {
            ArgumentWord::Known("--") => {
                self.operands_only = !may_be_value;
                return self.next_item();
            }
            ArgumentWord::Known(text)
                if first && is_option_bundle(text) && self.has_trait(|l| l.traits.bundled) =>
            {
                self.read_short_option(PartialWord {
                    has_separate_values: true,
                    ..PartialWord::new(text, false)
                })
            }
            ArgumentWord::Known(text) => {
                self.read_leading_dashes(PartialWord::new(text, false), word)
            }
            ArgumentWord::Files(WordSource::Pattern(pattern))
                if known_option_prefix(pattern).is_some() =>
            {
                let text = known_option_prefix(pattern).unwrap_or_default();
                self.read_leading_dashes(PartialWord::new(text, true), word)
            }
            ArgumentWord::Files(paths)
                if !paths.may_look_like_option() || self.has_trait(|l| l.traits.inert) =>
            {
                self.operand_item(word)
            }
            ArgumentWord::Prefix("-") => self.unclear_item(word, CandidateKind::Dashed),
            ArgumentWord::Prefix("") | ArgumentWord::Many | ArgumentWord::Files(_) => {
                self.ambiguous_word = Some(word);
                self.unclear_item(word, CandidateKind::Any)
            }
            ArgumentWord::Prefix(text) => {
                self.read_leading_dashes(PartialWord::new(text, true), word)
            }
        })
    }

    fn operand_item(&mut self, word: ArgumentWord<'a>) -> CommandItem<'a> {
        self.operands_only |= self.has_trait(|level| level.traits.leading);
        CommandItem::Operand(word, self.consumed - 1)
    }

    fn read_leading_dashes(
        &mut self,
        piece: PartialWord<'a>,
        word: ArgumentWord<'a>,
    ) -> CommandItem<'a> {
        if let Some(text) = piece.text.strip_prefix("--") {
            return self.read_long_option(PartialWord { text, ..piece });
        }
        if piece.text.starts_with('+') && self.has_trait(|level| level.traits.plus) {
            let named = piece.text.trim_start_matches('+');
            let known = !piece.is_partial && is_known_rust_channel(named);
            return match known || !self.has_trait(|level| level.traits.toolchains) {
                true => CommandItem::Number,
                false => CommandItem::Option { option: UNKNOWN_TOOLCHAIN, value: None },
            };
        }
        match piece.text.strip_prefix('-') {
            Some(text) if !text.is_empty() => self.read_dashed_word(PartialWord { text, ..piece }),
            _ => self.operand_item(word),
        }
    }

    fn read_dashed_word(&mut self, piece: PartialWord<'a>) -> CommandItem<'a> {
        let digits = !piece.is_partial && piece.text.bytes().all(|byte| byte.is_ascii_digit());
        if digits && self.has_trait(|level| level.traits.numbers) {
            return CommandItem::Number;
        }
        if self.has_trait(|level| level.traits.single_dash) {
            let item = self.read_long_option(piece);
            return if self.is_inherited_help(&item) { CommandItem::Unclear } else { item };
        }
        let has_separate_values = self.has_trait(|level| level.traits.separate_values);
        self.read_short_option(PartialWord { has_separate_values, ..piece })
    }

    /// Returns whether an option prints the help of a level above. `dotnet test -help` passes it on,
    /// and so do others: after a subcommand, only `--help` is help.
    fn is_inherited_help(&self, item: &CommandItem<'_>) -> bool {
        let CommandItem::Option { option, .. } = item else { return false };
        let is_own =
            self.current_level().and_then(|level| level.find_option(option.name)).is_some();
        option.effect == OptionEffect::Ends && !is_own
    }

    fn read_short_option(&mut self, cluster: PartialWord<'a>) -> CommandItem<'a> {
        let mut letters = cluster.text.chars();
        let Some(letter) = letters.next() else {
            return self.unclear_item(ArgumentWord::Prefix("-"), CandidateKind::Letters);
        };
        let rest = PartialWord { text: letters.as_str(), ..cluster };
        let more = rest.is_partial || !rest.text.is_empty();
        let name = cluster.text.get(..letter.len_utf8()).unwrap_or_default();
        let Some(option) = self.find_option(|level| level.find_option(name)) else {
            self.cluster = more.then_some(rest);
            self.may_take_next = !more;
            return CommandItem::Unclear;
        };
        let value = match option.value {
            OptionValueKind::Nothing => {
                self.cluster = more.then_some(rest);
                None
            }
            OptionValueKind::Attached | OptionValueKind::Last => more.then(|| rest.to_argument()),
            // Without a known beginning, the rest may be empty, and then the value is the next
            // word. For options that are not harmless, the worst case is assumed.
            OptionValueKind::Value | OptionValueKind::Rest
                if rest.text.is_empty()
                    && rest.is_partial
                    && option.effect < OptionEffect::Asks =>
            {
                self.may_take_next = true;
                return CommandItem::Unclear;
            }
            OptionValueKind::Value | OptionValueKind::Rest if more && !rest.takes_next_words() => {
                Some(rest.to_argument())
            }
            OptionValueKind::Value | OptionValueKind::Rest => {
                self.cluster = more.then_some(rest);
                match self.next_value(option) {
                    Some(value) => Some(value),
                    None => return self.unclear_item(ArgumentWord::Many, CandidateKind::Any),
                }
            }
        };
        self.operands_only |= option.value == OptionValueKind::Rest;
        CommandItem::Option { option, value }
    }

    fn read_long_option(&mut self, piece: PartialWord<'a>) -> CommandItem<'a> {
        let (name, value) = match piece.text.split_once('=') {
            Some((name, text)) => (name, Some(PartialWord { text, ..piece }.to_argument())),
            None if piece.is_partial => return self.find_worst_long_option(piece.text),
            None => (piece.text, None),
        };
        let single = self.has_trait(|level| level.traits.single_dash);
        let found = self.find_option(|level| {
            level.find_option(name).filter(|_| single).or_else(|| level.find_long_option(name))
        });
        let Some(option) = found else {
            self.may_take_next = value.is_none();
            return CommandItem::Unclear;
        };
        let value = match (option.value, value) {
            (OptionValueKind::Value | OptionValueKind::Rest, None) => match self.next_value(option)
            {
                Some(value) => Some(value),
                None => return self.unclear_item(ArgumentWord::Many, CandidateKind::Any),
            },
            (OptionValueKind::Last, None) => match self.next_word() {
                Some(ArgumentWord::Many) => {
                    return self.unclear_item(ArgumentWord::Many, CandidateKind::Any);
                }
                next => next,
            },
            (_, value) => value,
        };
        self.operands_only |= option.value == OptionValueKind::Rest;
        CommandItem::Option { option, value }
    }

    /// Returns the most harmful long option that begins with `name`. The rest of the word is not
    /// known.
    fn find_worst_long_option(&mut self, name: &'a str) -> CommandItem<'a> {
        if name.is_empty() {
            return self.unclear_item(ArgumentWord::Prefix("--"), CandidateKind::Long);
        }
        let found = self.find_option(|level| level.find_long_option(name));
        match found.filter(|option| option.effect >= OptionEffect::Asks) {
            Some(option) => CommandItem::Option { option, value: Some(ArgumentWord::Prefix("")) },
            None => CommandItem::Unclear,
        }
    }

    /// Returns the next word as a value. If even the number of words is not known, it returns
    /// `None`, unless the option is not harmless.
    fn next_value(&mut self, option: OptionSpec) -> Option<ArgumentWord<'a>> {
        self.next_word().filter(|word| {
            !matches!(word, ArgumentWord::Many) || option.effect >= OptionEffect::Asks
        })
    }
}

/// Returns the known beginning of a pattern that is certain to be an option: `--include=*.rs`.
fn known_option_prefix(pattern: &str) -> Option<&str> {
    let end = pattern.find(['*', '?', '[', '\\'])?;
    pattern.get(..end).filter(|text| text.len() > 1 && text.starts_with('-'))
}

/// Returns whether the first word of a command such as `tar xf a` can be a cluster of options.
fn is_option_bundle(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

impl<'a, I: Iterator<Item = ArgumentWord<'a>>> Iterator for CommandItems<'a, I> {
    type Item = CommandItem<'a>;

    fn next(&mut self) -> Option<CommandItem<'a>> {
        self.next_item()
    }
}
