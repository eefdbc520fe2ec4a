//! Secrets that are detected by their format.

use std::ops::Range;

/// The format of tokens with a known prefix.
struct TokenFormat {
    prefix: &'static str,
    /// The bytes that may follow the prefix.
    class: fn(u8) -> bool,
    /// The minimum number of bytes after the prefix.
    min_length: usize,
    /// True if the token may also begin in the middle of a word, for example after `\n` in a
    /// string.
    matches_anywhere: bool,
}

const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

const fn is_url_safe(byte: u8) -> bool {
    is_word(byte) || byte == b'-'
}

const fn is_dotted(byte: u8) -> bool {
    is_url_safe(byte) || byte == b'.'
}

const fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

const fn is_upper(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

const fn token_anywhere(prefix: &'static str, class: fn(u8) -> bool, least: usize) -> TokenFormat {
    TokenFormat { prefix, class, min_length: least, matches_anywhere: true }
}

const fn token_at_word_start(
    prefix: &'static str,
    class: fn(u8) -> bool,
    least: usize,
) -> TokenFormat {
    TokenFormat { prefix, class, min_length: least, matches_anywhere: false }
}

/// The token formats, according to the documentation of the issuers.
const TOKEN_FORMATS: &[TokenFormat] = &[
    token_anywhere("ghp_", is_word, 16),
    token_anywhere("gho_", is_word, 16),
    token_anywhere("ghu_", is_word, 16),
    token_anywhere("ghs_", is_dotted, 16),
    token_anywhere("ghr_", is_word, 16),
    token_anywhere("github_pat_", is_word, 16),
    token_anywhere("glpat-", is_dotted, 16),
    token_anywhere("AKIA", is_upper, 16),
    token_anywhere("ASIA", is_upper, 16),
    token_anywhere("AIza", is_url_safe, 30),
    token_anywhere("ya29.", is_dotted, 16),
    token_anywhere("xoxb-", is_url_safe, 8),
    token_anywhere("xoxa-", is_url_safe, 8),
    token_anywhere("xoxp-", is_url_safe, 8),
    token_anywhere("xoxr-", is_url_safe, 8),
    token_anywhere("xoxs-", is_url_safe, 8),
    token_anywhere("xapp-", is_url_safe, 8),
    token_anywhere("hooks.slack.com/services/", is_base64, 8),
    token_anywhere("npm_", is_word, 30),
    token_anywhere("pypi-", is_url_safe, 30),
    token_anywhere("hf_", is_word, 20),
    token_anywhere("sk_live_", is_word, 8),
    token_anywhere("sk_test_", is_word, 8),
    token_anywhere("rk_live_", is_word, 8),
    token_anywhere("dop_v1_", is_word, 16),
    token_anywhere("eyJ", is_dotted, 20),
    token_at_word_start("sk-", is_url_safe, 16),
    token_at_word_start("SG.", is_dotted, 20),
];

/// Adds the ranges of the secrets in a text.
pub(super) fn find_secrets(text: &str, found: &mut Vec<Range<usize>>) {
    for shape in TOKEN_FORMATS {
        for (at, _) in text.match_indices(shape.prefix) {
            found.extend(shape.match_at(text.as_bytes(), at));
        }
    }
    find_private_keys(text, found);
    find_aws_secrets(text.as_bytes(), found);
}

impl TokenFormat {
    fn match_at(&self, text: &[u8], at: usize) -> Option<Range<usize>> {
        let before = at.checked_sub(1).and_then(|at| text.get(at));
        if !self.matches_anywhere && before.is_some_and(|byte| is_word(*byte)) {
            return None;
        }
        let start = at + self.prefix.len();
        let rest = text.get(start..)?;
        let length = rest.iter().take_while(|byte| (self.class)(**byte)).count();
        (length >= self.min_length).then_some(at..start + length)
    }
}

/// Adds the ranges of private keys, each from its first line to its last line or to the end of the
/// text.
fn find_private_keys(text: &str, found: &mut Vec<Range<usize>>) {
    const LAST: &str = "-----END";
    for (at, _) in text.match_indices("-----BEGIN") {
        let Some(rest) = text.get(at..) else { continue };
        let title = rest.lines().next().unwrap_or_default();
        if title.contains("PRIVATE KEY") {
            let end = rest.find(LAST).and_then(|end| {
                let last = end + LAST.len();
                Some(last + rest.get(last..)?.find("-----")? + 5)
            });
            found.push(at..at + end.unwrap_or(rest.len()));
            if end.is_none() {
                return;
            }
        }
    }
}

/// Adds the ranges of AWS secret keys. They have no prefix: 40 base64 characters that are not a
/// hash or a path.
fn find_aws_secrets(text: &[u8], found: &mut Vec<Range<usize>>) {
    let mut start = 0;
    for run in text.split(|byte| !is_base64(*byte) && !is_dotted(*byte)) {
        // `key=value` is one run, so only the part after the last `=` is checked.
        let at = run.iter().rposition(|byte| *byte == b'=').map_or(0, |at| at + 1);
        let value = run.get(at..).unwrap_or_default();
        if is_aws_secret(value) {
            found.push(start + at..start + run.len());
        }
        start += run.len() + 1;
    }
}

fn is_aws_secret(value: &[u8]) -> bool {
    let count = |class: fn(&u8) -> bool| value.iter().filter(|byte| class(byte)).count();
    value.len() == 40
        && value.iter().all(|byte| is_base64(*byte))
        && count(u8::is_ascii_uppercase) >= 3
        && count(u8::is_ascii_lowercase) >= 3
        && count(u8::is_ascii_digit) >= 2
        && count(|byte| *byte == b'/') <= 4
}
