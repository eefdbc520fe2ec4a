//! Programs that run another one from the project or its environment: `npx X`, `uv run X`, `python3 -m X`.

use openoxide_protocol::{CommandClass, CommandWord, CommandWords};

use super::{
    super::{
        ArgumentWord, Argv, CommandEffect, CommandMeaning, command_arguments::CommandArguments,
        command_items::CommandItem, command_reading::read_without_custom_reader, spec_table,
    },
    OPTIONS_NOT_UNDERSTOOD,
    command_launchers::{add_command_after_dashes, take_words_before},
    push_word,
};

/// Adds the command that a program runs. A rule for the outer program covers it. The files that it
/// writes, removes or loads are added as well.
pub(in super::super) fn add_tool(meaning: &mut CommandMeaning, command: Argv, guest: bool) {
    meaning.lower_class(CommandClass::Unknown);
    let command = command_after_dashes(command);
    if command.words.is_empty() {
        return;
    }
    if guest {
        return meaning.effects.push(CommandEffect::GuestCommand(command));
    }
    let Some(name) = command.words.known_word(0) else {
        return meaning.add_unknown_effect("the program that it runs is not known");
    };
    let mut words = CommandWords::new();
    words.push(program_name(name));
    command.words.iter().skip(1).for_each(|word| push_word(&mut words, word));
    meaning.effects.push(CommandEffect::Tool(Argv { words, ..command }));
}

/// The reason why a subcommand with a slash is not understood. `git a/b` starts `git-a/b` in the
/// working directory.
pub(in super::super) const PATH_AS_SUBCOMMAND: &str =
    "its subcommand is a path, which can lead to a program of the project";

/// Adds the program for a word that is not a subcommand. `cargo audit` runs `cargo-audit`, which
/// gets that word, too.
pub(in super::super) fn add_plugin(meaning: &mut CommandMeaning, outer: &str, command: &Argv) {
    let Some(name) = command.words.known_word(0) else {
        meaning.lower_class(CommandClass::Unknown);
        return meaning.add_unknown_effect("the program that it runs is not known");
    };
    if name.contains('/') {
        meaning.lower_class(CommandClass::Unknown);
        return meaning.add_unknown_effect(PATH_AS_SUBCOMMAND);
    }
    let from = usize::from(outer != "cargo");
    let mut words = CommandWords::new();
    words.push(&format!("{outer}-{name}"));
    command.words.iter().skip(from).for_each(|word| push_word(&mut words, word));
    add_tool(meaning, words.into(), false);
}

/// `PROGRAM … -- TOOL …`, where a rule for the program covers the tool.
pub(in super::super) fn read_tool_after_dashes(arguments: CommandArguments<'_>) -> CommandMeaning {
    add_command_after_dashes(arguments, |meaning, command| {
        add_tool(meaning, command, false);
    })
}

/// `PROGRAM … TOOL …`, or one word that a shell reads.
pub(in super::super) fn read_tool_or_script(arguments: CommandArguments<'_>) -> CommandMeaning {
    let Some(at) = find_operand(arguments, 0) else {
        return read_without_custom_reader(arguments);
    };
    let command = arguments.argv.tail_from(at);
    match command.words.known_word(0) {
        Some(script) if command.words.len() == 1 && !is_task_name(script) => {
            let mut meaning = read_without_custom_reader(
                arguments.with_words(&take_words_before(arguments.argv.words, at)),
            );
            meaning.lower_class(CommandClass::Unknown);
            meaning.add_script(ArgumentWord::Known(script));
            meaning
        }
        _ => with_inner_command(arguments, (at, command)),
    }
}

/// `yarn workspace NAME COMMAND …`: what follows the first operands are words for the same program.
pub(in super::super) fn read_same_program(arguments: CommandArguments<'_>) -> CommandMeaning {
    let skipped = arguments.spec.operands.to_operand_spec().first.len();
    let Some(at) = find_operand(arguments, skipped) else {
        return read_without_custom_reader(arguments);
    };
    let mut words = CommandWords::new();
    words.push(arguments.argv.known_word(0).unwrap_or_default());
    arguments.argv.words.iter().skip(at).for_each(|word| push_word(&mut words, word));
    with_inner_command(arguments, (at, words.into()))
}

