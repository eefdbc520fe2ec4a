//! The differences between the staged entries and the entries of the host.

mod compared_entry;

use std::{cell::RefCell, collections::BTreeMap, ffi::OsStr, io, path::Path};

use openoxide_protocol::{AbsPath, SandboxRestrictions};
use rustix::fs::{FileType, Stat};

use crate::{
    protected_paths::{ProtectedPaths, is_placeholder_stat},
    staging::{
        comparison::compared_entry::{
            ComparedEntry, DirectoryPair, file_type, has_same_content, is_staged_type, is_whiteout,
        },
        entry_state::{EntryState, change_time, stat_entry},
        staged_change::{SkippedChange, StagedChange, StagedChanges},
        staging_area::{StagedRoot, StagingArea},
        tree::{self, TreeOwner},
    },
};

/// The maximum number and depth of the changes of a run. A run that exceeds it cannot be committed.
const MAX_CHANGES: usize = 100_000;
const MAX_DEPTH: usize = 100;

const PROTECTED_REASON: &str = "is protected";
const CHANGED_REASON: &str = "was changed by another program in the meantime";
const NOT_UTF8_REASON: &str = "has a name that is not valid UTF-8, which no rule can match";
const REMAINDER_REASON: &str = "would replace a directory that is not empty";
const FILE_TYPE_REASON: &str = "is a socket or a device";

impl StagingArea {
    /// Compares the staged entries with the current entries of the host. No process may run in the
    /// staging area any more.
    ///
    /// Entries that another process has changed since the run began are skipped. So are protected
    /// paths, names that a rule cannot express, sockets and devices.
    ///
    /// # Errors
    /// Returns an error if the entries cannot be read, or if they exceed a limit. Nothing is known
    /// about the changes then.
    pub fn find_changes(&self) -> io::Result<StagedChanges> {
        find_changes(self, &ProtectedPaths::find(&self.profile)?, false)
    }

    /// Does the same, and includes names that a rule cannot express. In the paths of these changes,
    /// invalid UTF-8 is replaced.
    ///
    /// # Errors
    /// As for [`Self::find_changes`].
    pub fn find_changes_with_any_name(&self) -> io::Result<StagedChanges> {
        find_changes(self, &ProtectedPaths::find(&self.profile)?, true)
    }
}

fn find_changes(
    stage: &StagingArea,
    guarded: &ProtectedPaths,
    any_name: bool,
) -> io::Result<StagedChanges> {
    let mut all = StagedChanges::default();
    for (number, root) in stage.roots.iter().enumerate() {
        let mut look = StageComparison {
            root_index: number,
            root,
            protected_paths: guarded,
            profile: &stage.profile,
            closed_modes: &stage.closed_modes,
            any_name,
            result: all,
        };
        // Its own mode is not staged.
        tree::make_accessible(&root.upper, OsStr::new("."))?;
        let upper = tree::open_directory(TreeOwner::Staged, &root.upper, Path::new(""))?;
        let lower = tree::open_directory(TreeOwner::Host, &root.directory, Path::new(""))?;
        look.compare_directory(&DirectoryPair::new(upper, Some(lower), false)?, Path::new(""))?;
        all = look.result;
    }
    all.changes.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(all)
}

/// The comparison of one writable directory, and the results so far.
struct StageComparison<'a> {
    root_index: usize,
    root: &'a StagedRoot,
    protected_paths: &'a ProtectedPaths,
    profile: &'a SandboxRestrictions,
    closed_modes: &'a RefCell<BTreeMap<u64, u32>>,
    /// True if names that are not valid UTF-8 are included.
    any_name: bool,
    result: StagedChanges,
}

