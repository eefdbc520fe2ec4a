//! The rows of the table, as far as command lines are derived from them.

use std::{fs, path::PathBuf};

use toml::{Table, Value};

use crate::workspace;

/// Options by what they do: names of options, with blanks between them.
pub(super) type Options = Vec<(String, String)>;

/// One file of the table.
pub(super) struct File {
    pub(super) sets: Vec<(String, Options)>,
    pub(super) programs: Vec<Row>,
}

/// A program or subcommand.
pub(super) struct Row {
    pub(super) names: String,
    pub(super) operands: String,
    pub(super) sets: String,
    pub(super) traits: String,
    pub(super) conditions: Vec<Condition>,
    pub(super) subcommands: Vec<Self>,
    pub(super) options: Options,
}

/// Options with which other operands hold.
pub(super) struct Condition {
    pub(super) with: String,
    pub(super) operands: Option<String>,
}

/// Returns the directory of the table.
pub(super) fn directory() -> PathBuf {
    workspace::root().join("crates/openoxide-shell/programs")
}

/// Reads all files of the table.
pub(super) fn read() -> Result<Vec<File>, String> {
    let entries = fs::read_dir(directory()).map_err(|error| error.to_string())?;
    let mut paths: Vec<_> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "toml"));
    paths.sort();
    let read = |path: &PathBuf| {
        let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
        let table: Table = text.parse().map_err(|error| format!("{}: {error}", path.display()))?;
        let sets = table.get("set").and_then(Value::as_table).into_iter().flatten();
        let sets = sets.map(|(name, set)| (name.clone(), options(set.as_table()))).collect();
        Ok(File { sets, programs: rows(&table, "program") })
    };
    paths.iter().map(read).collect()
}

fn rows(table: &Table, key: &str) -> Vec<Row> {
    tables(table, key).map(row).collect()
}

fn row(table: &Table) -> Row {
    let condition = |when: &Table| Condition {
        with: text(when, "with"),
        operands: when.get("operands").and_then(Value::as_str).map(str::to_owned),
    };
    Row {
        names: text(table, "names"),
        operands: text(table, "operands"),
        sets: text(table, "use"),
        traits: text(table, "traits"),
        conditions: tables(table, "when").map(condition).collect(),
        subcommands: rows(table, "sub"),
        options: options(table.get("options").and_then(Value::as_table)),
    }
}

fn tables<'t>(table: &'t Table, key: &str) -> impl Iterator<Item = &'t Table> {
    let list = table.get(key).and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_table)
}

fn options(table: Option<&Table>) -> Options {
    let text = |(kind, names): (&String, &Value)| Some((kind.clone(), names.as_str()?.to_owned()));
    table.into_iter().flatten().filter_map(text).collect()
}

fn text(table: &Table, key: &str) -> String {
    table.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}
