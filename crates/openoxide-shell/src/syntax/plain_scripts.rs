//! The fast path for scripts that are a single command of plain words. Most scripts are.

use openoxide_protocol::CommandWords;

use super::byte_classes::is_reserved_word;

/// Returns the words of `script`, if it consists only of plain words with single blanks between
/// them and the first word is neither an assignment nor reserved. The result is the same as that of
/// the full parser.
pub(crate) fn split_plain_words(script: &str) -> Option<CommandWords> {
    let mut after_blank = true;
    for byte in script.bytes() {
        let blank = byte == b' ';
        if !is_literal_byte(byte) && (!blank || after_blank) {
            return None;
        }
        after_blank = blank;
    }
    let first = script.split(' ').next()?;
    if after_blank || first.contains('=') || is_reserved_word(first) {
        return None;
    }
    Some(script.split(' ').collect())
}

/// Returns whether `byte` is a literal at every position in a word.
const fn is_literal_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'_' | b'.' | b'/' | b':' | b',' | b'@' | b'%' | b'+' | b'=' | b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_words_go_the_short_way() {
        assert_eq!(split_plain_words("git status").unwrap().len(), 2);
        for script in
            ["", " a", "a ", "a  b", "a=b c", "if a", "time a", "a;b", "a ~", "a\tb", "a {b}", "ä"]
        {
            assert_eq!(split_plain_words(script), None, "{script}");
        }
    }
}
