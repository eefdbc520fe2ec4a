//! The list of accepted mutants, each with the reason (`corpus/mutants/accepted.tsv`).

use std::{fs, path::Path};

use super::outcome::Mutant;

const LIST: &str = "corpus/mutants/accepted.tsv";

/// An accepted mutant, which no test has to catch.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Accepted {
    pub(super) file: String,
    pub(super) change: String,
    pub(super) code: String,
}

impl Accepted {
    /// Returns whether this is that mutant.
    pub(super) fn is(&self, mutant: &Mutant) -> bool {
        self.file == mutant.file && self.change == mutant.change && self.code == mutant.code
    }
}

/// Reads the list.
pub(super) fn read(root: &Path) -> Result<Vec<Accepted>, String> {
    let text = fs::read_to_string(root.join(LIST));
    let text = text.map_err(|error| format!("cannot read {LIST}: {error}"))?;
    let rows = text.lines().zip(1..).skip(1);
    rows.map(|(line, number)| row(line).ok_or_else(|| format!("{LIST}:{number}: not a row")))
        .collect()
}

/// Reads a row: the file, the change, the line of code, and the reason, which must not be empty.
fn row(line: &str) -> Option<Accepted> {
    let cells: Vec<&str> = line.split('\t').collect();
    let [file, change, code, reason] = cells.as_slice() else { return None };
    let [file, change, code] = [file, change, code].map(|cell| (*cell).to_owned());
    (!reason.trim().is_empty()).then_some(Accepted { file, change, code })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::root;

    #[test]
    fn a_row_without_a_reason_is_an_error() {
        assert!(row("a.rs\treplace == with != in f\ta == b\tboth are the same").is_some());
        assert_eq!(row("a.rs\treplace == with != in f\ta == b\t "), None);
        assert_eq!(row("a.rs\treplace == with != in f\ta == b"), None);
    }

    #[test]
    fn each_accepted_mutant_has_its_line_of_code() {
        for one in read(root()).unwrap() {
            let source = fs::read_to_string(root().join(&one.file)).unwrap();
            let stands = source.lines().any(|line| line.trim() == one.code);
            assert!(stands, "{}: no line `{}`", one.file, one.code);
        }
    }
}
