//! Reading the options of a program from its words, exactly as the program itself reads them.

use openoxide_protocol::{Word, Words};

/// Which options a program has.
///
/// An option that is not here is not understood: a table may leave options out, and does so for those that write or
/// run something.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grammar {
    /// The letters, each followed by its mark, if it has one; `#` stands for `-NUMBER`.
    pub(crate) short: &'static str,
    /// Groups of long names with a blank between them, each followed by its mark, if it has one.
    pub(crate) long: &'static [&'static str],
    /// Whether the first operand ends the options.
    pub(crate) leading: bool,
    /// Whether an unambiguous beginning of a long name stands for it. Needs a complete list of long names.
    pub(crate) abbreviations: bool,
}

/// What follows an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// Nothing.
    Flag,
    /// `:` A text, attached or in the next word.
    Text,
    /// `<` The name of a file that is read, attached or in the next word.
    File,
    /// `?` A text or nothing, attached.
    Attached,
    /// `~` A text, attached or in the next word, or nothing if there is no next word.
    Last,
}

/// One thing on a command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Item<'a> {
    /// An option that the program has.
    Option {
        /// Its letter or its long name.
        name: &'static str,
        /// What follows it.
        mark: Mark,
        /// What followed it here.
        value: Option<Word<'a>>,
    },
    /// Anything else. A word that could be an option or an operand is neither: it is unclear.
    Operand(Word<'a>),
    /// Something that the grammar does not hold; nothing after it can be read.
    Unclear,
}

impl Grammar {
    /// Returns the grammar of a program that accepts options after operands; abbreviations are not understood.
    pub(crate) const fn exact(short: &'static str, long: &'static [&'static str]) -> Self {
        Self { short, long, leading: false, abbreviations: false }
    }

    /// Returns the grammar of a program whose options end at the first operand.
    pub(crate) const fn leading(short: &'static str, long: &'static [&'static str]) -> Self {
        Self { short, long, leading: true, abbreviations: true }
    }

    fn letter(&self, letter: char) -> Option<(&'static str, Mark)> {
        let at = self.short.char_indices().find(|(_, each)| *each == letter)?.0;
        let after = self.short.get(at + 1..).and_then(|rest| rest.get(..1)).unwrap_or_default();
        Some((self.short.get(at..=at)?, mark(after).unwrap_or(Mark::Flag)))
    }

    fn name(&self, name: &str) -> Option<(&'static str, Mark)> {
        let all = || self.long.iter().flat_map(|group| group.split(' '));
        let exact = all().find_map(|entry| {
            let mark = mark(entry.strip_prefix(name)?)?;
            Some((entry.get(..name.len())?, mark))
        });
        if exact.is_some() || !self.abbreviations || name.is_empty() {
            return exact;
        }
        let mut longer = all().filter(|entry| entry.starts_with(name));
        let entry = longer.next().filter(|_| longer.next().is_none())?;
        let bare = entry.trim_end_matches([':', '<', '?', '~']);
        Some((bare, mark(entry.get(bare.len()..)?)?))
    }
}

fn mark(text: &str) -> Option<Mark> {
    match text {
        "" => Some(Mark::Flag),
        ":" => Some(Mark::Text),
        "<" => Some(Mark::File),
        "?" => Some(Mark::Attached),
        "~" => Some(Mark::Last),
        _ => None,
    }
}

/// The items of a command line, in order.
#[derive(Debug)]
pub(crate) struct Options<'a, I> {
    words: I,
    grammar: Grammar,
    consumed: usize,
    cluster: Option<Piece<'a>>, // INVARIANT: not empty, unless its end is unknown.
    operands_only: bool,
    unclear: bool,
}

/// The known beginning of a word, and whether more follows that is not known.
#[derive(Clone, Copy, Debug)]
struct Piece<'a> {
    text: &'a str,
    open: bool,
}

impl<'a> Piece<'a> {
    fn word(self) -> Word<'a> {
        if self.open { Word::Begins(self.text) } else { Word::Known(self.text) }
    }
}

/// Returns the items after the first `skip` words.
pub(crate) fn options(
    argv: &Words,
    skip: usize,
    grammar: Grammar,
) -> Options<'_, impl Iterator<Item = Word<'_>>> {
    Options {
        words: argv.iter().skip(skip),
        grammar,
        consumed: skip,
        cluster: None,
        operands_only: false,
        unclear: false,
    }
}

