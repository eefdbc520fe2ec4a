//! `sed` with scripts that only print: lines by number or pattern, and plain substitutions.

use openoxide_protocol::{Word, Words};

use super::Known;
use crate::options::{Grammar, Item, options};

const SED: Grammar = Grammar::exact(
    "nErsuze:l:",
    &["quiet silent regexp-extended separate unbuffered null-data expression: posix debug \
       line-length: help version"],
);

/// Judges a whole command.
pub(super) fn judge(argv: &Words) -> Option<Known> {
    let mut known = Known::harmless();
    let mut scripted = false;
    let mut operands = Vec::new();
    for item in options(argv, 1, SED) {
        match item {
            Item::Option { name: "e" | "expression", value, .. } => {
                scripted = true;
                prints(value?)?;
            }
            Item::Option { .. } => {}
            Item::Operand(word) => operands.push(word),
            Item::Unclear => return None,
        }
    }
    let mut operands = operands.into_iter();
    if !scripted {
        prints(operands.next()?)?;
    }
    operands.try_for_each(|file| known.read_word(file))?;
    Some(known)
}

/// Checks that a script only prints.
fn prints(script: Word<'_>) -> Option<()> {
    let Word::Known(script) = script else { return None };
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
