//! Readers for wrappers with special syntax.

use openoxide_protocol::{CommandClass, CommandWord, CommandWords};

use super::{
    super::{
        ArgumentWord, Argv, ArgvRef, CommandEffect, CommandMeaning, EffectTarget, OutputKind,
        WordSource,
        command_arguments::CommandArguments,
        command_items::CommandItem,
        command_reading::read_without_custom_reader,
        command_spec::{OptionEffect, OptionSpec},
    },
    InnerCommand, OPTIONS_NOT_UNDERSTOOD, OTHER_DIRECTORY, STARTS_SHELL, UNCLEAR_COMMAND,
    base_name,
    find_names::may_select_secrets,
    push_replaced, push_word, relocate_command,
    search_scope::find_printed_files,
    wrapper_meaning,
};

/// Reads a `busybox APPLET …` or `toybox APPLET …` command.
pub(in super::super) fn read_busybox(arguments: CommandArguments<'_>) -> CommandMeaning {
    wrapper_meaning(arguments.spec, applet_command(arguments))
}

fn applet_command(arguments: CommandArguments<'_>) -> InnerCommand {
    match arguments.known_argument(0) {
        Some("--list" | "--list-full" | "--help") => InnerCommand::PrintsHelp,
        Some(applet) if !applet.starts_with('-') => {
            inner_command_at(arguments.argv, arguments.start)
        }
        _ if arguments.is_empty() => InnerCommand::Nothing,
        _ => UNCLEAR_COMMAND,
    }
}

/// Reads a `chrt` command. Newer versions run the command without a priority before it.
pub(in super::super) fn read_chrt(arguments: CommandArguments<'_>) -> CommandMeaning {
    let items = arguments.items();
    for item in items {
        match item {
            CommandItem::Option { option, .. } if option.effect == OptionEffect::Ends => {
                return CommandMeaning::new(arguments.spec.class);
            }
            CommandItem::Option { option, .. } if option.effect == OptionEffect::Asks => {
                return CommandMeaning::new_unknown();
            }
            CommandItem::Option { .. } | CommandItem::Number => {}
            CommandItem::Unclear => return wrapper_meaning(arguments.spec, UNCLEAR_COMMAND),
            CommandItem::Operand(arg, at) => {
                let priority =
                    matches!(arg, ArgumentWord::Known(text) if text.parse::<i32>().is_ok());
                let inside = match arg {
                    ArgumentWord::Known(_) => {
                        inner_command_at(arguments.argv, at + usize::from(priority))
                    }
                    _ => UNCLEAR_COMMAND,
                };
                return wrapper_meaning(arguments.spec, inside);
            }
        }
    }
    wrapper_meaning(arguments.spec, InnerCommand::Nothing)
}

fn inner_command_at(arguments: ArgvRef<'_>, at: usize) -> InnerCommand {
    let command = arguments.tail_from(at);
    if command.words.is_empty() { InnerCommand::Nothing } else { InnerCommand::Command(command) }
}

/// Reads an `env` command.
pub(in super::super) fn read_env(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut places = Vec::new();
    let mut meaning = wrapper_meaning(arguments.spec, env_command(arguments, true, &mut places));
    places
        .iter()
        .for_each(|place| meaning.set_working_directory(place.as_deref().map(ArgumentWord::Known)));
    let ends = arguments.items()
        .any(|item| matches!(item, CommandItem::Option { option, .. } if option.effect == OptionEffect::Ends));
    if meaning.effects.is_empty() && !ends {
        // Without a command, `env` prints the environment, which can contain secrets.
        meaning.lower_class(CommandClass::Unknown);
    }
    meaning
}

/// Returns the command that `env` runs, and adds the directories that it changes to.
fn env_command(
    arguments: CommandArguments<'_>,
    may_split: bool,
    places: &mut Vec<Option<String>>,
) -> InnerCommand {
    let mut items = arguments.items();
    let mut first = true;
    while let Some(item) = items.next() {
        match item {
            CommandItem::Unclear => return UNCLEAR_COMMAND,
            CommandItem::Option { option, .. } if option.effect == OptionEffect::Ends => {
                return InnerCommand::PrintsHelp;
            }
            CommandItem::Option { option, .. } if option.effect == OptionEffect::Loads => {
                return UNCLEAR_COMMAND;
            }
            CommandItem::Option { option, value } if option.effect == OptionEffect::Moves => {
                places.push(match value {
                    Some(ArgumentWord::Known(place)) => Some(place.to_owned()),
                    _ => None,
                });
            }
            CommandItem::Option {
                option: OptionSpec { name: "S" | "split-string", .. },
                value,
            } => {
                let rest = arguments.argv.tail_from(items.count_consumed_words());
                return match split_env_string(value, &rest.words).filter(|_| may_split) {
                    Some(argv) => env_command(
                        CommandArguments::new(arguments.spec, (&argv).into(), 1),
                        false,
                        places,
                    ),
                    None => InnerCommand::Unknown("splits a text into a command"),
                };
            }
            CommandItem::Option { .. } | CommandItem::Number => {}
            CommandItem::Operand(ArgumentWord::Known("-"), _) if first => first = false,
            CommandItem::Operand(ArgumentWord::Known(text) | ArgumentWord::Prefix(text), _)
                if text.contains('=') =>
            {
                first = false;
            }
            CommandItem::Operand(
                ArgumentWord::Prefix("") | ArgumentWord::Many | ArgumentWord::Files(_),
                _,
            ) => return UNCLEAR_COMMAND,
            CommandItem::Operand(_, at) => return inner_command_at(arguments.argv, at),
        }
    }
    InnerCommand::Nothing
}

