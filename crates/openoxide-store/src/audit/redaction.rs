//! Takes secrets out of text, before anything is written down.
//!
//! It goes by the names that values have (`password=…`, `Authorization: …`) and by the shapes that tokens have
//! (`ghp_…`, `AKIA…`, JSON Web Tokens, private keys). It is pure, linear, and would rather take too much than too little.
//! A secret that neither has a name nor a known shape is not seen: no text alone can tell it from a word.

mod named_secrets;
mod password_options;
mod token_formats;
mod value_ranges;

use std::{borrow::Cow, ops::Range};

use serde_json::Value;

/// The text that replaces a secret.
pub const REDACTED: &str = "[redacted]";

/// The maximum number of bytes of a text that are scanned. The text after them is not recorded.
const MAX_SCANNED_BYTES: usize = 4 << 10;
/// The maximum number of bytes of a text that are recorded.
const MAX_TEXT_BYTES: usize = 1000;

/// Returns the text without the secrets in it.
///
/// ```
/// use openoxide_store::audit::redact;
///
/// assert_eq!(redact("curl -H 'Authorization: Bearer abc' x.io"), "curl -H 'Authorization: [redacted]' x.io");
/// assert_eq!(redact("git push"), "git push");
/// ```
#[must_use]
pub fn redact(text: &str) -> Cow<'_, str> {
    // Lower-casing ASCII keeps offsets, so a range that is found in one text is valid in the other.
    let lower = text.to_ascii_lowercase();
    let mut found = Vec::new();
    token_formats::find_secrets(text, &mut found);
    named_secrets::find_secrets(&lower, &mut found);
    password_options::find_secrets(text, &mut found);
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    found.sort_unstable_by_key(|range| (range.start, range.end));
    Cow::Owned(replace_ranges(text, &found).unwrap_or_else(|| REDACTED.to_owned()))
}

/// Returns the text without these pieces; nothing if one of them cuts a character.
fn replace_ranges(text: &str, pieces: &[Range<usize>]) -> Option<String> {
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for piece in pieces {
        let touches = piece.start <= at && !out.is_empty() && out.ends_with(REDACTED);
        if !touches {
            out.push_str(text.get(at..piece.start.max(at))?);
            out.push_str(REDACTED);
        }
        at = at.max(piece.end.min(text.len()));
    }
    out.push_str(text.get(at..)?);
    Some(out)
}

/// Takes secrets out of every text in a value, and makes long ones shorter.
pub(super) fn redact_value(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(short) = redact_and_truncate(text) {
                *text = short;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(redact_value),
        Value::Object(fields) => fields.values_mut().for_each(redact_value),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns a text without secrets, no longer than it may be.
fn redact_and_truncate(text: &str) -> Cow<'_, str> {
    let clean = redact(leading_window(text));
    if clean.len() <= MAX_TEXT_BYTES && clean.len() == text.len() {
        return clean;
    }
    let (shown, _) = clean.split_at(floor_char_boundary(&clean, MAX_TEXT_BYTES));
    let left = text.len().saturating_sub(shown.len());
    match shown.len() < clean.len() || text.len() > MAX_SCANNED_BYTES {
        true => Cow::Owned(format!("{shown}[… {left} bytes]")),
        false => clean,
    }
}

/// Returns the beginning that is looked at. It ends with a whole word: half a secret would not be known.
fn leading_window(text: &str) -> &str {
    if text.len() <= MAX_SCANNED_BYTES {
        return text;
    }
    let (window, _) = text.split_at(floor_char_boundary(text, MAX_SCANNED_BYTES));
    window.rfind(char::is_whitespace).and_then(|end| window.get(..end)).unwrap_or_default()
}

fn floor_char_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

#[cfg(test)]
mod tests;