impl<'a, I: Iterator<Item = Word<'a>>> Options<'a, I> {
    /// Returns how many words have been read: right after an operand, one more than its index.
    pub(crate) fn consumed(&self) -> usize {
        self.consumed
    }

    fn word(&mut self) -> Option<Word<'a>> {
        let word = self.words.next()?;
        self.consumed += 1;
        Some(word)
    }

    fn item(&mut self) -> Option<Item<'a>> {
        if let Some(cluster) = self.cluster.take() {
            return Some(self.short(cluster));
        }
        let word = self.word()?;
        if self.operands_only {
            return Some(Item::Operand(word));
        }
        Some(match word {
            Word::Known("--") => {
                self.operands_only = true;
                return self.item();
            }
            Word::Known(text) => self.opening(Piece { text, open: false }, word),
            Word::Begins("" | "-") | Word::Many => Item::Unclear,
            Word::Begins(text) => self.opening(Piece { text, open: true }, word),
        })
    }

    fn opening(&mut self, piece: Piece<'a>, word: Word<'a>) -> Item<'a> {
        if let Some(text) = piece.text.strip_prefix("--") {
            return self.long(Piece { text, ..piece });
        }
        match piece.text.strip_prefix('-') {
            Some(text) if !text.is_empty() => self.numbered(Piece { text, ..piece }),
            _ => {
                self.operands_only = self.grammar.leading;
                Item::Operand(word)
            }
        }
    }

    fn numbered(&mut self, piece: Piece<'a>) -> Item<'a> {
        let digits = !piece.open && piece.text.bytes().all(|byte| byte.is_ascii_digit());
        if digits && self.grammar.short.contains('#') {
            return Item::Option { name: "#", mark: Mark::Flag, value: None };
        }
        self.short(piece)
    }

    fn short(&mut self, cluster: Piece<'a>) -> Item<'a> {
        let mut letters = cluster.text.chars();
        let found = letters
            .next()
            .filter(|letter| letter.is_ascii_alphanumeric())
            .and_then(|letter| self.grammar.letter(letter));
        let Some((name, mark)) = found else { return Item::Unclear };
        let rest = Piece { text: letters.as_str(), ..cluster };
        let more = rest.open || !rest.text.is_empty();
        let value = match mark {
            Mark::Flag => {
                self.cluster = more.then_some(rest);
                None
            }
            Mark::Attached | Mark::Last => more.then(|| rest.word()),
            // Without a known beginning, what follows may be empty, and then the value is the next word.
            Mark::Text | Mark::File if rest.text.is_empty() && rest.open => return Item::Unclear,
            Mark::Text | Mark::File if more => Some(rest.word()),
            Mark::Text | Mark::File => match self.value() {
                Some(value) => Some(value),
                None => return Item::Unclear,
            },
        };
        Item::Option { name, mark, value }
    }

    fn long(&mut self, piece: Piece<'a>) -> Item<'a> {
        let (name, value) = match piece.text.split_once('=') {
            Some((name, text)) => (name, Some(Piece { text, ..piece }.word())),
            None if piece.open => return Item::Unclear,
            None => (piece.text, None),
        };
        let Some((name, mark)) = self.grammar.name(name) else { return Item::Unclear };
        let value = match (mark, value) {
            (Mark::Flag, Some(_)) => return Item::Unclear,
            (Mark::Text | Mark::File, None) => match self.value() {
                Some(value) => Some(value),
                None => return Item::Unclear,
            },
            (Mark::Last, None) => match self.word() {
                Some(Word::Many) => return Item::Unclear,
                next => next,
            },
            (_, value) => value,
        };
        Item::Option { name, mark, value }
    }

    /// Returns the next word as a value. Words of which not even the number is known are none.
    fn value(&mut self) -> Option<Word<'a>> {
        self.word().filter(|word| *word != Word::Many)
    }
}

impl<'a, I: Iterator<Item = Word<'a>>> Iterator for Options<'a, I> {
    type Item = Item<'a>;

    fn next(&mut self) -> Option<Item<'a>> {
        if self.unclear {
            return None;
        }
        let item = self.item();
        self.unclear = item == Some(Item::Unclear);
        item
    }
}

#[cfg(test)]
pub(crate) mod notation {
    use openoxide_protocol::Words;

