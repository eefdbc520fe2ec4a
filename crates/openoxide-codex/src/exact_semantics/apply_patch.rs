//! Codex's decision about a patch before it applies it (0.169): run, ask or reject.
//!
//! The files themselves are not read. Codex also rejects a patch whose files are missing or have
//! unexpected contents. That happens before its policy check, and is not modelled here.

pub(super) mod patch_change;
mod patch_parser;
mod patch_script;

use std::collections::BTreeSet;

use thiserror::Error;

use self::{
    patch_change::{ParsedPatch, PatchedFile},
    patch_parser::PatchParseError,
};
use super::{
    approval_policy::AskForApproval,
    call_decision::{CallOutcome, CallVerdict},
    call_evaluator::CallEvaluator,
    dialect::CodexDialect,
    launch_context::normalize_path,
};

/// The reason for which a patch is rejected. The message is the one that the model is shown.
#[derive(Debug, Error)]
enum PatchRejection {
    /// The patch names a machine, but there is only one machine.
    #[error("apply_patch environment selection is unavailable for this turn")]
    EnvironmentUnavailable,
    /// The patch is invalid.
    #[error("apply_patch verification failed: {0}")]
    Invalid(#[from] PatchParseError),
    /// A script consists of a patch without a call of `apply_patch`.
    #[error(
        "apply_patch verification failed: patch detected without explicit call to apply_patch. \
         Rerun as [\"apply_patch\", \"<patch>\"]"
    )]
    NotCalled,
    /// A path contains a NUL.
    #[error("apply_patch verification failed: '{0}' is invalid on 'linux'")]
    InvalidPath(String),
    /// The patch names a file twice.
    #[error("apply_patch verification failed: invalid patch: multiple operations target {0}")]
    RepeatedPath(String),
    /// The patch changes nothing.
    #[error("patch rejected: empty patch")]
    Empty,
    /// The patch requires a question, but the approval policy forbids it. Contains the reason.
    #[error("patch rejected: {0}; rejected by user approval settings")]
    PromptDisabled(&'static str),
}

impl CallEvaluator<'_> {
    /// Returns the decision about a call of the tool. Its paths are relative to the directory in
    /// which Codex was started.
    #[must_use]
    pub fn decide_apply_patch(&self, text: &str) -> CallOutcome {
        self.parse_patch(text, self.context.cwd, |patch| !patch.names_environment)
    }

    /// Returns the decision about a script that is a patch or a call of `apply_patch`. Codex starts
    /// no process for such a script. A machine that the patch names is ignored.
    pub(super) fn decide_patch_script(&self, script: &str, cwd: &str) -> Option<CallOutcome> {
        let may_be_one = script.trim_start().starts_with(['*', '<']);
        if may_be_one && ParsedPatch::parse(script).is_ok() {
            return Some(CallOutcome::new_rejection(PatchRejection::NotCalled.to_string()));
        }
        let call = patch_script::parse_call(script)?;
        let at = call.directory.map_or_else(|| cwd.to_owned(), |to| join_path(cwd, &to));
        Some(self.parse_patch(&call.patch, &at, |_| true))
    }

    fn parse_patch(
        &self,
        text: &str,
        cwd: &str,
        is_here: impl Fn(&ParsedPatch<'_>) -> bool,
    ) -> CallOutcome {
        let answer = match ParsedPatch::parse(text) {
            Ok(patch) if !is_here(&patch) => Err(PatchRejection::EnvironmentUnavailable),
            Ok(patch) => self.resolve_changes(&patch, cwd),
            Err(error) => Err(error.into()),
        };
        answer.unwrap_or_else(|rejection| CallOutcome::new_rejection(rejection.to_string()))
    }

    fn resolve_changes(
        &self,
        patch: &ParsedPatch<'_>,
        cwd: &str,
    ) -> Result<CallOutcome, PatchRejection> {
        let changes: Vec<PatchedFile> = patch
            .changes
            .iter()
            .map(|change| change.resolve(|path| join_path(cwd, path)))
            .collect();
        if let Some(wrong) = self.find_path_error(&changes) {
            return Err(wrong);
        }
        if changes.is_empty() {
            return Err(PatchRejection::Empty);
        }
        let verdict = self.patch_verdict(&changes)?;
        Ok(CallOutcome { changes: Some(changes), ..CallOutcome::new(verdict, None, false) })
    }

    /// Returns the first error in the paths. Up to 0.145 a file could occur twice.
    fn find_path_error(&self, changes: &[PatchedFile]) -> Option<PatchRejection> {
        let mut seen = BTreeSet::new();
        for change in changes {
            if let Some(odd) = change.patch_paths.iter().find(|path| path.contains('\0')) {
                return Some(PatchRejection::InvalidPath(odd.clone()));
            }
            if !seen.insert(&change.path) && self.dialect != CodexDialect::V0145 {
                return Some(PatchRejection::RepeatedPath(change.path.clone()));
            }
        }
        None
    }

    fn patch_verdict(&self, changes: &[PatchedFile]) -> Result<CallVerdict, PatchRejection> {
        if self.approval == AskForApproval::UnlessTrusted {
            return Ok(CallVerdict::Prompt);
        }
        let paths = changes.iter().flat_map(PatchedFile::collect_affected_paths);
        let writable = !self.sandbox.is_restricted()
            || self.writable_roots.contains_all(self.context.cwd, paths);
        match (self.sandbox.allows_writes() && writable, self.allows_patch_prompt()) {
            (true, _) => Ok(CallVerdict::Run),
            (false, true) => Ok(CallVerdict::Prompt),
            (false, false) if self.sandbox.allows_writes() => {
                Err(PatchRejection::PromptDisabled("writing outside of the project"))
            }
            (false, false) => {
                Err(PatchRejection::PromptDisabled("writing is blocked by read-only sandbox"))
            }
        }
    }

    const fn allows_patch_prompt(&self) -> bool {
        match self.approval {
            AskForApproval::Never => false,
            AskForApproval::Granular(granular) => granular.sandbox_approval,
            AskForApproval::UnlessTrusted | AskForApproval::OnRequest => true,
        }
    }
}

/// Returns a path relative to a directory in normal form. The file system is not accessed.
fn join_path(cwd: &str, path: &str) -> String {
    if path.starts_with('/') {
        normalize_path(path)
    } else {
        normalize_path(&format!("{cwd}/{path}"))
    }
}

#[cfg(test)]
mod tests;
