//! Reader for `sed`. Its script is read command by command, and the files that it reads and writes
//! are reported.

use openoxide_protocol::CommandClass;

use super::{
    super::{
        Arg, Arguments, Meaning, Prints,
        items::{Item, items},
        level::{Does, Level, Opt},
    },
    forbidden,
    sed_script::{Act, acts},
};

/// Reads a whole command.
pub(in super::super) fn sed(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut meaning = Meaning::of(level.class);
    let (mut scripts, mut in_place, mut ends, mut plain) = (Vec::new(), false, false, true);
    let mut suffix = "";
    let mut operands = Vec::new();
    for item in items(level, arguments, from) {
        match item {
            Item::Option { option: Opt { name: "e" | "expression", .. }, value } => {
                scripts.push(value.unwrap_or(Arg::Many));
            }
            Item::Option { option, .. } if option.does == Does::Loads => {
                scripts.push(Arg::Known(""));
                meaning.lower(CommandClass::Unknown);
                meaning.cannot_tell("its script lies in a file");
            }
            Item::Option { option: Opt { name: "i" | "in-place" | "I", .. }, value } => {
                in_place = true;
                // The files as they were get another name, or go into another directory.
                match value {
                    None => {}
                    Some(Arg::Known(text)) if !text.contains(['/', '*']) => suffix = text,
                    Some(_) => {
                        meaning.lower(CommandClass::Unknown);
                        meaning.cannot_tell("keeps what was there under another name");
                    }
                }
            }
            // For the sed of BSD `-l` takes no value, and the next word is the script.
            Item::Option { option: Opt { name: "l" | "line-length", .. }, value } if !matches!(value, Some(Arg::Known(text)) if text.bytes().all(|byte| byte.is_ascii_digit())) =>
            {
                meaning.lower(CommandClass::Unknown);
                meaning.cannot_tell("runs a script that is not known");
            }
            Item::Option { option, .. } => {
                ends |= option.does == Does::Ends;
                plain &= matches!(option.name, "n" | "quiet" | "silent" | "E" | "r" | "u");
            }
            Item::Number => {}
            Item::Operand(arg, _) => operands.push(arg),
            Item::Unclear => meaning.lower(CommandClass::Unknown),
        }
    }
    let mut files = operands.as_slice();
    if scripts.is_empty() {
        let Some((first, rest)) = files.split_first() else {
            meaning.lower(if ends { level.class } else { CommandClass::Unknown });
            return meaning;
        };
        scripts.push(*first);
        files = rest;
        // `sed -i '' SCRIPT`, as BSD has it.
        if let (true, Arg::Known(""), Some((second, rest))) =
            (in_place, *first, files.split_first())
        {
            scripts.push(*second);
            files = rest;
        }
    }
    let keeps = read_script(&mut meaning, joined(&scripts));
    for file in files {
        meaning.read(*file, false);
        if in_place {
            meaning.write(*file);
            if let (Arg::Known(file), false) = (file, suffix.is_empty()) {
                meaning.write(Arg::Known(&format!("{file}{suffix}")));
            }
        }
    }
    if in_place {
        meaning.lower(CommandClass::Edits);
    } else if keeps && plain && meaning.effects.is_empty() {
        meaning.prints = Prints::Input;
    }
    meaning
}

/// Returns the scripts as one, a line each; nothing if one is not known.
fn joined(scripts: &[Arg<'_>]) -> Option<String> {
    let mut lines = Vec::new();
    for script in scripts {
        let Arg::Known(text) = script else { return None };
        lines.push(*text);
    }
    Some(lines.join("\n"))
}

/// Adds the effects of a script. Returns whether it prints only lines that it has read.
fn read_script(meaning: &mut Meaning, script: Option<String>) -> bool {
    let Some(script) = script else {
        meaning.lower(CommandClass::Unknown);
        meaning.cannot_tell("runs a script that is not known");
        return false;
    };
    let Some(acts) = acts(&script) else {
        // Where commands begin is not certain, and each of their letters could be one that runs or writes.
        meaning.lower(CommandClass::Unknown);
        meaning.cannot_tell("its script can run programs or write files");
        return false;
    };
    let told = acts.iter().any(|act| matches!(act, Act::Writes(_) | Act::Runs(_)));
    if !told && !forbidden::is_free_of_sed(&script) {
        meaning.lower(CommandClass::Unknown);
    }
    for act in &acts {
        match *act {
            Act::Prints | Act::Changes => {}
            Act::Reads(file) => meaning.read(Arg::Known(file), false),
            Act::Writes(file) => meaning.write(Arg::Known(file)),
            Act::Runs(command) if !begins_with_program(command) => {
                meaning.lower(CommandClass::Unknown);
                meaning.cannot_tell("runs the lines that it reads, or a shell alone");
            }
            Act::Runs(command) => {
                meaning.lower(CommandClass::Unknown);
                meaning.run_script(Arg::Known(command));
            }
        }
    }
    acts.iter().all(|act| *act == Act::Prints)
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
