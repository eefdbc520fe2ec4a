//! The dangerous commands that are known to be allowed: a list next to the table, which can only
//! shrink.

use std::{fs, io::ErrorKind, path::Path};

/// The name of the list: ids with their reasons, one per line.
const NAME: &str = "not-yet.txt";

/// Returns the ids in the list next to `file`, or none if there is no list.
pub(crate) fn ids(file: &Path) -> Result<Vec<String>, String> {
    let list = file.with_file_name(NAME);
    match fs::read_to_string(&list) {
        Ok(text) => listed(&text).map_err(|line| format!("{}: no reason: {line}", list.display())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(format!("{}: {error}", list.display())),
    }
}

fn listed(text: &str) -> Result<Vec<String>, String> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let id = |line: &str| line.split_once(' ').map(|(id, _)| id.to_owned());
    lines.map(|line| id(line).ok_or_else(|| line.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_has_a_reason() {
        assert_eq!(listed("# why\n\nE1 because\nE2 so it is\n").unwrap(), ["E1", "E2"]);
        assert_eq!(listed("E1 because\nE2\n").unwrap_err(), "E2");
    }

    #[test]
    fn a_missing_list_is_empty() {
        let folder = tempfile::tempdir().unwrap();
        assert!(ids(&folder.path().join("commands.tsv")).unwrap().is_empty());
    }
}
