//! Programs whose operands are files or addresses only under conditions that a row cannot describe.

use openoxide_protocol::{CommandClass, FileSearch};

use super::{
    super::{
        ArgumentWord, ArgvRef, CommandEffect, CommandMeaning, EffectTarget,
        command_arguments::CommandArguments, command_items::CommandItem,
        command_reading::read_without_custom_reader,
    },
    base_name,
};

/// The maximum number of nested wrappers that are analyzed.
const MAX_DEPTH: usize = 4;

/// Reads an `openssl` command. Options that take a certificate or key also accept addresses of a
/// store. `http://…` is fetched, and `org.openssl.engine:…` loads a library.
pub(in super::super) fn read_openssl(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_without_custom_reader(arguments);
    let mut loads = false;
    for effect in &mut meaning.effects {
        let (CommandEffect::Reads(target) | CommandEffect::ReadsMetadata(target)) = effect else {
            continue;
        };
        let (EffectTarget::File(file) | EffectTarget::Pattern(file) | EffectTarget::Printed(file)) =
            target;
        let Some((scheme, rest)) = file.split_once(':') else { continue };
        if scheme.contains('/') {
            continue;
        }
        loads = true;
        if rest.starts_with("//") {
            *effect = CommandEffect::Reaches(std::mem::take(file));
        }
    }
    if loads {
        meaning.lower_class(CommandClass::Unknown);
        meaning.add_unknown_effect("it opens an address, which may load a library");
    }
    meaning
}

/// Reads a `tree` command. With `--fromfile`, the operands are files whose lines are printed like
/// names of files.
pub(in super::super) fn read_tree(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_without_custom_reader(arguments);
    let is_list = |item| {
        let CommandItem::Option { option, .. } = item else { return false };
        matches!(option.name, "fromfile" | "fromtabfile" | "fflinks")
    };
    if arguments.items().any(is_list) {
        for effect in &mut meaning.effects {
            if let CommandEffect::ReadsMetadata(target) = effect {
                *effect = CommandEffect::Reads(target.clone());
            }
        }
        // The lines of the files that another program finds are printed, too.
        let found = meaning.effects.iter().filter_map(|effect| match effect {
            CommandEffect::Reads(EffectTarget::Printed(root)) => {
                let root = EffectTarget::File(root.clone());
                Some(CommandEffect::Searches(root, FileSearch::all_files()))
            }
            _ => None,
        });
        let found: Vec<_> = found.collect();
        meaning.effects.extend(found);
    }
    meaning
}

/// Reads a `pkg-config` command. An operand that is a path or ends in `.pc` is read. A word may
/// contain several modules.
pub(in super::super) fn read_pkg_config(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_without_custom_reader(arguments);
    for arg in arguments.operands() {
        let ArgumentWord::Known(text) = arg else {
            meaning.add_read(arg, false);
            continue;
        };
        let modules = text.split([' ', '\t', '\r', '\n', ',']);
        for file in modules.filter(|module| module.contains('/') || module.ends_with(".pc")) {
            meaning.add_read(ArgumentWord::Known(file), false);
        }
    }
    meaning
}

/// Reads a `nohup` command. If its standard output is a terminal, it appends the output to
/// `nohup.out`. A rule that allows a command covers this output. A harmless command needs no rule,
/// so with `nohup` it is treated as a write.
pub(in super::super) fn read_nohup(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_without_custom_reader(arguments);
    let runs = meaning.effects.iter().any(CommandEffect::is_command);
    if runs && meaning.class == CommandClass::Harmless && runs_harmless_only(&meaning, MAX_DEPTH) {
        meaning.add_write(ArgumentWord::Known(NOHUP_OUTPUT));
    }
    meaning
}

/// Removes the output of `nohup` from the effects of a command whose standard output is not a
/// terminal.
pub(crate) fn remove_nohup_output(meaning: &mut CommandMeaning, arguments: ArgvRef<'_>) {
    if arguments.known_word(0).map(base_name) != Some("nohup") {
        return;
    }
    let output = CommandEffect::Writes(EffectTarget::File(NOHUP_OUTPUT.to_owned()));
    let before = meaning.effects.len();
    meaning.effects.retain(|effect| *effect != output);
    if meaning.effects.len() < before && meaning.class == CommandClass::Edits {
        meaning.class = CommandClass::Harmless;
    }
}

/// The file to which `nohup` appends its output.
const NOHUP_OUTPUT: &str = "nohup.out";

/// Returns whether all commands that a command runs may be harmless.
fn runs_harmless_only(meaning: &CommandMeaning, depth: usize) -> bool {
    meaning.effects.iter().all(|effect| match effect {
        CommandEffect::Runs(argv) if depth > 0 => {
            let inner = argv.as_argv_ref().meaning();
            inner.class == CommandClass::Harmless && runs_harmless_only(&inner, depth - 1)
        }
        _ => true,
    })
}
