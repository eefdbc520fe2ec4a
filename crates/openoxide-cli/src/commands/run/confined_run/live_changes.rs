//! Requests of a confined command for changes outside of its writable files (`--live`).

use std::{fs, path::Path};

use openoxide_engine::{CheckOptions, ProfileContext};
use openoxide_protocol::{AbsPath, Operation, SandboxRestrictions};
use openoxide_sandbox::{RequestedChange, RuntimeDecision};

use super::run_context::RunContext;
use crate::live_edits::{changed_paths, edit_operation, is_always_unchangeable, offered_directory};

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
            let operation = Operation { session: self.session, ..operation };
            let options = CheckOptions {
                approved_directories: self.approved_directories.borrow().iter().cloned().collect(),
                offered_directory: offered_directory(change, self.engine.home()),
                ..self.check_options()
            };
            self.decide_with_options(&operation, options, gone)
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
