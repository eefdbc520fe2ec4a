//! Phrases that describe what a command does, from `effects.toml`.

use openoxide_protocol::{CauseCode, CommandCause, CommandWord, CommandWords};

/// The maximum number of words of a command in the table.
const MAX_WORDS: usize = 4;

/// The first words of a command and its phrase. The row contains no pointers, so nothing is
/// relocated when the program starts.
#[derive(Debug)]
struct EffectRow {
    command: TextRange,
    phrase: TextRange,
    code: CauseCode,
}

/// A text, as its start in [`TEXTS`] and its length.
#[derive(Debug)]
struct TextRange {
    start: u16,
    length: u8,
}

include!(concat!(env!("OUT_DIR"), "/effects.rs"));

impl TextRange {
    fn as_str(&self) -> &'static str {
        let start = usize::from(self.start);
        // INVARIANT: the build script has put the text there.
        TEXTS.get(start..start + usize::from(self.length)).unwrap_or_default()
    }
}

/// Returns the cause that the table states for a command. The longest entry that is a prefix of the
/// command is used.
pub(crate) fn find_stated_cause(command: &CommandWords) -> Option<CommandCause> {
    let mut words = [""; MAX_WORDS];
    let mut count = 0;
    for (place, word) in words.iter_mut().zip(command.iter()) {
        let CommandWord::Known(text) = word else { break };
        *place = text;
        count += 1;
    }
    let words = words.get_mut(..count)?;
    let (name, _) = words.split_first_mut()?;
    *name = name.rsplit('/').next().unwrap_or_default();
    find_longest_row(words).or_else(|| {
        let (name, _) = words.split_first_mut()?;
        *name = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
        find_longest_row(words)
    })
}

fn find_longest_row(words: &[&str]) -> Option<CommandCause> {
    let row = (1..=words.len()).rev().find_map(|count| {
        let words = words.get(..count)?;
        let order = |row: &EffectRow| row.command.as_str().split(' ').cmp(words.iter().copied());
        ROWS.binary_search_by(order).ok().and_then(|at| ROWS.get(at))
    })?;
    Some(CommandCause::Stated { code: row.code, phrase: row.phrase.as_str() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that each phrase has the form that the head of `effects.toml` describes.
    #[test]
    fn every_phrase_has_the_form() {
        for phrase in ROWS.iter().map(|row| row.phrase.as_str()) {
            let verb = phrase.split(' ').next().unwrap();
            let plain = |letter: char| letter.is_ascii_lowercase() || letter == ',';
            assert!(verb.trim_end_matches(',').ends_with('s'), "{phrase}: third person");
            assert!(verb.chars().all(plain), "{phrase}: lower case");
            assert!(phrase.len() <= 60, "{phrase}: {} characters", phrase.len());
            assert!(!phrase.ends_with(['.', ' ', ',']), "{phrase}: its end");
            let shown = |letter: char| letter.is_ascii_alphanumeric() || " ,-'".contains(letter);
            assert!(phrase.chars().all(shown), "{phrase}: plain letters");
        }
    }

    #[test]
    fn rows_are_sorted_by_their_words() {
        let words = |row: &'static EffectRow| row.command.as_str().split(' ');
        assert!(ROWS.is_sorted_by(|a, b| words(a).lt(words(b))));
        assert!(ROWS.iter().all(|row| (1..=MAX_WORDS).contains(&words(row).count())));
    }

    #[test]
    fn the_longest_entry_applies() {
        let phrase = |command: &str| match find_stated_cause(&command.split(' ').collect()) {
            Some(CommandCause::Stated { phrase, .. }) => Some(phrase),
            _ => None,
        };
        assert_eq!(phrase("git stash push"), Some("saves, applies or drops stashed changes"));
        assert_eq!(phrase("git frobnicate"), None);
        assert_eq!(phrase("gh frobnicate"), Some("contacts GitHub"));
        assert_eq!(phrase("/usr/bin/python3.12 x.py"), Some("runs Python code"));
        assert_eq!(phrase("python3 -m venv x"), Some("creates a virtual environment"));
        assert_eq!(phrase("sqlite3 x.db"), Some("runs statements in a database"));
        assert_eq!(phrase(""), None);
        assert_eq!(phrase("42"), None);
    }
}
