//! Programs that start others in ways that several of them share.

use openoxide_protocol::{CommandClass, CommandWord, CommandWords};

use super::{
    super::{
        Arg, Arguments, Argv, Effect, Meaning,
        items::{Item, items},
        level::{Does, Level},
        reading::read_plainly,
    },
    NOT_UNDERSTOOD, STARTS_SHELL, push,
};

/// Programs that take commands from their input or a start-up file: what they do is never shown by their words, unless
/// they only print something.
pub(in super::super) fn hidden(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut meaning = read_plainly(level, arguments, from);
    if meaning.class != CommandClass::Harmless {
        meaning.cannot_tell("runs commands that its words do not show");
    }
    meaning
}

/// `PROGRAM … -- COMMAND …`: only the dashes tell where the command begins.
pub(in super::super) fn after_dashes(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    behind_dashes(level, arguments, from, |meaning, command| {
        meaning.effects.push(Effect::Runs(command));
    })
}

/// As [`after_dashes`]; `add` adds the command.
pub(super) fn behind_dashes(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
    add: fn(&mut Meaning, Argv),
) -> Meaning {
    let dashes =
        arguments.words.iter().skip(from).position(|word| word == CommandWord::Known("--"));
    let Some(at) = dashes.map(|at| at + from) else { return hidden(level, arguments, from) };
    let before = before(arguments.words, at);
    let mut meaning = read_plainly(level, (&before).into(), from);
    // A word that is not known could be the dashes, or an option that takes them.
    if !before.is_known() {
        meaning.cannot_tell(NOT_UNDERSTOOD);
    }
    let command = arguments.tail(at + 1);
    if command.words.is_empty() {
        meaning.cannot_tell(STARTS_SHELL);
    } else {
        add(&mut meaning, command);
    }
    meaning
}

/// `PROGRAM … -c COMMAND …`: what follows the option is the command.
pub(in super::super) fn after_command_option(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let is_option = |word| matches!(word, CommandWord::Known("-c" | "--command"));
    let Some(at) = arguments.words.iter().skip(from).position(is_option).map(|at| at + from) else {
        return read_plainly(level, arguments, from);
    };
    let before = before(arguments.words, at);
    let mut meaning = read_plainly(level, (&before).into(), from);
    if !before.is_known() {
        meaning.cannot_tell(NOT_UNDERSTOOD);
    }
    meaning.lower(CommandClass::Unknown);
    meaning.effects.push(Effect::Runs(arguments.tail(at + 1)));
    meaning
}

/// `PROGRAM … SCRIPT`, or `PROGRAM … COMMAND ARGUMENT …`: one word is for a shell, several are a command.
pub(in super::super) fn script_or_command(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let operand = |item| match item {
        Item::Operand(_, at) => Some(at),
        _ => None,
    };
    let Some(at) = items(level, arguments, from).find_map(operand) else {
        return hidden(level, arguments, from);
    };
    let before = before(arguments.words, at);
    let mut meaning = read_plainly(level, (&before).into(), from);
    let command = arguments.tail(at);
    let unclear = |item| matches!(item, Item::Unclear);
    if items(level, (&before).into(), from).any(unclear) || command.words.is_variadic() {
        meaning.cannot_tell(NOT_UNDERSTOOD);
    } else if command.words.len() > 1 {
        meaning.effects.push(Effect::Runs(command));
    } else {
        meaning.run_script(command.words.known_word(0).map_or(Arg::Many, Arg::Known));
    }
    meaning
}

/// Returns the words before the given one.
pub(super) fn before(words: &CommandWords, at: usize) -> CommandWords {
    let mut before = CommandWords::new();
    words.iter().take(at).for_each(|word| push(&mut before, word));
    before
}

/// `tmux`: a `;` at the end of a word begins another of its commands.
pub(in super::super) fn tmux(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut meaning = read_plainly(level, arguments, from);
    if arguments.iter(from).any(|arg| matches!(arg, Arg::Known(text) if text.ends_with(';'))) {
        meaning.lower(CommandClass::Unknown);
        meaning.cannot_tell(NOT_UNDERSTOOD);
    }
    meaning
}

/// `#(…)` in a format of tmux is a command for a shell.
pub(in super::super) fn tmux_format(meaning: &mut Meaning, name: &str, value: Option<Arg<'_>>) {
    if matches!(name, "F" | "f") && !matches!(value, Some(Arg::Known(text)) if !text.contains("#("))
    {
        meaning.lower(CommandClass::Unknown);
        meaning.cannot_tell("runs a script that is not known");
    }
}

/// `screen -ls` lists; `-l` and `-s` are something else otherwise.
pub(in super::super) fn screen(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let lists = matches!(arguments.known(from), Some("-ls" | "-list"));
    if lists && arguments.words.len() == from + 1 {
        return Meaning::of(CommandClass::Harmless);
    }
    read_plainly(level, arguments, from)
}

/// `setarch [ARCHITECTURE] [OPTION]… [COMMAND]`: only the first word can be an architecture.
pub(in super::super) fn setarch(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    match arguments.known(from) {
        Some(text) if text.starts_with('-') => read_plainly(level, arguments, from),
        _ => read_plainly(level, arguments, from + 1),
    }
}

/// `parallel COMMAND … ::: ARGUMENT …`, if the words hold nothing that it or a shell would replace.
pub(in super::super) fn parallel(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut first = None;
    for item in items(level, arguments, from) {
        match item {
            Item::Operand(_, at) => {
                first = Some(at);
                break;
            }
            Item::Option { option, .. } if option.does == Does::Ends => {
                return Meaning::of(CommandClass::Harmless);
            }
            Item::Unclear => break,
            Item::Option { .. } | Item::Number => {}
        }
    }
    let mut meaning = Meaning::of(level.class);
    match first.and_then(|at| parallel_scripts(arguments, at)) {
        Some(scripts) => meaning.effects.extend(scripts.into_iter().map(Effect::Script)),
        None => {
            meaning.lower(CommandClass::Unknown);
            meaning.cannot_tell("runs commands that it makes up from its input");
        }
    }
    meaning
}

fn parallel_scripts(arguments: Arguments<'_>, at: usize) -> Option<Vec<String>> {
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
pub(in super::super) fn netns_exec(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut meaning = read_plainly(level, arguments, from);
    let all =
        |arg| matches!(arg, Arg::Known(text) if text.starts_with("-a") || text.starts_with("--a"));
    if arguments.iter(1).take(from.saturating_sub(1)).any(all) {
        meaning.cannot_tell(NOT_UNDERSTOOD);
    }
    meaning
}
