//! Command lines that could be harmless: from the rows of the table, from its cases, and from the everyday commands.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use super::table::{self, Options, Row};
use crate::{chance::Chance, workspace};

/// The number of combinations of options by chance, for each level of a row.
const COMBINATIONS: usize = 8;

/// Values of options and operands that are texts.
const TEXTS: &[&str] = &["1", "x", "a", "alpha", "0", "2,3", "a.txt"];

/// Command lines of each program, the most telling ones first.
pub(super) struct Candidates {
    scripts: BTreeMap<String, Vec<String>>,
    /// The lines with an option after which a program does nothing else. An option that has another meaning in the real
    /// program makes it do anything, so that all of them are run.
    ends: BTreeMap<String, Vec<String>>,
    /// The choice of command lines: 0 spreads them over the row, another number chooses by chance.
    seed: u64,
}

impl Candidates {
    /// Derives the command lines of all programs. A seed other than 0 adds combinations of options by chance.
    pub(super) fn read(seed: u64) -> Result<Self, String> {
        let mut all = Self { scripts: BTreeMap::new(), ends: BTreeMap::new(), seed };
        for file in table::read()? {
            for row in &file.programs {
                let levels = levels(row, &file.sets, &mut chance(seed, &row.names));
                let ends = ends(row, &file.sets);
                for (index, name) in row.names.split_whitespace().enumerate() {
                    let lines = ends.iter().map(|rest| format!("{name}{rest}"));
                    all.ends.entry(name.to_owned()).or_default().extend(lines);
                    // Further names of one program differ little: fewer lines show that they do the same.
                    let most = if index == 0 { usize::MAX } else { 3 };
                    let lines = levels.iter().map(|rest| format!("{name}{rest}"));
                    all.scripts.entry(name.to_owned()).or_default().extend(lines.take(most));
                }
            }
        }
        all.add_cases()?;
        all.add_everyday()?;
        Ok(all)
    }

    /// Returns the names of all programs.
    pub(super) fn programs(&self) -> impl Iterator<Item = &str> {
        self.scripts.keys().map(String::as_str)
    }

    /// Returns the command lines of a program with an option after which it does nothing else.
    pub(super) fn ends_of(&self, program: &str) -> &[String] {
        self.ends.get(program).map_or(&[], Vec::as_slice)
    }

    /// Returns the command lines of a program: from each source in turn, so that a limit leaves some of each.
    pub(super) fn of(&self, program: &str) -> Vec<String> {
        let all = self.scripts.get(program).cloned().unwrap_or_default();
        // Spread over the list, so that a small number of them covers all subcommands.
        let mut order: Vec<usize> = (0..all.len()).collect();
        if let Some(mut chance) = chance(self.seed, program) {
            order.sort_by_cached_key(|_| chance.below(usize::MAX));
        } else {
            order.sort_by_key(|index| (spread(*index), *index));
        }
        let mut seen = BTreeSet::new();
        let lines = order.into_iter().filter_map(|index| all.get(index).cloned());
        lines.filter(|line| seen.insert(line.clone())).collect()
    }

    fn add(&mut self, line: &str) {
        let name = line.split_whitespace().next().unwrap_or_default();
        if let Some(scripts) = self.scripts.get_mut(name) {
            scripts.push(line.to_owned());
        }
    }

    /// Adds what the cases of the table call harmless.
    fn add_cases(&mut self) -> Result<(), String> {
        let entries =
            fs::read_dir(table::directory().join("cases")).map_err(|error| error.to_string())?;
        for entry in entries.filter_map(Result::ok) {
            let text = fs::read_to_string(entry.path()).map_err(|error| error.to_string())?;
            for line in text.lines() {
                let mut fields = line.split(" | ");
                if let (Some("harmless"), Some(command)) = (fields.next(), fields.next()) {
                    self.add(command);
                }
            }
        }
        Ok(())
    }

    /// Adds the commands that people and agents use every day.
    fn add_everyday(&mut self) -> Result<(), String> {
        let path = workspace::root().join("corpus/everyday/commands.tsv");
        let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
        for line in text.lines().skip(1) {
            if let Some(command) = line.split('\t').nth(1) {
                self.add(command);
            }
        }
        Ok(())
    }
}

/// Returns a number that orders indices so that the first ones are spread over the whole list.
fn spread(index: usize) -> u32 {
    (index as u32).reverse_bits()
}

/// Returns the chance of a program, or none for the seed 0.
fn chance(seed: u64, program: &str) -> Option<Chance> {
    let mixed = program.bytes().fold(seed, |mixed, byte| mixed.wrapping_mul(31) + u64::from(byte));
    (seed != 0).then(|| Chance::new(mixed))
}

type Sets = [(String, Options)];