/// Splits the text of `env -S` and appends the remaining words, if the text contains nothing that
/// `env` would replace.
fn split_env_string(value: Option<ArgumentWord<'_>>, rest: &CommandWords) -> Option<CommandWords> {
    let Some(ArgumentWord::Known(text)) = value else { return None };
    let plain = |each: char| each.is_ascii_alphanumeric() || " _-+./:=,@%".contains(each);
    text.chars().all(plain).then_some(())?;
    let mut words: CommandWords =
        ["env"].into_iter().chain(text.split(' ').filter(|word| !word.is_empty())).collect();
    rest.iter().for_each(|word| push_word(&mut words, word));
    Some(words)
}

/// Reads an `fd` command. `-x` runs the following command for each file, and `-X` runs it for all
/// files.
pub(in super::super) fn read_fd(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut items = arguments.items();
    let (mut clear, mut chosen) = (true, false);
    while let Some(item) = items.next() {
        clear &= !matches!(item, CommandItem::Unclear);
        chosen |= selects_secrets(&item);
        let CommandItem::Option {
            option: OptionSpec { name: "x" | "X" | "exec" | "exec-batch", .. },
            value,
        } = item
        else {
            continue;
        };
        let at = items.count_consumed_words();
        let before: CommandWords = arguments.argv.words.iter().take(at - 1).fold(
            CommandWords::new(),
            |mut words, word| {
                push_word(&mut words, word);
                words
            },
        );
        let mut meaning = read_without_custom_reader(arguments.with_words(&before));
        meaning.output = OutputKind::Anything;
        let below = find_listed_files(&meaning).filter(|_| !chosen);
        if !clear {
            meaning.lower_class(CommandClass::Unknown);
        }
        let command = arguments.argv.tail_from(at).words;
        match parse_fd_command(command.iter(), below.as_ref()).filter(|_| value.is_none()) {
            Some(command) => {
                // The files that it runs for are not known beforehand.
                meaning.lower_class(command.as_argv_ref().class_without_inner_command());
                meaning.effects.push(CommandEffect::Runs(command));
            }
            None => {
                meaning.lower_class(CommandClass::Unknown);
                meaning.add_unknown_effect(OPTIONS_NOT_UNDERSTOOD);
            }
        }
        return meaning;
    }
    let mut meaning = read_without_custom_reader(arguments);
    if chosen {
        meaning.output = OutputKind::Anything;
    }
    meaning
}

/// Returns whether an option or operand may select files that typically contain secrets: hidden
/// files, or files with certain extensions or name patterns.
fn selects_secrets(item: &CommandItem<'_>) -> bool {
    let word = |arg: ArgumentWord<'_>| match arg {
        ArgumentWord::Known(text) => may_select_secrets(CommandWord::Known(&format!("x.{text}"))),
        _ => true,
    };
    match item {
        CommandItem::Option { option, value } => match option.name {
            "H" | "hidden" | "u" | "unrestricted" | "no-ignore" | "I" => true,
            "e" | "extension" => value.is_none_or(word),
            "and" => true,
            _ => false,
        },
        CommandItem::Operand(ArgumentWord::Known("."), _) => false,
        CommandItem::Operand(ArgumentWord::Known(text), _) if text.contains('/') => false,
        CommandItem::Operand(arg, _) => word(*arg) || may_match_secret(*arg),
        CommandItem::Number | CommandItem::Unclear => false,
    }
}

fn may_match_secret(arg: ArgumentWord<'_>) -> bool {
    const PARTS: [&str; 10] =
        ["auth", "cred", "env", "id", "key", "pass", "rsa", "secret", "token", "wallet"];
    let ArgumentWord::Known(text) = arg else { return true };
    let text = text.to_ascii_lowercase();
    PARTS.iter().any(|part| text.contains(part))
}

