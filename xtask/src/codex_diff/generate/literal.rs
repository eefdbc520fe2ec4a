//! String literals of rule files.

use std::fmt::Write as _;

use crate::crash::chance::Chance;

use super::words::one;

/// Returns a literal of this text, in one of the possible forms.
pub(super) fn text(chance: &mut Chance, text: &str) -> String {
    match chance.below(100) {
        0..=69 => format!("\"{}\"", escaped(chance, text, '"')),
        70..=84 => format!("'{}'", escaped(chance, text, '\'')),
        85..=89 if !text.contains(['"', '\\', '\n']) => format!("r\"{text}\""),
        90..=94 => format!("\"\"\"{}\"\"\"", escaped(chance, text, '"')),
        95..=97 if !text.contains(['{', '}']) => format!("f\"{}\"", escaped(chance, text, '"')),
        _ => {
            let at = text.char_indices().nth(1).map_or(text.len(), |(at, _)| at);
            let (first, rest) = text.split_at(at);
            format!("\"{}\" + \"{}\"", escaped(chance, first, '"'), escaped(chance, rest, '"'))
        }
    }
}

fn escaped(chance: &mut Chance, text: &str, quote: char) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '\n' => out += "\\n",
            '\t' => out += "\\t",
            '\\' => out += "\\\\",
            _ if c == quote => {
                out.push('\\');
                out.push(c);
            }
            _ if chance.percent(2) => drop(write!(out, "\\U{:08x}", u32::from(c))),
            _ => out.push(c),
        }
    }
    out
}

/// Returns a value that is not valid where a text is expected.
pub(super) fn odd(chance: &mut Chance) -> String {
    let odd = [
        "1",
        "None",
        "True",
        "1.5",
        "{}",
        "()",
        "[]",
        "[[]]",
        "(\"a\",)",
        "len",
        "{\"a\": 1}",
        "-1",
        "range(3)",
        "[1]",
        "\"\"",
        "\" \"",
    ];
    one(chance, &odd).to_owned()
}
