//! Committing the changes that a person has approved.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    process,
};

use openoxide_protocol::AbsPath;

use crate::{
    post_run::quarantine_new_files,
    protected_paths::{GuardKind, ProtectedPaths, TemporaryPermissions},
    staging::{
        change_source::ChangeSource,
        checkpoint_writer::{CheckpointWriter, CheckpointedCommit, NewCheckpoint},
        commit_entry::CommitTarget,
        commit_result::CommitResult,
        entry_state::EntryState,
        private_commit::{commit_config, commit_hooks},
        staged_change::{SkippedChange, StagedChange, StagedChanges},
        staging_area::StagingArea,
    },
};

impl StagingArea {
    /// Makes the changes that were shown to a person, path by path. An entry that has changed since
    /// it was shown is not changed. New files that a program of the host would run are quarantined,
    /// as after any run.
    ///
    /// # Errors
    /// Returns an error if the protected paths cannot be determined. No change was made then.
    pub fn commit(&self, changes: &StagedChanges) -> io::Result<CommitResult> {
        let guarded = ProtectedPaths::find(&self.profile)?;
        self.set_committing(Some(process::id()))?;
        let committed = apply_changes(self, changes, &guarded, None);
        self.set_committing(None)?;
        Ok(committed)
    }

    /// Makes changes, and keeps the previous versions, so that they can be undone.
    ///
    /// # Errors
    /// Returns an error if the checkpoint cannot be created. No change was made then.
    pub fn commit_with_checkpoint(
        &self,
        registry: &AbsPath,
        changes: &StagedChanges,
        new: &NewCheckpoint<'_>,
    ) -> io::Result<CheckpointedCommit> {
        let guarded = ProtectedPaths::find(&self.profile)?;
        let registry = Path::new(registry.as_str());
        let mut writer = CheckpointWriter::create(registry, new, self, changes)?;
        self.set_committing(Some(process::id()))?;
        let committed = apply_changes(self, changes, &guarded, Some(&mut writer));
        self.set_committing(None)?;
        writer.finish(committed)
    }
}

/// Makes the changes. Removals come last, except for entries that replace one of another type.
/// Those come after the removals, because the old entry must be gone first.
pub(super) fn apply_changes(
    source: &dyn ChangeSource,
    changes: &StagedChanges,
    guarded: &ProtectedPaths,
    checkpoint: Option<&mut CheckpointWriter>,
) -> CommitResult {
    let all = &changes.changes;
    let turning: BTreeSet<&Path> = all
        .iter()
        .filter(|change| change.is_type_change())
        .map(|change| change.host_path())
        .collect();
    let turned = |change: &&StagedChange| {
        !turning.is_empty() && change.host_path().ancestors().any(|path| turning.contains(path))
    };
    let comes = |change: &&StagedChange| change.after.is_some();
    let mut work = StageCommitter {
        source,
        protected_paths: guarded,
        checkpoint,
        permissions: TemporaryPermissions::default(),
        result: CommitResult::default(),
    };
    all.iter()
        .filter(comes)
        .filter(|change| !turned(change))
        .for_each(|change| work.write_change(change));
    all.iter().rev().filter(|change| !comes(change)).for_each(|change| work.remove_change(change));
    all.iter().filter(comes).filter(turned).for_each(|change| work.write_change(change));
    work.finish(changes)
}

struct StageCommitter<'a> {
    source: &'a dyn ChangeSource,
    protected_paths: &'a ProtectedPaths,
    /// Records the previous versions.
    checkpoint: Option<&'a mut CheckpointWriter>,
    permissions: TemporaryPermissions,
    result: CommitResult,
}

