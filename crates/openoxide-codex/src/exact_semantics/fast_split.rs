//! A fast parser for plain scripts, which are the majority: bare words, fully quoted words, and
//! `&&`, `||`, `|`, `;` between commands. It accepts only scripts that the grammar parses in the
//! same way (a test compares them). All others are left to the grammar.

/// Words that have another meaning in the position of a program.
const RESERVED_WORDS: &[&str] = &[
    "case", "coproc", "declare", "do", "done", "elif", "else", "esac", "export", "fi", "for",
    "function", "if", "in", "let", "local", "readonly", "select", "then", "time", "typeset",
    "unset", "unsetenv", "until", "while",
];

/// Returns the words of each command of a script, or `None` if the script is not plain.
pub(super) fn split_plain_script(text: &str) -> Option<Vec<Vec<String>>> {
    let mut commands = vec![Vec::new()];
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(' ');
        let current = commands.last_mut()?;
        match rest.as_bytes().first() {
            None => return (!current.is_empty()).then_some(commands),
            Some(b'&' | b'|' | b';') => {
                rest = skip_operator(rest).filter(|_| !current.is_empty())?;
                commands.push(Vec::new());
            }
            Some(_) => {
                let (word, after) = parse_word(rest, current.is_empty())?;
                current.push(word.to_owned());
                rest = after;
            }
        }
    }
}

/// Returns whether a script contains a character that a plain script never has. It recognizes most
/// scripts that are not plain. It returns false at a backslash, which can hide a quote, and leaves
/// such a script to the grammar. Only since 0.169 do all of these characters make Codex treat a
/// script as not plain.
pub(super) fn has_special_character(text: &str) -> bool {
    let mut quote = None;
    for byte in text.bytes() {
        match (byte, quote) {
            (b'\\', None | Some(b'"')) => return false,
            (b'\'' | b'"', None) => quote = Some(byte),
            (_, Some(open)) if open == byte => quote = None,
            (b'$' | b'`', Some(b'"')) => return true,
            (
                b'<' | b'>' | b'(' | b')' | b'{' | b'}' | b'[' | b']' | b'$' | b'`' | b'*' | b'?'
                | b'~' | b'^' | b'#',
                None,
            ) => {
                return true;
            }
            _ => {}
        }
    }
    false
}

/// Returns the text after an operator. Returns `None` if another operator follows directly, or if
/// the operator does not separate plain commands.
fn skip_operator(rest: &str) -> Option<&str> {
    let operator =
        ["&&", "||", "|", ";"].into_iter().find(|operator| rest.starts_with(operator))?;
    rest.strip_prefix(operator).filter(|after| !after.starts_with(['&', '|', ';']))
}

/// Returns a word and the rest after it, which begins with a blank or an operator, or is empty.
fn parse_word(rest: &str, is_program: bool) -> Option<(&str, &str)> {
    let (word, after) = match rest.as_bytes().first()? {
        quote @ (b'\'' | b'"') if !is_program => parse_quoted_word(rest, char::from(*quote))?,
        _ => parse_bare_word(rest, is_program)?,
    };
    (after.is_empty() || after.starts_with([' ', '&', '|', ';'])).then_some((word, after))
}

fn parse_bare_word(rest: &str, is_program: bool) -> Option<(&str, &str)> {
    let more: &[u8] = if is_program { b"_-./" } else { b"_-./:,@%+=" };
    let end = rest.bytes().position(|byte| !byte.is_ascii_alphanumeric() && !more.contains(&byte));
    let (word, after) = rest.split_at_checked(end.unwrap_or(rest.len()))?;
    let starts = |byte: u8| byte.is_ascii_alphabetic() || b"./_".contains(&byte);
    let may_be_program =
        || word.bytes().next().is_some_and(starts) && !starts_with_reserved_word(word);
    let usable = !word.is_empty() && !word.starts_with('=') && (!is_program || may_be_program());
    usable.then_some((word, after))
}

/// Returns whether the grammar would read a reserved word at the start of a word. It splits
/// `then-x` after `then`, but reads `thenx` as one word.
fn starts_with_reserved_word(word: &str) -> bool {
    let name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    match word.bytes().all(name) {
        true => RESERVED_WORDS.contains(&word),
        false => RESERVED_WORDS.iter().any(|reserved| word.starts_with(reserved)),
    }
}

fn parse_quoted_word(rest: &str, quote: char) -> Option<(&str, &str)> {
    let (word, after) = rest.strip_prefix(quote)?.split_once(quote)?;
    let plain =
        |byte: u8| matches!(byte, b' '..=b'~') && (quote == '\'' || !b"$`\\".contains(&byte));
    word.bytes().all(plain).then_some((word, after))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact_semantics::{CodexDialect, script_commands};

    const PIECES: &[&str] = &[
        " ", " ", " ", "  ", "a", "ls", "git", "-l", "--x=y", "a=b", "=", "1", "0x1", "2", ".",
        "/", "./x", "..", ":", ",", "@", "%", "+", "-", "_", "&&", " && ", "||", " || ", "|",
        " | ", ";", "; ", "'a b'", "''", "\"\"", "\"a 'b\"", "'$x'", "'\\'", "\"a#!b\"", "\"x\"",
        "'", "\"", "if", "then", "time", "export", "test", "function", "in", "!", "do", "case",
        "exec", "rm", "-rf", "sudo", "&", "|&", ";;", "(", ">", "$x", "\\", "#", "{", "*", "~",
        "\n", "é", "^", "[", "]", "?", "\t",
    ];

    fn chance(state: &mut u64) -> usize {
        *state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(*state >> 40).unwrap()
    }

    #[test]
    fn the_short_way_leads_where_the_grammar_leads() {
        let (mut state, mut read, mut refused) = (7, 0, 0);
        for _ in 0..300_000 {
            let length = 1 + chance(&mut state) % 9;
            // Most of the pieces are plain. The others only have to be recognized.
            let most = if chance(&mut state).is_multiple_of(3) { PIECES.len() } else { 53 };
            let script: String = (0..length).map(|_| PIECES[chance(&mut state) % most]).collect();
            if has_special_character(&script) {
                refused += 1;
                assert_eq!(
                    script_commands::parse_plain_commands(&script, CodexDialect::V0169),
                    None,
                    "{script:?}"
                );
            }
            let Some(found) = split_plain_script(&script) else { continue };
            read += 1;
            for dialect in [CodexDialect::V0145, CodexDialect::V0169] {
                assert_eq!(
                    Some(&found),
                    script_commands::parse_plain_commands(&script, dialect).as_ref(),
                    "{script:?}"
                );
            }
        }
        assert!(read > 10_000 && refused > 10_000, "{read} {refused}");
    }
}
