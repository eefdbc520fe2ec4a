//! Rules that a person confirms before they are added to a policy file.

use openoxide_store::PolicySource;

use super::rule_edit::EditTarget;
use crate::{
    args::{EditTargetArgs, GlobalArgs},
    commands::confirmation::file_diff,
    error::{
        CliError,
        file_error::{FileError, FileProblem},
    },
    program_exit::ProgramExit,
};

/// New rules of a policy file. The file is not locked while the person reads them.
pub(crate) struct RuleProposal {
    place: EditTargetArgs,
    /// The policy file.
    pub(crate) source: PolicySource,
    before: String,
    after: String,
}

impl RuleProposal {
    /// Returns the change that adds rules that allow, each with its reason. Returns an exit code if
    /// the file has errors, before the change or because of it.
    pub(crate) fn new(
        place: EditTargetArgs,
        rules: &[(String, String)],
        global: GlobalArgs,
    ) -> Result<Result<Self, ProgramExit>, CliError> {
        let target = EditTarget::open(place)?;
        if let Err(exit) = target.check_text(&target.text, global) {
            return Ok(Err(exit));
        }
        let after = target.with_allow_rules(rules)?;
        if let Err(exit) = target.check_text(&after, global) {
            return Ok(Err(exit));
        }
        let (source, before) = target.into_content();
        Ok(Ok(Self { place, source, before, after }))
    }

    /// Returns the change as a unified diff. Escape it before printing it.
    pub(crate) fn diff(&self) -> String {
        file_diff(&self.source.path, &self.before, &self.after)
    }

    /// Writes the change, unless the file has changed since it was read.
    pub(crate) fn apply(&self) -> Result<(), CliError> {
        let target = EditTarget::open(self.place)?;
        if target.text != self.before {
            return Err(FileError::new(&self.source.path, FileProblem::ChangedMeanwhile).into());
        }
        Ok(target.write_text(&self.after, true)?)
    }
}
