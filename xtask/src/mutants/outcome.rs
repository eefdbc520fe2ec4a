//! The results of cargo-mutants, as it writes them (`mutants.out/outcomes.json`).

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::Value;

/// One mutant, in words that stay the same when lines above it are added or removed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Mutant {
    /// The file, from the root of the workspace.
    pub(super) file: String,
    /// The change, as cargo-mutants describes it: `replace == with != in spell`.
    pub(super) change: String,
    /// The line of code that it begins on, without blanks around it.
    pub(super) code: String,
}

/// The number of mutants of a file, by ending.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) caught: usize,
    pub(super) timed_out: usize,
    pub(super) unviable: usize,
    pub(super) missed: usize,
    /// Mutants that cannot be selected at run time, or that are not in the sample.
    pub(super) not_run: usize,
}

impl Counts {
    /// Returns the number of mutants that compile.
    pub(super) const fn viable(self) -> usize {
        self.caught + self.timed_out + self.missed
    }

    /// Returns the number of mutants that the tests noticed; a test that does not end is one that noticed.
    pub(super) const fn noticed(self) -> usize {
        self.caught + self.timed_out
    }
}

/// The results of one target.
#[derive(Debug, Default)]
pub(super) struct Outcomes {
    pub(super) counts: BTreeMap<String, Counts>,
    pub(super) missed: Vec<Mutant>,
    pub(super) files: Vec<String>,
}

impl Outcomes {
    /// Marks every missed mutant as caught, except for those in `still`.
    pub(super) fn catch_all_but(&mut self, still: &[Mutant]) {
        let (missed, caught): (Vec<_>, Vec<_>) =
            self.missed.drain(..).partition(|mutant| still.contains(mutant));
        for mutant in caught {
            let counts = self.counts.entry(mutant.file).or_default();
            counts.caught += 1;
            counts.missed = counts.missed.saturating_sub(1);
        }
        self.missed = missed;
    }

    /// Returns the sum of the counts of all files.
    pub(super) fn total(&self) -> Counts {
        self.counts.values().fold(Counts::default(), |sum, one| Counts {
            caught: sum.caught + one.caught,
            timed_out: sum.timed_out + one.timed_out,
            unviable: sum.unviable + one.unviable,
            missed: sum.missed + one.missed,
            not_run: sum.not_run + one.not_run,
        })
    }
}

/// Reads the results of a run.
pub(super) fn read(file: &Path, root: &Path) -> Result<Outcomes, String> {
    let fail = |error: &dyn std::fmt::Display| format!("cannot read {}: {error}", file.display());
    let text = fs::read_to_string(file).map_err(|error| fail(&error))?;
    let value: Value = serde_json::from_str(&text).map_err(|error| fail(&error))?;
    let source = |name: &str| fs::read_to_string(root.join(name)).unwrap_or_default();
    parse(&value, source).ok_or_else(|| fail(&"it has another form"))
}

fn parse(value: &Value, source: impl Fn(&str) -> String) -> Option<Outcomes> {
    let mut outcomes = Outcomes::default();
    for outcome in value.get("outcomes")?.as_array()? {
        let Some(mutant) = outcome.get("scenario")?.get("Mutant") else { continue };
        let file = mutant.get("file")?.as_str()?.to_owned();
        let counts = outcomes.counts.entry(file.clone()).or_default();
        match outcome.get("summary")?.as_str()? {
            "CaughtMutant" => counts.caught += 1,
            "Timeout" => counts.timed_out += 1,
            "Unviable" => counts.unviable += 1,
            "MissedMutant" => {
                counts.missed += 1;
                outcomes.missed.push(self::mutant(mutant, &source(&file))?);
            }
            _ => return None,
        }
    }
    outcomes.files = outcomes.counts.keys().cloned().collect();
    Some(outcomes)
}

fn mutant(value: &Value, source: &str) -> Option<Mutant> {
    let (_, change) = value.get("name")?.as_str()?.split_once(": ")?;
    let line = value.get("span")?.get("start")?.get("line")?.as_u64()?;
    let line = usize::try_from(line).ok()?.checked_sub(1)?;
    let code = source.lines().nth(line).unwrap_or_default().trim().to_owned();
    let file = value.get("file")?.as_str()?.to_owned();
    Some(Mutant { file, change: change.to_owned(), code })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(line: u64, summary: &str) -> Value {
        let name = format!("a.rs:{line}:5: replace == with != in f");
        let mutant = serde_json::json!({
            "name": name, "file": "a.rs", "span": { "start": { "line": line, "column": 5 } },
        });
        serde_json::json!({ "scenario": { "Mutant": mutant }, "summary": summary })
    }

    #[test]
    fn results_are_counted_by_file_and_a_missed_mutant_has_its_line() {
        let list = [
            serde_json::json!({ "scenario": "Baseline", "summary": "Success" }),
            outcome(1, "CaughtMutant"),
            outcome(2, "MissedMutant"),
            outcome(3, "MissedMutant"),
            outcome(3, "Timeout"),
            outcome(4, "Unviable"),
        ];
        let source = |_: &str| "a == b\n  c == d\n e == f".to_owned();
        let mut found = parse(&serde_json::json!({ "outcomes": list }), source).unwrap();
        let counts = Counts { caught: 1, timed_out: 1, unviable: 1, missed: 2, not_run: 0 };
        assert_eq!((found.total(), counts.viable(), counts.noticed()), (counts, 4, 2));
        let change = "replace == with != in f".to_owned();
        let second = Mutant { file: "a.rs".into(), change, code: "c == d".into() };
        assert_eq!(found.missed[0], second);
        found.catch_all_but(std::slice::from_ref(&second));
        assert_eq!(found.missed, [second]);
        assert_eq!(found.total(), Counts { caught: 2, missed: 1, ..counts });
    }

    #[test]
    fn another_form_is_an_error() {
        let value = serde_json::json!({ "outcomes": [outcome(1, "Surprise")] });
        assert!(parse(&value, |_| String::new()).is_none());
        assert!(parse(&serde_json::json!([]), |_| String::new()).is_none());
    }
}
