//! `test` and `[`: some of their operators compute what they are given, and a subscript can hold a command.

use openoxide_protocol::CommandWord;

use super::{
    super::{Arg, Arguments, Meaning, Paths, level::Level},
    Known, harmless,
};

/// `[ … ]`.
pub(in super::super) fn bracket(_: &Level, arguments: Arguments<'_>, from: usize) -> Meaning {
    let words = words(arguments, from);
    let known = match words.split_last() {
        Some((CommandWord::Known("]"), condition)) => judge(condition),
        _ => None,
    };
    harmless(known)
}

/// `test …`.
pub(in super::super) fn test(_: &Level, arguments: Arguments<'_>, from: usize) -> Meaning {
    harmless(judge(&words(arguments, from)))
}

/// Returns the words; one that is the name of some file is one word.
fn words(arguments: Arguments<'_>, from: usize) -> Vec<CommandWord<'_>> {
    let word = |(arg, written)| match arg {
        Arg::Known(text) => CommandWord::Known(text),
        Arg::Paths(Paths::Below { bare: false, .. }) => CommandWord::KnownPrefix(""),
        Arg::Paths(_) => written,
        Arg::Begins(text) => CommandWord::KnownPrefix(text),
        Arg::Many => CommandWord::AnyWords,
    };
    arguments.iter(from).zip(arguments.words.iter().skip(from)).map(word).collect()
}

fn judge(words: &[CommandWord<'_>]) -> Option<Known> {
    let mut known = Known { lists: true, ..Known::default() };
    // Beyond four words a value such as `(` or `!` moves the operators.
    let fixed = words.len() <= 4 || words.iter().all(|word| matches!(word, CommandWord::Known(_)));
    if !fixed || words.contains(&CommandWord::AnyWords) {
        return None;
    }
    if matches!(words, [_, CommandWord::Known("-a" | "-o"), _]) {
        return Some(known);
    }
    for term in words.split(|word| matches!(word, CommandWord::Known("-a" | "-o"))) {
        read(term, words.len() == term.len(), &mut known)?;
    }
    Some(known)
}

/// Reads one term. A single word that is not known is a term only if it is the whole condition.
fn read(term: &[CommandWord<'_>], alone: bool, known: &mut Known) -> Option<()> {
    let negations = term.iter().take_while(|word| **word == CommandWord::Known("!")).count();
    let term = term.get(negations.min(term.len().saturating_sub(1))..)?;
    match term {
        [] => alone.then_some(()),
        [CommandWord::Known(_)] => Some(()),
        [_] => alone.then_some(()),
        [CommandWord::Known(operator), operand] => match *operator {
            "-z" | "-n" | "-t" | "-o" => Some(()),
            "-e" | "-f" | "-d" | "-r" | "-w" | "-x" | "-s" | "-L" | "-h" | "-b" | "-c" | "-p"
            | "-S" | "-g" | "-u" | "-k" | "-O" | "-G" | "-N" => known.look(*operand),
            _ => None,
        },
        [left, CommandWord::Known(operator), right] => match *operator {
            "=" | "==" | "!=" | "<" | ">" => Some(()),
            "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" => {
                let plain = |word: &CommandWord<'_>| !matches!(word, CommandWord::Known(text) if text.contains(['[', '$', '`']));
                (plain(left) && plain(right)).then_some(())
            }
            "-nt" | "-ot" | "-ef" => {
                known.look(*left)?;
                known.look(*right)
            }
            _ => None,
        },
        _ => None,
    }
}
