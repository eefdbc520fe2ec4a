//! The words of a command, to the extent that they are known before it runs.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer, de::Error as _, ser::SerializeSeq as _,
};

/// The marker for unknown text inside of one word. It replaces any bytes. The byte never occurs in
/// UTF-8.
const UNKNOWN_TEXT: u8 = 0xFF;
/// The marker for any number of unknown words, including none. The byte never occurs in UTF-8.
const UNKNOWN_WORDS: u8 = 0xFE;

/// The words of one command. The program is the first word.
///
/// Each word is fully known, partly known (`--depth=$N`), or unknown. An unquoted expansion can
/// also become any number of words. In JSON, a word that is not fully known is `null`.
///
/// The words are stored in one buffer, and each word is followed by a NUL, which no argument can
/// contain. Rules are matched against this form: a space in a rule is a boundary between two words,
/// and no word can forge a boundary.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct CommandWords {
    bytes: Vec<u8>, // INVARIANT: UTF-8 pieces, the two markers above, and one NUL after each word.
}

/// One word of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandWord<'a> {
    /// A fully known word.
    Known(&'a str),
    /// One word of which only the prefix is known. The prefix may be empty.
    KnownPrefix(&'a str),
    /// Any number of words, including none.
    AnyWords,
}

impl CommandWords {
    /// Returns an empty list of words.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a known word. Text after a NUL is removed, as the kernel does.
    pub fn push(&mut self, word: &str) {
        self.push_known_text(word);
        self.end_word();
    }

    /// Adds one unknown word.
    pub fn push_unknown(&mut self) {
        self.push_unknown_text();
        self.end_word();
    }

    /// Adds any number of unknown words, including none.
    pub fn push_any_words(&mut self) {
        self.bytes.push(UNKNOWN_WORDS);
        self.end_word();
    }

    /// Adds known text to the current word, which [`Self::end_word`] ends.
    pub fn push_known_text(&mut self, text: &str) {
        let text = text.split('\0').next().unwrap_or_default();
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// Adds unknown text to the current word.
    pub fn push_unknown_text(&mut self) {
        if self.bytes.last() != Some(&UNKNOWN_TEXT) {
            self.bytes.push(UNKNOWN_TEXT);
        }
    }

    /// Ends the current word.
    pub fn end_word(&mut self) {
        self.bytes.push(0);
    }

    /// Returns the words in the form that rules match: each followed by a NUL.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns whether every word is fully known. Eight bytes are checked at once, because this is
    /// called for every decision.
    #[must_use]
    pub fn is_known(&self) -> bool {
        let (eights, rest) = self.bytes.as_chunks();
        let marked = |bytes: &[u8]| bytes.iter().copied().any(is_marker);
        let clear = !eights.iter().copied().any(may_contain_markers) && !marked(rest);
        clear || !marked(&self.bytes)
    }

    /// Returns whether a part can expand to any number of words.
    #[must_use]
    pub fn is_variadic(&self) -> bool {
        self.bytes.contains(&UNKNOWN_WORDS)
    }

    /// Returns whether there are no words.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns the number of words.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.iter().filter(|byte| **byte == 0).count()
    }

    /// Returns the words in order.
    pub fn iter(&self) -> impl Iterator<Item = CommandWord<'_>> {
        let text = self.bytes.strip_suffix(&[0]).unwrap_or(&self.bytes);
        text.split(|byte| *byte == 0)
            .take(if self.bytes.is_empty() { 0 } else { usize::MAX })
            .map(parse_word)
    }

    /// Returns the word at `index` if it exists and is fully known. This takes time proportional to
    /// `index`: a loop over all words uses [`Self::known_words`].
    #[must_use]
    pub fn known_word(&self, index: usize) -> Option<&str> {
        self.known_words(index).next().flatten()
    }

    /// Returns the words from `start` on. A word that is not fully known is `None`.
    ///
    /// ```
    /// use openoxide_protocol::CommandWords;
    ///
    /// let mut words: CommandWords = ["ls", "-l"].into_iter().collect();
    /// words.push_unknown();
    /// assert!(words.known_words(1).eq([Some("-l"), None]));
    /// ```
    pub fn known_words(&self, start: usize) -> impl Iterator<Item = Option<&str>> {
        self.iter().skip(start).map(|word| match word {
            CommandWord::Known(word) => Some(word),
            CommandWord::KnownPrefix(_) | CommandWord::AnyWords => None,
        })
    }

    /// Removes the words from `index` on.
    pub fn truncate(&mut self, index: usize) {
        let kept = self.bytes.split_inclusive(|byte| *byte == 0).take(index).map(<[u8]>::len).sum();
        self.bytes.truncate(kept);
    }

    /// Appends the words of `words`, including unknown ones.
    pub fn append(&mut self, words: &Self) {
        self.bytes.extend_from_slice(&words.bytes);
    }

    /// Returns the words from `index` on.
    #[must_use]
    pub fn tail(&self, index: usize) -> Self {
        let skipped: usize =
            self.bytes.split_inclusive(|byte| *byte == 0).take(index).map(<[u8]>::len).sum();
        Self { bytes: self.bytes.get(skipped..).unwrap_or_default().to_vec() }
    }
}

