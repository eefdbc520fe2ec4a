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

/// The verdict on a program's promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// The result of one program.
pub(super) struct Result {
    pub(super) program: String,
    pub(super) package: String,
    pub(super) version: String,
    pub(super) verdict: Verdict,
    pub(super) commands: Vec<String>,
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

    /// Returns the line of the table of results.
    pub(super) fn line(&self) -> String {
        let verdict = match self.verdict {
            Verdict::Unproved => "unproved",
            Verdict::NothingHarmless => "nothing-harmless",
            Verdict::Kept => "kept",
            Verdict::Broken => "broken",
        };
        let list = |deeds: &BTreeSet<String>| deeds.iter().cloned().collect::<Vec<_>>().join("; ");
        let fields = [
            self.program.clone(),
            self.package.clone(),
            self.version.clone(),
            verdict.to_owned(),
            self.commands.len().to_string(),
            self.stopped.to_string(),
            list(&self.accepted),
            list(&self.home),
            self.broken.join("; "),
            self.commands.join(" ⏎ "),
        ];
        fields.map(|field| field.replace(['\t', '\n'], " ")).join("\t")
    }
}

/// Returns what a program may do beyond reading, from `accepted.tsv`.
pub(super) fn accepted(program: &str) -> BTreeSet<String> {
    let path = workspace::root().join("corpus/programs/accepted.tsv");
    let text = fs::read_to_string(path).unwrap_or_default();
    let rows = text.lines().skip(1).map(|line| line.split('\t').collect::<Vec<_>>());
    let concerns =
        |names: &str| names == "*" || names.split_whitespace().any(|name| name == program);
    let mut all = BTreeSet::new();
    for row in rows {
        if let [names, deed, _reason] = row[..]
            && concerns(names)
        {
            all.insert(deed.to_owned());
        }
    }
    all
}

/// Returns whether an action is accepted. A sprung trap is never accepted. An entry that ends with
/// `*` accepts every action that begins with the text before it.
fn is_accepted(deed: &Deed, text: &str, accepted: &BTreeSet<String>) -> bool {
    deed.kind != Kind::Trap
        && accepted.iter().any(|entry| match entry.strip_suffix('*') {
            Some(start) => text.starts_with(start),
            None => entry == text,
        })
}

/// Writes all results, with the date on which they were had.
pub(super) fn write(path: &Path, outcomes: &[Result]) -> std::result::Result<(), String> {
    let date = std::process::Command::new("date").args(["-u", "+%F"]).output();
    let date = date.map_err(|error| error.to_string())?;
    let date = String::from_utf8_lossy(&date.stdout).trim().to_owned();
    let mut text = format!(
        "program\tpackage\tversion\tverdict\tlines\tstopped\taccepted\thome\tbroken\tcommand lines run on {date}\n"
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
