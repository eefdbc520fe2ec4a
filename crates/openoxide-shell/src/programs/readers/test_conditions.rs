//! Readers for `test` and `[`. Some operators evaluate their operands arithmetically, and a
//! subscript can contain a command.

use openoxide_protocol::CommandWord;

use super::{
    super::{ArgumentWord, CommandMeaning, WordSource, command_arguments::CommandArguments},
    HarmlessReads, harmless_meaning,
};

/// Reads a `[ … ]` command.
pub(in super::super) fn read_bracket(arguments: CommandArguments<'_>) -> CommandMeaning {
    let words = condition_words(arguments);
    let known = match words.split_last() {
        Some((CommandWord::Known("]"), condition)) => check_condition(condition),
        _ => None,
    };
    harmless_meaning(known)
}

/// Reads a `test …` command.
pub(in super::super) fn read_test(arguments: CommandArguments<'_>) -> CommandMeaning {
    harmless_meaning(check_condition(&condition_words(arguments)))
}

/// Returns the words of the condition. An unknown word that is the name of a file counts as one
/// word.
fn condition_words(arguments: CommandArguments<'_>) -> Vec<CommandWord<'_>> {
    let word = |(arg, written)| match arg {
        ArgumentWord::Known(text) => CommandWord::Known(text),
        ArgumentWord::Files(WordSource::DescendantsOf { bare: false, .. }) => {
            CommandWord::KnownPrefix("")
        }
        ArgumentWord::Files(_) => written,
        ArgumentWord::Prefix(text) => CommandWord::KnownPrefix(text),
        ArgumentWord::Many => CommandWord::AnyWords,
    };
    arguments.words().zip(arguments.command_words()).map(word).collect()
}

fn check_condition(words: &[CommandWord<'_>]) -> Option<HarmlessReads> {
    let mut known = HarmlessReads { metadata_only: true, ..HarmlessReads::default() };
    // With more than four words, a value such as `(` or `!` changes which words are operators.
    let fixed = words.len() <= 4 || words.iter().all(|word| matches!(word, CommandWord::Known(_)));
    if !fixed || words.contains(&CommandWord::AnyWords) {
        return None;
    }
    if matches!(words, [_, CommandWord::Known("-a" | "-o"), _]) {
        return Some(known);
    }
    for term in words.split(|word| matches!(word, CommandWord::Known("-a" | "-o"))) {
        read_term(term, words.len() == term.len(), &mut known)?;
    }
    Some(known)
}

/// Reads one term. A single unknown word is a term only if it is the whole condition.
fn read_term(term: &[CommandWord<'_>], alone: bool, known: &mut HarmlessReads) -> Option<()> {
    let negations = term.iter().take_while(|word| **word == CommandWord::Known("!")).count();
    let term = term.get(negations.min(term.len().saturating_sub(1))..)?;
    match term {
        [] => alone.then_some(()),
        [CommandWord::Known(_)] => Some(()),
        [_] => alone.then_some(()),
        [CommandWord::Known(operator), operand] => match *operator {
            "-z" | "-n" | "-t" | "-o" => Some(()),
            "-e" | "-f" | "-d" | "-r" | "-w" | "-x" | "-s" | "-L" | "-h" | "-b" | "-c" | "-p"
            | "-S" | "-g" | "-u" | "-k" | "-O" | "-G" | "-N" => known.add_metadata_file(*operand),
            _ => None,
        },
        [left, CommandWord::Known(operator), right] => match *operator {
            "=" | "==" | "!=" | "<" | ">" => Some(()),
            "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" => {
                let plain = |word: &CommandWord<'_>| !matches!(word, CommandWord::Known(text) if text.contains(['[', '$', '`']));
                (plain(left) && plain(right)).then_some(())
            }
            "-nt" | "-ot" | "-ef" => {
                known.add_metadata_file(*left)?;
                known.add_metadata_file(*right)
            }
            _ => None,
        },
        _ => None,
    }
}
