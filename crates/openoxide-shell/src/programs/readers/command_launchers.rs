//! Readers for ways of starting commands that several programs share.

use openoxide_protocol::{CommandClass, CommandWord, CommandWords};

use super::{
    super::{
        ArgumentWord, Argv, ArgvRef, CommandEffect, CommandMeaning,
        command_arguments::CommandArguments, command_items::CommandItem,
        command_reading::read_without_custom_reader, command_spec::OptionEffect,
    },
    OPTIONS_NOT_UNDERSTOOD, STARTS_SHELL, push_word,
};

/// Reads programs that take commands from their input or a start-up file. Their words never show
/// what they do, unless they only print something.
pub(in super::super) fn read_hidden_program(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_without_custom_reader(arguments);
    if meaning.class != CommandClass::Harmless {
        meaning.add_unknown_effect("runs commands that its words do not show");
    }
    meaning
}

/// Reads `PROGRAM … -- COMMAND …`. Only the dashes show where the command begins.
pub(in super::super) fn read_after_dashes(arguments: CommandArguments<'_>) -> CommandMeaning {
    add_command_after_dashes(arguments, |meaning, command| {
        meaning.effects.push(CommandEffect::Runs(command));
    })
}

/// Reads the same syntax as [`read_after_dashes`] and adds the command with `add`.
pub(super) fn add_command_after_dashes(
    arguments: CommandArguments<'_>,
    add: fn(&mut CommandMeaning, Argv),
) -> CommandMeaning {
    let dashes = arguments.command_words().position(|word| word == CommandWord::Known("--"));
    let Some(at) = dashes.map(|at| at + arguments.start) else {
        return read_hidden_program(arguments);
    };
    let before = take_words_before(arguments.argv.words, at);
    let mut meaning = read_without_custom_reader(arguments.with_words(&before));
    // An unknown word could be the dashes, or an option that takes them as its value.
    if !before.is_known() {
        meaning.add_unknown_effect(OPTIONS_NOT_UNDERSTOOD);
    }
    let command = arguments.argv.tail_from(at + 1);
    if command.words.is_empty() {
        meaning.add_unknown_effect(STARTS_SHELL);
    } else {
        add(&mut meaning, command);
    }
    meaning
}

/// Reads `PROGRAM … -c COMMAND …`. The command comes after the option.
pub(in super::super) fn read_after_command_option(
    arguments: CommandArguments<'_>,
) -> CommandMeaning {
    let is_option = |word| matches!(word, CommandWord::Known("-c" | "--command"));
    let Some(at) = arguments.command_words().position(is_option).map(|at| at + arguments.start)
    else {
        return read_without_custom_reader(arguments);
    };
    let before = take_words_before(arguments.argv.words, at);
    let mut meaning = read_without_custom_reader(arguments.with_words(&before));
    if !before.is_known() {
        meaning.add_unknown_effect(OPTIONS_NOT_UNDERSTOOD);
    }
    meaning.lower_class(CommandClass::Unknown);
    meaning.effects.push(CommandEffect::Runs(arguments.argv.tail_from(at + 1)));
    meaning
}

/// Reads `PROGRAM … SCRIPT` or `PROGRAM … COMMAND ARGUMENT …`. One word is a script for a shell,
/// and several words are a command.
pub(in super::super) fn read_script_or_command(arguments: CommandArguments<'_>) -> CommandMeaning {
    let operand = |item| match item {
        CommandItem::Operand(_, at) => Some(at),
        _ => None,
    };
    let Some(at) = arguments.items().find_map(operand) else {
        return read_hidden_program(arguments);
    };
    let before = take_words_before(arguments.argv.words, at);
    let mut meaning = read_without_custom_reader(arguments.with_words(&before));
    let command = arguments.argv.tail_from(at);
    let unclear = |item| matches!(item, CommandItem::Unclear);
    if arguments.with_words(&before).items().any(unclear) || command.words.is_variadic() {
        meaning.add_unknown_effect(OPTIONS_NOT_UNDERSTOOD);
    } else if command.words.len() > 1 {
        meaning.effects.push(CommandEffect::Runs(command));
    } else {
        meaning.add_script(
            command.words.known_word(0).map_or(ArgumentWord::Many, ArgumentWord::Known),
        );
    }
    meaning
}

/// Returns the words before the given one.
pub(super) fn take_words_before(words: &CommandWords, at: usize) -> CommandWords {
    let mut before = CommandWords::new();
    words.iter().take(at).for_each(|word| push_word(&mut before, word));
    before
}

