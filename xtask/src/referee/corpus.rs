//! The initial scripts of the generator, and the directory of saved misses.

use std::{
    collections::hash_map::DefaultHasher,
    fs,
    hash::{Hash as _, Hasher as _},
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::report::Found;
use crate::workspace::root;

const SEEDS: &str = include_str!("../../../crates/openoxide-shell/tests/it/seeds.txt");

/// Returns the seeds, every script of the corpus, and every command of its tables.
pub(crate) fn scripts() -> Result<Vec<String>, String> {
    let mut scripts: Vec<String> =
        SEEDS.trim_end_matches('\n').split("\n%%\n").map(str::to_owned).collect();
    let corpus = root().join("corpus");
    for file in files(&corpus.join("shell"), "sh") {
        scripts.push(read(&file)?.trim_end_matches('\n').to_owned());
    }
    for file in files(&corpus.join("decisions"), "toml") {
        scripts.extend(read(&file)?.lines().filter_map(toml_command));
    }
    let attacks = read(&corpus.join("bypasses/attacks.tsv"))?;
    scripts.extend(attacks.lines().skip(1).filter_map(attack));
    let decisions = read(&corpus.join("claude/decisions.tsv"))?;
    scripts.extend(decisions.lines().skip(1).filter_map(bash_input));
    scripts.sort_unstable();
    scripts.dedup();
    Ok(scripts)
}

/// Saves a miss, so that it is run in every later test. The table next to it describes the miss.
pub(crate) fn save(found: &Found) -> Result<(), String> {
    let folder = root().join("corpus/shell");
    let mut hasher = DefaultHasher::new();
    let script = found.case.for_bash();
    script.hash(&mut hasher);
    let name = format!("miss-{:08x}.sh", hasher.finish() & 0xFFFF_FFFF);
    let table = folder.join("misses.tsv");
    let known = fs::read_to_string(&table).unwrap_or_default();
    if known.contains(&name) {
        return Ok(());
    }
    let row = format!(
        "{name}\t{:?}\t{}\t{}\t{}\t{}\n",
        found.case.shell, found.seed, found.number, found.case.luck, found.miss
    );
    let kept = fs::create_dir_all(&folder)
        .and_then(|()| fs::write(folder.join(&name), format!("{script}\n")))
        .and_then(|()| fs::write(&table, known + &row));
    kept.map_err(|error| format!("cannot keep {name}: {error}"))?;
    println!("kept as corpus/shell/{name}");
    Ok(())
}

fn read(file: &Path) -> Result<String, String> {
    fs::read_to_string(file).map_err(|error| format!("cannot read {}: {error}", file.display()))
}

fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let mut files: Vec<_> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|each| each == ending))
        .collect();
    files.sort_unstable();
    files
}

/// A basic string of TOML is one of JSON, except for rare escapes.
fn toml_command(line: &str) -> Option<String> {
    serde_json::from_str(line.strip_prefix("command = ")?).ok()
}

fn attack(row: &str) -> Option<String> {
    let command = row.split('\t').nth(1).filter(|command| !command.starts_with('@'))?;
    serde_json::from_str(&format!("\"{command}\"")).ok()
}

fn bash_input(row: &str) -> Option<String> {
    let input = row.split('\t').find(|column| column.starts_with("{\"command\""))?;
    let input: Value = serde_json::from_str(input).ok()?;
    input.get("command")?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_gives_commands() {
        assert_eq!(toml_command(r#"command = "a \"b\"""#).unwrap(), "a \"b\"");
        assert_eq!(attack("A1\techo \\\"x\\\"\trule").unwrap(), "echo \"x\"");
        assert_eq!(attack("A1\t@Read {}\trule"), None);
        assert!(scripts().unwrap().len() > 1000);
    }
}
