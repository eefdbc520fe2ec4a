//! Secrets that are detected by the name before them.

use std::ops::Range;

use super::value_ranges;

/// Parts of secret names. A name that contains one of them is secret: `GITHUB_TOKEN`,
/// `client-secret`.
const SECRET_NAME_PARTS: &[&str] = &[
    "token",
    "password",
    "passwd",
    "passphrase",
    "secret",
    "api_key",
    "api-key",
    "apikey",
    "access_key",
    "access-key",
    "accesskey",
    "private_key",
    "private-key",
    "privatekey",
    "credential",
    "_pwd",
    "_pass",
    "--pass",
    "_auth",
    "x-auth",
    "session_id=",
    "sessionid",
];

/// Headers whose value extends to the end of the line.
const SECRET_HEADERS: &[&str] = &["authorization", "cookie"];

/// Authentication schemes, each followed by a secret.
const AUTH_SCHEMES: &[&str] = &["bearer ", "basic "];

/// The minimum length of a user name without a password that is treated as a token.
const MIN_TOKEN_LENGTH: usize = 16;

/// Adds the ranges of the secrets in a text, which must be in lower case.
pub(super) fn find_secrets(text: &str, found: &mut Vec<Range<usize>>) {
    let mut done = 0;
    for (at, name, is_header) in find_secret_names(text) {
        // A name inside a value that was already found needs no range of its own.
        if at < done {
            continue;
        }
        if let Some(range) = find_value(text.as_bytes(), at, name, is_header) {
            done = range.end;
            found.push(range);
        }
    }
    find_auth_schemes(text, found);
    find_url_credentials(text, found);
}

/// Returns the positions of the names, in order.
fn find_secret_names(text: &str) -> Vec<(usize, &'static str, bool)> {
    let in_words = SECRET_NAME_PARTS.iter().map(|name| (*name, false));
    let all = in_words.chain(SECRET_HEADERS.iter().map(|name| (*name, true)));
    let mut found: Vec<_> = all
        .flat_map(|(name, header)| text.match_indices(name).map(move |(at, _)| (at, name, header)))
        .collect();
    found.sort_unstable();
    found
}

const fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

fn skip_while(text: &[u8], at: usize, class: fn(u8) -> bool) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    at + rest.iter().take_while(|byte| class(**byte)).count()
}

const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// Returns the range of the value of the name at `at`, if it has a value.
fn find_value(text: &[u8], at: usize, name: &str, is_header: bool) -> Option<Range<usize>> {
    let end = skip_while(text, at + name.trim_end_matches('=').len(), is_name_byte);
    let closed = skip_while(text, end, |byte| matches!(byte, b'"' | b'\'' | b'\\' | b']'));
    let blanks = skip_while(text, closed, is_blank);
    let sign = skip_while(text, blanks, |byte| matches!(byte, b'=' | b':' | b'>'));
    let value = if sign > blanks {
        value_start(text, closed, blanks, sign)?
    } else if blanks > closed && is_option_name(text, at) && text.get(blanks) != Some(&b'-') {
        blanks
    } else {
        return None;
    };
    let range = if is_header {
        value_ranges::header_range(text, value)
    } else {
        value_ranges::word_range(text, value)
    };
    (!range.is_empty()).then_some(range)
}

/// Returns the start of the value. In a shell, the word after `NAME= ` is not a value; in a header
/// or a file, the word after `name: ` or `name = ` is.
fn value_start(text: &[u8], closed: usize, blanks: usize, sign: usize) -> Option<usize> {
    if text.get(sign..)?.starts_with(b"//") {
        return None;
    }
    let is_assigned = closed == blanks && text.get(sign - 1) == Some(&b'=');
    Some(if is_assigned { sign } else { skip_while(text, sign, is_blank) })
}

fn is_option_name(text: &[u8], at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default();
    let length = before.iter().rev().take_while(|byte| is_name_byte(**byte)).count();
    text.get(at - length) == Some(&b'-')
}

fn find_auth_schemes(text: &str, found: &mut Vec<Range<usize>>) {
    for scheme in AUTH_SCHEMES {
        for (at, _) in text.match_indices(scheme) {
            let start = skip_while(text.as_bytes(), at + scheme.len(), is_blank);
            let range = value_ranges::word_range(text.as_bytes(), start);
            // "basic auth" is ordinary text, not a secret.
            let least = if *scheme == "basic " { 8 } else { 1 };
            if range.len() >= least {
                found.push(range);
            }
        }
    }
}

/// Adds the ranges of credentials in URLs: `scheme://user:password@host` and `scheme://token@host`.
fn find_url_credentials(text: &str, found: &mut Vec<Range<usize>>) {
    for (at, _) in text.match_indices("://") {
        let start = at + 3;
        let Some(rest) = text.get(start..) else { continue };
        let is_end = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`');
        let address = rest.split(is_end).next().unwrap_or_default();
        let host = address.split(['/', '?', '#']).next().unwrap_or_default();
        let Some(end) = find_userinfo_end(address, host) else { continue };
        match host.find(':').filter(|colon| *colon < end) {
            Some(colon) => found.push(start + colon + 1..start + end),
            None if end >= MIN_TOKEN_LENGTH => found.push(start..start + end),
            None => {}
        }
    }
}

/// Returns the end of the user information in an address. A password may contain a slash, in which
/// case its beginning is not a port.
fn find_userinfo_end(address: &str, host: &str) -> Option<usize> {
    let port = host.split_once(':').map(|(_, port)| port);
    let is_host = port.is_none_or(|port| port.bytes().all(|byte| byte.is_ascii_digit()));
    match host.rfind('@') {
        Some(end) => Some(end),
        None if is_host => None,
        None => address.rfind('@'),
    }
}
