//! Readers for wrappers with special syntax.

use openoxide_protocol::{CommandClass, CommandWord, CommandWords};

use super::{
    super::{
        Arg, Arguments, Argv, Effect, Meaning, Paths, Prints, Target, class_alone,
        items::{Item, items},
        level::{Does, Level, Opt},
        reading::read_plainly,
    },
    ELSEWHERE, Inside, NOT_UNDERSTOOD, STARTS_SHELL, UNCLEAR, base_name, carrying,
    find::may_choose_secrets,
    push, push_beginning, push_replaced,
};

/// `busybox APPLET …`, and toybox.
pub(in super::super) fn busybox(level: &Level, arguments: Arguments<'_>, from: usize) -> Meaning {
    carrying(level, applet(arguments, from))
}

fn applet(arguments: Arguments<'_>, from: usize) -> Inside {
    match arguments.known(from) {
        Some("--list" | "--list-full" | "--help") => Inside::Ends,
        Some(applet) if !applet.starts_with('-') => command_at(arguments, from),
        _ if arguments.words.len() <= from => Inside::Nothing,
        _ => UNCLEAR,
    }
}

/// `chrt`: newer versions run the command without a priority before it.
pub(in super::super) fn chrt(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let items = items(level, arguments, from);
    for item in items {
        match item {
            Item::Option { option, .. } if option.does == Does::Ends => {
                return Meaning::of(level.class);
            }
            Item::Option { option, .. } if option.does == Does::Asks => return Meaning::unknown(),
            Item::Option { .. } | Item::Number => {}
            Item::Unclear => return carrying(level, UNCLEAR),
            Item::Operand(arg, at) => {
                let priority = matches!(arg, Arg::Known(text) if text.parse::<i32>().is_ok());
                let inside = match arg {
                    Arg::Known(_) => command_at(arguments, at + usize::from(priority)),
                    _ => UNCLEAR,
                };
                return carrying(level, inside);
            }
        }
    }
    carrying(level, Inside::Nothing)
}

fn command_at(arguments: Arguments<'_>, at: usize) -> Inside {
    let command = arguments.tail(at);
    if command.words.is_empty() { Inside::Nothing } else { Inside::Command(command) }
}

/// `env`.
pub(in super::super) fn env(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut places = Vec::new();
    let mut meaning = carrying(level, env_of(level, arguments, from, true, &mut places));
    places.iter().for_each(|place| meaning.is_moved(place.as_deref().map(Arg::Known)));
    let ends = items(level, arguments, from)
        .any(|item| matches!(item, Item::Option { option, .. } if option.does == Does::Ends));
    if meaning.effects.is_empty() && !ends {
        // It prints the environment, which can contain secrets.
        meaning.lower(CommandClass::Unknown);
    }
    meaning
}

/// Returns what `env` runs, and adds the directories into which it goes for that.
fn env_of(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
    may_split: bool,
    places: &mut Vec<Option<String>>,
) -> Inside {
    let mut items = items(level, arguments, from);
    let mut first = true;
    while let Some(item) = items.next() {
        match item {
            Item::Unclear => return UNCLEAR,
            Item::Option { option, .. } if option.does == Does::Ends => return Inside::Ends,
            Item::Option { option, .. } if option.does == Does::Loads => return UNCLEAR,
            Item::Option { option, value } if option.does == Does::Moves => {
                places.push(match value {
                    Some(Arg::Known(place)) => Some(place.to_owned()),
                    _ => None,
                });
            }
            Item::Option { option: Opt { name: "S" | "split-string", .. }, value } => {
                let rest = arguments.tail(items.consumed());
                return match split(value, &rest.words).filter(|_| may_split) {
                    Some(argv) => env_of(level, (&argv).into(), 1, false, places),
                    None => Inside::Unknown("splits a text into a command"),
                };
            }
            Item::Option { .. } | Item::Number => {}
            Item::Operand(Arg::Known("-"), _) if first => first = false,
            Item::Operand(Arg::Known(text) | Arg::Begins(text), _) if text.contains('=') => {
                first = false;
            }
            Item::Operand(Arg::Begins("") | Arg::Many | Arg::Paths(_), _) => return UNCLEAR,
            Item::Operand(_, at) => return command_at(arguments, at),
        }
    }
    Inside::Nothing
}

