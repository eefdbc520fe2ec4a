//! Reader for `awk`. A script is harmless if it runs no programs, writes nothing, and reads no
//! files except its operands. It is read token by token. Anything that two implementations could
//! read differently is not understood. The text of a script that is understood is also searched for
//! forbidden words, and both checks must agree.

use super::{
    super::{
        ArgumentWord, CommandMeaning,
        command_arguments::CommandArguments,
        command_items::CommandItem,
        command_reading::read_without_custom_reader,
        command_spec::{OptionEffect, OptionSpec},
    },
    awk_tokens::{AwkToken, tokenize},
    forbidden_words,
};
use openoxide_protocol::CommandClass;

/// Reads a whole command.
pub(in super::super) fn read_awk(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_without_custom_reader(arguments);
    let (mut scripts, mut files, mut ends) = (Vec::new(), Vec::new(), false);
    let (mut scripted, mut values) = (false, Vec::new());
    let mut is_option_to_some = false;
    for item in arguments.items() {
        match item {
            CommandItem::Option { option: OptionSpec { name: "e" | "source", .. }, value } => {
                scripted = true;
                // A version that does not know `-e` ignores it and parses such a script as options.
                is_option_to_some |=
                    matches!(value, Some(ArgumentWord::Known(text)) if text.starts_with('-'));
                scripts.push(value.unwrap_or(ArgumentWord::Many));
            }
            CommandItem::Option { option, value } => {
                // A version that does not know a long option ignores it and uses its value as the
                // script.
                if option.name.len() > 1 && !matches!(value, None | Some(ArgumentWord::Known(_))) {
                    scripts.push(ArgumentWord::Many);
                } else if let (Some(ArgumentWord::Known(text)), true) =
                    (value, option.name.len() > 1)
                {
                    values.push(text);
                }
                scripted |= option.effect == OptionEffect::Loads;
                ends |= option.effect == OptionEffect::Ends;
            }
            CommandItem::Operand(arg, _) if !scripted => {
                scripted = true;
                scripts.push(arg);
            }
            CommandItem::Operand(ArgumentWord::Known(text), _) if is_assignment(text) => {}
            CommandItem::Operand(arg, _) => files.push(arg),
            CommandItem::Number | CommandItem::Unclear => {}
        }
    }
    if !scripts.is_empty() {
        add_script_effects(&mut meaning, join_scripts(&scripts));
    }
    for value in
        values.into_iter().filter(|value| !forbidden_words::has_no_forbidden_awk(value, &[], 0))
    {
        meaning.lower_class(CommandClass::Unknown);
        if may_run_or_write(value) {
            meaning.add_unknown_effect("some awks take this value for the script");
        }
    }
    if is_option_to_some {
        meaning.lower_class(CommandClass::Unknown);
        meaning.add_unknown_effect("some awks take its script for options");
    }
    files.into_iter().for_each(|file| meaning.add_read(file, false));
    if !scripted && !ends {
        meaning.lower_class(CommandClass::Unknown);
    }
    meaning
}

/// Returns the scripts joined by line breaks, as awk joins them, or `None` if one of them is not
/// known.
fn join_scripts(scripts: &[ArgumentWord<'_>]) -> Option<String> {
    let texts = scripts.iter().map(|script| match script {
        ArgumentWord::Known(text) => Some(*text),
        _ => None,
    });
    Some(texts.collect::<Option<Vec<_>>>()?.join("\n"))
}

/// Returns whether an operand assigns a variable for the files after it.
fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| {
        !name.starts_with(|each: char| each.is_ascii_digit())
            && !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

fn add_script_effects(meaning: &mut CommandMeaning, script: Option<String>) {
    let Some(text) = script else {
        meaning.lower_class(CommandClass::Unknown);
        return meaning.add_unknown_effect("runs a script that is not known");
    };
    match tokenize(&text) {
        Some(tokens) => {
            let writes = analyze_tokens(meaning, &tokens);
            if !forbidden_words::has_no_forbidden_awk(&text, &tokens, writes) {
                meaning.lower_class(CommandClass::Unknown);
            }
        }
        None => {
            meaning.lower_class(CommandClass::Unknown);
            if may_run_or_write(&text) {
                meaning.add_unknown_effect("its script can run programs or write files");
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

/// Checks the tokens of a script and returns the number of redirections to files. A `>` after
/// `print` and outside of parentheses is a redirection. Elsewhere it is a comparison.
fn analyze_tokens(meaning: &mut CommandMeaning, tokens: &[AwkToken<'_>]) -> usize {
    let mut redirections = 0;
    let (mut depth, mut printing) = (0_usize, None);
    let mut tokens = tokens.iter().peekable();
    while let Some(token) = tokens.next() {
        match *token {
            AwkToken::Word("print" | "printf") => printing = Some(depth),
            AwkToken::Word(word) => analyze_word(meaning, word),
            AwkToken::Sign('(' | '[') => depth += 1,
            AwkToken::Sign(')' | ']') => depth = depth.saturating_sub(1),
            AwkToken::Sign('{' | '}') => printing = None,
            AwkToken::Sign(';') | AwkToken::Line => printing = printing.filter(|at| *at < depth),
            AwkToken::Sign('|' | '@') => runs_command(meaning),
            AwkToken::Sign('>') if printing == Some(depth) => {
                tokens.next_if(|next| **next == AwkToken::Sign('>'));
                let target = tokens.next().copied();
                let end = match tokens.peek() {
                    None | Some(AwkToken::Sign(';' | '}') | AwkToken::Line) => true,
                    Some(_) => false,
                };
                writes_file(meaning, target.filter(|_| end));
                redirections += 1;
            }
            AwkToken::Sign(_)
            | AwkToken::Text(_)
            | AwkToken::Regex(_)
            | AwkToken::Number
            | AwkToken::Step => {}
        }
    }
    redirections
}

fn runs_command(meaning: &mut CommandMeaning) {
    meaning.lower_class(CommandClass::Unknown);
    meaning.add_unknown_effect("its script runs programs");
}

fn analyze_word(meaning: &mut CommandMeaning, word: &str) {
    match word {
        "system" | "extension" => runs_command(meaning),
        // These names show the environment, read other files, or call functions by name.
        "ENVIRON" | "ARGV" | "ARGC" | "SYMTAB" | "FUNCTAB" | "getline" => {
            meaning.lower_class(CommandClass::Unknown);
            meaning.add_unknown_effect(
                "its script reads the environment, or files that it names itself",
            );
        }
        _ => {}
    }
}

fn writes_file(meaning: &mut CommandMeaning, target: Option<AwkToken<'_>>) {
    match target {
        Some(AwkToken::Text(file)) if !file.starts_with("/inet") && !file.contains('\\') => {
            meaning.add_write(ArgumentWord::Known(file));
        }
        _ => {
            meaning.lower_class(CommandClass::Unknown);
            meaning.add_unknown_effect("its script writes to a file that is not known");
        }
    }
}
