//! The mutants of a target, as cargo-mutants lists them.

use std::{collections::BTreeMap, fs, ops::Range, path::Path};

use serde_json::Value;

use super::super::{
    options::{Options, Target},
    outcome::Mutant,
};
use crate::workspace::cargo;

/// A mutant, and where its text goes.
#[derive(Clone, Debug)]
pub(super) struct ListedMutant {
    pub(super) mutant: Mutant,
    /// The name that cargo-mutants gives it: file, line, column and change.
    pub(super) name: String,
    /// The kind of change: `FnValue`, `BinaryOperator`, …
    pub(super) genre: String,
    /// The bytes of the file that are replaced.
    pub(super) replaced: Range<usize>,
    pub(super) replacement: String,
}

/// Returns the mutants of a target, in an order that looks random and is always the same for a seed.
pub(super) fn list(
    target: &Target,
    options: &Options,
    root: &Path,
) -> Result<Vec<ListedMutant>, String> {
    let mut command = cargo();
    command.args(["mutants", "--list", "--json", "--package", target.package]);
    for file in &target.files {
        command.args(["--file", file]);
    }
    if let Some(shard) = &options.shard {
        command.args(["--shard", shard]);
    }
    let output =
        command.output().map_err(|error| format!("cannot start cargo-mutants: {error}"))?;
    let list: Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("cannot read the list of mutants: {error}"))?;
    let mut sources = Sources { root, texts: BTreeMap::new() };
    let list = list.as_array().map(Vec::as_slice).unwrap_or_default().iter();
    let mutants = list.map(|value| sources.mutant(value).ok_or("a mutant of another form"));
    let mut mutants = mutants.collect::<Result<Vec<_>, _>>()?;
    mutants.sort_by_cached_key(|mutant| (scatter(&mutant.name, options.seed), mutant.name.clone()));
    Ok(mutants)
}

/// Returns a number that looks random and depends on nothing but the text and the seed (FNV-1a,
/// finished as in SplitMix).
fn scatter(text: &str, seed: u32) -> u64 {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let seeded = hash ^ u64::from(seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (seeded ^ (seeded >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ (mixed >> 27)
}

/// The text of each file that was read so far.
struct Sources<'a> {
    root: &'a Path,
    texts: BTreeMap<String, String>,
}

impl Sources<'_> {
    fn mutant(&mut self, value: &Value) -> Option<ListedMutant> {
        let text = |key: &str| Some(value.get(key)?.as_str()?.to_owned());
        let (file, name) = (text("file")?, text("name")?);
        let read = || fs::read_to_string(self.root.join(&file)).unwrap_or_default();
        let source = self.texts.entry(file.clone()).or_insert_with(read);
        let span = value.get("span")?;
        let start = offset(source, span.get("start")?)?;
        let end = offset(source, span.get("end")?)?;
        let begins = source.get(..start)?.rfind('\n').map_or(0, |at| at + 1);
        let code = source.get(begins..)?.lines().next()?.trim().to_owned();
        let change = name.split_once(": ")?.1.to_owned();
        Some(ListedMutant {
            mutant: Mutant { file, change, code },
            name,
            genre: text("genre")?,
            replaced: start..end,
            replacement: text("replacement")?,
        })
    }
}

/// Returns the byte at a line and column, both counted from 1, columns in characters.
fn offset(source: &str, place: &Value) -> Option<usize> {
    let number = |key: &str| usize::try_from(place.get(key)?.as_u64()?).ok()?.checked_sub(1);
    let line = source.split_inclusive('\n').take(number("line")?).map(str::len).sum::<usize>();
    let column = source.get(line..)?.chars().take(number("column")?).map(char::len_utf8);
    Some(line + column.sum::<usize>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_become_bytes() {
        let place = |line: u64, column: u64| serde_json::json!({ "line": line, "column": column });
        assert_eq!(offset("ab\nö + c\n", &place(1, 2)), Some(1));
        assert_eq!(offset("ab\nö + c\n", &place(2, 3)), Some(6));
        assert_eq!(offset("ab\n", &place(0, 1)), None);
    }

    #[test]
    fn a_seed_chooses_an_order() {
        let order = |seed| {
            let mut names: Vec<_> = (0..9).map(|number| format!("a.rs:{number}")).collect();
            names.sort_by_key(|name| scatter(name, seed));
            names
        };
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
    }
}