/// Splits the text of `env -S`, if it holds nothing that `env` would replace, and puts the rest behind it.
fn split(value: Option<Arg<'_>>, rest: &CommandWords) -> Option<CommandWords> {
    let Some(Arg::Known(text)) = value else { return None };
    let plain = |each: char| each.is_ascii_alphanumeric() || " _-+./:=,@%".contains(each);
    text.chars().all(plain).then_some(())?;
    let mut words: CommandWords =
        ["env"].into_iter().chain(text.split(' ').filter(|word| !word.is_empty())).collect();
    rest.iter().for_each(|word| push(&mut words, word));
    Some(words)
}

/// `fd`: `-x` runs what follows for each file, `-X` for all of them.
pub(in super::super) fn fd(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut items = items(level, arguments, from);
    let (mut clear, mut chosen) = (true, false);
    while let Some(item) = items.next() {
        clear &= !matches!(item, Item::Unclear);
        chosen |= chooses(&item);
        let Item::Option { option: Opt { name: "x" | "X" | "exec" | "exec-batch", .. }, value } =
            item
        else {
            continue;
        };
        let at = items.consumed();
        let before: CommandWords =
            arguments.words.iter().take(at - 1).fold(CommandWords::new(), |mut words, word| {
                push(&mut words, word);
                words
            });
        let mut meaning = read_plainly(level, (&before).into(), from);
        meaning.prints = Prints::Anything;
        let below = below(&meaning).filter(|_| !chosen);
        if !clear {
            meaning.lower(CommandClass::Unknown);
        }
        let command = arguments.tail(at).words;
        match fd_command(command.iter(), below.as_ref()).filter(|_| value.is_none()) {
            Some(command) => {
                // Which files it is run for, is not known beforehand.
                meaning.lower(class_alone(command.as_arguments()));
                meaning.effects.push(Effect::Runs(command));
            }
            None => {
                meaning.lower(CommandClass::Unknown);
                meaning.cannot_tell(NOT_UNDERSTOOD);
            }
        }
        return meaning;
    }
    let mut meaning = read_plainly(level, arguments, from);
    if chosen {
        meaning.prints = Prints::Anything;
    }
    meaning
}

/// Returns whether an option or operand may select files that typically contain secrets: hidden
/// files, or files with certain extensions or name patterns.
fn chooses(item: &Item<'_>) -> bool {
    let word = |arg: Arg<'_>| match arg {
        Arg::Known(text) => may_choose_secrets(CommandWord::Known(&format!("x.{text}"))),
        _ => true,
    };
    match item {
        Item::Option { option, value } => match option.name {
            "H" | "hidden" | "u" | "unrestricted" | "no-ignore" | "I" => true,
            "e" | "extension" => value.is_none_or(word),
            "and" => true,
            _ => false,
        },
        Item::Operand(Arg::Known("."), _) => false,
        Item::Operand(Arg::Known(text), _) if text.contains('/') => false,
        Item::Operand(arg, _) => word(*arg) || is_secret(*arg),
        Item::Number | Item::Unclear => false,
    }
}

fn is_secret(arg: Arg<'_>) -> bool {
    const PARTS: [&str; 10] =
        ["auth", "cred", "env", "id", "key", "pass", "rsa", "secret", "token", "wallet"];
    let Arg::Known(text) = arg else { return true };
    let text = text.to_ascii_lowercase();
    PARTS.iter().any(|part| text.contains(part))
}

/// Returns what the files are that it finds; nothing is known of those elsewhere.
fn below(meaning: &Meaning) -> Option<Paths> {
    let mut roots = Vec::new();
    for effect in &meaning.effects {
        let Effect::Lists(Target::File(root)) = effect else { return None };
        roots.push(root.clone());
    }
    let known = meaning.place.is_none() && !roots.is_empty();
    let search = Some(Box::default());
    known.then_some(Paths::Below { roots, bare: true, search })
}