/// Reads a `tmux` command. A `;` at the end of a word begins another tmux command.
pub(in super::super) fn read_tmux(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_without_custom_reader(arguments);
    if arguments.words().any(|arg| matches!(arg, ArgumentWord::Known(text) if text.ends_with(';')))
    {
        meaning.lower_class(CommandClass::Unknown);
        meaning.add_unknown_effect(OPTIONS_NOT_UNDERSTOOD);
    }
    meaning
}

/// Adds the effects of a format of tmux. `#(…)` in it runs a shell command.
pub(in super::super) fn add_tmux_format(
    meaning: &mut CommandMeaning,
    name: &str,
    value: Option<ArgumentWord<'_>>,
) {
    if matches!(name, "F" | "f")
        && !matches!(value, Some(ArgumentWord::Known(text)) if !text.contains("#("))
    {
        meaning.lower_class(CommandClass::Unknown);
        meaning.add_unknown_effect("runs a script that is not known");
    }
}

/// Reads a `screen` command. `-ls` lists sessions. As separate options, `-l` and `-s` have other
/// meanings.
pub(in super::super) fn read_screen(arguments: CommandArguments<'_>) -> CommandMeaning {
    let lists = matches!(arguments.known_argument(0), Some("-ls" | "-list"));
    if lists && arguments.len() == 1 {
        return CommandMeaning::new(CommandClass::Harmless);
    }
    read_without_custom_reader(arguments)
}

/// Reads `setarch [ARCHITECTURE] [OPTION]… [COMMAND]`. Only the first word can be an architecture.
pub(in super::super) fn read_setarch(arguments: CommandArguments<'_>) -> CommandMeaning {
    match arguments.known_argument(0) {
        Some(text) if text.starts_with('-') => read_without_custom_reader(arguments),
        _ => read_without_custom_reader(arguments.skip(1)),
    }
}

/// Reads `parallel COMMAND … ::: ARGUMENT …`, if the words contain nothing that `parallel` or a
/// shell would replace.
pub(in super::super) fn read_parallel(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut first = None;
    for item in arguments.items() {
        match item {
            CommandItem::Operand(_, at) => {
                first = Some(at);
                break;
            }
            CommandItem::Option { option, .. } if option.effect == OptionEffect::Ends => {
                return CommandMeaning::new(CommandClass::Harmless);
            }
            CommandItem::Unclear => break,
            CommandItem::Option { .. } | CommandItem::Number => {}
        }
    }
    let mut meaning = CommandMeaning::new(arguments.spec.class);
    match first.and_then(|at| parallel_scripts(arguments.argv, at)) {
        Some(scripts) => meaning.effects.extend(scripts.into_iter().map(CommandEffect::Script)),
        None => {
            meaning.lower_class(CommandClass::Unknown);
            meaning.add_unknown_effect("runs commands that it makes up from its input");
        }
    }
    meaning
}

fn parallel_scripts(arguments: ArgvRef<'_>, at: usize) -> Option<Vec<String>> {
    const MOST: usize = 64;
    let known = |word| if let CommandWord::Known(text) = word { Some(text) } else { None };
    let words: Option<Vec<&str>> = arguments.words.iter().skip(at).map(known).collect();
    let words = words?;
    let (command, values) =
        words.split_at_checked(words.iter().position(|word| *word == ":::")?)?;
    let values = values.get(1..)?;
    let plain = |each: char| each.is_ascii_alphanumeric() || "_-+./:,@%".contains(each);
    let is_plain = |word: &&str| !word.is_empty() && word.replace("{}", "").chars().all(plain);
    let single = words.iter().filter(|word| word.starts_with(":::")).count() == 1;
    (single && values.len() <= MOST && !command.is_empty() && command.iter().all(is_plain)).then(
        || {
            let mut script = command.join(" ");
            if !script.contains("{}") {
                script.push_str(" {}");
            }
            let quoted = values.iter().map(|value| format!("'{}'", value.replace('\'', "'\\''")));
            quoted.map(|value| script.replace("{}", &value)).collect()
        },
    )
}

/// Reads an `ip netns exec NAME COMMAND …` command. With `ip -all` there is no name.
pub(in super::super) fn read_netns_exec(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_without_custom_reader(arguments);
    let all = |arg| matches!(arg, ArgumentWord::Known(text) if text.starts_with("-a") || text.starts_with("--a"));
    if arguments.argv.iter(1).take(arguments.start.saturating_sub(1)).any(all) {
        meaning.add_unknown_effect(OPTIONS_NOT_UNDERSTOOD);
    }
    meaning
}
