//! The results of each program, and the actions that were accepted beforehand.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use super::{
    judge::{Deed, Kind},
    packages::Package,
};
use crate::workspace;

/// What separates the actions of a result.
const ACTIONS: &str = "; ";

/// What separates the command lines of a result.
const COMMANDS: &str = " ⏎ ";

/// The verdict on a program's promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verdict {
    /// The program could not be had.
    Unproved,
    /// The program exists, and no command line of it is called harmless.
    NothingHarmless,
    /// All command lines kept the promise.
    Kept,
    /// At least one did something that is not accepted.
    Broken,
}

impl Verdict {
    const ALL: [Self; 4] = [Self::Unproved, Self::NothingHarmless, Self::Kept, Self::Broken];

    const fn name(self) -> &'static str {
        match self {
            Self::Unproved => "unproved",
            Self::NothingHarmless => "nothing-harmless",
            Self::Kept => "kept",
            Self::Broken => "broken",
        }
    }
}

/// The result of one program.
pub(super) struct Result {
    pub(super) program: String,
    pub(super) package: String,
    pub(super) version: String,
    pub(super) verdict: Verdict,
    pub(super) commands: Vec<String>,
    /// The number of command lines that ended with another status than 0.
    pub(super) failed: usize,
    /// The number of command lines that were ended because they exceeded their time limit.
    pub(super) stopped: usize,
    pub(super) accepted: BTreeSet<String>,
    /// Actions that the settings of the user caused, and the secrets that the program printed.
    pub(super) home: BTreeSet<String>,
    pub(super) broken: Vec<String>,
}

impl Result {
    pub(super) fn new(program: &str) -> Self {
        Self {
            program: program.to_owned(),
            package: String::new(),
            version: String::new(),
            verdict: Verdict::Unproved,
            commands: Vec::new(),
            failed: 0,
            stopped: 0,
            accepted: BTreeSet::new(),
            home: BTreeSet::new(),
            broken: Vec::new(),
        }
    }

    /// Adds a command line and what it did.
    pub(super) fn add(&mut self, script: &str, deeds: Vec<Deed>, accepted: &BTreeSet<String>) {
        self.commands.push(script.to_owned());
        if self.verdict != Verdict::Broken {
            self.verdict = Verdict::Kept;
        }
        for deed in deeds {
            let text = format!("{} {}", deed.kind.name(), deed.what);
            if matches!(deed.kind, Kind::Home | Kind::Secret) {
                self.home.insert(text);
            } else if is_accepted(&deed, &text, accepted) {
                self.accepted.insert(text);
            } else {
                self.verdict = Verdict::Broken;
                self.broken.push(format!("{script}: {text}"));
            }
        }
    }

    pub(super) fn describe(
        &mut self,
        package: Option<&Package>,
        versions: &BTreeMap<String, String>,
    ) {
        let Some(package) = package else { return };
        self.package = format!("{}:{}", package.registry, package.name);
        self.version = versions.get(&self.package).cloned().unwrap_or_default();
    }

    /// Adds the command lines of another run.
    pub(super) fn merge(&mut self, other: Self) {
        self.verdict = self.verdict.max(other.verdict);
        self.failed += other.failed;
        self.stopped += other.stopped;
        self.commands.extend(other.commands);
        self.accepted.extend(other.accepted);
        self.home.extend(other.home);
        self.broken.extend(other.broken);
    }

    /// Reads a line of the table of results.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let fields: Vec<&str> = line.split('\t').collect();
        let [
            program,
            package,
            version,
            verdict,
            _,
            failed,
            stopped,
            accepted,
            home,
            broken,
            commands,
        ] = fields[..]
        else {
            return None;
        };
        let list = |text: &str, separator: &str| -> Vec<String> {
            let parts = text.split(separator).filter(|part| !part.is_empty());
            parts.map(str::to_owned).collect()
        };
        Some(Self {
            program: program.to_owned(),
            package: package.to_owned(),
            version: version.to_owned(),
            verdict: Verdict::ALL.into_iter().find(|each| each.name() == verdict)?,
            commands: list(commands, COMMANDS),
            failed: failed.parse().ok()?,
            stopped: stopped.parse().ok()?,
            accepted: list(accepted, ACTIONS).into_iter().collect(),
            home: list(home, ACTIONS).into_iter().collect(),
            broken: list(broken, ACTIONS),
        })
    }

    /// Returns the line of the table of results.
    pub(super) fn line(&self) -> String {
        let list =
            |deeds: &BTreeSet<String>| deeds.iter().cloned().collect::<Vec<_>>().join(ACTIONS);
        let fields = [
            self.program.clone(),
            self.package.clone(),
            self.version.clone(),
            self.verdict.name().to_owned(),
            self.commands.len().to_string(),
            self.failed.to_string(),
            self.stopped.to_string(),
            list(&self.accepted),
            list(&self.home),
            self.broken.join(ACTIONS),
            self.commands.join(COMMANDS),
        ];
        fields.map(|field| field.replace(['\t', '\n'], " ")).join("\t")
    }
}

