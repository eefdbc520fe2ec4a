//! Command lines that could be harmless: from the rows of the table, from its cases, and from the everyday commands.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use super::table::{self, Options, Row};
use crate::workspace;

/// Command lines of each program, the most telling ones first.
pub(super) struct Candidates {
    scripts: BTreeMap<String, Vec<String>>,
}

impl Candidates {
    /// Derives the command lines of all programs.
    pub(super) fn read() -> Result<Self, String> {
        let mut all = Self { scripts: BTreeMap::new() };
        for file in table::read()? {
            for row in &file.programs {
                let levels = levels(row, &file.sets);
                for (index, name) in row.names.split_whitespace().enumerate() {
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

    /// Returns the command lines of a program: from each source in turn, so that a limit leaves some of each.
    pub(super) fn of(&self, program: &str) -> Vec<String> {
        let all = self.scripts.get(program).cloned().unwrap_or_default();
        // Spread over the list, so that a small number of them covers all subcommands.
        let mut order: Vec<usize> = (0..all.len()).collect();
        order.sort_by_key(|index| (spread(*index), *index));
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

type Sets = [(String, Options)];

/// Returns what follows the name of the program, for the row and each of its subcommands.
fn levels(row: &Row, sets: &Sets) -> Vec<String> {
    let single_dash = row.traits.contains("single-dash");
    let mut lines = of_level(row, sets, "", single_dash);
    for sub in &row.subcommands {
        descend(sub, sets, "", single_dash, &mut lines);
    }
    lines
}

fn descend(row: &Row, sets: &Sets, before: &str, single_dash: bool, lines: &mut Vec<String>) {
    let single_dash = single_dash || row.traits.contains("single-dash");
    for name in row.names.split_whitespace().take(6) {
        let path = format!("{before} {name}");
        lines.extend(of_level(row, sets, &path, single_dash));
        row.subcommands.iter().for_each(|sub| descend(sub, sets, &path, single_dash, lines));
    }
}

/// Returns the lines of one level: plain, with each kind of option, and with several options at once.
fn of_level(row: &Row, sets: &Sets, path: &str, single_dash: bool) -> Vec<String> {
    let operands = operands(&row.operands);
    let mut lines = vec![format!("{path}{operands}"), path.to_owned()];
    let mut flags = Vec::new();
    let used = row
        .sets
        .split_whitespace()
        .filter_map(|name| sets.iter().find(|(set, _)| set == name).map(|(_, options)| options));
    for options in std::iter::once(&row.options).chain(used) {
        for (kind, names) in options {
            for name in names.split_whitespace() {
                let option = spell(name, single_dash);
                match kind.as_str() {
                    "ends" => lines.push(format!("{path} {option}")),
                    "flags" | "optional" => {
                        flags.push(option.clone());
                        lines.push(format!("{path} {option}{operands}"));
                    }
                    "texts" | "last" => lines.push(format!("{path} {option} 1{operands}")),
                    "reads" => lines.push(format!("{path} {option} a.txt{operands}")),
                    "moves" => lines.push(format!("{path} {option} sub{operands}")),
                    _ => {}
                }
            }
        }
    }
    for three in flags.chunks(3) {
        lines.push(format!("{path} {}{operands}", three.join(" ")));
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
