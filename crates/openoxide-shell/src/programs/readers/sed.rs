//! Reader for `sed`. Its script is read command by command, and the files that it reads and writes
//! are reported.

use openoxide_protocol::CommandClass;

use super::{
    super::{
        ArgumentWord, CommandMeaning, OutputKind,
        command_arguments::CommandArguments,
        command_items::CommandItem,
        command_spec::{OptionEffect, OptionSpec},
    },
    forbidden_words,
    sed_script::{SedAction, parse_actions},
};

/// Reads a whole command.
pub(in super::super) fn read_sed(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = CommandMeaning::new(arguments.spec.class);
    let (mut scripts, mut in_place, mut ends, mut plain) = (Vec::new(), false, false, true);
    let mut suffix = "";
    let mut operands = Vec::new();
    for item in arguments.items() {
        match item {
            CommandItem::Option { option: OptionSpec { name: "e" | "expression", .. }, value } => {
                scripts.push(value.unwrap_or(ArgumentWord::Many));
            }
            CommandItem::Option { option, .. } if option.effect == OptionEffect::Loads => {
                scripts.push(ArgumentWord::Known(""));
                meaning.lower_class(CommandClass::Unknown);
                meaning.add_unknown_effect("its script is in a file");
            }
            CommandItem::Option {
                option: OptionSpec { name: "i" | "in-place" | "I", .. },
                value,
            } => {
                in_place = true;
                // The original files get another name or are moved to another directory.
                match value {
                    None => {}
                    Some(ArgumentWord::Known(text)) if !text.contains(['/', '*']) => suffix = text,
                    Some(_) => {
                        meaning.lower_class(CommandClass::Unknown);
                        meaning.add_unknown_effect("keeps the old file under another name");
                    }
                }
            }
            // In the `sed` of BSD, `-l` takes no value, and the next word is the script.
            CommandItem::Option { option: OptionSpec { name: "l" | "line-length", .. }, value }
                if !matches!(value, Some(ArgumentWord::Known(text)) if text.bytes().all(|byte| byte.is_ascii_digit())) =>
            {
                meaning.lower_class(CommandClass::Unknown);
                meaning.add_unknown_effect("runs a script that is not known");
            }
            CommandItem::Option { option, .. } => {
                ends |= option.effect == OptionEffect::Ends;
                plain &= matches!(option.name, "n" | "quiet" | "silent" | "E" | "r" | "u");
            }
            CommandItem::Number => {}
            CommandItem::Operand(arg, _) => operands.push(arg),
            CommandItem::Unclear => meaning.lower_class(CommandClass::Unknown),
        }
    }
    let mut files = operands.as_slice();
    if scripts.is_empty() {
        let Some((first, rest)) = files.split_first() else {
            meaning.lower_class(if ends { arguments.spec.class } else { CommandClass::Unknown });
            return meaning;
        };
        scripts.push(*first);
        files = rest;
        // The BSD syntax `sed -i '' SCRIPT`.
        if let (true, ArgumentWord::Known(""), Some((second, rest))) =
            (in_place, *first, files.split_first())
        {
            scripts.push(*second);
            files = rest;
        }
    }
    let keeps = read_script(&mut meaning, join_scripts(&scripts));
    for file in files {
        meaning.add_read(*file, false);
        if in_place {
            meaning.add_write(*file);
            if let (ArgumentWord::Known(file), false) = (file, suffix.is_empty()) {
                meaning.add_write(ArgumentWord::Known(&format!("{file}{suffix}")));
            }
        }
    }
    if in_place {
        meaning.lower_class(CommandClass::Edits);
    } else if keeps && plain && meaning.effects.is_empty() {
        meaning.output = OutputKind::InputLines;
    }
    meaning
}

/// Returns the scripts joined by line breaks, or `None` if one of them is not known.
fn join_scripts(scripts: &[ArgumentWord<'_>]) -> Option<String> {
    let mut lines = Vec::new();
    for script in scripts {
        let ArgumentWord::Known(text) = script else { return None };
        lines.push(*text);
    }
    Some(lines.join("\n"))
}

/// Adds the effects of a script. Returns whether it prints only lines that it has read.
fn read_script(meaning: &mut CommandMeaning, script: Option<String>) -> bool {
    let Some(script) = script else {
        meaning.lower_class(CommandClass::Unknown);
        meaning.add_unknown_effect("runs a script that is not known");
        return false;
    };
    let Some(acts) = parse_actions(&script) else {
        // The positions of the commands are unclear, and each letter could be a command that runs
        // or writes something.
        meaning.lower_class(CommandClass::Unknown);
        meaning.add_unknown_effect("its script can run programs or write files");
        return false;
    };
    let told = acts.iter().any(|act| matches!(act, SedAction::Writes(_) | SedAction::Runs(_)));
    if !told && !forbidden_words::has_no_forbidden_sed(&script) {
        meaning.lower_class(CommandClass::Unknown);
    }
    for act in &acts {
        match *act {
            SedAction::Prints | SedAction::Changes => {}
            SedAction::Reads(file) => meaning.add_read(ArgumentWord::Known(file), false),
            SedAction::Writes(file) => meaning.add_write(ArgumentWord::Known(file)),
            SedAction::Runs(command) if !begins_with_program(command) => {
                meaning.lower_class(CommandClass::Unknown);
                meaning.add_unknown_effect("runs the lines that it reads, or a shell alone");
            }
            SedAction::Runs(command) => {
                meaning.lower_class(CommandClass::Unknown);
                meaning.add_script(ArgumentWord::Known(command));
            }
        }
    }
    acts.iter().all(|act| *act == SedAction::Prints)
}

/// Returns whether a shell command begins with the plain name of a program, so that the program is
/// known.
fn begins_with_program(command: &str) -> bool {
    const KEYWORDS: [&str; 12] = [
        "case", "coproc", "do", "done", "for", "function", "if", "in", "select", "time", "until",
        "while",
    ];
    let plain = |each: char| each.is_ascii_alphanumeric() || "_./-".contains(each);
    let name = command.split([' ', '\t']).next().unwrap_or_default();
    !name.is_empty() && name.chars().all(plain) && !KEYWORDS.contains(&name)
}