    /// Reads words as tests write them: blanks and single quotes as in a shell, `$?` for unknown text, `$*` for any
    /// number of words.
    pub(crate) fn words(line: &str) -> Words {
        let mut words = Words::new();
        let (mut open, mut quoted) = (false, false);
        let mut letters = line.chars().peekable();
        while let Some(letter) = letters.next() {
            match letter {
                '\'' => (quoted, open) = (!quoted, true),
                ' ' if !quoted => {
                    if std::mem::take(&mut open) {
                        words.end_word();
                    }
                }
                '$' if !quoted && letters.next_if_eq(&'?').is_some() => {
                    words.push_unknown_piece();
                    open = true;
                }
                '$' if !quoted && letters.next_if_eq(&'*').is_some() => words.push_many(),
                letter => {
                    words.push_piece(letter.encode_utf8(&mut [0; 4]));
                    open = true;
                }
            }
        }
        if open {
            words.end_word();
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAIL: Grammar = Grammar::exact("qn:f<w?#", &["lines: quiet color?", "merged~"]);
    const WRAPPER: Grammar = Grammar::leading("n:", &["adjustment: help hello"]);

    fn read(grammar: Grammar, words: &Words) -> Vec<String> {
        let show = |item: Item<'_>| match item {
            Item::Option { name, value: None, .. } => name.to_owned(),
            Item::Option { name, value: Some(Word::Known(text)), .. } => format!("{name}={text}"),
            Item::Option { name, value, .. } => format!("{name}={value:?}"),
            Item::Operand(Word::Known(text)) => format!("[{text}]"),
            Item::Operand(word) => format!("[{word:?}]"),
            Item::Unclear => "?".to_owned(),
        };
        options(words, 0, grammar).map(show).collect()
    }

    fn known(grammar: Grammar, line: &str) -> String {
        read(grammar, &line.split(' ').filter(|word| !word.is_empty()).collect()).join(" ")
    }

    #[test]
    fn options_are_read_as_getopt_reads_them() {
        for (line, expected) in [
            ("a -q b", "[a] q [b]"),
            ("-qn5 -n 6 -5 -w -wx", "q n=5 n=6 # w w=x"),
            ("-qf x -", "q f=x [-]"),
            ("--lines=5 --lines 6 --color --color=x y", "lines=5 lines=6 color color=x [y]"),
            ("-- -q --", "[-q] [--]"),
            ("--merged x", "merged=x"),
            ("--merged", "merged"),
            ("-z", "?"),
            ("-qz -q", "q ?"),
            ("-n", "?"),
            ("--lin=5", "?"),
            ("--quiet=1", "?"),
            ("--lines", "?"),
            ("-é", "?"),
            ("-q:", "q ?"),
            ("-#", "?"),
        ] {
            assert_eq!(known(TAIL, line), expected, "{line}");
        }
    }

    #[test]
    fn a_wrapper_stops_at_its_first_operand_and_knows_abbreviations() {
        for (line, expected) in [
            ("-n 5 make -n", "n=5 [make] [-n]"),
            ("--adj 5 make", "adjustment=5 [make]"),
            ("--a=5 -- make --a", "adjustment=5 [make] [--a]"),
            ("--hel", "?"),
            ("--help", "help"),
        ] {
            assert_eq!(known(WRAPPER, line), expected, "{line}");
        }
    }

    #[test]
    fn an_unknown_word_is_unclear_where_it_could_be_an_option() {
        let begins = |text: &str| {
            let mut words = Words::new();
            words.push_piece(text);
            words.push_unknown_piece();
            words.end_word();
            words.push("x");
            read(TAIL, &words).join(" ")
        };
        assert_eq!(begins(""), "?");
        assert_eq!(begins("-"), "?");
        assert_eq!(begins("-q"), "q ?");
        assert_eq!(begins("-n"), "?");
        assert_eq!(begins("-n5"), "n=Some(Begins(\"5\")) [x]");
        assert_eq!(begins("--lines"), "?");
        assert_eq!(begins("--lines="), "lines=Some(Begins(\"\")) [x]");
        assert_eq!(begins("src/"), "[Begins(\"src/\")] [x]");
        let mut words: Words = ["-n"].into_iter().collect();
        words.push_many();
        assert_eq!(read(TAIL, &words), ["?"]);
    }
}