const fn is_marker(byte: u8) -> bool {
    matches!(byte, UNKNOWN_TEXT | UNKNOWN_WORDS)
}

/// Returns whether one of eight bytes may be a marker. The markers are two of the greatest byte
/// values. False positives are possible.
const fn may_contain_markers(eight: [u8; 8]) -> bool {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let zero_where_marked = !(u64::from_ne_bytes(eight) | ONES);
    zero_where_marked.wrapping_sub(ONES) & !zero_where_marked & (0x80 * ONES) != 0
}

fn parse_word(word: &[u8]) -> CommandWord<'_> {
    let mark = word.iter().position(|byte| matches!(*byte, UNKNOWN_TEXT | UNKNOWN_WORDS));
    let known = word.get(..mark.unwrap_or(word.len())).unwrap_or_default();
    let text = std::str::from_utf8(known).unwrap_or_default();
    match mark.and_then(|at| word.get(at)) {
        None => CommandWord::Known(text),
        Some(&UNKNOWN_WORDS) => CommandWord::AnyWords,
        Some(_) => CommandWord::KnownPrefix(text),
    }
}

impl<W: AsRef<str>> FromIterator<W> for CommandWords {
    fn from_iter<I: IntoIterator<Item = W>>(words: I) -> Self {
        let mut all = Self::new();
        for word in words {
            all.push(word.as_ref());
        }
        all
    }
}

impl fmt::Debug for CommandWords {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_list().entries(self.iter()).finish()
    }
}

impl Serialize for CommandWords {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut list = to.serialize_seq(Some(self.len()))?;
        for word in self.iter() {
            match word {
                CommandWord::Known(text) => list.serialize_element(text)?,
                CommandWord::KnownPrefix(_) | CommandWord::AnyWords => {
                    list.serialize_element(&None::<&str>)?;
                }
            }
        }
        list.end()
    }
}

impl<'de> Deserialize<'de> for CommandWords {
    /// Deserializes `null` as any number of unknown words, which assumes the least about it.
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut words = Self::new();
        for word in Vec::<Option<String>>::deserialize(from)? {
            match word {
                Some(word) if word.contains('\0') => {
                    return Err(D::Error::custom("a word contains a NUL byte"));
                }
                Some(word) => words.push(&word),
                None => words.push_any_words(),
            }
        }
        Ok(words)
    }
}

impl JsonSchema for CommandWords {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Words".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Vec::<Option<String>>::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back_as_they_went_in() {
        let mut words: CommandWords = ["git", "", "a b"].into_iter().collect();
        words.push_known_text("--depth=");
        words.push_unknown_text();
        words.push_unknown_text();
        words.end_word();
        words.push_any_words();
        let expected = [
            CommandWord::Known("git"),
            CommandWord::Known(""),
            CommandWord::Known("a b"),
            CommandWord::KnownPrefix("--depth="),
            CommandWord::AnyWords,
        ];
        assert_eq!(words.iter().collect::<Vec<_>>(), expected);
        assert_eq!(words.len(), 5);
        assert_eq!(serde_json::to_string(&words).unwrap(), r#"["git","","a b",null,null]"#);
        assert!(!words.is_known() && words.is_variadic());
    }

    #[test]
    fn a_marker_is_found_at_any_position() {
        for before in 0..20 {
            for text in ["x", "\u{10FFFF}", "\u{7F}\u{80}"] {
                let known: CommandWords = [text.repeat(before), "z".to_owned()].iter().collect();
                assert!(known.is_known(), "{before} {text}");
                let mut unknown = known.clone();
                unknown.push_unknown();
                unknown.push("zzzzzzzzz");
                assert!(!unknown.is_known(), "{before} {text}");
                let mut many = known;
                many.push_any_words();
                assert!(!many.is_known() && many.is_variadic(), "{before} {text}");
            }
        }
    }

    #[test]
    fn an_empty_list_differs_from_an_empty_word() {
        assert_eq!(CommandWords::new().iter().count(), 0);
        assert_eq!(CommandWords::new().known_word(0), None);
        assert_eq!(
            [""].iter().collect::<CommandWords>().iter().collect::<Vec<_>>(),
            [CommandWord::Known("")]
        );
    }

    #[test]
    fn a_word_cannot_forge_a_boundary() {
        let words: CommandWords = ["a\0b"].into_iter().collect();
        assert_eq!(words.as_bytes(), b"a\0");
        assert!(serde_json::from_str::<CommandWords>("[\"a\\u0000b\"]").is_err());
    }

    #[test]
    fn tail_drops_whole_words() {
        let words: CommandWords = ["sudo", "rm", "x"].into_iter().collect();
        assert_eq!(words.tail(1), ["rm", "x"].into_iter().collect());
        assert!(words.tail(9).is_empty());
        assert_eq!(words.known_word(1), Some("rm"));
    }
}
