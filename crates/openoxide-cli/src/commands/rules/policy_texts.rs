//! Policy files with their text: those that a person names, or those that are in force.

use std::path::PathBuf;

use openoxide_permission::PathAnchors;
use openoxide_store::{
    BrokenFile, PolicyFile, PolicySource, UserEnvironment, find_policy_sources, find_project_root,
    read_regular_file,
};

use crate::{
    args::{GlobalArgs, PolicyArgs},
    policy_args,
    policy_formats::PolicyProgram,
    program_exit::ProgramExit,
    user_messages,
};

/// No policy file is longer.
const MAX_POLICY_BYTES: u64 = 64 << 20;

/// A policy file that was read.
pub(super) struct PolicyText {
    pub(super) source: PolicySource,
    /// Its path as a person wrote it.
    pub(super) display_path: String,
    pub(super) text: String,
    pub(super) policy_file: PolicyFile,
}

impl PolicyText {
    fn read_source(source: PolicySource, shown: String) -> Result<Self, String> {
        let text = read_text(&source.path)?;
        let environment = UserEnvironment::from_process();
        let anchors = PathAnchors { home: environment.home.as_ref(), base: &source.base };
        let read = (source.format.read)(&text, source.kind, &shown, anchors);
        Ok(Self { source, display_path: shown, text, policy_file: read })
    }

    /// Reports the problems of the file. If there are any, no decision should be based on it.
    pub(super) fn check_problems(&self, global: GlobalArgs) -> Result<(), ProgramExit> {
        self.policy_file.notes.iter().for_each(user_messages::print_note);
        if self.policy_file.problems.is_empty() {
            return Ok(());
        }
        let (path, text) = (self.source.path.clone(), self.text.clone());
        user_messages::print_broken_file(
            &BrokenFile { path, text, problems: self.policy_file.problems.clone() },
            global.color,
        );
        Err(ProgramExit::Usage)
    }

    /// Returns the column of a text on a line, from 1.
    pub(super) fn text_column(&self, line: u32, text: &str) -> usize {
        let line = self.text.lines().nth(line.saturating_sub(1) as usize);
        let head = line.and_then(|line| line.split_once(text)).map(|(head, _)| head);
        head.map_or(0, |head| head.chars().count()) + 1
    }

    /// Returns the line and column of a rule's text, from 1.
    pub(super) fn rule_position(&self, rule: usize) -> (u32, usize) {
        let rules = self.policy_file.layer.rules.as_slice();
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
pub(super) fn read_text(path: &std::path::Path) -> Result<String, String> {
    let cannot = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let bytes = read_regular_file(path, MAX_POLICY_BYTES).map_err(|error| cannot(&error))?;
    String::from_utf8(bytes).map_err(|error| cannot(&error))
}

/// Reads the files that are named; if none is, those that are in force and there.
pub(super) fn read_policies(
    files: &[PathBuf],
    format: Option<PolicyProgram>,
) -> Result<Vec<PolicyText>, String> {
    if files.is_empty() {
        let there = sources_in_force()?.into_iter().filter(|source| source.path.exists());
        return there.map(|source| read_displayed(source, None)).collect();
    }
    let cwd = policy_args::absolute_directory_or_cwd(None)?;
    let args = PolicyArgs { policy: files.to_vec(), format, ..PolicyArgs::default() };
    // In a policy file of a project, `/` means the project, also when the file is named on the
    // command line.
    let known = sources_in_force()?;
    let known = |source: PolicySource| {
        known.iter().find(|one| one.path == source.path).cloned().unwrap_or(source)
    };
    let sources = policy_args::named_sources(&args, &cwd)?.into_iter().map(known).zip(files);
    sources.map(|(source, file)| read_displayed(source, Some(file))).collect()
}

fn read_displayed(source: PolicySource, named: Option<&PathBuf>) -> Result<PolicyText, String> {
    let shown = named.unwrap_or(&source.path).to_string_lossy().into_owned();
    PolicyText::read_source(source, shown)
}

/// Returns the places of policy files here, the most precedent first.
pub(super) fn sources_in_force() -> Result<Vec<PolicySource>, String> {
    let environment = UserEnvironment::from_process();
    let cwd = policy_args::absolute_directory_or_cwd(None)?;
    let mut all =
        find_policy_sources(&environment, &find_project_root(&cwd, environment.home.as_ref()));
    all.retain(|source| !source.is_grant_file);
    Ok(all)
}

/// Reads policy files that must be native ones ([`read_policies`]).
pub(super) fn read_native_policies(files: &[PathBuf]) -> Result<Vec<PolicyText>, String> {
    for file in files {
        if PolicyProgram::detect(file, None)? != PolicyProgram::Native {
            return Err(format!("`{}` is a policy of another program", file.display()));
        }
    }
    read_policies(files, None)
}
