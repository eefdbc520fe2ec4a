//! The check of the guarantees about the stored data.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension as _};
use serde_json::Value;

use super::{
    ledger::{Answer, Entry, Ledger},
    stage::{Stage, tool},
};

/// Returns the violated guarantees.
pub(super) fn broken(stage: &Stage, ledger: &Ledger) -> Result<Vec<String>, String> {
    let mut broken = files(stage)?;
    let granted = granted(stage)?;
    let data_base = Connection::open(stage.data_base()).map_err(|error| error.to_string())?;
    for entry in ledger.entries() {
        let stored = stored(&data_base, &entry).map_err(|error| error.to_string())?;
        let found = judge(&entry, stage.runs(entry.number), &granted, stored.as_deref());
        broken.extend(found.map(|what| format!("{what}: {entry:?}, stored {stored:?}")));
    }
    Ok(broken)
}

/// Returns the damaged files, and the requests that are pending without a waiting process.
fn files(stage: &Stage) -> Result<Vec<String>, String> {
    let mut broken = Vec::new();
    // The next writer removes an unfinished record.
    drop(stage.run(&["run", "--no-input", "-c", "true"])?);
    for words in [&["audit", "verify"][..], &["grants", "list"], &["pending"]] {
        let (status, text) = stage.run(words)?;
        if status != Some(0) {
            broken.push(format!("`{}` ends with {status:?}: {text}", words.join(" ")));
        }
    }
    let (_, waiting) = stage.run(&["pending", "--json"])?;
    broken.extend(waiting.lines().map(|line| format!("no process waits for {line}")));
    let data_base = Connection::open(stage.data_base()).map_err(|error| error.to_string())?;
    let check = data_base.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0));
    match check.map_err(|error| error.to_string())?.as_str() {
        "ok" => {}
        damage => broken.push(format!("the data base: {damage}")),
    }
    Ok(broken)
}

fn granted(stage: &Stage) -> Result<BTreeSet<String>, String> {
    let (_, text) = stage.run(&["grants", "list", "--json"])?;
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let valid = lines.filter(|grant| grant.get("valid") == Some(&Value::Bool(true)));
    Ok(valid.filter_map(|grant| Some(grant.get("rule")?.as_str()?.to_owned())).collect())
}

fn stored(data_base: &Connection, entry: &Entry) -> rusqlite::Result<Option<String>> {
    let Some(id) = &entry.id else { return Ok(None) };
    let mut answer = data_base.prepare("SELECT answer FROM request WHERE id = ?1")?;
    Ok(answer.query_row([id], |row| row.get(0)).optional()?.flatten())
}

/// Returns the guarantee that a request violates, if there is one.
fn judge(
    entry: &Entry,
    runs: usize,
    granted: &BTreeSet<String>,
    stored: Option<&str>,
) -> Option<&'static str> {
    let acknowledged = |answer| entry.acknowledged.contains(&answer);
    let yes = stored.is_some_and(|answer| answer.contains("approved"));
    let rule = format!("Bash({} go *)", tool(entry.number));
    if entry.acknowledged.len() > 1 {
        Some("a request was answered twice")
    } else if acknowledged(Answer::Project) && !granted.contains(&rule) {
        Some("an acknowledged grant is lost")
    } else if !entry.acknowledged.is_empty() && yes == acknowledged(Answer::No) {
        Some("an acknowledged answer is not what is stored")
    } else if runs > 1 || runs == 1 && !yes {
        Some("something ran without an approval, or more than once")
    } else if entry.status == Some(0) && runs == 0 {
        Some("a command is reported as run, but did not run")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_and_kept_promises_are_distinguished() {
        let seen = |acknowledged: &[Answer], runs: usize, grant: &str, stored: Option<&str>| {
            let entry =
                Entry { number: 7, acknowledged: acknowledged.to_vec(), ..Entry::default() };
            judge(&entry, runs, &BTreeSet::from([grant.to_owned()]), stored)
        };
        let (yes, no) = (Some(r#""approved""#), Some(r#""rejected""#));
        assert_eq!(seen(&[Answer::Project], 1, "Bash(tool7 go *)", yes), None);
        assert_eq!(seen(&[Answer::No], 0, "", no), None);
        assert_eq!(seen(&[], 0, "", None), None);
        assert!(seen(&[Answer::Project], 1, "", yes).is_some());
        assert!(seen(&[Answer::Once, Answer::No], 1, "", yes).is_some());
        assert!(seen(&[Answer::No], 0, "", yes).is_some());
        assert!(seen(&[], 1, "", no).is_some() && seen(&[Answer::Once], 2, "", yes).is_some());
    }
}
