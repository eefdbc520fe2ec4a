//! Reading the options of a program from its words, as the program itself reads them.

use super::{
    Arg, Arguments, Paths,
    level::{Does, Level, Opt, Takes},
};

/// The maximum depth of nested subcommands.
const MOST_LEVELS: usize = 4;

/// One thing on a command line.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Item<'a> {
    /// An option that the program has.
    Option { option: Opt, value: Option<Arg<'a>> },
    /// `-5` and its like.
    Number,
    /// Anything else, and its place. A word that could be an option or an operand comes after [`Item::Unclear`].
    Operand(Arg<'a>, usize),
    /// A word that is not understood. The words after it are still read, because they may be more
    /// dangerous.
    Unclear,
}

/// The items of a command line, in order.
#[derive(Debug)]
pub(crate) struct Items<'a, I> {
    words: I,
    levels: [Option<&'static Level>; MOST_LEVELS],
    consumed: usize,
    cluster: Option<Piece<'a>>,
    /// A word that could be an option and has been reported as unclear, or is an operand.
    doubtful: Option<Arg<'a>>,
    first: bool,
    operands_only: bool,
    /// The word behind the last [`Item::Unclear`], if that word could be an option.
    candidate: Option<Candidate<'a>>,
    /// The last option is not in the table, or its value could be empty: a `--` behind it could be its value.
    may_take_next: bool,
}

/// A word that is not wholly known, where the program looks for options.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate<'a> {
    /// The word.
    pub(crate) word: Arg<'a>,
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
    /// Any option of one letter: the word begins with `-` and letters.
    Letters,
}

/// The known beginning of a word, and whether more follows that is not known.
#[derive(Clone, Copy, Debug)]
struct Piece<'a> {
    text: &'a str,
    open: bool,
}

impl<'a> Piece<'a> {
    fn arg(self) -> Arg<'a> {
        if self.open { Arg::Begins(self.text) } else { Arg::Known(self.text) }
    }
}

/// Returns the items from the given word on.
pub(crate) fn items<'a>(
    level: &'static Level,
    arguments: Arguments<'a>,
    from: usize,
) -> Items<'a, impl Iterator<Item = Arg<'a>>> {
    let mut levels = [None; MOST_LEVELS];
    levels.first_mut().into_iter().for_each(|slot| *slot = Some(level));
    Items {
        words: arguments.iter(from),
        levels,
        consumed: from,
        cluster: None,
        doubtful: None,
        first: true,
        operands_only: false,
        candidate: None,
        may_take_next: false,
    }
}

