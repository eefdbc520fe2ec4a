//! Parsers of option values.

use openoxide_protocol::{Effect, GrantScope, PermissionMode};
use openoxide_store::audit::{MILLIS_PER_DAY, UtcTimestamp};

use crate::error::value_error::ValueError;

/// Parses an effect: `allow`, `ask` or `deny`.
pub(super) fn parse_effect(word: &str) -> Result<Effect, ValueError> {
    let mut known = [Effect::Allow, Effect::Ask, Effect::Deny].into_iter();
    known.find(|effect| effect.as_str() == word).ok_or(ValueError::UnknownEffect)
}

/// Parses a duration, in milliseconds.
pub(super) fn parse_duration(text: &str) -> Result<u64, ValueError> {
    let unit = match text.bytes().last() {
        Some(b's') => Some(1_000),
        Some(b'm') => Some(60_000),
        Some(b'h') => Some(3_600_000),
        Some(b'd') => Some(MILLIS_PER_DAY),
        Some(b'w') => Some(7 * MILLIS_PER_DAY),
        _ => None,
    };
    let count = text.get(..text.len().saturating_sub(1)).and_then(|count| count.parse().ok());
    let duration = unit.zip(count).map(|(unit, count): (u64, u64)| unit.saturating_mul(count));
    duration.ok_or(ValueError::InvalidDuration)
}

/// Parses a duration that is not zero, in milliseconds.
pub(super) fn parse_nonzero_duration(text: &str) -> Result<u64, ValueError> {
    match parse_duration(text)? {
        0 => Err(ValueError::ZeroDuration),
        time => Ok(time),
    }
}

/// Parses a date, or a duration before now.
pub(super) fn parse_since(text: &str) -> Result<UtcTimestamp, ValueError> {
    let ago = parse_duration(text)
        .ok()
        .map(|ago| UtcTimestamp(UtcTimestamp::now().0.saturating_sub(ago)));
    ago.or_else(|| UtcTimestamp::parse(text)).ok_or(ValueError::InvalidSince)
}

/// Parses the name of a mode.
pub(super) fn parse_mode(word: &str) -> Result<PermissionMode, ValueError> {
    PermissionMode::parse(word).ok_or(ValueError::UnknownMode)
}

/// Parses the scope of an approval.
pub(super) fn parse_scope(word: &str) -> Result<GrantScope, ValueError> {
    match word {
        "once" => Ok(GrantScope::Once),
        "session" => Ok(GrantScope::Session),
        "directory" => Ok(GrantScope::Directory),
        "project" => Ok(GrantScope::Project),
        _ => Err(ValueError::UnknownScope),
    }
}
