//! Detection of values that a program may read as options.
//!
//! A row of the table may be wrong about an option that takes a value, because versions of a program
//! differ: `ag -A --pager=./x` takes no value here, and runs `./x`. Therefore, a separate value that
//! begins with `-` must also be harmless as an option. The same holds for a word after `--`.

use openoxide_protocol::CommandClass;

use super::{
    arguments::{ArgumentWord, ArgvRef},
    command_arguments::CommandArguments,
    command_items::CommandItem,
    command_meaning::{CommandEffect, CommandMeaning},
    command_spec::{CommandSpec, OptionEffect, OptionSpec, OptionValueKind},
    possible_option::option_harm,
};

/// Lowers the class of a command if a separate value is harmful or unknown when it is read as an
/// option.
pub(super) fn check_option_values(
    meaning: &mut CommandMeaning,
    level: &'static CommandSpec,
    arguments: ArgvRef<'_>,
) {
    let pairs = arguments.iter(1).zip(arguments.iter(2));
    let mut pairs = pairs.filter(|(before, value)| has_dash(*before) && has_dash(*value));
    let end = find_doubtful_end(level, arguments);
    let after = end.is_some_and(|end| arguments.iter(end).any(has_dash));
    let clusters = has_unknown_parser(level) && arguments.iter(1).any(is_cluster);
    if level.traits.anything || pairs.next().is_none() && !after && !clusters {
        return;
    }
    match find_worst_value(meaning, level, arguments) {
        Harm::Nothing => {}
        Harm::UnknownOption => meaning.lower_class(CommandClass::Unknown),
        Harm::KnownOption => {
            meaning.lower_class(CommandClass::Unknown);
            if !meaning.is_opaque() {
                meaning.add_unknown_effect("the value of an option could be another option");
            }
        }
    }
}

/// The harm that a word can do if it is an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Harm {
    Nothing,
    UnknownOption,
    KnownOption,
}

/// Returns whether a word begins with `-` and has more characters.
fn has_dash(word: ArgumentWord<'_>) -> bool {
    match word {
        ArgumentWord::Known(text) => text.len() > 1 && text.starts_with('-'),
        ArgumentWord::Prefix(text) => text.starts_with('-'),
        ArgumentWord::Files(_) | ArgumentWord::Many => false,
    }
}

/// Returns the index of the word after the first `--`, if that may not end the options: after an
/// option, and for git.
fn find_doubtful_end(level: &CommandSpec, arguments: ArgvRef<'_>) -> Option<usize> {
    let index = arguments.iter(1).position(|word| word == ArgumentWord::Known("--"))?;
    let is_doubtful = level.name() == "git" || arguments.iter(index).next().is_some_and(has_dash);
    is_doubtful.then_some(index + 2)
}

