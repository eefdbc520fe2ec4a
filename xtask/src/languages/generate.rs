//! Random programs: combinations of fragments, and known programs with changes.

use super::{chance::Chance, language::Language};

/// A generated command.
#[derive(Debug)]
pub(crate) struct Generated {
    pub(crate) words: Vec<String>,
    /// True if the command contains a part of a hostile program.
    pub(crate) has_hostile_part: bool,
}

/// A program under construction.
struct Draft<'a> {
    language: &'a Language,
    text: String,
    has_hostile_part: bool,
}

/// Returns a command with a program of a language.
pub(crate) fn command(language: &Language, chance: &mut Chance) -> Generated {
    let at = chance.below(language.commands.len());
    let before = language.commands.get(at).copied().unwrap_or_default();
    let Draft { text, has_hostile_part, .. } = program(language, chance);
    let files = language.files.iter().map(ToString::to_string);
    let words = before.iter().map(ToString::to_string).chain([text]).chain(files).collect();
    Generated { words, has_hostile_part }
}

fn program<'a>(language: &'a Language, chance: &mut Chance) -> Draft<'a> {
    let mut draft = Draft { language, text: String::new(), has_hostile_part: false };
    draft.text = match chance.below(10) {
        0..=1 => pieces(language, chance),
        2..=8 => draft.hostile(chance).to_owned(),
        _ => chance.pick(language.everyday).to_owned(),
    };
    for _ in 0..1 + chance.below(7) {
        draft.text = draft.changed(chance);
    }
    draft
}

fn pieces(language: &Language, chance: &mut Chance) -> String {
    let separator = chance.pick(&["", " ", " ", "\n"]);
    let count = 1 + chance.below(9);
    let pieces: Vec<&str> = (0..count).map(|_| chance.pick(language.pieces)).collect();
    pieces.join(separator)
}

impl Draft<'_> {
    fn changed(&mut self, chance: &mut Chance) -> String {
        let program = self.text.clone();
        let (head, tail) = program.split_at(place(&program, chance));
        match chance.below(10) {
            0..=2 => format!("{head}{}{tail}", chance.pick(self.language.pieces)),
            3 => {
                let tail: String = tail.chars().skip(1 + chance.below(4)).collect();
                format!("{head}{tail}")
            }
            4 => {
                let other = self.known(chance);
                let (_, end) = other.split_at(place(other, chance));
                format!("{head}{end}")
            }
            5 => {
                let (middle, end) = tail.split_at(place(tail, chance));
                let piece = chance.pick(self.language.pieces);
                format!("{head}{piece}{middle}{piece}{end}")
            }
            6 => format!("{head}{}{tail}", self.known(chance)),
            // Replaces one character.
            7 => {
                let tail: String = tail.chars().skip(1).collect();
                format!("{head}{}{tail}", letter(self.known(chance), chance))
            }
            _ => {
                let other = self.known(chance);
                let frame = chance.pick(self.language.frames);
                if chance.below(2) == 0 {
                    frame.replacen("@@", &program, 1).replace("@@", other)
                } else {
                    frame.replacen("@@", other, 1).replace("@@", &program)
                }
            }
        }
    }

    fn known(&mut self, chance: &mut Chance) -> &'static str {
        if chance.below(3) == 0 {
            chance.pick(self.language.everyday)
        } else {
            self.hostile(chance)
        }
    }

    fn hostile(&mut self, chance: &mut Chance) -> &'static str {
        self.has_hostile_part = true;
        chance.pick(self.language.hostile)
    }
}

fn letter(program: &str, chance: &mut Chance) -> String {
    let (_, tail) = program.split_at(place(program, chance));
    tail.chars().take(1).collect()
}

fn place(program: &str, chance: &mut Chance) -> usize {
    let mut at = chance.below(program.len() + 1);
    while !program.is_char_boundary(at) {
        at -= 1;
    }
    at
}
