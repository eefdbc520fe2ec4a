//! Readers for programs that run another program from the project or its environment: `npx X`, `uv
//! run X`, `python3 -m X`.

use openoxide_protocol::{CommandClass, CommandWord, CommandWords};

use super::{
    super::{
        ArgumentWord, Argv, CommandMeaning, command_arguments::CommandArguments,
        command_items::CommandItem, command_reading::read_without_custom_reader,
    },
    OPTIONS_NOT_UNDERSTOOD,
    command_launchers::{add_command_after_dashes, take_words_before},
    covered_commands::add_tool,
    push_word,
};

/// Reads `PROGRAM … -- TOOL …`. A rule for the program covers the tool.
pub(in super::super) fn read_tool_after_dashes(arguments: CommandArguments<'_>) -> CommandMeaning {
    add_command_after_dashes(arguments, |meaning, command| {
        add_tool(meaning, command, false);
    })
}

/// Reads `PROGRAM … TOOL …`. A single word is read by a shell.
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

/// Reads `yarn workspace NAME COMMAND …`. The words after the first operands are a command for the
/// same program.
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

/// Returns the position of the operand with this number.
fn find_operand(arguments: CommandArguments<'_>, number: usize) -> Option<usize> {
    let operand = |item| match item {
        CommandItem::Operand(_, at) => Some(at),
        _ => None,
    };
    arguments.items().filter_map(operand).nth(number)
}

/// Returns the combined meaning of a command and the words before it.
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

/// Python modules whose program has another name.
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

/// Adds the module that Python runs, with the words after it.
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
