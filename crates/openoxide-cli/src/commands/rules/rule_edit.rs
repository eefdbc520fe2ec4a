//! `rules add` and `rules remove`: changing one rule of a policy file.

use std::{fs, io, path::PathBuf};

use openoxide_permission::{LayerKind, PathAnchors, lint::lint_layer, parse_rule};
use openoxide_protocol::{AbsPath, Effect};
use openoxide_store::{
    BrokenFile, FileLock, PolicySource, UserEnvironment, policy_edit, read_policy,
};
use openoxide_tui::{LineMode, escape_text};

use super::policy_texts;
use crate::{
    args::{EditTargetArgs, GlobalArgs, RuleAddArgs, RuleRemoveArgs},
    error::{
        CliError,
        file_error::{FileError, FileProblem},
        policy_file_error::PolicyFileError,
        rules_error::RulesError,
    },
    program_exit::ProgramExit,
    user_messages,
};

/// A policy file that is changed.
pub(crate) struct EditTarget {
    pub(crate) source: PolicySource,
    pub(crate) text: String,
    home: Option<AbsPath>,
    /// A lock that prevents changes between reading and replacing the file.
    _lock: FileLock,
}

impl EditTarget {
    /// Finds the file that the arguments select, and waits for its lock. The file does not have to
    /// exist.
    pub(super) fn open(place: EditTargetArgs) -> Result<Self, CliError> {
        let kind = match place {
            EditTargetArgs { project: true, .. } => LayerKind::Project,
            EditTargetArgs { local: true, .. } => LayerKind::Local,
            _ => LayerKind::User,
        };
        let source =
            policy_texts::sources_in_force()?.into_iter().find(|source| source.kind == kind);
        let source = source.ok_or(PolicyFileError::NoUserPolicy)?;
        let link =
            |path: &std::path::Path| fs::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink());
        if kind != LayerKind::User && source.path.ancestors().take(2).any(link) {
            return Err(FileError::new(source.path, FileProblem::SymbolicLink).into());
        }
        let environment = UserEnvironment::from_process();
        let lock = FileLock::acquire_policy_lock(&environment)?;
        let there = fs::symlink_metadata(&source.path).is_ok();
        let text = if there { policy_texts::read_text_file(&source.path)? } else { String::new() };
        Ok(Self { source, text, home: environment.home, _lock: lock })
    }

    /// Returns the file with its text, and releases the lock.
    pub(super) fn into_content(self) -> (PolicySource, String) {
        (self.source, self.text)
    }

    pub(super) fn anchors(&self) -> PathAnchors<'_> {
        PathAnchors { home: self.home.as_ref(), base: &self.source.base }
    }

    /// Opens the user's policy file.
    pub(crate) fn open_user_policy() -> Result<Self, CliError> {
        Self::open(EditTargetArgs { user: true, project: false, local: false })
    }

    /// Reports the problems of a text of this file in the same way as when the file is read.
    pub(crate) fn check_text(&self, text: &str, global: GlobalArgs) -> Result<(), ProgramExit> {
        let name = self.source.path.to_string_lossy();
        let problems = read_policy(text, self.source.kind, &name, self.anchors()).problems;
        if problems.is_empty() {
            return Ok(());
        }
        let (path, text): (PathBuf, _) = (self.source.path.clone(), text.to_owned());
        user_messages::print_broken_file(&BrokenFile { path, text, problems }, global.color);
        Err(ProgramExit::Usage)
    }

    /// Reports the lint findings of the given rule in this text.
    fn print_lints(&self, text: &str, rule: &str) {
        let name = self.source.path.to_string_lossy();
        let layer = read_policy(text, self.source.kind, &name, self.anchors()).layer;
        let is_it = |at: usize| layer.rules.get(at).is_some_and(|one| one.text == rule);
        for found in lint_layer(&layer).into_iter().filter(|found| is_it(found.rule)) {
            user_messages::print_note(&format!(
                "{} ({}): {}",
                found.message, found.code, found.help
            ));
        }
    }

    /// Returns the text with these rules that allow. A rule that the file has is not added again.
    pub(super) fn with_allow_rules(&self, rules: &[(String, String)]) -> Result<String, FileError> {
        let name = self.source.path.to_string_lossy();
        let layer = read_policy(&self.text, self.source.kind, &name, self.anchors()).layer;
        let is_new = |rule: &str| {
            !layer.rules.iter().any(|known| known.effect == Effect::Allow && known.text == rule)
        };
        let mut text = self.text.clone();
        for (rule, reason) in rules.iter().filter(|(rule, _)| is_new(rule)) {
            text = policy_edit::with_rule(&text, Effect::Allow, rule, Some(reason))
                .map_err(|error| FileError::new(&self.source.path, error))?;
        }
        Ok(text)
    }

    /// Writes a new text. Allow rules of a project have no effect until a person trusts it.
    pub(super) fn write_text(&self, text: &str, loosens: bool) -> Result<(), FileError> {
        policy_edit::replace_file(&self.source.path, text)
            .map_err(|error| FileError::new(&self.source.path, FileProblem::Unwritable(error)))?;
        self.print_trust_note(loosens);
        Ok(())
    }

    /// Creates the file. An existing file is not changed.
    pub(super) fn create(&self, text: &str) -> Result<(), FileError> {
        let problem = |error: io::Error| match error.kind() {
            io::ErrorKind::AlreadyExists => FileProblem::Exists,
            _ => FileProblem::Unwritable(error),
        };
        policy_edit::create_file(&self.source.path, text)
            .map_err(|error| FileError::new(&self.source.path, problem(error)))
    }

    /// Prints that allow rules of a project require trust.
    pub(super) fn print_trust_note(&self, loosens: bool) {
        if loosens && !self.source.may_loosen {
            user_messages::print_note(
                &"allow rules of a project take effect once you trust it: `openoxide trust`",
            );
        }
    }
}

