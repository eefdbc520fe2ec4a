//! The notation for words in tests.

use openoxide_protocol::CommandWords;

/// Parses words in the notation of tests: blanks and single quotes as in a shell, `$?` for unknown
/// text, `$*` for any number of words.
pub(crate) fn parse_words(line: &str) -> CommandWords {
    let mut words = CommandWords::new();
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
                words.push_unknown_text();
                open = true;
            }
            '$' if !quoted && letters.next_if_eq(&'*').is_some() => words.push_any_words(),
            letter => {
                words.push_known_text(letter.encode_utf8(&mut [0; 4]));
                open = true;
            }
        }
    }
    if open {
        words.end_word();
    }
    words
}
