//! Reader for `awk`. A script is harmless if it runs no programs, writes nothing, and reads no
//! files except its operands. It is read token by token. Anything that two implementations could
//! read differently is not understood. The text of a script that is understood is also searched for
//! forbidden words, and both checks must agree.

use super::{
    super::{
        Arg, Arguments, Meaning,
        items::{Item, items},
        level::{Does, Level, Opt},
        reading::read_plainly,
    },
    awk_words::{Token, tokens},
    forbidden,
};
use openoxide_protocol::CommandClass;

/// Reads a whole command.
pub(in super::super) fn awk(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut meaning = read_plainly(level, arguments, from);
    let (mut scripts, mut files, mut ends) = (Vec::new(), Vec::new(), false);
    let (mut scripted, mut values) = (false, Vec::new());
    let mut is_option_to_some = false;
    for item in items(level, arguments, from) {
        match item {
            Item::Option { option: Opt { name: "e" | "source", .. }, value } => {
                scripted = true;
                // Who does not know `-e` leaves it out, and takes such a script for options.
                is_option_to_some |=
                    matches!(value, Some(Arg::Known(text)) if text.starts_with('-'));
                scripts.push(value.unwrap_or(Arg::Many));
            }
            Item::Option { option, value } => {
                // Who does not know a long option leaves it out, and its value is the script.
                if option.name.len() > 1 && !matches!(value, None | Some(Arg::Known(_))) {
                    scripts.push(Arg::Many);
                } else if let (Some(Arg::Known(text)), true) = (value, option.name.len() > 1) {
                    values.push(text);
                }
                scripted |= option.does == Does::Loads;
                ends |= option.does == Does::Ends;
            }
            Item::Operand(arg, _) if !scripted => {
                scripted = true;
                scripts.push(arg);
            }
            Item::Operand(Arg::Known(text), _) if is_assignment(text) => {}
            Item::Operand(arg, _) => files.push(arg),
            Item::Number | Item::Unclear => {}
        }
    }
    if !scripts.is_empty() {
        script(&mut meaning, joined(&scripts));
    }
    for value in values.into_iter().filter(|value| !forbidden::is_free_of_awk(value, &[], 0)) {
        meaning.lower(CommandClass::Unknown);
        if may_run_or_write(value) {
            meaning.cannot_tell("some awks take this value for the script");
        }
    }
    if is_option_to_some {
        meaning.lower(CommandClass::Unknown);
        meaning.cannot_tell("some awks take its script for options");
    }
    files.into_iter().for_each(|file| meaning.read(file, false));
    if !scripted && !ends {
        meaning.lower(CommandClass::Unknown);
    }
    meaning
}

/// Returns the scripts as one, a line each, as awk joins them; nothing if one is not known.
fn joined(scripts: &[Arg<'_>]) -> Option<String> {
    let texts = scripts.iter().map(|script| match script {
        Arg::Known(text) => Some(*text),
        _ => None,
    });
    Some(texts.collect::<Option<Vec<_>>>()?.join("\n"))
}

/// Returns whether an operand sets a variable for the files after it.
fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| {
        !name.starts_with(|each: char| each.is_ascii_digit())
            && !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

fn script(meaning: &mut Meaning, script: Option<String>) {
    let Some(text) = script else {
        meaning.lower(CommandClass::Unknown);
        return meaning.cannot_tell("runs a script that is not known");
    };
    match tokens(&text) {
        Some(tokens) => {
            let writes = judge(meaning, &tokens);
            if !forbidden::is_free_of_awk(&text, &tokens, writes) {
                meaning.lower(CommandClass::Unknown);
            }
        }
        None => {
            meaning.lower(CommandClass::Unknown);
            if may_run_or_write(&text) {
                meaning.cannot_tell("its script can run programs or write files");
            }
        }
    }
}

/// Returns whether a script that is not understood contains something that could run programs or
/// write files.
fn may_run_or_write(script: &str) -> bool {
    script.contains(['>', '|', '@'])
        || ["system", "extension", "getline"].iter().any(|word| script.contains(word))
}

/// Goes through a script. A `>` behind `print` and outside of parentheses names a file, elsewhere it compares.
/// Returns how many name a file.
fn judge(meaning: &mut Meaning, tokens: &[Token<'_>]) -> usize {
    let mut redirections = 0;
    let (mut depth, mut printing) = (0_usize, None);
    let mut tokens = tokens.iter().peekable();
    while let Some(token) = tokens.next() {
        match *token {
            Token::Word("print" | "printf") => printing = Some(depth),
            Token::Word(word) => judge_word(meaning, word),
            Token::Sign('(' | '[') => depth += 1,
            Token::Sign(')' | ']') => depth = depth.saturating_sub(1),
            Token::Sign('{' | '}') => printing = None,
            Token::Sign(';') | Token::Line => printing = printing.filter(|at| *at < depth),
            Token::Sign('|' | '@') => runs(meaning),
            Token::Sign('>') if printing == Some(depth) => {
                tokens.next_if(|next| **next == Token::Sign('>'));
                let target = tokens.next().copied();
                let end = match tokens.peek() {
                    None | Some(Token::Sign(';' | '}') | Token::Line) => true,
                    Some(_) => false,
                };
                writes(meaning, target.filter(|_| end));
                redirections += 1;
            }
            Token::Sign(_) | Token::Text(_) | Token::Regex(_) | Token::Number | Token::Step => {}
        }
    }
    redirections
}

fn runs(meaning: &mut Meaning) {
    meaning.lower(CommandClass::Unknown);
    meaning.cannot_tell("its script runs programs");
}

fn judge_word(meaning: &mut Meaning, word: &str) {
    match word {
        "system" | "extension" => runs(meaning),
        // They show the environment, read other files, or call by name.
        "ENVIRON" | "ARGV" | "ARGC" | "SYMTAB" | "FUNCTAB" | "getline" => {
            meaning.lower(CommandClass::Unknown);
            meaning.cannot_tell("its script reads the environment, or files that it names itself");
        }
        _ => {}
    }
}

fn writes(meaning: &mut Meaning, target: Option<Token<'_>>) {
    match target {
        Some(Token::Text(file)) if !file.starts_with("/inet") && !file.contains('\\') => {
            meaning.write(Arg::Known(file));
        }
        _ => {
            meaning.lower(CommandClass::Unknown);
            meaning.cannot_tell("its script writes to a file that is not known");
        }
    }
}