/// What programs may do beyond reading, from `accepted.tsv`.
pub(super) struct AcceptedActions {
    /// The names of programs, and an action.
    rows: Vec<(String, String)>,
}

impl AcceptedActions {
    pub(super) fn read() -> std::result::Result<Self, String> {
        let path = workspace::root().join("corpus/programs/accepted.tsv");
        let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let mut rows = Vec::new();
        for line in text.lines().skip(1) {
            let [names, deed, _reason] = line.split('\t').collect::<Vec<_>>()[..] else {
                return Err(format!("accepted.tsv: `{line}` has not three fields"));
            };
            rows.push((names.to_owned(), deed.to_owned()));
        }
        Ok(Self { rows })
    }

    /// Returns the actions that are accepted of a program.
    pub(super) fn of(&self, program: &str) -> BTreeSet<String> {
        let concerns =
            |names: &str| names == "*" || names.split_whitespace().any(|name| name == program);
        self.rows
            .iter()
            .filter(|(names, _)| concerns(names))
            .map(|(_, deed)| deed.clone())
            .collect()
    }
}

/// Returns whether an action is accepted. A sprung trap is never accepted. In an entry, `*` stands for any text.
fn is_accepted(deed: &Deed, text: &str, accepted: &BTreeSet<String>) -> bool {
    deed.kind != Kind::Trap
        && accepted.iter().any(|entry| match entry.split_once('*') {
            Some((start, end)) => text.strip_prefix(start).is_some_and(|rest| rest.ends_with(end)),
            None => entry == text,
        })
}

/// Writes all results, with the date and the commit of the run.
pub(super) fn write(
    path: &Path,
    outcomes: &[Result],
    commit: &str,
) -> std::result::Result<(), String> {
    let date = std::process::Command::new("date").args(["-u", "+%F"]).output();
    let date = date.map_err(|error| error.to_string())?;
    let date = String::from_utf8_lossy(&date.stdout).trim().to_owned();
    let mut text = format!(
        "program\tpackage\tversion\tverdict\tlines\tfailed\tstopped\taccepted\thome\tbroken\tcommand lines run on {date} at {commit}\n"
    );
    for outcome in outcomes {
        text.push_str(&outcome.line());
        text.push('\n');
    }
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

/// Writes the sorted names of the programs that could not be had.
pub(super) fn write_unproved(path: &Path, outcomes: &[Result]) -> std::result::Result<(), String> {
    let unproved = outcomes.iter().filter(|outcome| outcome.verdict == Verdict::Unproved);
    let mut names: Vec<String> = unproved.map(|outcome| format!("{}\n", outcome.program)).collect();
    names.sort();
    fs::write(path, names.concat()).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::{candidates::Candidates, table};

    /// A row that was added after the last whole run has no result. Its programs are unproved.
    #[test]
    fn every_program_of_the_table_has_a_result_or_is_unproved() {
        let file = |path: &Path| fs::read_to_string(path).unwrap();
        let results = file(&workspace::root().join("corpus/programs/results.tsv"));
        let unproved = file(&table::directory().join("unproved.txt"));
        let proved = results.lines().filter_map(Result::parse);
        let proved = proved.filter(|result| result.verdict != Verdict::Unproved);
        let known: BTreeSet<String> = proved
            .map(|result| result.program)
            .chain(unproved.lines().map(str::to_owned))
            .collect();
        let candidates = Candidates::read(0).unwrap();
        let missing: Vec<&str> =
            candidates.programs().filter(|name| !known.contains(*name)).collect();
        assert!(missing.is_empty(), "neither in results.tsv nor in unproved.txt: {missing:?}");
    }
}
