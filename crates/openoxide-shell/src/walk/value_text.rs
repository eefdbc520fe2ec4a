//! Properties of the text of a value.

/// Returns whether `text` is a number, or contains no name that arithmetic would look up.
pub(super) fn is_arithmetic_number(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit() || b" +-.,:%".contains(&byte))
}

/// Returns whether an unquoted value stays a single, unchanged word.
pub(super) fn stays_one_word(value: &str) -> bool {
    !value.is_empty() && value.bytes().all(is_unsplit_byte)
}

/// Returns whether an unquoted value with this byte stays one word.
pub(super) const fn is_unsplit_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'_' | b'.' | b'/' | b':' | b',' | b'@' | b'%' | b'+' | b'=' | b'-')
}
