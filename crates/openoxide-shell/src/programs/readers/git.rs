//! What git takes: revisions, paths, formats.

use openoxide_protocol::CommandClass;

use super::super::{Arg, Meaning};

/// Adds what an operand reads. Which operands are paths is for the repository to say, so each counts as one but for
/// the plainest revisions; of `REVISION:PATH` it is the path.
pub(in super::super) fn revision(meaning: &mut Meaning, arg: Arg<'_>) {
    let operand = match arg {
        Arg::Known(operand) => operand,
        Arg::Paths(_) => return meaning.read(arg, false),
        Arg::Begins(_) | Arg::Many => return meaning.lower(CommandClass::Unknown),
    };
    if is_unclear(operand) {
        meaning.lower(CommandClass::Unknown);
    }
    let path = match operand.split_once(':') {
        None if is_plain(operand) => return,
        None => operand,
        // `:(top)x`, `:!x`, `:^x` and `:/x` are patterns; all of them stay in the repository.
        Some(("", pattern)) if pattern.starts_with(['(', '!', '^', '/']) => ".",
        // `:1:PATH` is a stage of the index.
        Some(("", staged)) => staged.trim_start_matches(['0', '1', '2', '3', ':']),
        Some((_, path)) => path,
    };
    meaning.read(Arg::Known(if path.is_empty() { "." } else { path }), false);
}

fn is_plain(operand: &str) -> bool {
    operand.strip_prefix("HEAD").or_else(|| operand.strip_prefix('@')).is_some_and(|rest| {
        rest.chars().all(|each| each.is_ascii_digit() || "~^@{}".contains(each))
    })
}

/// Formats can ask for a check of signatures, which runs a program.
pub(in super::super) fn shows_no_signature(name: &str, value: Option<Arg<'_>>) -> bool {
    match (name, value) {
        ("format" | "pretty", Some(Arg::Known(text))) => {
            let built_in = matches!(
                text,
                "oneline" | "short" | "medium" | "full" | "fuller" | "reference" | "email" | "raw"
            );
            built_in || text.contains(['%', ':']) && !checks_signatures(text)
        }
        ("format" | "pretty", Some(_)) => false,
        _ => true,
    }
}

/// Says whether a format can hold `%G` in one of its spellings: `%+G?`, `%-G?`, `% G?`.
fn checks_signatures(text: &str) -> bool {
    text.contains("signature")
        || text
            .split('%')
            .skip(1)
            .any(|after| after.trim_start_matches(['+', '-', ' ']).starts_with('G'))
}

/// Says whether it is told by its letters alone what an operand of git reads: `REVISION^{/:}:PATH` hides the path,
/// `:(top)x` and `s*` are patterns.
fn is_unclear(text: &str) -> bool {
    // `:1:PATH` is a stage of the index, `:PATH` the index itself.
    let magic = text.strip_prefix(':').is_some_and(|rest| rest.starts_with(['(', '!', '^', '/']));
    magic || text.contains(':') && text.contains('{') || text.contains(['*', '?', '['])
}