/// Returns where the operand of this number is.
fn find_operand(arguments: CommandArguments<'_>, number: usize) -> Option<usize> {
    let operand = |item| match item {
        CommandItem::Operand(_, at) => Some(at),
        _ => None,
    };
    arguments.items().filter_map(operand).nth(number)
}

/// Returns the meaning of the words before a command, and of the command.
fn with_inner_command(
    arguments: CommandArguments<'_>,
    (at, command): (usize, Argv),
) -> CommandMeaning {
    let before = take_words_before(arguments.argv.words, at);
    let mut meaning = read_without_custom_reader(arguments.with_words(&before));
    let unclear = |item| matches!(item, CommandItem::Unclear);
    if !before.is_known() || arguments.with_words(&before).items().any(unclear) {
        meaning.lower_class(CommandClass::Unknown);
        meaning.add_unknown_effect(OPTIONS_NOT_UNDERSTOOD);
    }
    add_tool(&mut meaning, command, false);
    meaning
}

/// Returns whether a word is the name of a task or a program and not a script.
fn is_task_name(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.:/@=,+-".contains(&byte))
}

/// Returns the command behind `--`, where options of the outer program can still come before it.
fn command_after_dashes(command: Argv) -> Argv {
    let first = command.words.known_word(0).unwrap_or_default();
    let dashes = command.words.iter().position(|word| word == CommandWord::Known("--"));
    match dashes.filter(|_| first.starts_with('-')) {
        Some(at) => command.as_argv_ref().tail_from(at + 1),
        None => command,
    }
}

/// Returns the name of a program in the table: without a version, a scope, an environment or the beginning of an address.
fn program_name(name: &str) -> &str {
    let name = name.rsplit_once('#').map_or(name, |(_, name)| name);
    // `hatch run ENVIRONMENT:COMMAND`, `deno x npm:PACKAGE`.
    let name = match name.rsplit_once(':') {
        Some((_, name)) if !name.is_empty() => name,
        _ => name,
    };
    let end = name.char_indices().skip(1).find(|(_, each)| matches!(each, '@' | '=' | '[' | '<'));
    let plain = name.get(..end.map_or(name.len(), |(at, _)| at)).unwrap_or(name);
    let last = plain.rsplit('/').next().unwrap_or(plain);
    if spec_table::find_program(plain).is_none() && spec_table::find_program(last).is_some() {
        last
    } else {
        plain
    }
}

/// Modules of Python that are programs of another name.
const MODULE_PROGRAMS: [(&str, &str); 12] = [
    ("IPython", "ipython"),
    ("django", "django-admin"),
    ("pre_commit", "pre-commit"),
    ("sphinx", "sphinx-build"),
    ("sphinx.cmd.build", "sphinx-build"),
    ("pytest_watch", "pytest"),
    ("_pytest", "pytest"),
    ("py.test", "pytest"),
    ("pip._internal", "pip"),
    ("pip.__main__", "pip"),
    ("pytest.__main__", "pytest"),
    ("PyInstaller", "pyinstaller"),
];

/// Adds the module that Python runs, with the words behind it.
pub(super) fn add_module(meaning: &mut CommandMeaning, module: CommandWord<'_>, rest: &Argv) {
    let CommandWord::Known(module) = module else {
        return meaning.add_unknown_effect("the module that it runs is not known");
    };
    let module = module.strip_suffix(".__main__").unwrap_or(module);
    let program =
        MODULE_PROGRAMS.iter().find(|(name, _)| *name == module).map_or(module, |(_, name)| name);
    let mut command = Argv::default();
    command.words.push(program);
    rest.words.iter().for_each(|word| push_word(&mut command.words, word));
    command.paths = rest.paths.iter().map(|(at, paths)| (at + 1, paths.clone())).collect();
    add_tool(meaning, command, false);
}
