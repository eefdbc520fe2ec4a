//! Programs that run another one from the project or its environment: `npx X`, `uv run X`, `python3 -m X`.

use openoxide_protocol::{CommandClass, Word, Words};

use super::{
    super::{Argv, Effect, Meaning, table},
    moved, push,
};

/// Adds the command that a program runs. A rule for the outer program covers it; what it writes, removes or loads counts as well.
pub(in super::super) fn add_tool(meaning: &mut Meaning, command: Argv, guest: bool) {
    meaning.lower(CommandClass::Unknown);
    let command = without_dashes(command);
    if command.words.is_empty() {
        return;
    }
    if guest {
        return meaning.effects.push(Effect::Guest(command));
    }
    let Some(name) = command.words.known(0) else {
        return meaning.cannot_tell("the program that it runs is not known");
    };
    let mut words = Words::new();
    words.push(program_name(name));
    command.words.iter().skip(1).for_each(|word| push(&mut words, word));
    // What a directory of its own contains is not known by relative names.
    let command = match meaning.place {
        Some(_) => moved(&words).into(),
        None => Argv { words, ..command },
    };
    meaning.effects.push(Effect::Tool(command));
}

/// Notes that the commands which a program runs work in another directory.
pub(in super::super) fn move_tools(meaning: &mut Meaning) {
    for effect in &mut meaning.effects {
        if let Effect::Tool(command) = effect {
            *command = moved(&command.words).into();
        }
    }
}

/// Returns the command behind `--`, where options of the outer program can still come before it.
fn without_dashes(command: Argv) -> Argv {
    let first = command.words.known(0).unwrap_or_default();
    let dashes = command.words.iter().position(|word| word == Word::Known("--"));
    match dashes.filter(|_| first.starts_with('-')) {
        Some(at) => command.as_arguments().tail(at + 1),
        None => command,
    }
}

/// Returns the name of a program in the table: without a version, a scope or the beginning of an address.
fn program_name(name: &str) -> &str {
    let name = name.rsplit_once('#').map_or(name, |(_, name)| name);
    let end = name.char_indices().skip(1).find(|(_, each)| matches!(each, '@' | '=' | '[' | '<'));
    let plain = name.get(..end.map_or(name.len(), |(at, _)| at)).unwrap_or(name);
    let last = plain.rsplit('/').next().unwrap_or(plain);
    if table::program(plain).is_none() && table::program(last).is_some() { last } else { plain }
}

/// Modules of Python that are programs of another name.
const MODULES: [(&str, &str); 12] = [
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
pub(super) fn add_module(meaning: &mut Meaning, module: Word<'_>, rest: &Argv) {
    let Word::Known(module) = module else {
        return meaning.cannot_tell("the module that it runs is not known");
    };
    let module = module.strip_suffix(".__main__").unwrap_or(module);
    let program = MODULES.iter().find(|(name, _)| *name == module).map_or(module, |(_, name)| name);
    let mut command = Argv::default();
    command.words.push(program);
    rest.words.iter().for_each(|word| push(&mut command.words, word));
    command.paths = rest.paths.iter().map(|(at, paths)| (at + 1, paths.clone())).collect();
    add_tool(meaning, command, false);
}
