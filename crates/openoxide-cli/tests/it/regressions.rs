//! `docs/regressions.md`: each hole that was found names the test or the row of the corpus that
//! fails if it comes back.

use std::{collections::BTreeSet, fs};

use crate::{
    corpus::guarded_ids,
    house::{has_test, sources},
    support::workspace,
};

/// Returns the letters and the number of a row's id.
fn row_id(name: &str) -> Option<(&str, u32)> {
    let at = name.find(|letter: char| letter.is_ascii_digit())?;
    let (letters, number) = name.split_at_checked(at)?;
    Some((letters, number.parse().ok()?))
}

/// The names that the page can contain.
struct Names {
    ids: Vec<String>,
    sources: Vec<(std::path::PathBuf, String)>,
    attempts: String,
}

impl Names {
    fn new() -> Self {
        let attempts = ["battery.py", "more.py"]
            .map(|name| fs::read_to_string(workspace().join("corpus/sandbox").join(name)).unwrap());
        Self { ids: guarded_ids(), sources: sources(), attempts: attempts.concat() }
    }

    fn has(&self, name: &str) -> bool {
        match row_id(name) {
            Some(_) if !name.contains('_') => self.ids.iter().any(|id| id == name),
            _ => has_test(&self.sources, name) || self.attempts.contains(&format!("def {name}(")),
        }
    }

    /// Returns the names in a cell, with the rows of each range. Asserts that all of them exist.
    fn read(&self, cell: &str) -> BTreeSet<String> {
        let pieces: Vec<_> = cell.split('`').collect();
        let mut names = BTreeSet::new();
        for (at, name) in pieces.iter().enumerate().skip(1).step_by(2) {
            assert!(self.has(name), "there is no `{name}`, or it does not hold: {cell}");
            names.insert((*name).to_owned());
            if pieces[at + 1] == " to " {
                names.extend(self.between(name, pieces[at + 2]));
            }
        }
        names
    }

    fn between(&self, first: &str, last: &str) -> impl Iterator<Item = String> {
        let ((letters, from), (_, to)) = (row_id(first).unwrap(), row_id(last).unwrap());
        let inside = move |id: &&String| {
            row_id(id).is_some_and(|(own, number)| own == letters && (from..=to).contains(&number))
        };
        self.ids.iter().filter(inside).cloned().collect::<Vec<_>>().into_iter()
    }
}

#[test]
fn every_regression_names_tests_and_rows_that_exist() {
    let page = fs::read_to_string(workspace().join("docs/regressions.md")).unwrap();
    let names = Names::new();
    let (mut rows, mut checked, mut members) = (0, BTreeSet::new(), BTreeSet::new());
    for line in page.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<_> = line.trim_matches('|').split(" | ").collect();
        let [_, attempt, checks, further] = cells[..] else { continue };
        if attempt == "attempt" || attempt == "---" {
            continue;
        }
        let here = names.read(checks);
        assert!(!here.is_empty(), "nothing checks: {line}");
        rows += 1;
        checked.extend(here);
        members.extend(names.read(further));
    }
    let members = members.difference(&checked).count();
    assert!(rows >= 50 && members >= 600, "{rows} rows, {members} further members");
}
