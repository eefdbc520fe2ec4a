//! `sed` with scripts that only print: lines by number or pattern, and plain substitutions.

use openoxide_protocol::CommandClass;

use super::super::{
    Arg, Arguments, Meaning,
    items::{Item, items},
    level::{Level, Opt},
};

/// Reads a whole command.
pub(in super::super) fn sed(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut meaning = Meaning::of(level.class);
    let (mut scripted, mut in_place) = (false, false);
    let mut operands = Vec::new();
    for item in items(level, arguments, from) {
        match item {
            Item::Option { option: Opt { name: "e" | "expression", .. }, value } => {
                scripted = true;
                script(&mut meaning, value);
            }
            Item::Option { option: Opt { name: "f" | "file", .. }, .. } => {
                scripted = true;
                meaning.lower(CommandClass::Unknown);
                meaning.cannot_tell("its script lies in a file");
            }
            Item::Option { option: Opt { name: "i" | "in-place", .. }, .. } => in_place = true,
            Item::Option { .. } | Item::Number => {}
            Item::Operand(arg, _) => operands.push(arg),
            Item::Unclear => meaning.lower(CommandClass::Unknown),
        }
    }
    let mut operands = operands.into_iter();
    if !scripted {
        script(&mut meaning, operands.next());
    }
    for file in operands {
        meaning.read(file, false);
        if in_place {
            meaning.write(file);
        }
    }
    if in_place {
        meaning.lower(CommandClass::Edits);
    }
    meaning
}

fn script(meaning: &mut Meaning, script: Option<Arg<'_>>) {
    let Some(Arg::Known(text)) = script else {
        meaning.lower(CommandClass::Unknown);
        return meaning.cannot_tell("runs a script that is not known");
    };
    if prints(text).is_none() {
        meaning.lower(CommandClass::Unknown);
        if may_run_or_write(text) {
            meaning.cannot_tell("its script can run programs or write files");
        }
    }
}

/// Says whether a script may hold one of the commands `e`, `r`, `w` or one of the flags of `s` of the same names. Where
/// commands begin is for sed to say, so each letter counts that could be one.
fn may_run_or_write(script: &str) -> bool {
    script.char_indices().any(|(at, letter)| {
        let before = script.get(..at).unwrap_or_default();
        matches!(letter, 'e' | 'w' | 'W' | 'r' | 'R')
            && !before.ends_with(|each: char| each.is_alphabetic() && !"gpiImM".contains(each))
            && !script.get(at + 1..).is_some_and(|after| after.starts_with(char::is_alphanumeric))
    })
}

/// Checks that a script only prints.
fn prints(script: &str) -> Option<()> {
    script.split(';').all(|command| prints_one(command).is_some()).then_some(())
}

/// Checks one command: two addresses at most, then `p`, `d`, `q`, `=` or a plain substitution.
fn prints_one(command: &str) -> Option<()> {
    let rest = after_addresses(command.trim_matches(' '))?;
    let rest = rest.trim_start_matches(' ');
    let rest = rest.strip_prefix('!').unwrap_or(rest).trim_start_matches(' ');
    match rest {
        "" | "p" | "d" | "q" | "=" => Some(()),
        _ => substitutes(rest.strip_prefix('s')?),
    }
}

fn after_addresses(text: &str) -> Option<&str> {
    let rest = after_address(text)?;
    if rest.len() == text.len() {
        return Some(text);
    }
    let Some(second) = rest.strip_prefix(',') else { return Some(rest) };
    let second = second.strip_prefix(['+', '~']).unwrap_or(second);
    after_address(second).filter(|rest| rest.len() < second.len())
}

/// Returns what follows an address: the text itself if it begins with none, nothing if it is a hard one.
fn after_address(text: &str) -> Option<&str> {
    let number = |text: &'_ str| text.trim_start_matches(|each: char| each.is_ascii_digit()).len();
    if let Some(rest) = text.strip_prefix('$') {
        return Some(rest);
    }
    if let Some(pattern) = text.strip_prefix('/') {
        let (pattern, rest) = split_plain(pattern, '/')?;
        return (!pattern.is_empty()).then_some(rest);
    }
    let rest = text.get(text.len() - number(text)..)?;
    match rest.strip_prefix('~') {
        Some(step) if rest.len() < text.len() => step.get(step.len() - number(step)..),
        _ => Some(rest),
    }
}

/// Checks what follows the `s` of a substitution: nothing but `g`, `p`, `i` and a number may follow it.
fn substitutes(text: &str) -> Option<()> {
    let delimiter = text.chars().next().filter(|each| "/|#,@:".contains(*each))?;
    let (_, rest) = split_plain(text.strip_prefix(delimiter)?, delimiter)?;
    let (_, flags) = split_plain(rest, delimiter)?;
    flags.bytes().all(|flag| b"gpiI0123456789".contains(&flag)).then_some(())
}

/// Splits a text at the delimiter. Every sed must agree where that is: a bracket holds only what cannot be mistaken,
/// and a backslash never stands before the delimiter.
fn split_plain(text: &str, delimiter: char) -> Option<(&str, &str)> {
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            _ if letter == delimiter => {
                return Some((text.get(..at)?, letters.as_str()));
            }
            '\n' => return None,
            '\\' => {
                letters.next().filter(|(_, each)| {
                    *each != delimiter
                        && (each.is_ascii_punctuation() || "sSwWbBdDt123456789".contains(*each))
                })?;
            }
            '[' => {
                let class = letters.as_str();
                let class = class.strip_prefix('^').unwrap_or(class);
                let (class, rest) = class.split_once(']')?;
                let plain = |each: char| each.is_ascii_alphanumeric() || " _.-".contains(each);
                (!class.is_empty() && class.chars().all(plain)).then_some(())?;
                let rest_at = text.len() - rest.len();
                letters = text.char_indices();
                letters.by_ref().take_while(|(at, _)| at + 1 < rest_at).for_each(drop);
            }
            _ => {}
        }
    }
    None
}