/// Returns the source of the file names that the command finds, or `None` if it is not known.
fn find_listed_files(meaning: &CommandMeaning) -> Option<WordSource> {
    let mut roots = Vec::new();
    for effect in &meaning.effects {
        let CommandEffect::ReadsMetadata(EffectTarget::File(root)) = effect else { return None };
        roots.push(root.clone());
    }
    let known = meaning.working_directory.is_none() && !roots.is_empty();
    let search = find_printed_files("fd", false);
    known.then_some(WordSource::DescendantsOf { roots, bare: true, search })
}

fn parse_fd_command<'a>(
    mut words: impl Iterator<Item = CommandWord<'a>>,
    below: Option<&WordSource>,
) -> Option<Argv> {
    let mut command = Argv::default();
    let mut placed = false;
    for word in words.by_ref() {
        match word {
            CommandWord::Known(";") => break,
            CommandWord::Known("{}") => {
                placed = true;
                push_found_file(&mut command, below);
            }
            CommandWord::KnownPrefix("" | ";") | CommandWord::AnyWords => return None,
            word => {
                placed |= matches!(word, CommandWord::Known(text) if text.contains('{'));
                push_replaced(&mut command.words, word, "{");
            }
        }
    }
    // Another command could follow the `;`.
    if command.words.is_empty() || words.next().is_some() {
        return None;
    }
    if !placed {
        push_found_file(&mut command, below);
    }
    Some(command)
}

fn push_found_file(command: &mut Argv, below: Option<&WordSource>) {
    if let Some(below) = below {
        command.paths.push((command.words.len(), below.clone()));
    }
    command.words.push_any_words();
}

/// Reads `runuser -u USER COMMAND …`. All other forms are read like `su`.
pub(in super::super) fn read_runuser(arguments: CommandArguments<'_>) -> CommandMeaning {
    let user = |item| {
        matches!(item, CommandItem::Option { option: OptionSpec { name: "u" | "user", .. }, .. })
    };
    if arguments.items().take_while(|item| !matches!(item, CommandItem::Operand(..))).any(user) {
        read_without_custom_reader(arguments)
    } else {
        read_su(arguments)
    }
}

/// Reads `su [-] [USER] -c SCRIPT`. Its options may follow the user.
pub(in super::super) fn read_su(arguments: CommandArguments<'_>) -> CommandMeaning {
    wrapper_meaning(arguments.spec, parse_su_script(arguments))
}

fn parse_su_script(arguments: CommandArguments<'_>) -> InnerCommand {
    let mut script = None;
    let mut operands = 0;
    let mut items = arguments.items();
    while let Some(item) = items.next() {
        items.allow_options_after_operands();
        match item {
            CommandItem::Option { option, .. } if option.effect == OptionEffect::Ends => {
                return InnerCommand::Nothing;
            }
            CommandItem::Option {
                option: OptionSpec { name: "c" | "command" | "session-command", .. },
                value,
            } => {
                if script.is_some() {
                    return UNCLEAR_COMMAND;
                }
                script = value;
            }
            CommandItem::Option { option: OptionSpec { name: "s" | "shell", .. }, value }
                if !is_shell_program(value) =>
            {
                return InnerCommand::Unknown("runs a script of another shell");
            }
            CommandItem::Option { option: OptionSpec { name: "l" | "login", .. }, .. }
            | CommandItem::Operand(ArgumentWord::Known("-"), _) => {
                return InnerCommand::Unknown(OTHER_DIRECTORY);
            }
            CommandItem::Option { option: OptionSpec { name: "user" | "u", .. }, .. }
            | CommandItem::Unclear => {
                return UNCLEAR_COMMAND;
            }
            CommandItem::Option { .. } | CommandItem::Number => {}
            CommandItem::Operand(..) => operands += 1,
        }
    }
    to_inner_script(script, operands)
}

fn to_inner_script(script: Option<ArgumentWord<'_>>, operands: usize) -> InnerCommand {
    match script {
        None => InnerCommand::Unknown(STARTS_SHELL),
        Some(ArgumentWord::Known(script)) if operands <= 1 => {
            InnerCommand::Script(script.to_owned())
        }
        Some(ArgumentWord::Known(_)) => UNCLEAR_COMMAND,
        Some(_) => InnerCommand::Unknown("runs a script that is not known"),
    }
}

fn is_shell_program(value: Option<ArgumentWord<'_>>) -> bool {
    matches!(value, Some(ArgumentWord::Known(shell))
        if matches!(base_name(shell), "sh" | "bash" | "dash" | "ksh" | "zsh"))
}