impl<'a, I: Iterator<Item = Arg<'a>>> Items<'a, I> {
    /// Returns how many words have been read.
    pub(crate) fn consumed(&self) -> usize {
        self.consumed
    }

    /// Goes on with the options of a subcommand; those of the levels above are understood, too.
    pub(crate) fn enter(&mut self, level: &'static Level) {
        self.levels.rotate_right(1);
        self.levels.first_mut().into_iter().for_each(|slot| *slot = Some(level));
        self.operands_only = false;
    }

    /// Lets options follow operands from here on.
    pub(crate) fn permute(&mut self) {
        self.operands_only = false;
    }

    /// Returns the word that made the last item unclear, if it could be an option.
    pub(crate) fn take_candidate(&mut self) -> Option<Candidate<'a>> {
        self.candidate.take()
    }

    /// Returns the levels whose options are understood here, the innermost first. Those of a level whose options all come
    /// before its subcommand are left out.
    pub(crate) fn open_levels(&self) -> impl Iterator<Item = &'static Level> {
        let above = self.levels.iter().skip(1).flatten().filter(|level| !level.traits.leading);
        self.level().into_iter().chain(above.copied())
    }

    fn unclear(&mut self, word: Arg<'a>, kind: CandidateKind) -> Item<'a> {
        self.candidate = Some(Candidate { word, index: self.consumed - 1, kind });
        Item::Unclear
    }

    fn level(&self) -> Option<&'static Level> {
        self.levels.first().copied().flatten()
    }

    /// Finds an option of the innermost level that has it. Behind a subcommand, `-v` and `--version` of the program are
    /// something else: `docker compose down -v` removes volumes. Only `--help` stays what it is.
    fn lookup(&self, find: impl Fn(&Level) -> Option<Opt>) -> Option<Opt> {
        let innermost = self.level().and_then(&find);
        let above = || self.levels.iter().skip(1).flatten().find_map(|level| find(level));
        innermost
            .or_else(|| above().filter(|option| option.does != Does::Ends || option.name == "help"))
    }

    fn has(&self, has: impl Fn(&Level) -> bool) -> bool {
        self.level().is_some_and(has)
    }

    fn word(&mut self) -> Option<Arg<'a>> {
        let word = self.words.next()?;
        self.consumed += 1;
        Some(word)
    }

    fn item(&mut self) -> Option<Item<'a>> {
        if let Some(cluster) = self.cluster.take() {
            return Some(self.short(cluster));
        }
        if let Some(word) = self.doubtful.take() {
            return Some(Item::Operand(word, self.consumed - 1));
        }
        let word = self.word()?;
        let first = std::mem::take(&mut self.first);
        if self.operands_only {
            return Some(Item::Operand(word, self.consumed - 1));
        }
        let may_be_value = std::mem::take(&mut self.may_take_next);
        Some(match word {
            Arg::Known("--") => {
                self.operands_only = !may_be_value;
                return self.item();
            }
            Arg::Known(text) if first && is_bundle(text) && self.has(|l| l.traits.bundled) => {
                self.short(Piece { text, open: false })
            }
            Arg::Known(text) => self.opening(Piece { text, open: false }, word),
            Arg::Paths(Paths::Pattern(pattern)) if beginning(pattern).is_some() => {
                let text = beginning(pattern).unwrap_or_default();
                self.opening(Piece { text, open: true }, word)
            }
            Arg::Paths(paths) if !paths.may_look_like_option() || self.has(|l| l.traits.inert) => {
                self.operand(word)
            }
            Arg::Begins("-") => self.unclear(word, CandidateKind::Dashed),
            Arg::Begins("") | Arg::Many | Arg::Paths(_) => {
                self.doubtful = Some(word);
                self.unclear(word, CandidateKind::Any)
            }
            Arg::Begins(text) => self.opening(Piece { text, open: true }, word),
        })
    }

    fn operand(&mut self, word: Arg<'a>) -> Item<'a> {
        self.operands_only |= self.has(|level| level.traits.leading);
        Item::Operand(word, self.consumed - 1)
    }

    fn opening(&mut self, piece: Piece<'a>, word: Arg<'a>) -> Item<'a> {
        if let Some(text) = piece.text.strip_prefix("--") {
            return self.long(Piece { text, ..piece });
        }
        if piece.text.starts_with('+') && self.has(|level| level.traits.plus) {
            return Item::Number;
        }
        match piece.text.strip_prefix('-') {
            Some(text) if !text.is_empty() => self.dashed(Piece { text, ..piece }),
            _ => self.operand(word),
        }
    }

    fn dashed(&mut self, piece: Piece<'a>) -> Item<'a> {
        let digits = !piece.open && piece.text.bytes().all(|byte| byte.is_ascii_digit());
        if digits && self.has(|level| level.traits.numbers) {
            return Item::Number;
        }
        if self.has(|level| level.traits.single_dash) {
            return self.long(piece);
        }
        self.short(piece)
    }

    fn short(&mut self, cluster: Piece<'a>) -> Item<'a> {
        let mut letters = cluster.text.chars();
        let Some(letter) = letters.next() else {
            return self.unclear(Arg::Begins("-"), CandidateKind::Letters);
        };
        let rest = Piece { text: letters.as_str(), ..cluster };
        let more = rest.open || !rest.text.is_empty();
        let name = cluster.text.get(..letter.len_utf8()).unwrap_or_default();
        let Some(option) = self.lookup(|level| level.option(name)) else {
            self.cluster = more.then_some(rest);
            self.may_take_next = !more;
            return Item::Unclear;
        };
        let value = match option.takes {
            Takes::Nothing => {
                self.cluster = more.then_some(rest);
                None
            }
            Takes::Attached | Takes::Last => more.then(|| rest.arg()),
            // Without a known beginning, what follows may be empty, and then the value is the next word.
            // The worst is to be expected of some.
            Takes::Value | Takes::Rest
                if rest.text.is_empty() && rest.open && option.does < Does::Asks =>
            {
                self.may_take_next = true;
                return Item::Unclear;
            }
            Takes::Value | Takes::Rest if more => Some(rest.arg()),
            Takes::Value | Takes::Rest => match self.value(option) {
                Some(value) => Some(value),
                None => return self.unclear(Arg::Many, CandidateKind::Any),
            },
        };
        self.operands_only |= option.takes == Takes::Rest;
        Item::Option { option, value }
    }

    fn long(&mut self, piece: Piece<'a>) -> Item<'a> {
        let (name, value) = match piece.text.split_once('=') {
            Some((name, text)) => (name, Some(Piece { text, ..piece }.arg())),
            None if piece.open => return self.begun(piece.text),
            None => (piece.text, None),
        };
        let single = self.has(|level| level.traits.single_dash);
        let found = self.lookup(|level| {
            level.option(name).filter(|_| single).or_else(|| level.long_option(name))
        });
        let Some(option) = found else {
            self.may_take_next = value.is_none();
            return Item::Unclear;
        };
        let value = match (option.takes, value) {
            (Takes::Value | Takes::Rest, None) => match self.value(option) {
                Some(value) => Some(value),
                None => return self.unclear(Arg::Many, CandidateKind::Any),
            },
            (Takes::Last, None) => match self.word() {
                Some(Arg::Many) => return self.unclear(Arg::Many, CandidateKind::Any),
                next => next,
            },
            (_, value) => value,
        };
        self.operands_only |= option.takes == Takes::Rest;
        Item::Option { option, value }
    }

    /// Returns the worst of the long options that begin so; what follows is not known.
    fn begun(&mut self, name: &'a str) -> Item<'a> {
        if name.is_empty() {
            return self.unclear(Arg::Begins("--"), CandidateKind::Long);
        }
        let found = self.lookup(|level| level.long_option(name));
        match found.filter(|option| option.does >= Does::Asks) {
            Some(option) => Item::Option { option, value: Some(Arg::Begins("")) },
            None => Item::Unclear,
        }
    }

    /// Returns the next word as a value. Words of which not even the number is known are none, unless the worst is to be
    /// expected of them.
    fn value(&mut self, option: Opt) -> Option<Arg<'a>> {
        self.word().filter(|word| !matches!(word, Arg::Many) || option.does >= Does::Asks)
    }
}

/// Returns what a pattern begins with that is an option for certain: `--include=*.rs`.
fn beginning(pattern: &str) -> Option<&str> {
    let end = pattern.find(['*', '?', '[', '\\'])?;
    pattern.get(..end).filter(|text| text.len() > 1 && text.starts_with('-'))
}

/// Returns whether the first word of a command such as `tar xf a` can be a cluster of options.
fn is_bundle(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

impl<'a, I: Iterator<Item = Arg<'a>>> Iterator for Items<'a, I> {
    type Item = Item<'a>;

    fn next(&mut self) -> Option<Item<'a>> {
        self.item()
    }
}
