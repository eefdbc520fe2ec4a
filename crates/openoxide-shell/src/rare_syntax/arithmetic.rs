//! Determines which variables of a script are numbers, from the text of their assignments.

use std::{borrow::Cow, collections::BTreeMap};

use super::script_text::{is_name_byte, text_window};

/// The variables that a script assigns, and whether each assignment is a number.
pub(super) struct NumericNames<'s>(BTreeMap<&'s str, bool>);

impl<'s> NumericNames<'s> {
    /// Searches `script` for assignments, `for` loops and names that `read` assigns.
    pub(super) fn new(script: &'s str) -> Self {
        let mut names = Self(BTreeMap::new());
        for (at, _) in script.match_indices('=') {
            let before =
                script.get(..at).unwrap_or_default().trim_end_matches(['+', '-', '*', '/']);
            names.note(last_name(before), is_number(text_window(script, at + 1)));
        }
        for keyword in ["for ", "select "] {
            for (at, _) in script.match_indices(keyword) {
                let rest = text_window(script, at + keyword.len()).trim_start();
                let (name, rest) = rest.split_at_checked(name_length(rest)).unwrap_or_default();
                let list = rest.strip_prefix(" in ").and_then(|rest| rest.split_once([';', '\n']));
                names.note(name, list.is_some_and(|(list, _)| is_list_of_numbers(list)));
            }
        }
        let mut reads = false;
        for word in script.split([' ', '\t', '\n', ';', '&', '|', '(', ')', '{', '}']) {
            match word {
                "read" | "mapfile" | "readarray" | "getopts" => reads = true,
                "do" | "then" | "done" => reads = false,
                _ if reads => names.note(word, false),
                _ => {}
            }
        }
        names
    }

    fn note(&mut self, name: &'s str, is_number: bool) {
        if !name.is_empty() {
            *self.0.entry(name).or_insert(true) &= is_number;
        }
    }

    /// Returns whether `name` is a number: the script assigns only numbers to it, or does not
    /// assign it at all. The variables that the shell itself sets to text have names in upper case.
    fn is_numeric(&self, name: &str) -> bool {
        let is_ordinary = |name: &str| !name.bytes().any(|byte| byte.is_ascii_uppercase());
        let is_set_to_numbers = || ["LINENO", "RANDOM", "SECONDS"].contains(&name);
        let default = || is_ordinary(name) && name != "_" || is_set_to_numbers();
        self.0.get(name).copied().unwrap_or_else(default)
    }

    /// Returns whether `text` consists of numbers, numeric variables and colons.
    pub(super) fn is_plain_offset(&self, text: &str) -> bool {
        text.split(':')
            .map(|part| part.trim().trim_start_matches('-'))
            .all(|part| part.is_empty() || is_digits(part) || self.is_plain_word(part))
    }

    /// Returns whether the expression before `closer` contains only numbers, operators and numeric
    /// variables.
    pub(super) fn is_plain_arithmetic(&self, text: &str, closer: &str) -> bool {
        let Some((expression, _)) = text.split_once(closer) else { return false };
        let expression = replace_printed_numbers(expression).replace("$?", "1");
        let is_plain_byte = |byte: u8| {
            is_name_byte(byte)
                || matches!(
                    byte,
                    b' ' | b'\t'
                        | b'+'
                        | b'-'
                        | b'*'
                        | b'/'
                        | b'%'
                        | b'<'
                        | b'>'
                        | b'='
                        | b'!'
                        | b'&'
                        | b'|'
                        | b'?'
                        | b':'
                        | b'('
                        | b')'
                        | b','
                        | b'^'
                        | b'$'
                )
        };
        expression.bytes().all(is_plain_byte)
            && expression
                .split(|letter: char| {
                    !letter.is_ascii() || !is_name_byte(letter as u8) && letter != '$'
                })
                .filter(|word| !word.is_empty())
                .all(|word| self.is_plain_word(word))
    }

    /// Returns whether a word of arithmetic is a number or a numeric variable.
    fn is_plain_word(&self, word: &str) -> bool {
        let name = word.strip_prefix('$').unwrap_or(word);
        // `$-`, `$0` and `$1` can be any text.
        let is_name = !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit());
        is_digits(word) || is_name && !name.contains('$') && self.is_numeric(name)
    }

    /// Returns whether an operand of a numeric comparison is a number or a numeric variable.
    pub(super) fn is_plain_operand(&self, word: &str) -> bool {
        let digits = word.strip_prefix('-').unwrap_or(word);
        matches!(word, "$?" | "$#") || is_digits(digits) || self.is_plain_word(word)
    }
}

fn name_length(text: &str) -> usize {
    text.bytes().position(|byte| !is_name_byte(byte)).unwrap_or(text.len())
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns the name at the end of `text`.
fn last_name(text: &str) -> &str {
    let start = text.bytes().rposition(|byte| !is_name_byte(byte)).map_or(0, |at| at + 1);
    text.get(start..).unwrap_or_default()
}

/// Returns whether the value at the start of `text` is a number. A number is digits, arithmetic, or
/// the output of a command that prints a number.
fn is_number(text: &str) -> bool {
    let text = text.trim_start_matches(['"', ' ', '-']);
    if text.starts_with("$((") {
        return true;
    }
    if let Some(command) = text.strip_prefix("$(") {
        return command.split_once(')').is_some_and(|(command, _)| prints_number(command));
    }
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at_checked(end).unwrap_or_default();
    !digits.is_empty()
        && rest.chars().next().is_none_or(|letter| " \t\n;&|)\"+-*/%,".contains(letter))
}

/// Returns whether `command` prints only a number.
fn prints_number(command: &str) -> bool {
    let last = command.rsplit('|').next().unwrap_or_default().trim();
    let is_simple = |text: &str| !text.contains([';', '&', '\n', '`', '$', '(']);
    is_simple(command)
        && (matches!(last, "wc -l" | "wc -c" | "wc -w" | "nproc")
            || matches!(last, "date +%s" | "date +%H" | "date +%M" | "date +%S" | "date +%Y")
            || last.starts_with("wc -l <")
            || last.starts_with("grep -c ") && last.contains('<') && !last.contains("--"))
}

/// Replaces the substitutions of commands that print a number by one.
fn replace_printed_numbers(expression: &str) -> Cow<'_, str> {
    let Some((before, rest)) = expression.split_once("$(") else { return expression.into() };
    match rest.split_once(')') {
        Some((command, after)) if prints_number(command) => {
            format!("{before}1{}", replace_printed_numbers(after)).into()
        }
        _ => expression.into(),
    }
}

fn is_list_of_numbers(list: &str) -> bool {
    let list = list.trim();
    let sequence = list.strip_prefix("$(seq ").and_then(|rest| rest.strip_suffix(')'));
    if let Some(bounds) = sequence {
        return bounds.split_whitespace().all(|word| is_digits(word.trim_start_matches('-')));
    }
    let range = list.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    if let Some(range) = range {
        return range.split("..").all(is_digits);
    }
    list.split_whitespace().all(is_digits)
}
