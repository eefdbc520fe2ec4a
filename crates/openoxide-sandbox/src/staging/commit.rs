//! Committing the changes that a person has approved.

use std::{
    io::{self, ErrorKind},
    path::Path,
};

use crate::{
    interface::PostRunFinding,
    post_run::quarantine_new_files,
    protected_paths::{ProtectedPaths, TemporaryPermissions},
    staging::{
        commit_entry::CommitTarget,
        entry_state::EntryState,
        staged_change::{SkippedChange, StagedChange, StagedChanges},
        staging_area::StagingArea,
    },
};

/// The result of a commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommitResult {
    /// The changes that were not made, with the reasons.
    pub skipped: Vec<SkippedChange>,
    /// The findings that a person should look at now.
    pub findings: Vec<PostRunFinding>,
}

impl StagingArea {
    /// Makes the changes that were shown to a person, path by path. An entry that has changed since
    /// it was shown is not changed. New files that a program of the host would run are quarantined,
    /// as after any run.
    ///
    /// # Errors
    /// Returns an error if the protected paths cannot be determined. No change was made then.
    pub fn commit(&self, changes: &StagedChanges) -> io::Result<CommitResult> {
        apply_changes(self, changes, &ProtectedPaths::find(&self.profile)?)
    }
}

/// Makes the changes. Removals come last, except for entries that replace one of another type.
/// Those come after the removals, because the old entry must be gone first.
fn apply_changes(
    stage: &StagingArea,
    changes: &StagedChanges,
    guarded: &ProtectedPaths,
) -> io::Result<CommitResult> {
    let all = &changes.changes;
    let turning: Vec<&Path> = all
        .iter()
        .filter(|change| change.is_type_change())
        .map(|change| change.host_path())
        .collect();
    let turned =
        |change: &&StagedChange| turning.iter().any(|path| change.host_path().starts_with(path));
    let comes = |change: &&StagedChange| change.after.is_some();
    let mut work = StageCommitter {
        staging_area: stage,
        protected_paths: guarded,
        permissions: TemporaryPermissions::default(),
        result: CommitResult::default(),
    };
    all.iter()
        .filter(comes)
        .filter(|change| !turned(change))
        .for_each(|change| work.write_change(change));
    all.iter().rev().filter(|change| !comes(change)).for_each(|change| work.remove_change(change));
    all.iter().filter(comes).filter(turned).for_each(|change| work.write_change(change));
    Ok(work.finish(changes))
}

struct StageCommitter<'a> {
    staging_area: &'a StagingArea,
    protected_paths: &'a ProtectedPaths,
    permissions: TemporaryPermissions,
    result: CommitResult,
}

impl StageCommitter<'_> {
    fn write_change(&mut self, change: &StagedChange) {
        let Some(after) = &change.after else { return };
        let stage = self.staging_area;
        self.apply_change(change, |spot| spot.apply(stage, change, after));
    }

    fn remove_change(&mut self, change: &StagedChange) {
        let Some(before) = &change.before else { return };
        self.apply_change(change, |spot| spot.remove(before));
    }

    /// Makes one change. Directories of this user that refuse access are made accessible for that
    /// time.
    fn apply_change(
        &mut self,
        change: &StagedChange,
        does: impl Fn(&CommitTarget<'_>) -> io::Result<()>,
    ) {
        let tried = || {
            CommitTarget::open(self.staging_area.find_root(change)?, &change.relative_path)
                .and_then(|spot| does(&spot))
        };
        let closed = |error: &io::Error| error.kind() == ErrorKind::PermissionDenied;
        let done = match self.is_protected(change) {
            true => Err(io::Error::other("is protected")),
            false => tried().or_else(|error| match change.host_path().parent() {
                Some(parent) if closed(&error) && self.permissions.make_accessible(parent) => {
                    tried()
                }
                _ => Err(error),
            }),
        };
        if let Err(error) = done {
            self.skip_change(change, &error);
        }
    }

    fn is_protected(&self, change: &StagedChange) -> bool {
        self.protected_paths.contains(change.host_path())
            || !self.staging_area.profile.may_write(&change.path)
    }

    fn skip_change(&mut self, change: &StagedChange, error: &io::Error) {
        let left = SkippedChange { path: change.path.to_string(), reason: error.to_string() };
        self.result.skipped.push(left);
    }

    /// Sets the modes of directories, after all entries in them were created, and scans for files
    /// that must not be run yet.
    fn finish(mut self, changes: &StagedChanges) -> CommitResult {
        drop(std::mem::take(&mut self.permissions));
        for change in changes.changes.iter().rev() {
            let directory = change.after.as_ref().filter(|after| after.is_directory());
            if let Some(Err(error)) = directory.map(|after| self.set_directory_mode(change, after))
            {
                self.skip_change(change, &error);
            }
        }
        self.result.findings =
            quarantine_new_files(self.protected_paths, &self.staging_area.profile);
        self.result
    }

    fn set_directory_mode(&self, change: &StagedChange, after: &EntryState) -> io::Result<()> {
        let left = |left: &SkippedChange| left.path == change.path.as_str();
        if self.result.skipped.iter().any(left) {
            return Ok(());
        }
        CommitTarget::open(self.staging_area.find_root(change)?, &change.relative_path)?
            .set_mode(after.mode)
    }
}

impl StagedChange {
    fn host_path(&self) -> &Path {
        Path::new(self.path.as_str())
    }
}
