//! The endings of the mutants that have already run, one line for each, so that an interrupted run
//! can continue.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::Write as _,
    path::Path,
};

/// The ending of the test run of a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Caught,
    TimedOut,
    Missed,
}

const WORDS: [(Ending, &str); 3] =
    [(Ending::Caught, "caught"), (Ending::TimedOut, "timed-out"), (Ending::Missed, "missed")];

/// The endings by the names of the mutants, and the file that they are written to.
#[derive(Debug)]
pub(super) struct Records {
    endings: BTreeMap<String, Ending>,
    file: File,
}

impl Records {
    /// Opens the file; `again` reads what an earlier run wrote.
    pub(super) fn open(path: &Path, again: bool) -> Result<Self, String> {
        let fail = |error| format!("cannot open {}: {error}", path.display());
        let text = if again { fs::read_to_string(path).unwrap_or_default() } else { String::new() };
        let endings = text.lines().filter_map(ending).collect();
        let mut file = File::options();
        let file = file.create(true).write(true).append(again).truncate(!again).open(path);
        Ok(Self { endings, file: file.map_err(fail)? })
    }

    pub(super) fn ending(&self, name: &str) -> Option<Ending> {
        self.endings.get(name).copied()
    }

    /// Returns whether a test noticed this mutant: it does not run again.
    pub(super) fn is_noticed(&self, name: &str) -> bool {
        self.ending(name).is_some_and(|ending| ending != Ending::Missed)
    }

    pub(super) fn add(&mut self, name: &str, ending: Ending) -> Result<(), String> {
        let word = WORDS.iter().find(|(one, _)| *one == ending).map_or("", |(_, word)| word);
        println!("{word}\t{name}");
        self.endings.insert(name.to_owned(), ending);
        let written = writeln!(self.file, "{word}\t{name}");
        written.map_err(|error| format!("cannot write the results: {error}"))
    }
}

fn ending(line: &str) -> Option<(String, Ending)> {
    let (word, name) = line.split_once('\t')?;
    let (ending, _) = WORDS.iter().find(|(_, one)| *one == word)?;
    Some((name.to_owned(), *ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupted_run_continues() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.tsv");
        let mut records = Records::open(&path, false).unwrap();
        records.add("a", Ending::Missed).unwrap();
        records.add("b", Ending::TimedOut).unwrap();
        let mut records = Records::open(&path, true).unwrap();
        assert!(records.is_noticed("b") && !records.is_noticed("a") && !records.is_noticed("c"));
        records.add("a", Ending::Caught).unwrap();
        assert!(Records::open(&path, true).unwrap().is_noticed("a"));
        assert_eq!(Records::open(&path, false).unwrap().ending("a"), None);
    }
}
