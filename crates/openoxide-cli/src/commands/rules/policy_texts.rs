//! Policy files with their text: the named ones, or those in force.

use std::path::{Path, PathBuf};

use openoxide_engine::{EngineOpenError, absolute_directory};
use openoxide_formats::{PolicyProgram, named_policy_source};
use openoxide_permission::PathAnchors;
use openoxide_store::{
    BrokenFile, PolicyFile, PolicySource, UserEnvironment, find_policy_sources, find_project_root,
    read_text,
};

use crate::{
    args::GlobalArgs,
    error::{CliError, file_error::FileError, policy_file_error::PolicyFileError},
    program_exit::ProgramExit,
    user_messages,
};

/// The maximum size of a policy file.
const MAX_POLICY_BYTES: u64 = 64 << 20;

/// A policy file that was read.
pub(super) struct PolicyText {
    pub(super) source: PolicySource,
    /// The path as it was given.
    pub(super) display_path: String,
    pub(super) text: String,
    pub(super) policy_file: PolicyFile,
}

impl PolicyText {
    fn read_source(source: PolicySource, display_path: &Path) -> Result<Self, FileError> {
        let shown = display_path.to_string_lossy().into_owned();
        let text = read_text_file(&source.path)?;
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
        // If several rules on this line have the same text, their order identifies the rule.
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
pub(super) fn read_text_file(path: &Path) -> Result<String, FileError> {
    read_text(path, MAX_POLICY_BYTES).map_err(|error| FileError::new(path, error))
}

/// Reads the named files. Without names, reads the existing files among those in force.
pub(super) fn read_policies(
    files: &[PathBuf],
    format: Option<PolicyProgram>,
) -> Result<Vec<PolicyText>, CliError> {
    if !files.is_empty() {
        return files.iter().map(|file| read_policy_file(file, format)).collect();
    }
    let mut texts = Vec::new();
    for source in sources_in_force()?.into_iter().filter(|source| source.path.exists()) {
        let path = source.path.clone();
        texts.push(PolicyText::read_source(source, &path)?);
    }
    Ok(texts)
}

/// Reads one named file.
pub(super) fn read_policy_file(
    file: &Path,
    format: Option<PolicyProgram>,
) -> Result<PolicyText, CliError> {
    let source = named_policy_source(file, format, &absolute_directory(None)?)?;
    // In a policy file of a project, `/` means the project, also when the file is named on the
    // command line.
    let known = sources_in_force()?.into_iter().find(|known| known.path == source.path);
    Ok(PolicyText::read_source(known.unwrap_or(source), file)?)
}

/// Returns the locations of the policy files in force, highest precedence first.
pub(super) fn sources_in_force() -> Result<Vec<PolicySource>, EngineOpenError> {
    let environment = UserEnvironment::from_process();
    let cwd = absolute_directory(None)?;
    let mut all =
        find_policy_sources(&environment, &find_project_root(&cwd, environment.home.as_ref()));
    all.retain(|source| !source.is_grant_file);
    Ok(all)
}

/// Reads policy files as [`read_policies`] does, and accepts only native ones.
pub(super) fn read_native_policies(files: &[PathBuf]) -> Result<Vec<PolicyText>, CliError> {
    for file in files {
        if PolicyProgram::detect(file, None)? != PolicyProgram::Native {
            return Err(PolicyFileError::NotNative(file.clone()).into());
        }
    }
    read_policies(files, None)
}
