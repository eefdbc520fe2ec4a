//! Files that a confined command wants to change while it runs, outside of what it may (`--live`).

use std::{fs, path::Path};

use openoxide_engine::ProfileContext;
use openoxide_protocol::{AbsPath, Action, Operation, SandboxRestrictions};
use openoxide_sandbox::{FileOperation, RequestedChange, RuntimeDecision};
use openoxide_store::UserEnvironment;
use serde_json::{Value, json};

use super::RunContext;
use crate::commands::call_operation;

impl RunContext<'_> {
    /// Decides whether a file may be changed. Changes of protected files, secret files and
    /// OpenOxide's own files are denied without a question.
    pub(super) fn review_change(
        &self,
        change: &RequestedChange,
        held: &SandboxRestrictions,
        gone: &dyn Fn() -> bool,
    ) -> RuntimeDecision {
        let paths = changed_paths(change);
        let answer = if paths.iter().any(|path| self.is_unchangeable(path, held)) {
            RuntimeDecision::DeniedByRule
        } else {
            let operation = edit_operation(change, self.engine.cwd());
            self.decide_operation(&Operation { session: self.session, ..operation }, gone)
        };
        if matches!(answer, RuntimeDecision::Rejected | RuntimeDecision::DeniedByRule) {
            self.refused_paths.borrow_mut().extend(paths);
        }
        answer
    }

    /// Returns whether a change of this path is denied without a question.
    fn is_unchangeable(&self, path: &AbsPath, held: &SandboxRestrictions) -> bool {
        let engine = self.engine;
        let around =
            ProfileContext { restrictions: held, roots: engine.roots(), home: engine.home() };
        let said = engine.sandbox_settings();
        let mut kept = said.protected.iter().chain(&said.unreadable);
        is_always_unchangeable(around, path)
            || kept.any(|place| path.strip_prefix(place).is_some())
            || self.is_named_policy(path)
    }

    /// Returns whether this path is a policy file that the arguments name. It decides about the
    /// next change.
    fn is_named_policy(&self, path: &AbsPath) -> bool {
        let mut named =
            self.args.policy.policy.iter().filter_map(|file| fs::canonicalize(file).ok());
        named.any(|file| file == Path::new(path.as_str()))
    }
}

/// Returns whether a change of this path is denied without a question under every policy.
pub(crate) fn is_always_unchangeable(around: ProfileContext<'_>, path: &AbsPath) -> bool {
    let own = UserEnvironment::from_process().openoxide_directories();
    around.write_refusal_reason(path).is_some()
        || own.iter().any(|place| path.strip_prefix(place).is_some())
}

/// Returns the edit that a change is.
pub(crate) fn edit_operation(change: &RequestedChange, cwd: &AbsPath) -> Operation {
    let paths = changed_paths(change).iter().map(AbsPath::to_string).collect();
    call_operation::new_person_operation(
        "Edit".to_owned(),
        Action::Edit { paths },
        change_input(change),
        cwd,
    )
}

/// The paths that change.
pub(crate) fn changed_paths(change: &RequestedChange) -> Vec<AbsPath> {
    [change.path.clone()].into_iter().chain(change.target.clone()).collect()
}

/// Returns the input that a person is shown and that the audit journal keeps.
fn change_input(change: &RequestedChange) -> Value {
    let mut input = json!({ "file_path": change.path, "wants": describe_change(change) });
    if let (Value::Object(all), Some(to)) = (&mut input, &change.target) {
        all.insert("to".to_owned(), json!(to));
    }
    input
}

/// Returns a description of the change, without the file's name.
fn describe_change(change: &RequestedChange) -> String {
    let what = match change.operation {
        FileOperation::Write => "write this file",
        FileOperation::MakeDirectory => "make this directory",
        FileOperation::Remove => "remove this file or directory",
        FileOperation::Rename => "rename this file, replacing the existing one",
    };
    match change.other_links {
        0 => what.to_owned(),
        more => format!("{what}, which has {more} more hard links elsewhere"),
    }
}