impl StageComparison<'_> {
    fn compare_directory(&mut self, both: &DirectoryPair, within: &Path) -> io::Result<()> {
        if within.components().count() > MAX_DEPTH {
            return Err(io::Error::other(format!("`{}` is nested too deeply", within.display())));
        }
        let names = tree::list_names(&both.upper)?;
        for name in &names {
            self.compare_entry(&ComparedEntry::new(both, within, name)?)?;
        }
        if let (Some(lower), true) = (&both.lower, both.opaque) {
            let gone = tree::list_names(lower)?;
            for name in gone.iter().filter(|name| names.binary_search(name).is_err()) {
                let place = ComparedEntry::new(both, within, name)?;
                match both.changed_by_others {
                    true => self.skip_entry(&place, CHANGED_REASON)?,
                    false => _ = self.add_removal(&place)?,
                }
            }
        }
        Ok(())
    }

    /// Compares one name that the run has changed.
    fn compare_entry(&mut self, place: &ComparedEntry<'_>) -> io::Result<()> {
        let Some(staged) = stat_entry(&place.directories.upper, place.name)? else { return Ok(()) };
        if is_whiteout(&staged) {
            return self.add_removal(place).map(|_| ());
        }
        let Some(path) = self.host_path(place) else {
            return self.skip_entry(place, NOT_UTF8_REASON);
        };
        if self.is_protected(&path) && !self.has_private_copy(&path) {
            let ours = is_placeholder_stat(&staged);
            return if ours { Ok(()) } else { self.skip_entry(place, PROTECTED_REASON) };
        }
        match self.read_staged_entry(place, staged)? {
            None => self.skip_entry(place, FILE_TYPE_REASON),
            Some(after) if after.is_directory() => self.add_directory(place, path, after),
            Some(after) => self.add_file(place, path, after),
        }
    }

    /// Reads a staged entry. A directory that refuses access is made accessible, because its
    /// entries could not be read otherwise.
    #[expect(clippy::useless_conversion, reason = "the widths are not the same everywhere")]
    fn read_staged_entry(
        &self,
        place: &ComparedEntry<'_>,
        mut found: Stat,
    ) -> io::Result<Option<EntryState>> {
        let (upper, number) = (&place.directories.upper, u64::from(found.st_ino));
        if file_type(&found) == FileType::Directory
            && let Some(mode) = tree::make_accessible(upper, place.name)?
        {
            self.closed_modes.borrow_mut().insert(number, mode);
            found = stat_entry(upper, place.name)?.unwrap_or(found);
        }
        let thing = EntryState::from_stat(upper, place.name, &found)?;
        let closed = self.closed_modes.borrow().get(&number).copied();
        Ok(thing.map(|thing| match closed {
            Some(mode) if thing.is_directory() => EntryState { mode, ..thing },
            _ => thing,
        }))
    }

    fn add_directory(
        &mut self,
        place: &ComparedEntry<'_>,
        path: AbsPath,
        after: EntryState,
    ) -> io::Result<()> {
        if !self.may_change(place)? {
            return Ok(());
        }
        let before = place.host_entry()?;
        let same = |before: &EntryState| before.is_directory() && before.has_same_metadata(&after);
        if !before.as_ref().is_some_and(same) {
            self.add_change(place, path, before, Some(after), false)?;
        }
        let upper = tree::open_directory(
            TreeOwner::Staged,
            &place.directories.upper,
            Path::new(place.name),
        )?;
        let both = DirectoryPair {
            changed_by_others: self.is_changed_by_others(place),
            ..DirectoryPair::new(upper, place.lower_directory()?, place.directories.opaque)?
        };
        self.compare_directory(&both, &place.relative_path)
    }

    fn add_file(
        &mut self,
        place: &ComparedEntry<'_>,
        path: AbsPath,
        after: EntryState,
    ) -> io::Result<()> {
        let before = place.host_entry()?;
        let same_content = match &before {
            Some(before) => has_same_content(self.root, &place.relative_path, before, &after),
            None => false,
        };
        // The host may have been changed in the same way.
        if same_content && before.as_ref().is_some_and(|before| before.has_same_metadata(&after)) {
            return Ok(());
        }
        if !self.may_change(place)? {
            return Ok(());
        }
        if before.as_ref().is_some_and(EntryState::is_directory)
            && (self.is_changed_by_others(place) || !self.add_directory_removals(place)?)
        {
            return self.skip_entry(place, REMAINDER_REASON);
        }
        self.add_change(place, path, before, Some(after), same_content)
    }

    /// Records a removal. Returns whether nothing of the entry remains.
    fn add_removal(&mut self, place: &ComparedEntry<'_>) -> io::Result<bool> {
        if place.host_stat.is_none() {
            return Ok(true);
        }
        let Some(path) = self.host_path(place) else {
            return self.skip_entry(place, NOT_UTF8_REASON).map(|()| false);
        };
        if self.is_protected(&path) {
            return self.skip_entry(place, PROTECTED_REASON).map(|()| false);
        }
        if self.is_changed_by_others(place) {
            return self.skip_entry(place, CHANGED_REASON).map(|()| false);
        }
        if !self.may_change(place)? {
            return Ok(false);
        }
        let before = place.host_entry()?;
        let gone = !before.as_ref().is_some_and(EntryState::is_directory)
            || self.add_directory_removals(place)?;
        if gone {
            self.add_change(place, path, before, None, false)?;
        }
        Ok(gone)
    }

    /// Records the removal of everything in a directory.
    fn add_directory_removals(&mut self, place: &ComparedEntry<'_>) -> io::Result<bool> {
        let (Some(lower), Some(again)) = (place.lower_directory()?, place.lower_directory()?)
        else {
            return Ok(false);
        };
        if place.relative_path.components().count() > MAX_DEPTH {
            return Err(io::Error::other(format!(
                "`{}` is nested too deeply",
                place.relative_path.display()
            )));
        }
        let names = tree::list_names(&lower)?;
        let both = DirectoryPair {
            upper: again,
            lower: Some(lower),
            opaque: true,
            changed_by_others: false,
        };
        let mut all = true;
        for name in &names {
            all &= self.add_removal(&ComparedEntry::new(&both, &place.relative_path, name)?)?;
        }
        Ok(all)
    }

    /// Returns whether the entry of the host has a type that is staged and, unless it is a
    /// directory, has not been changed by another process since the run began.
    fn may_change(&mut self, place: &ComparedEntry<'_>) -> io::Result<bool> {
        let Some(now) = &place.host_stat else { return Ok(true) };
        if file_type(now) != FileType::Directory && self.is_changed_by_others(place) {
            return self.skip_entry(place, CHANGED_REASON).map(|()| false);
        }
        match is_staged_type(now) {
            true => Ok(true),
            false => self.skip_entry(place, FILE_TYPE_REASON).map(|()| false),
        }
    }

    /// Returns whether another process has changed the entry of the host. For a directory, that
    /// means the names in it.
    fn is_changed_by_others(&self, place: &ComparedEntry<'_>) -> bool {
        place.host_stat.as_ref().is_some_and(|now| change_time(now) >= self.root.started_at)
    }

    fn host_path(&self, place: &ComparedEntry<'_>) -> Option<AbsPath> {
        let path = self.root.path.join(&place.relative_path);
        match path.to_str() {
            Some(text) => AbsPath::new(text).ok(),
            None if self.any_name => AbsPath::new(&path.to_string_lossy()).ok(),
            None => None,
        }
    }

    fn is_protected(&self, path: &AbsPath) -> bool {
        self.protected_paths.contains(Path::new(path.as_str())) || !self.profile.may_write(path)
    }

    /// Returns whether the supervisor has staged the changes of a private copy of this path.
    fn has_private_copy(&self, path: &AbsPath) -> bool {
        self.profile.may_write(path)
            && self.protected_paths.private_guard(Path::new(path.as_str())).is_some()
    }

    fn add_change(
        &mut self,
        place: &ComparedEntry<'_>,
        path: AbsPath,
        before: Option<EntryState>,
        after: Option<EntryState>,
        same_content: bool,
    ) -> io::Result<()> {
        let (root, rest) = (self.root_index, place.relative_path.clone());
        self.result.changes.push(StagedChange {
            path,
            before,
            after,
            same_content,
            root_index: root,
            relative_path: rest,
        });
        if self.result.changes.len() > MAX_CHANGES {
            return Err(io::Error::other(format!("it has changed more than {MAX_CHANGES} files")));
        }
        Ok(())
    }

    fn skip_entry(&mut self, place: &ComparedEntry<'_>, why: &str) -> io::Result<()> {
        let path = self.root.path.join(&place.relative_path).to_string_lossy().into_owned();
        self.result.skipped.push(SkippedChange { path, reason: why.to_owned() });
        Ok(())
    }
}