fn fd_command<'a>(
    mut words: impl Iterator<Item = CommandWord<'a>>,
    below: Option<&Paths>,
) -> Option<Argv> {
    let mut command = Argv::default();
    let mut placed = false;
    for word in words.by_ref() {
        match word {
            CommandWord::Known(";") => break,
            CommandWord::Known("{}") => {
                placed = true;
                push_file(&mut command, below);
            }
            CommandWord::KnownPrefix("" | ";") | CommandWord::AnyWords => return None,
            word => {
                placed |= matches!(word, CommandWord::Known(text) if text.contains('{'));
                push_replaced(&mut command.words, word, "{");
            }
        }
    }
    // After the `;` another command could follow.
    if command.words.is_empty() || words.next().is_some() {
        return None;
    }
    if !placed {
        push_file(&mut command, below);
    }
    Some(command)
}

fn push_file(command: &mut Argv, below: Option<&Paths>) {
    if let Some(below) = below {
        command.paths.push((command.words.len(), below.clone()));
    }
    command.words.push_any_words();
}

/// `runuser -u USER COMMAND …`, and otherwise as `su`.
pub(in super::super) fn runuser(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let user = |item| matches!(item, Item::Option { option: Opt { name: "u" | "user", .. }, .. });
    if items(level, arguments, from).take_while(|item| !matches!(item, Item::Operand(..))).any(user)
    {
        read_plainly(level, arguments, from)
    } else {
        su(level, arguments, from)
    }
}

/// `su [-] [USER] -c SCRIPT`; its options may follow the user.
pub(in super::super) fn su(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    carrying(level, su_script(level, arguments, from))
}

fn su_script(level: &'static Level, arguments: Arguments<'_>, from: usize) -> Inside {
    let mut script = None;
    let mut operands = 0;
    let mut items = items(level, arguments, from);
    while let Some(item) = items.next() {
        items.permute();
        match item {
            Item::Option { option, .. } if option.does == Does::Ends => return Inside::Nothing,
            Item::Option {
                option: Opt { name: "c" | "command" | "session-command", .. },
                value,
            } => {
                if script.is_some() {
                    return UNCLEAR;
                }
                script = value;
            }
            Item::Option { option: Opt { name: "s" | "shell", .. }, value } if !is_shell(value) => {
                return Inside::Unknown("runs a script of another shell");
            }
            Item::Option { option: Opt { name: "l" | "login", .. }, .. }
            | Item::Operand(Arg::Known("-"), _) => return Inside::Unknown(ELSEWHERE),
            Item::Option { option: Opt { name: "user" | "u", .. }, .. } | Item::Unclear => {
                return UNCLEAR;
            }
            Item::Option { .. } | Item::Number => {}
            Item::Operand(..) => operands += 1,
        }
    }
    script_of(script, operands)
}

fn script_of(script: Option<Arg<'_>>, operands: usize) -> Inside {
    match script {
        None => Inside::Unknown(STARTS_SHELL),
        Some(Arg::Known(script)) if operands <= 1 => Inside::Script(script.to_owned()),
        Some(Arg::Known(_)) => UNCLEAR,
        Some(_) => Inside::Unknown("runs a script that is not known"),
    }
}

fn is_shell(value: Option<Arg<'_>>) -> bool {
    matches!(value, Some(Arg::Known(shell))
        if matches!(base_name(shell), "sh" | "bash" | "dash" | "ksh" | "zsh"))
}

/// `script -c SCRIPT`; what it records goes to a file.
pub(in super::super) fn script(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut meaning = Meaning::of(level.class);
    let mut script = None;
    let mut operands = Vec::new();
    for item in items(level, arguments, from) {
        match item {
            Item::Option { option, .. } if option.does == Does::Ends => return meaning,
            Item::Option { option: Opt { name: "c" | "command", .. }, value }
                if script.is_none() =>
            {
                script = value;
            }
            Item::Option { option: Opt { name: "c" | "command", .. }, .. } | Item::Unclear => {
                return carrying(level, UNCLEAR);
            }
            Item::Option { option, value: Some(file) } if option.does == Does::Writes => {
                meaning.write(file);
            }
            Item::Option { .. } | Item::Number => {}
            Item::Operand(arg, _) => operands.push(arg),
        }
    }
    let record = operands.first().copied().unwrap_or(Arg::Known("typescript"));
    meaning.write(record);
    let inside = carrying(level, script_of(script, operands.len()));
    meaning.effects.extend(inside.effects);
    meaning.lower(inside.class);
    meaning
}