/// Returns what follows the name of the program, for the row and each of its subcommands.
fn levels(row: &Row, sets: &Sets, chance: &mut Option<Chance>) -> Vec<String> {
    let mut lines = Vec::new();
    descend(row, sets, &Level { path: "", single_dash: false }, chance, &mut lines);
    lines
}

/// The place of a row: the words before its options, and how options are spelled.
struct Level<'l> {
    path: &'l str,
    single_dash: bool,
}

fn descend(
    row: &Row,
    sets: &Sets,
    level: &Level<'_>,
    chance: &mut Option<Chance>,
    lines: &mut Vec<String>,
) {
    let single_dash = level.single_dash || row.traits.contains("single-dash");
    let here = Level { path: level.path, single_dash };
    lines.extend(of_level(row, sets, &here, chance));
    for sub in &row.subcommands {
        for name in sub.names.split_whitespace().take(6) {
            let path = format!("{} {name}", level.path);
            descend(sub, sets, &Level { path: &path, single_dash }, chance, lines);
        }
    }
}

/// Returns the lines of one level: plain, with each kind of option, and with several options at once.
fn of_level(row: &Row, sets: &Sets, level: &Level<'_>, chance: &mut Option<Chance>) -> Vec<String> {
    let (path, single_dash) = (level.path, level.single_dash);
    let operands = operands(&row.operands);
    let mut lines = vec![format!("{path}{operands}"), path.to_owned()];
    let (mut flags, mut words) = (Vec::new(), Vec::new());
    for (kind, names) in options(row, sets) {
        for name in names.split_whitespace() {
            let option = spell(name, single_dash);
            let value = match kind {
                "ends" => {
                    lines.push(format!("{path} {option}"));
                    continue;
                }
                "flags" | "optional" => {
                    flags.push(option.clone());
                    String::new()
                }
                "texts" | "last" => {
                    format!(" {}", chance.as_mut().map_or("1", |chance| chance.pick(TEXTS)))
                }
                "reads" => " a.txt".to_owned(),
                "moves" => " sub".to_owned(),
                _ => continue,
            };
            lines.push(format!("{path} {option}{value}{operands}"));
            words.push(format!("{option}{value}"));
        }
    }
    for three in flags.chunks(3) {
        lines.push(format!("{path} {}{operands}", three.join(" ")));
    }
    if let Some(chance) = chance {
        let combined = combinations(&words, chance);
        lines.extend(combined.map(|options| format!("{path} {options}{operands}")));
    }
    for when in &row.conditions {
        let given =
            when.operands.as_ref().map_or_else(|| operands.clone(), |text| self::operands(text));
        for name in when.with.split_whitespace() {
            lines.push(format!("{path} {}{given}", spell(name, single_dash)));
            lines.push(format!("{path} {} .", spell(name, single_dash)));
        }
    }
    lines
}

/// Returns the options of a row after which the program does nothing else.
fn ends(row: &Row, sets: &Sets) -> Vec<String> {
    let single_dash = row.traits.contains("single-dash");
    let ends = options(row, sets).filter(|(kind, _)| *kind == "ends");
    let names = ends.flat_map(|(_, names)| names.split_whitespace());
    names.map(|name| format!(" {}", spell(name, single_dash))).collect()
}

/// Returns the options of a row and of the sets that it names, by kind.
fn options<'r>(row: &'r Row, sets: &'r Sets) -> impl Iterator<Item = (&'r str, &'r str)> {
    let used = row
        .sets
        .split_whitespace()
        .filter_map(|name| sets.iter().find(|(set, _)| set == name).map(|(_, options)| options));
    let all = std::iter::once(&row.options).chain(used).flatten();
    all.map(|(kind, names)| (kind.as_str(), names.as_str()))
}

/// Returns combinations of two to five options by chance.
fn combinations(options: &[String], chance: &mut Chance) -> impl Iterator<Item = String> {
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let number = if options.len() < 2 { 0 } else { COMBINATIONS };
    (0..number).map(move |_| {
        let chosen: Vec<&str> = (0..2 + chance.below(4)).map(|_| chance.pick(&options)).collect();
        chosen.join(" ")
    })
}

fn spell(name: &str, single_dash: bool) -> String {
    match name {
        _ if single_dash || name.chars().count() == 1 => format!("-{name}"),
        _ => format!("--{name}"),
    }
}

/// Returns operands of the kinds that a row expects.
fn operands(kinds: &str) -> String {
    let word = |kind: &str| match kind.trim_end_matches("...") {
        "text" => Some("x"),
        "package" => Some("x"),
        "revision" => Some("HEAD"),
        "remote" => Some("origin"),
        "reads" | "pathspec" | "peg" | "changes" => Some("a.txt"),
        "runs" | "script" => Some("true"),
        _ => None,
    };
    kinds.split_whitespace().filter_map(word).map(|word| format!(" {word}")).collect()
}