impl StageCommitter<'_> {
    fn write_change(&mut self, change: &StagedChange) {
        let Some(after) = &change.after else { return };
        let source = self.source;
        self.apply_change(change, |spot| spot.apply(source, change, after));
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
            CommitTarget::open(self.source.root_directory(change)?, &change.relative_path)
                .and_then(|spot| does(&spot))
        };
        let closed = |error: &io::Error| error.kind() == ErrorKind::PermissionDenied;
        match self.private_guard(change) {
            Some((_, GuardKind::PrivateConfig)) => return self.apply_settings(change),
            // All changes of hooks are handled together at the end.
            Some(_) => return,
            None => {}
        }
        if let Err(error) = self.record_change(change) {
            return self.skip_change(change, &error);
        }
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
            self.cancel_record(change);
        }
    }

    /// Records that a change was not made.
    fn cancel_record(&mut self, change: &StagedChange) {
        if let Some(Err(error)) = self.checkpoint.as_deref_mut().map(CheckpointWriter::cancel) {
            self.skip_change(change, &error);
        }
    }

    fn record_change(&mut self, change: &StagedChange) -> io::Result<()> {
        let Some(writer) = self.checkpoint.as_deref_mut() else { return Ok(()) };
        let reason = |error| {
            io::Error::other(format!(
                "cannot be changed, because its previous version cannot be kept: {error}"
            ))
        };
        let added = match writer.add(self.source, change) {
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                let parent = change.host_path().parent();
                let opened = parent.is_some_and(|parent| self.permissions.make_accessible(parent));
                if opened { writer.add(self.source, change) } else { Err(error) }
            }
            added => added,
        };
        added.map_err(reason)
    }

    fn private_guard(&self, change: &StagedChange) -> Option<(&Path, GuardKind)> {
        let guard = self.protected_paths.private_guard(change.host_path());
        guard.filter(|_| self.source.profile().may_write(&change.path))
    }

    /// Applies the harmless changes of a configuration file of `git`.
    fn apply_settings(&mut self, change: &StagedChange) {
        if let Err(error) = self.record_change(change) {
            return self.skip_change(change, &error);
        }
        let source = self.source;
        match commit_config(source, change) {
            Ok(None) => {}
            Ok(Some(held)) => self.result.findings.push(held),
            Err(error) => {
                self.skip_change(change, &error);
                self.cancel_record(change);
            }
        }
    }

    /// Quarantines new and changed hooks.
    fn hold_hooks(&mut self, changes: &StagedChanges) {
        let mut hooks: BTreeMap<PathBuf, Vec<&StagedChange>> = BTreeMap::new();
        for change in &changes.changes {
            if let Some((directory, GuardKind::PrivateHooks)) = self.private_guard(change) {
                hooks.entry(directory.to_owned()).or_default().push(change);
            }
        }
        for (directory, changes) in hooks {
            match commit_hooks(self.source, &directory, &changes) {
                Ok(held) => self.result.findings.extend(held),
                Err(error) => {
                    changes.into_iter().for_each(|change| self.skip_change(change, &error));
                }
            }
        }
    }

    fn is_protected(&self, change: &StagedChange) -> bool {
        self.protected_paths.contains(change.host_path())
            || !self.source.profile().may_write(&change.path)
    }

    fn skip_change(&mut self, change: &StagedChange, error: &io::Error) {
        let left = SkippedChange { path: change.path.to_string(), reason: error.to_string() };
        self.result.skipped.push(left);
    }

    /// Sets the metadata of directories, after all entries in them were created, and scans for files
    /// that must not be run yet.
    fn finish(mut self, changes: &StagedChanges) -> CommitResult {
        drop(std::mem::take(&mut self.permissions));
        let left: BTreeSet<_> = self.result.skipped.iter().map(|left| left.path.clone()).collect();
        for change in changes.changes.iter().rev() {
            let Some(after) = change.after.as_ref().filter(|after| after.is_directory()) else {
                continue;
            };
            if !left.contains(change.path.as_str())
                && self.private_guard(change).is_none()
                && let Err(error) = self.set_directory_metadata(change, after)
            {
                self.skip_change(change, &error);
            }
        }
        self.hold_hooks(changes);
        let found = quarantine_new_files(self.protected_paths, self.source.profile());
        self.result.findings.extend(found);
        self.result
    }

    fn set_directory_metadata(&self, change: &StagedChange, after: &EntryState) -> io::Result<()> {
        let before = change.before.as_ref().filter(|before| before.is_directory());
        CommitTarget::open(self.source.root_directory(change)?, &change.relative_path)?
            .set_metadata(before, after)
    }
}

impl StagedChange {
    pub(super) fn host_path(&self) -> &Path {
        Path::new(self.path.as_str())
    }
}
