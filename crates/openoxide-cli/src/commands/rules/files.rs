//! Policy files with their text: those that a person names, or those that are in force.

use std::path::PathBuf;

use openoxide_permission::Anchors;
use openoxide_store::{
    Broken, Environment, PolicyFile, Source, project_root, read_regular, sources,
};

use crate::{
    args::{Global, PolicyArgs},
    exit::Exit,
    formats::Program,
    policy_args, report,
};

/// No policy file is longer.
const LONGEST: u64 = 64 << 20;

/// A policy file that was read.
pub(super) struct PolicyText {
    pub(super) source: Source,
    /// Its path as a person wrote it.
    pub(super) shown: String,
    pub(super) text: String,
    pub(super) read: PolicyFile,
}

impl PolicyText {
    fn of(source: Source, shown: String) -> Result<Self, String> {
        let text = text(&source.path)?;
        let environment = Environment::read();
        let anchors = Anchors { home: environment.home.as_ref(), base: &source.base };
        let read = (source.format.read)(&text, source.kind, &shown, anchors);
        Ok(Self { source, shown, text, read })
    }

    /// Shows what is wrong with it; then nothing should be done on its grounds.
    pub(super) fn sound(&self, global: Global) -> Result<(), Exit> {
        self.read.notes.iter().for_each(report::note);
        if self.read.problems.is_empty() {
            return Ok(());
        }
        let (path, text) = (self.source.path.clone(), self.text.clone());
        report::broken(&Broken { path, text, problems: self.read.problems.clone() }, global.color);
        Err(Exit::Usage)
    }

    /// Returns the column, from 1, at which a text stands on a line.
    pub(super) fn column_of(&self, line: u32, text: &str) -> usize {
        let line = self.text.lines().nth(line.saturating_sub(1) as usize);
        let head = line.and_then(|line| line.split_once(text)).map(|(head, _)| head);
        head.map_or(0, |head| head.chars().count()) + 1
    }

    /// Returns the line and column of a rule, from 1: where its text stands on its line.
    pub(super) fn place(&self, rule: usize) -> (u32, usize) {
        let rules = self.read.layer.rules.as_slice();
        let Some(rule_at) = rules.get(rule) else { return (1, 1) };
        let line = self.text.lines().nth(rule_at.line.saturating_sub(1) as usize);
        let inside = rule_at.text.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
        // Of several rules with this text on this line, the one that is meant.
        let before = rules.get(..rule).unwrap_or_default();
        let twins =
            before.iter().filter(|one| one.line == rule_at.line && one.text == rule_at.text);
        let twins = twins.count();
        let find = |text: &str| line.and_then(|line| line.match_indices(text).nth(twins));
        let found = find(&rule_at.text).or_else(|| inside.and_then(find));
        let column =
            found.and_then(|(at, _)| line?.get(..at)).map_or(0, |head| head.chars().count());
        (rule_at.line.max(1), column + 1)
    }
}

/// Returns the text of a file.
pub(super) fn text(path: &std::path::Path) -> Result<String, String> {
    let cannot = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let bytes = read_regular(path, LONGEST).map_err(|error| cannot(&error))?;
    String::from_utf8(bytes).map_err(|error| cannot(&error))
}

/// Reads the files that are named; if none is, those that are in force and there.
pub(super) fn read(files: &[PathBuf], format: Option<Program>) -> Result<Vec<PolicyText>, String> {
    if files.is_empty() {
        let there = in_force()?.into_iter().filter(|source| source.path.exists());
        return there.map(|source| shown(source, None)).collect();
    }
    let cwd = policy_args::directory(None)?;
    let args = PolicyArgs { policy: files.to_vec(), format, ..PolicyArgs::default() };
    // What `/` stands for in a file of a project is the project, also when the file is named.
    let known = in_force()?;
    let known = |source: Source| {
        known.iter().find(|one| one.path == source.path).cloned().unwrap_or(source)
    };
    let sources = policy_args::named(&args, &cwd)?.into_iter().map(known).zip(files);
    sources.map(|(source, file)| shown(source, Some(file))).collect()
}

fn shown(source: Source, named: Option<&PathBuf>) -> Result<PolicyText, String> {
    let shown = named.unwrap_or(&source.path).to_string_lossy().into_owned();
    PolicyText::of(source, shown)
}

/// Returns the places of policy files here, the most precedent first.
pub(super) fn in_force() -> Result<Vec<Source>, String> {
    let environment = Environment::read();
    let cwd = policy_args::directory(None)?;
    let mut all = sources(&environment, &project_root(&cwd, environment.home.as_ref()));
    all.retain(|source| !source.grants);
    Ok(all)
}

/// As [`read`], for files of ours alone.
pub(super) fn read_native(files: &[PathBuf]) -> Result<Vec<PolicyText>, String> {
    for file in files {
        if Program::of(file, None)? != Program::Native {
            return Err(format!("`{}` is a policy of another program", file.display()));
        }
    }
    read(files, None)
}