/// Returns the harm that a word after `--` can do as an option.
fn find_harm_after_dashes(
    program: &CommandSpec,
    levels: &[&'static CommandSpec],
    word: ArgumentWord<'_>,
) -> Harm {
    // These have a single parser, which obeys the `--`.
    let obeys = |sub: &str| levels.iter().map(|level| level.name()).eq([sub, "git"]);
    match find_harm(levels, word) {
        _ if ["diff", "log", "show"].into_iter().any(obeys) => Harm::Nothing,
        Harm::Nothing => Harm::Nothing,
        _ if program.name() == "git" => Harm::KnownOption,
        harm => harm.min(Harm::UnknownOption),
    }
}

/// Returns whether the parser of a program is not known to be getopt or the like.
fn has_unknown_parser(level: &CommandSpec) -> bool {
    level.plain_signs.iter().count() < 3
}

/// Returns whether a word has a dash and several letters.
fn is_cluster(word: ArgumentWord<'_>) -> bool {
    matches!(word, ArgumentWord::Known(text) if text.len() > 2 && text.starts_with('-') && !text.starts_with("--"))
}

/// Returns the harm that the letters after an option can do, if they are not its value: zstd reads
/// `-To` as `-T -o`, and `-T4o` as `-T4 -o`.
fn find_attached_harm(
    levels: &[&'static CommandSpec],
    option: OptionSpec,
    value: ArgumentWord<'_>,
) -> Harm {
    let ArgumentWord::Known(text) = value else { return Harm::Nothing };
    if option.name.chars().count() > 1 || levels.iter().any(|level| level.traits.single_dash) {
        return Harm::Nothing;
    }
    let letters = text.trim_start_matches(|first: char| first.is_ascii_digit());
    match find_cluster_harm(levels, letters) {
        Harm::KnownOption => Harm::UnknownOption,
        Harm::UnknownOption | Harm::Nothing => Harm::Nothing,
    }
}

/// Returns whether the command runs an inner command that begins with this word.
fn begins_inner_command(meaning: &CommandMeaning, word: &str) -> bool {
    meaning.effects.iter().any(|effect| match effect {
        CommandEffect::Runs(command)
        | CommandEffect::Tool(command)
        | CommandEffect::GuestCommand(command) => command.as_argv_ref().known_word(0) == Some(word),
        _ => false,
    })
}

/// Returns whether the value of an option is the pattern of a search, so that there is always one:
/// `grep -e`.
fn is_pattern_option(level: &CommandSpec, option: OptionSpec) -> bool {
    level.given.contains("e") && matches!(option.name, "e" | "regexp")
}

/// Returns the worst that a separate value can do as an option.
fn find_worst_value(
    meaning: &CommandMeaning,
    level: &'static CommandSpec,
    arguments: ArgvRef<'_>,
) -> Harm {
    let end = find_doubtful_end(level, arguments);
    let words: Vec<_> = arguments.iter(0).collect();
    let mut worst = Harm::Nothing;
    let mut items = CommandArguments::new(level, arguments, 1).items();
    let mut current = Some(level);
    while let Some(item) = items.next() {
        let last = items.count_consumed_words().checked_sub(1).and_then(|last| words.get(last));
        match item {
            CommandItem::Operand(ArgumentWord::Known(name), _)
                if begins_inner_command(meaning, name) =>
            {
                return worst;
            }
            // Some versions take the `--` as a value, and git gives the words after it to a
            // second parser. A pattern of a search often begins with `-`.
            CommandItem::Operand(word, at)
                if has_dash(word) && end.is_some_and(|end| at >= end) =>
            {
                let levels: Vec<_> = items.active_specs().collect();
                if !current.unwrap_or(level).given.contains("e") {
                    worst = worst.max(find_harm_after_dashes(level, &levels, word));
                }
            }
            CommandItem::Operand(ArgumentWord::Known(name), _) => {
                current = current.and_then(|level| level.find_subcommand(name));
                current.into_iter().for_each(|sub| items.enter_subcommand(sub));
            }
            CommandItem::Option { option, value: Some(value) }
                if option.value != OptionValueKind::Rest
                    && has_dash(value)
                    && !is_pattern_option(current.unwrap_or(level), option)
                    && last == Some(&value) =>
            {
                let levels: Vec<_> = items.active_specs().collect();
                worst = worst.max(find_harm(&levels, value));
            }
            CommandItem::Option { option, value: Some(value) }
                if has_unknown_parser(level)
                    && option.effect < OptionEffect::Asks
                    && last.is_some_and(|last| is_cluster(*last))
                    && last != Some(&value) =>
            {
                let levels: Vec<_> = items.active_specs().collect();
                worst = worst.max(find_attached_harm(&levels, option, value));
            }
            CommandItem::Operand(..)
            | CommandItem::Option { .. }
            | CommandItem::Number
            | CommandItem::Unclear => {}
        }
    }
    worst
}

/// Returns the harm that a word with a dash can do as an option.
fn find_harm(levels: &[&'static CommandSpec], word: ArgumentWord<'_>) -> Harm {
    let (text, is_partial) = match word {
        ArgumentWord::Known(text) => (text, false),
        ArgumentWord::Prefix(text) => (text, true),
        ArgumentWord::Files(_) | ArgumentWord::Many => return Harm::UnknownOption,
    };
    let Some(rest) = text.strip_prefix('-') else { return Harm::Nothing };
    // A program has no option that it does not list with such a character: `-> x`, `-5`.
    let is_text = |first: char| !first.is_ascii_alphabetic() && first != '-';
    let first = rest.chars().next().filter(|first| is_text(*first));
    if first.is_some_and(|first| find(levels, first.encode_utf8(&mut [0; 4])).is_none()) {
        return Harm::Nothing;
    }
    if is_partial {
        return Harm::UnknownOption;
    }
    let is_long = rest.starts_with('-') || levels.iter().any(|level| level.traits.single_dash);
    if !is_long {
        return find_cluster_harm(levels, rest);
    }
    let name = rest.trim_start_matches('-').split('=').next().unwrap_or_default();
    let option = find(levels, name)
        .or_else(|| levels.iter().find_map(|level| Some((*level, level.find_long_option(name)?))));
    option.map_or(Harm::UnknownOption, |(level, option)| rate_option(level, option))
}

fn find_cluster_harm(levels: &[&'static CommandSpec], letters: &str) -> Harm {
    let mut worst = Harm::Nothing;
    for letter in letters.chars() {
        let Some((level, option)) = find(levels, letter.encode_utf8(&mut [0; 4])) else {
            return worst.max(Harm::UnknownOption);
        };
        worst = worst.max(rate_option(level, option));
        if option.value != OptionValueKind::Nothing {
            break;
        }
    }
    worst
}

fn find(levels: &[&'static CommandSpec], name: &str) -> Option<(&'static CommandSpec, OptionSpec)> {
    levels.iter().find_map(|level| Some((*level, level.find_option(name)?)))
}

/// Returns the harm of an option. `-A -f FILE` would read another file than it seems.
fn rate_option(level: &CommandSpec, option: OptionSpec) -> Harm {
    if option_harm(level, option).is_some() {
        Harm::KnownOption
    } else if option.effect == OptionEffect::Reads {
        Harm::UnknownOption
    } else {
        Harm::Nothing
    }
}

#[cfg(test)]
mod tests {
    use openoxide_protocol::{CommandClass, CommandWords};

    use super::{super::*, is_pattern_option};

    fn class(words: &[&str]) -> CommandClass {
        let mut all = CommandWords::new();
        words.iter().for_each(|word| all.push(word));
        analyze_command((&all).into()).class
    }

    /// For each program and subcommand, each option with a value is followed by each long option
    /// that runs, loads or writes something.
    #[test]
    fn no_value_hides_an_option_that_is_not_harmless() {
        let (mut checked, mut hidden) = (0, Vec::new());
        for (name, program) in spec_table::all() {
            let subs = program.subcommands().iter();
            let subs = subs.filter_map(|sub| Some((Some(sub.name()), sub.spec()?)));
            for (sub, level) in std::iter::once((None, program)).chain(subs) {
                let harmful = level.options().filter(|option| {
                    option.effect >= command_spec::OptionEffect::Asks && option.name.len() > 1
                });
                let Some(harmful) = harmful.max_by_key(|option| option.effect) else { continue };
                let dashes = if level.traits.single_dash { "-" } else { "--" };
                let harmful = format!("{dashes}{}=x", harmful.name);
                let valued = |option: &command_spec::OptionSpec| {
                    option.value == command_spec::OptionValueKind::Value
                };
                for option in level.options().filter(valued) {
                    if is_pattern_option(level, option) {
                        continue;
                    }
                    let short = option.name.len() == 1 || level.traits.single_dash;
                    let option = format!("{}{}", if short { "-" } else { "--" }, option.name);
                    let words = [Some(name), sub, Some(&option), Some(&harmful)];
                    let words: Vec<&str> = words.into_iter().flatten().collect();
                    checked += 1;
                    if class(&words) != CommandClass::Unknown {
                        hidden.push(words.join(" "));
                    }
                }
            }
        }
        assert!(checked > 3000, "{checked}");
        assert!(hidden.is_empty(), "{} of {checked}: {hidden:#?}", hidden.len());
    }

    #[test]
    fn values_that_cannot_be_options_stay_harmless() {
        for words in [
            ["grep", "-e", "->", "a"],
            ["head", "-n", "-5", "a"],
            ["cut", "-d", "-", "-f1"],
            ["grep", "-A", "-i", "x"],
        ] {
            assert_eq!(class(&words), CommandClass::Harmless, "{words:?}");
        }
    }
}
