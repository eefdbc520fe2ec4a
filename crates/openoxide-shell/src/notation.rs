//! Words as tests write them.

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