/// Reads `script -c SCRIPT`. The recording is written to a file.
pub(in super::super) fn read_script(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = CommandMeaning::new(arguments.spec.class);
    let mut script = None;
    let mut operands = Vec::new();
    for item in arguments.items() {
        match item {
            CommandItem::Option { option, .. } if option.effect == OptionEffect::Ends => {
                return meaning;
            }
            CommandItem::Option { option: OptionSpec { name: "c" | "command", .. }, value }
                if script.is_none() =>
            {
                script = value;
            }
            CommandItem::Option { option: OptionSpec { name: "c" | "command", .. }, .. }
            | CommandItem::Unclear => {
                return wrapper_meaning(arguments.spec, UNCLEAR_COMMAND);
            }
            CommandItem::Option { option, value: Some(file) }
                if option.effect == OptionEffect::Writes =>
            {
                meaning.add_write(file);
            }
            CommandItem::Option { .. } | CommandItem::Number => {}
            CommandItem::Operand(arg, _) => operands.push(arg),
        }
    }
    let record = operands.first().copied().unwrap_or(ArgumentWord::Known("typescript"));
    meaning.add_write(record);
    let inside = wrapper_meaning(arguments.spec, to_inner_script(script, operands.len()));
    meaning.effects.extend(inside.effects);
    meaning.lower_class(inside.class);
    meaning
}

/// Reads an `xargs` command. The words that it reads are appended to the command, or replace a
/// placeholder in it.
pub(in super::super) fn read_xargs(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = CommandMeaning::new(arguments.spec.class);
    let items = arguments.items();
    let (mut placeholder, mut counted, mut start) = (None, false, None);
    let mut whole = false;
    for item in items {
        whole |= is_whole_line_option(&item);
        match item {
            CommandItem::Unclear => return wrapper_meaning(arguments.spec, UNCLEAR_COMMAND),
            CommandItem::Option { option, .. } if option.effect == OptionEffect::Ends => {
                return meaning;
            }
            CommandItem::Option { option, .. } if option.effect == OptionEffect::Loads => {
                return wrapper_meaning(arguments.spec, UNCLEAR_COMMAND);
            }
            CommandItem::Option {
                option: OptionSpec { name: "I" | "i" | "replace", .. },
                value,
            } => {
                let ArgumentWord::Known(text) = value.unwrap_or(ArgumentWord::Known("{}")) else {
                    return wrapper_meaning(arguments.spec, UNCLEAR_COMMAND);
                };
                if text.is_empty() || placeholder.is_some_and(|other| other != text) {
                    return wrapper_meaning(arguments.spec, UNCLEAR_COMMAND);
                }
                placeholder = Some(text);
            }
            // These options disable a placeholder before them.
            CommandItem::Option {
                option: OptionSpec { name: "n" | "L" | "l" | "max-args" | "max-lines", .. },
                ..
            } => {
                counted = true;
            }
            CommandItem::Option { option, value: Some(file) }
                if option.effect == OptionEffect::Reads =>
            {
                meaning.add_read(file, false);
                meaning.lower_class(CommandClass::Unknown);
            }
            CommandItem::Option { .. } | CommandItem::Number => {}
            CommandItem::Operand(_, at) => {
                start = Some(at);
                break;
            }
        }
    }
    let mut command = Argv::default();
    match start {
        None => command.words.push("echo"),
        Some(start) => arguments.argv.words.iter().skip(start).for_each(|word| match placeholder {
            Some(text) => push_input_word(&mut command, word, text),
            None => push_word(&mut command.words, word),
        }),
    }
    if counted || placeholder.is_none() {
        let index = command.words.len();
        command.paths.push((index, WordSource::StandardInput { whole }));
        command.words.push_any_words();
    }
    meaning.effects.push(CommandEffect::Runs(command));
    meaning
}

/// Returns whether an option prevents `xargs` from splitting lines at blanks.
fn is_whole_line_option(item: &CommandItem<'_>) -> bool {
    let CommandItem::Option { option, value } = item else { return false };
    match option.name {
        "0" | "null" => true,
        "d" | "delimiter" => matches!(value, Some(ArgumentWord::Known("\n" | "\\n" | "\\0"))),
        _ => false,
    }
}

/// Adds a word in which `placeholder` stands for the input.
fn push_input_word(command: &mut Argv, word: CommandWord<'_>, placeholder: &str) {
    if word == CommandWord::Known(placeholder) {
        command.paths.push((command.words.len(), WordSource::StandardInput { whole: true }));
        command.words.push_any_words();
    } else {
        push_replaced(&mut command.words, word, placeholder);
    }
}

/// Reads a program that runs a command in an environment where relative names refer to other files.
pub(in super::super) fn read_relocated_command(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_without_custom_reader(arguments);
    for effect in &mut meaning.effects {
        if let CommandEffect::Runs(command) = effect {
            *command = relocate_command(&command.words).into();
        }
    }
    meaning
}
