//! Parsers of option values.

use openoxide_protocol::{Effect, GrantScope, PermissionMode};
use openoxide_store::audit::{MILLIS_PER_DAY, UtcTimestamp};

/// Parses an effect: `allow`, `ask` or `deny`.
pub(super) fn parse_effect(word: &str) -> Result<Effect, String> {
    let mut known = [Effect::Allow, Effect::Ask, Effect::Deny].into_iter();
    known.find(|effect| effect.as_str() == word).ok_or("known are allow, ask, deny".to_owned())
}

/// Reads a duration, in milliseconds.
pub(super) fn parse_duration(text: &str) -> Result<u64, String> {
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
    duration.ok_or_else(|| "no duration: `30m`, `12h`, `7d`".to_owned())
}

/// Reads a duration that something can last for.
pub(super) fn parse_nonzero_duration(text: &str) -> Result<u64, String> {
    match parse_duration(text)? {
        0 => Err("it would expire immediately".to_owned()),
        time => Ok(time),
    }
}

/// Reads a date, or how long ago.
pub(super) fn parse_since(text: &str) -> Result<UtcTimestamp, String> {
    let ago = parse_duration(text)
        .ok()
        .map(|ago| UtcTimestamp(UtcTimestamp::now().0.saturating_sub(ago)));
    ago.or_else(|| UtcTimestamp::parse(text)).ok_or_else(|| {
        "neither a duration (`30m`, `12h`, `7d`) nor a date (`2026-11-22`)".to_owned()
    })
}

/// Parses the name of a mode.
pub(super) fn parse_mode(word: &str) -> Result<PermissionMode, String> {
    PermissionMode::parse(word).ok_or_else(|| {
        let known = PermissionMode::ALL.map(PermissionMode::as_str).join(", ");
        format!("known are {known}")
    })
}

/// Parses the scope of an approval.
pub(super) fn parse_scope(word: &str) -> Result<GrantScope, String> {
    match word {
        "once" => Ok(GrantScope::Once),
        "session" => Ok(GrantScope::Session),
        "project" => Ok(GrantScope::Project),
        _ => Err("known are once, session, project".to_owned()),
    }
}
