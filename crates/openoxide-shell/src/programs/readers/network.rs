//! Programs that look at the network, or reach something by it.

use openoxide_protocol::CommandClass;

use super::super::{Arg, Arguments, Meaning, level::Level, meaning::read_plainly};

/// `lsof`: `@HOST` is looked up, and a name that is looked up tells its letters to whoever answers.
pub(in super::super) fn lsof(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut meaning = read_plainly(level, arguments, from);
    let named = |arg| !matches!(arg, Arg::Known(text) if !text.contains('@'));
    if arguments.iter(from).any(named) {
        meaning.lower(CommandClass::Unknown);
    }
    meaning
}

/// `ss`: a filter of states, ports and numbers; anything else could be a host.
pub(in super::super) fn ss(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    const WORDS: &str = "state exclude all connected synchronized bucket big established syn-sent syn-recv fin-wait-1 \
        fin-wait-2 time-wait closed close-wait last-ack listening closing sport dport src dst and or not eq neq ge le gt lt";
    let mut meaning = read_plainly(level, arguments, from);
    let is_number = |word: &str| {
        word.chars().all(|each| each.is_ascii_digit() || ".:*/=<>!()[]&|".contains(each))
    };
    let is_filter = |word: &str| {
        word.starts_with('-')
            || is_number(word)
            || WORDS.split_whitespace().any(|known| known == word)
    };
    let plain = |arg| matches!(arg, Arg::Known(text) if text.split_whitespace().all(is_filter));
    if !arguments.iter(from).all(plain) {
        meaning.lower(CommandClass::Unknown);
    }
    meaning
}
