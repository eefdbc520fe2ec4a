//! Finding the end of a value that follows its name in a command, a header or a piece of JSON.

use std::ops::Range;

/// Returns the range of the value that begins at `at`: one shell word, including its quotes.
///
/// If the value is inside quotes, it ends with them.
pub(super) fn word_range(text: &[u8], at: usize) -> Range<usize> {
    let outer = find_open_quote(text.get(..at).unwrap_or_default());
    let mut end = at;
    let mut is_first = true;
    while let Some(byte) = text.get(end) {
        match byte {
            b'\\' if matches!(text.get(end + 1), Some(b'"' | b'\'')) => {
                // In a string within a string, the quotes themselves are escaped.
                if !is_first {
                    break;
                }
                end =
                    skip_past(text, end + 2, |at| text.get(at..)?.starts_with(b"\\").then_some(2));
                break;
            }
            b'\\' => end += 2,
            b'"' | b'\'' if outer.is_none() || (is_first && outer != Some(*byte)) => {
                let quote = *byte;
                end = skip_past(text, end + 1, |at| (text.get(at) == Some(&quote)).then_some(1));
                let goes_on = text.get(end).is_some_and(|next| {
                    next.is_ascii_alphanumeric() || matches!(next, b'"' | b'\'' | b'$')
                });
                if !goes_on {
                    break;
                }
            }
            b'"' | b'\'' | b'`' | b'&' | b';' | b'|' | b')' | b'}' | b'<' | b'>' => break,
            byte if byte.is_ascii_whitespace() => break,
            _ => end += 1,
        }
        is_first = false;
    }
    at..end.min(text.len())
}

/// Returns the range of the header value that begins at `at`. It ends with the line or with the
/// surrounding quotes.
pub(super) fn header_range(text: &[u8], at: usize) -> Range<usize> {
    if matches!(text.get(at), Some(b'"' | b'\'' | b'\\')) {
        return word_range(text, at);
    }
    let rest = text.get(at..).unwrap_or_default();
    let length = rest.iter().position(|byte| matches!(byte, b'"' | b'\'' | b'\n' | b'`'));
    at..at + length.unwrap_or(rest.len())
}

/// Returns the position after the first end marker, or the end of the text if there is none.
/// `is_end` returns the length of the marker at a position.
fn skip_past(text: &[u8], from: usize, is_end: impl Fn(usize) -> Option<usize>) -> usize {
    let found = (from..text.len()).find_map(|at| is_end(at).map(|length| at + length));
    found.unwrap_or(text.len())
}

/// Returns the quote that is open at the end of this shell line or piece of JSON.
fn find_open_quote(before: &[u8]) -> Option<u8> {
    let mut open = None;
    let mut bytes = before.iter();
    while let Some(byte) = bytes.next() {
        match (open, byte) {
            (None | Some(b'"'), b'\\') => drop(bytes.next()),
            (None, b'"' | b'\'') => open = Some(*byte),
            (Some(quote), byte) if *byte == quote => open = None,
            _ => {}
        }
    }
    open
}
