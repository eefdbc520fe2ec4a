//! Random rule files and commands. Most are valid, and some are unusual or invalid.

use serde_json::{Value, json};

use crate::crash::chance::Chance;

mod call;
mod language;
mod literal;
pub(crate) mod words;

use self::words::word;

/// A case for both programs.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) files: Vec<String>,
    pub(super) resolve: bool,
    pub(super) pretty: bool,
    /// True if `--` comes before the command.
    pub(super) parted: bool,
    pub(super) command: Vec<String>,
}

impl Case {
    /// Returns the case with this number. It is the same for the same seed.
    pub(super) fn new(seed: u64, number: u64) -> Self {
        let mut chance = Chance::new(seed.wrapping_mul(1_000_003).wrapping_add(number));
        let mut patterns = Vec::new();
        let count = if chance.percent(80) { 1 } else { chance.below(3) + 1 };
        let files = (0..count).map(|_| file(&mut chance, &mut patterns)).collect();
        let command = command(&mut chance, &patterns);
        let parted = chance.percent(80);
        Self { files, resolve: chance.percent(50), pretty: chance.percent(10), parted, command }
    }

    /// Returns true if no word of the command can be mistaken for an option.
    pub(super) fn words_alone(&self) -> bool {
        self.parted || self.command.first().is_none_or(|first| !first.starts_with('-'))
    }

    /// Returns the case as a row of the corpus.
    pub(super) fn row(&self) -> Value {
        json!({ "files": self.files, "resolve": self.resolve, "pretty": self.pretty, "command": self.command })
    }
}

/// The words that are possible at each position of a pattern.
type Pattern = Vec<Vec<String>>;

fn file(chance: &mut Chance, patterns: &mut Vec<Pattern>) -> String {
    let count = chance.below(4) + 1;
    let mut text: String = (0..count).map(|_| statement(chance, patterns) + "\n").collect();
    if chance.percent(4) {
        text = spoilt(chance, &text);
    }
    text
}

fn statement(chance: &mut Chance, patterns: &mut Vec<Pattern>) -> String {
    match chance.below(100) {
        0..=69 => call::prefix_rule(chance, patterns),
        70..=81 => call::host_executable(chance),
        82..=88 => call::network_rule(chance),
        89..=96 => language::statement(chance, patterns),
        97 => String::new(),
        98 => "# prefix_rule([\"git\"], \"forbidden\")".to_owned(),
        _ if chance.percent(50) => language::wrong(chance),
        _ => "pass".to_owned(),
    }
}

/// Removes or inserts one character.
fn spoilt(chance: &mut Chance, text: &str) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    let at = usize::try_from(chance.below(chars.len() as u64)).unwrap_or_default();
    if chance.percent(50) {
        chars.remove(at);
    } else {
        let odd = [
            '"', '\'', '(', ')', '[', ']', ',', '=', '\\', '\n', ' ', '.', 'x', '1', '{', '#', 'é',
        ];
        chars.insert(at, words::one(chance, &odd));
    }
    chars.into_iter().collect()
}

/// Returns a command that usually matches the pattern, with more or fewer words.
fn command(chance: &mut Chance, patterns: &[Pattern]) -> Vec<String> {
    let mut command: Vec<String> = match patterns {
        [] => vec![word(chance)],
        _ if chance.percent(10) => vec![word(chance)],
        _ => words::one(chance, patterns).iter().map(|some| words::one(chance, some)).collect(),
    };
    if chance.percent(15)
        && let Some(first) = command.first_mut()
    {
        *first = words::spelled(chance, first);
    }
    match chance.below(100) {
        0..=39 => command.push(word(chance)),
        40..=44 if command.len() > 1 => drop(command.pop()),
        45..=49 => {
            let at = usize::try_from(chance.below(command.len() as u64)).unwrap_or_default();
            if let Some(place) = command.get_mut(at) {
                *place = word(chance);
            }
        }
        _ => {}
    }
    if chance.percent(25)
        && let Some(first) = command.first_mut()
    {
        *first = words::path(chance, first);
    }
    command
}
