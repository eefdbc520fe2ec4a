//! `jq` and `yq`: a filter can read the environment and other files, so it must be understood to its end.

use openoxide_protocol::CommandClass;

use super::{
    super::{
        Arg, Arguments, Meaning,
        items::{Item, items},
        level::{Does, Level, Opt},
        reading::read_plainly,
    },
    filters::{Filter, judge, judge_file},
};

/// Reads a whole command of jq.
pub(in super::super) fn jq(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut meaning = Meaning::of(level.class);
    let (mut filter, mut ends) = (None, false);
    check_letters(&mut meaning, arguments, from);
    let mut items = items(level, arguments, from);
    while let Some(item) = items.next() {
        match item {
            Item::Option { option: Opt { name: "arg" | "argjson", .. }, .. } => {
                // The second word of its value.
                if !matches!(items.next(), Some(Item::Operand(..))) {
                    meaning.lower(CommandClass::Unknown);
                }
            }
            Item::Option { option: Opt { name: "rawfile" | "slurpfile", .. }, .. } => {
                match items.next() {
                    Some(Item::Operand(file, _)) => meaning.read(file, false),
                    _ => meaning.lower(CommandClass::Unknown),
                }
            }
            Item::Option { option, value } if option.does >= Does::Asks => {
                value.into_iter().for_each(|file| meaning.read(file, false));
                reaches_out(&mut meaning);
                filter = filter.or(Some(Arg::Known(".")));
            }
            Item::Option { option, value } => {
                ends |= option.does == Does::Ends;
                // Who does not know the option takes its value for the filter.
                if matches!(value, Some(Arg::Known(value)) if judge(value) == Filter::Reaches) {
                    reaches_out(&mut meaning);
                }
            }
            Item::Operand(arg, _) if filter.is_none() => filter = Some(arg),
            Item::Operand(arg, _) => meaning.read(arg, false),
            Item::Number => {}
            Item::Unclear => meaning.lower(CommandClass::Unknown),
        }
    }
    let plain = match filter {
        None => ends,
        Some(Arg::Known(filter)) => {
            add_filter(&mut meaning, judge(filter));
            true
        }
        Some(_) => {
            reaches_out(&mut meaning);
            false
        }
    };
    if !plain {
        meaning.lower(CommandClass::Unknown);
    }
    meaning
}

/// Checks the words that start with one dash. A word that one program reads as letters with a value
/// can be a filter for another program. If it contains characters of a filter, it could reach other
/// data.
fn check_letters(meaning: &mut Meaning, arguments: Arguments<'_>, from: usize) {
    let is_sign = |letter: char| letter.is_whitespace() || "|\"'()[]{}\\$@<>;?#".contains(letter);
    let is_filter = |word: &str| {
        let letters = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        letters.is_some_and(|letters| letters.contains(is_sign))
    };
    if arguments.iter(from).any(|arg| matches!(arg, Arg::Known(word) if is_filter(word))) {
        reaches_out(meaning);
        meaning.lower(CommandClass::Unknown);
    }
}

fn add_filter(meaning: &mut Meaning, filter: Filter) {
    match filter {
        Filter::Plain => {}
        Filter::Unknown => meaning.lower(CommandClass::Unknown),
        Filter::Reaches => reaches_out(meaning),
    }
}

fn reaches_out(meaning: &mut Meaning) {
    meaning.lower(CommandClass::Unknown);
    meaning.cannot_tell("its filter can read the environment and other files");
}

/// Reads a whole command of yq. A single operand is the file, if there is one of this name.
pub(in super::super) fn yq(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut meaning = read_plainly(level, arguments, from);
    check_letters(&mut meaning, arguments, from);
    let (mut filter, mut in_place, mut first) = (None, false, true);
    let mut files = Vec::new();
    for item in items(level, arguments, from) {
        match item {
            Item::Option { option: Opt { name: "expression", .. }, value } => filter = value,
            Item::Option { option: Opt { name: "i" | "inplace" | "in-place", .. }, .. } => {
                in_place = true;
            }
            Item::Operand(Arg::Known("e" | "eval" | "ea" | "eval-all"), _)
                if std::mem::take(&mut first) => {}
            Item::Operand(arg, _) => files.push(arg),
            // Who does not know the option takes its value for the filter.
            Item::Option { value: Some(Arg::Known(value)), .. }
                if judge(value) == Filter::Reaches =>
            {
                reaches_out(&mut meaning);
            }
            Item::Option { .. } | Item::Number | Item::Unclear => {}
        }
    }
    let mut files = files.as_slice();
    let mut read: fn(&str) -> Filter = judge;
    if let (None, Some((expression, rest))) = (filter, files.split_first()) {
        filter = Some(*expression);
        if rest.is_empty() {
            read = judge_file;
        } else {
            files = rest;
        }
    }
    for file in files {
        meaning.read(*file, false);
        if in_place {
            meaning.write(*file);
        }
    }
    match filter {
        Some(Arg::Known(filter)) => add_filter(&mut meaning, read(filter)),
        Some(_) => reaches_out(&mut meaning),
        None => meaning.lower(CommandClass::Unknown),
    }
    meaning
}
