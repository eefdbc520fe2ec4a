//! Programs by chance: pieces put together, and known programs, cut and put together again.

use super::{chance::Chance, language::Language};

/// Returns the words of a command with a program of a language in it.
pub(crate) fn command(language: &Language, chance: &mut Chance) -> Vec<String> {
    let at = chance.below(language.commands.len());
    let before = language.commands.get(at).copied().unwrap_or_default();
    let program = program(language, chance);
    let files = language.files.iter().map(ToString::to_string);
    before.iter().map(ToString::to_string).chain([program]).chain(files).collect()
}

fn program(language: &Language, chance: &mut Chance) -> String {
    let mut program = match chance.below(10) {
        0..=4 => pieces(language, chance),
        5..=7 => chance.pick(language.hostile).to_owned(),
        _ => chance.pick(language.everyday).to_owned(),
    };
    for _ in 0..1 + chance.below(7) {
        program = changed(&program, language, chance);
    }
    program
}

fn pieces(language: &Language, chance: &mut Chance) -> String {
    let separator = chance.pick(&["", " ", " ", "\n"]);
    let count = 1 + chance.below(9);
    let pieces: Vec<&str> = (0..count).map(|_| chance.pick(language.pieces)).collect();
    pieces.join(separator)
}

fn changed(program: &str, language: &Language, chance: &mut Chance) -> String {
    let (head, tail) = program.split_at(place(program, chance));
    match chance.below(9) {
        0..=2 => format!("{head}{}{tail}", chance.pick(language.pieces)),
        3 => {
            let tail: String = tail.chars().skip(1 + chance.below(4)).collect();
            format!("{head}{tail}")
        }
        4 => {
            let other = known(language, chance);
            let (_, end) = other.split_at(place(other, chance));
            format!("{head}{end}")
        }
        5 => {
            let (middle, end) = tail.split_at(place(tail, chance));
            let piece = chance.pick(language.pieces);
            format!("{head}{piece}{middle}{piece}{end}")
        }
        6 => format!("{head}{}{tail}", known(language, chance)),
        _ => {
            let other = known(language, chance);
            let frame = chance.pick(language.frames);
            if chance.below(2) == 0 {
                frame.replacen("@@", program, 1).replace("@@", other)
            } else {
                frame.replacen("@@", other, 1).replace("@@", program)
            }
        }
    }
}

fn known(language: &Language, chance: &mut Chance) -> &'static str {
    if chance.below(3) == 0 {
        chance.pick(language.hostile)
    } else {
        chance.pick(language.everyday)
    }
}

fn place(program: &str, chance: &mut Chance) -> usize {
    let mut at = chance.below(program.len() + 1);
    while !program.is_char_boundary(at) {
        at -= 1;
    }
    at
}
