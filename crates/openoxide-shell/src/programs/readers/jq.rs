//! Readers for `jq` and `yq`. A filter can read the environment and other files, so it must be
//! understood completely.

use openoxide_protocol::CommandClass;

use super::{
    super::{
        ArgumentWord, CommandMeaning,
        command_arguments::CommandArguments,
        command_items::CommandItem,
        command_reading::read_without_custom_reader,
        command_spec::{OptionEffect, OptionSpec},
    },
    jq_filters::{FilterClass, classify_file_or_filter, classify_filter},
};

/// Reads a whole command of jq.
pub(in super::super) fn read_jq(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = CommandMeaning::new(arguments.spec.class);
    let (mut filter, mut ends) = (None, false);
    check_short_options(&mut meaning, arguments);
    let mut items = arguments.items();
    while let Some(item) = items.next() {
        match item {
            CommandItem::Option { option: OptionSpec { name: "arg" | "argjson", .. }, .. } => {
                // The second word of the option's value.
                if !matches!(items.next(), Some(CommandItem::Operand(..))) {
                    meaning.lower_class(CommandClass::Unknown);
                }
            }
            CommandItem::Option {
                option: OptionSpec { name: "rawfile" | "slurpfile", .. },
                ..
            } => match items.next() {
                Some(CommandItem::Operand(file, _)) => meaning.add_read(file, false),
                _ => meaning.lower_class(CommandClass::Unknown),
            },
            CommandItem::Option { option, value } if option.effect >= OptionEffect::Asks => {
                value.into_iter().for_each(|file| meaning.add_read(file, false));
                may_reach_outside(&mut meaning);
                filter = filter.or(Some(ArgumentWord::Known(".")));
            }
            CommandItem::Option { option, value } => {
                ends |= option.effect == OptionEffect::Ends;
                // A version that does not know the option interprets its value as the filter.
                if matches!(value, Some(ArgumentWord::Known(value)) if classify_filter(value) == FilterClass::Reaches)
                {
                    may_reach_outside(&mut meaning);
                }
            }
            CommandItem::Operand(arg, _) if filter.is_none() => filter = Some(arg),
            CommandItem::Operand(arg, _) => meaning.add_read(arg, false),
            CommandItem::Number => {}
            CommandItem::Unclear => meaning.lower_class(CommandClass::Unknown),
        }
    }
    let plain = match filter {
        None => ends,
        Some(ArgumentWord::Known(filter)) => {
            add_filter(&mut meaning, classify_filter(filter));
            true
        }
        Some(_) => {
            may_reach_outside(&mut meaning);
            false
        }
    };
    if !plain {
        meaning.lower_class(CommandClass::Unknown);
    }
    meaning
}

/// Checks the words that start with one dash. A word that one program reads as single-letter
/// options with a value can be a filter for another program. If it contains characters of a filter,
/// it could reach other data.
fn check_short_options(meaning: &mut CommandMeaning, arguments: CommandArguments<'_>) {
    let is_sign = |letter: char| letter.is_whitespace() || "|\"'()[]{}\\$@<>;?#".contains(letter);
    let is_filter = |word: &str| {
        let letters = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        letters.is_some_and(|letters| letters.contains(is_sign))
    };
    if arguments.words().any(|arg| matches!(arg, ArgumentWord::Known(word) if is_filter(word))) {
        may_reach_outside(meaning);
        meaning.lower_class(CommandClass::Unknown);
    }
}

fn add_filter(meaning: &mut CommandMeaning, filter: FilterClass) {
    match filter {
        FilterClass::Plain => {}
        FilterClass::Unknown => meaning.lower_class(CommandClass::Unknown),
        FilterClass::Reaches => may_reach_outside(meaning),
    }
}

fn may_reach_outside(meaning: &mut CommandMeaning) {
    meaning.lower_class(CommandClass::Unknown);
    meaning.add_unknown_effect("its filter can read the environment and other files");
}

/// Reads a whole command of yq. A single operand is the file, if a file of this name exists.
pub(in super::super) fn read_yq(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_without_custom_reader(arguments);
    check_short_options(&mut meaning, arguments);
    let (mut filter, mut in_place, mut first) = (None, false, true);
    let mut files = Vec::new();
    for item in arguments.items() {
        match item {
            CommandItem::Option { option: OptionSpec { name: "expression", .. }, value } => {
                filter = value;
            }
            CommandItem::Option {
                option: OptionSpec { name: "i" | "inplace" | "in-place", .. },
                ..
            } => {
                in_place = true;
            }
            CommandItem::Operand(ArgumentWord::Known("e" | "eval" | "ea" | "eval-all"), _)
                if std::mem::take(&mut first) => {}
            CommandItem::Operand(arg, _) => files.push(arg),
            // A version that does not know the option interprets its value as the filter.
            CommandItem::Option { value: Some(ArgumentWord::Known(value)), .. }
                if classify_filter(value) == FilterClass::Reaches =>
            {
                may_reach_outside(&mut meaning);
            }
            CommandItem::Option { .. } | CommandItem::Number | CommandItem::Unclear => {}
        }
    }
    let mut files = files.as_slice();
    let mut read: fn(&str) -> FilterClass = classify_filter;
    if let (None, Some((expression, rest))) = (filter, files.split_first()) {
        filter = Some(*expression);
        if rest.is_empty() {
            read = classify_file_or_filter;
        } else {
            files = rest;
        }
    }
    for file in files {
        meaning.add_read(*file, false);
        if in_place {
            meaning.add_write(*file);
        }
    }
    match filter {
        Some(ArgumentWord::Known(filter)) => add_filter(&mut meaning, read(filter)),
        Some(_) => may_reach_outside(&mut meaning),
        None => meaning.lower_class(CommandClass::Unknown),
    }
    meaning
}