/// Returns known words with blanks between them.
pub(in super::super) fn joined(command: &CommandWords) -> Option<String> {
    let mut script = String::new();
    for word in command.iter() {
        let CommandWord::Known(text) = word else { return None };
        if !script.is_empty() {
            script.push(' ');
        }
        script.push_str(text);
    }
    Some(script)
}

/// `xargs`: the words that it reads come behind the command, or in place of a text in it.
pub(in super::super) fn xargs(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut meaning = Meaning::of(level.class);
    let items = items(level, arguments, from);
    let (mut placeholder, mut counted, mut start) = (None, false, None);
    let mut whole = false;
    for item in items {
        whole |= keeps_lines(&item);
        match item {
            Item::Unclear => return carrying(level, UNCLEAR),
            Item::Option { option, .. } if option.does == Does::Ends => return meaning,
            Item::Option { option, .. } if option.does == Does::Loads => {
                return carrying(level, UNCLEAR);
            }
            Item::Option { option: Opt { name: "I" | "i" | "replace", .. }, value } => {
                let Arg::Known(text) = value.unwrap_or(Arg::Known("{}")) else {
                    return carrying(level, UNCLEAR);
                };
                if text.is_empty() || placeholder.is_some_and(|other| other != text) {
                    return carrying(level, UNCLEAR);
                }
                placeholder = Some(text);
            }
            // These undo a placeholder before them.
            Item::Option {
                option: Opt { name: "n" | "L" | "l" | "max-args" | "max-lines", .. },
                ..
            } => {
                counted = true;
            }
            Item::Option { option, value: Some(file) } if option.does == Does::Reads => {
                meaning.read(file, false);
                meaning.lower(CommandClass::Unknown);
            }
            Item::Option { .. } | Item::Number => {}
            Item::Operand(_, at) => {
                start = Some(at);
                break;
            }
        }
    }
    let mut command = Argv::default();
    match start {
        None => command.words.push("echo"),
        Some(start) => arguments.words.iter().skip(start).for_each(|word| match placeholder {
            Some(text) => push_input(&mut command, word, text),
            None => push(&mut command.words, word),
        }),
    }
    if counted || placeholder.is_none() {
        let index = command.words.len();
        command.paths.push((index, Paths::Input { whole }));
        command.words.push_any_words();
    }
    meaning.effects.push(Effect::Runs(command));
    meaning
}

/// Returns whether an option prevents `xargs` from splitting lines at blanks.
fn keeps_lines(item: &Item<'_>) -> bool {
    let Item::Option { option, value } = item else { return false };
    match option.name {
        "0" | "null" => true,
        "d" | "delimiter" => matches!(value, Some(Arg::Known("\n" | "\\n" | "\\0"))),
        _ => false,
    }
}

/// Adds a word in which `placeholder` stands for the input.
fn push_input(command: &mut Argv, word: CommandWord<'_>, placeholder: &str) {
    if word == CommandWord::Known(placeholder) {
        command.paths.push((command.words.len(), Paths::Input { whole: true }));
        command.words.push_any_words();
    } else {
        push_replaced(&mut command.words, word, placeholder);
    }
}

/// Returns the command as it runs in another directory. Relative names stand for other files there,
/// and files that are not named are different, too.
pub(in super::super) fn moved(command: &CommandWords) -> CommandWords {
    let mut words = CommandWords::new();
    for (at, word) in command.iter().enumerate() {
        match word {
            CommandWord::Known(text) if at == 0 || text.starts_with(['/', '-']) => words.push(text),
            CommandWord::KnownPrefix(text) if text.starts_with('/') => {
                push_beginning(&mut words, text);
            }
            CommandWord::Known(_) | CommandWord::KnownPrefix(_) => words.push_unknown(),
            CommandWord::AnyWords => words.push_any_words(),
        }
    }
    words.push_any_words();
    words
}

/// A program that runs a command where relative names are other files.
pub(in super::super) fn elsewhere(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut meaning = read_plainly(level, arguments, from);
    for effect in &mut meaning.effects {
        if let Effect::Runs(command) = effect {
            *command = moved(&command.words).into();
        }
    }
    meaning
}
