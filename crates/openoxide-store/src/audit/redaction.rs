//! Redaction of secrets in text before it is written.
//!
//! Secrets are detected by their names (`password=…`, `Authorization: …`) and by the formats of
//! tokens (`ghp_…`, `AKIA…`, JSON Web Tokens, private keys). Redaction is pure, takes linear time,
//! and prefers to remove too much rather than too little. A secret without a name or a known format
//! is not detected, because text alone cannot distinguish it from a word.

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

/// Returns the text with these ranges replaced. Returns `None` if a range splits a character.
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

/// Redacts and truncates every text in a value.
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

/// Returns the text without secrets, limited to the maximum length.
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

/// Returns the beginning of a text that is scanned. It ends with a whole word, because a partial
/// secret would not be detected.
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
