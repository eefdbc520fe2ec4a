//! Parts of the text of a script.

/// The maximum length of one construct. It bounds the time of a search. Longer constructs are rare.
const MAX_CONSTRUCT_LENGTH: usize = 512;

/// Returns the text from `at` on, up to [`MAX_CONSTRUCT_LENGTH`].
pub(super) fn text_window(text: &str, at: usize) -> &str {
    let rest = text.get(at..).unwrap_or_default();
    rest.get(..rest.floor_char_boundary(MAX_CONSTRUCT_LENGTH)).unwrap_or(rest)
}

/// Returns whether a byte can be part of a name.
pub(super) const fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}