/// Adds a rule.
pub(super) fn add_rule(args: &RuleAddArgs, global: GlobalArgs) -> Result<ProgramExit, CliError> {
    let target = EditTarget::open(args.target)?;
    if let Err(exit) = target.check_text(&target.text, global) {
        return Ok(exit);
    }
    parse_rule(&args.rule, args.effect, target.anchors())
        .map_err(|error| RulesError::InvalidRule { text: args.rule.clone(), error })?;
    let new = policy_edit::with_rule(&target.text, args.effect, &args.rule, args.reason.as_deref())
        .map_err(|error| FileError::new(&target.source.path, error))?;
    if let Err(exit) = target.check_text(&new, global) {
        return Ok(exit);
    }
    let path = target.source.path.display().to_string();
    let path = escape_text(&path, LineMode::SingleLine);
    if new == target.text {
        user_messages::print_note(&format!("{path} already contains this rule"));
        return Ok(ProgramExit::Success);
    }
    target.write_text(&new, args.effect == Effect::Allow)?;
    target.print_lints(&new, &args.rule);
    let line = format!(
        "{path}: {} {}\n",
        args.effect.as_str(),
        escape_text(&args.rule, LineMode::SingleLine)
    );
    Ok(user_messages::print_data(&line, ProgramExit::Success))
}

/// Removes a rule from the file.
pub(super) fn remove_rule(
    args: &RuleRemoveArgs,
    global: GlobalArgs,
) -> Result<ProgramExit, CliError> {
    let target = EditTarget::open(args.target)?;
    let path = target.source.path.display().to_string();
    let (new, count) = policy_edit::without_rule(&target.text, &args.rule)
        .map_err(|error| FileError::new(&target.source.path, error))?;
    let (path, rule) =
        (escape_text(&path, LineMode::SingleLine), escape_text(&args.rule, LineMode::SingleLine));
    if count == 0 {
        user_messages::print_error(&format!("{path} has no rule `{rule}`"));
        return Ok(ProgramExit::Failure);
    }
    if let Err(exit) = target.check_text(&new, global) {
        return Ok(exit);
    }
    target.write_text(&new, false)?;
    Ok(user_messages::print_data(&format!("{path}: removed {rule}\n"), ProgramExit::Success))
}
