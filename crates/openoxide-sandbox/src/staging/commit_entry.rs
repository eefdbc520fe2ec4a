//! The change of one path: through descriptors, without following symbolic links, and only if the
//! current entry is the one that was shown.

use std::{
    ffi::OsStr,
    io,
    os::fd::{AsFd as _, OwnedFd},
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

use rustix::{
    fs::{
        AtFlags, CWD, Mode, OFlags, RenameFlags, Timespec, Timestamps, chmod, fchmod, fstat,
        futimens, linkat, mkdirat, mkfifoat, openat, renameat_with, symlinkat, unlinkat, utimensat,
    },
    io::Errno,
};

use crate::staging::{
    change_source::ChangeSource,
    entry_state::{EntryKind, EntryStamp, EntryState},
    extended_attributes::{ExtendedAttributes, replace_attributes, set_attributes},
    file_copy::copy_content,
    staged_change::StagedChange,
    tree::{descriptor_path, open_below},
};

/// A counter that makes the temporary names of one process unique.
static NEXT_NAME: AtomicU64 = AtomicU64::new(0);

/// A name in a directory of the host, to which a change is committed.
pub(super) struct CommitTarget<'a> {
    directory: OwnedFd,
    name: &'a OsStr,
}

impl<'a> CommitTarget<'a> {
    pub(super) fn open(root: &OwnedFd, rest: &'a Path) -> io::Result<Self> {
        let (Some(parent), Some(name)) = (rest.parent(), rest.file_name()) else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let directory = open_below(root, parent)?;
        Ok(Self { directory, name })
    }

    /// Moves the staged entry to its final name. A directory is created empty, and gets its metadata
    /// at the end ([`Self::set_metadata`]).
    pub(super) fn apply(
        &self,
        source: &dyn ChangeSource,
        change: &StagedChange,
        after: &EntryState,
    ) -> io::Result<()> {
        match (&after.kind, &change.before) {
            (EntryKind::Directory, Some(before)) if before.is_directory() => {
                self.check_unchanged(before)
            }
            (EntryKind::Directory, Some(before)) => {
                self.remove(before)?;
                self.make_directory()
            }
            (EntryKind::Directory, None) => self.make_directory(),
            (EntryKind::File(_) | EntryKind::Fifo, Some(before)) if change.same_content => {
                self.check_unchanged(before)?;
                self.set_metadata(Some(before), after)
            }
            (EntryKind::File(_), _) => self.write_file(source, change, after),
            (EntryKind::Link(target), _) => {
                let name = temporary_name();
                symlinkat(target.as_os_str(), &self.directory, &name)?;
                self.move_new_entry(&name, change, after)
            }
            (EntryKind::Fifo, _) => {
                let name = temporary_name();
                mkfifoat(&self.directory, &name, Mode::RUSR | Mode::WUSR)?;
                self.move_new_entry(&name, change, after)
            }
        }
    }

    /// Removes the current entry: a directory if it is empty, anything else if it is the entry that
    /// was shown.
    pub(super) fn remove(&self, before: &EntryState) -> io::Result<()> {
        if before.is_directory() {
            return Ok(unlinkat(&self.directory, self.name, AtFlags::REMOVEDIR)?);
        }
        let (here, name) = (&self.directory, temporary_name());
        renameat_with(here, self.name, here, &name, RenameFlags::NOREPLACE)?;
        if before.is_unchanged(&EntryStamp::read(here, name.as_ref())?) {
            return Ok(unlinkat(here, &name, AtFlags::empty())?);
        }
        renameat_with(here, &name, here, self.name, RenameFlags::NOREPLACE)?;
        Err(changed_error())
    }

    /// Sets the permissions, extended attributes and times of the entry. The set-user-ID,
    /// set-group-ID and sticky bits stay as they are. The times of a directory that existed before
    /// are those of its last change.
    pub(super) fn set_metadata(
        &self,
        before: Option<&EntryState>,
        after: &EntryState,
    ) -> io::Result<()> {
        let place = open_below(&self.directory, Path::new(self.name))?;
        let (path, now) = (descriptor_path(&place), fstat(&place)?.st_mode & 0o7777);
        let none = ExtendedAttributes::new();
        let old = before.map_or(&none, |before| &before.attributes);
        let mode = (now & 0o7000) | after.mode;
        if *old != after.attributes {
            chmod(&path, Mode::from_raw_mode(now | 0o200))?;
            let replaced = replace_attributes(&path, old, &after.attributes);
            chmod(&path, Mode::from_raw_mode(mode))?;
            replaced.map_err(|error| attributes_error(&error))?;
        } else if mode != now {
            chmod(&path, Mode::from_raw_mode(mode))?;
        }
        if before.is_none() || !after.is_directory() {
            utimensat(CWD, &path, &file_times(after), AtFlags::empty())?;
        }
        Ok(())
    }

    fn make_directory(&self) -> io::Result<()> {
        Ok(mkdirat(&self.directory, self.name, Mode::RWXU)?)
    }

    /// Writes the staged file. The content gets a name only when it is complete. A process that is
    /// killed before that leaves nothing behind.
    fn write_file(
        &self,
        source: &dyn ChangeSource,
        change: &StagedChange,
        after: &EntryState,
    ) -> io::Result<()> {
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        let file = openat(&self.directory, c".", flags, Mode::RUSR | Mode::WUSR)?;
        let file = std::fs::File::from(file);
        copy_content(&source.open_content(change)?, &file)?;
        let stored = set_attributes(&file, &after.attributes);
        let file = OwnedFd::from(file);
        fchmod(&file, Mode::from_raw_mode(after.mode))?;
        futimens(&file, &file_times(after))?;
        let name = temporary_name();
        linkat(CWD, descriptor_path(&file), &self.directory, &name, AtFlags::SYMLINK_FOLLOW)?;
        self.move_into_place(&name, change)?;
        stored.map_err(|error| attributes_error(&error))
    }

    /// Sets the metadata of a new link or named pipe with a temporary name, and renames it.
    fn move_new_entry(
        &self,
        name: &str,
        change: &StagedChange,
        after: &EntryState,
    ) -> io::Result<()> {
        if after.kind == EntryKind::Fifo {
            let place = open_below(&self.directory, Path::new(name))?;
            chmod(descriptor_path(&place), Mode::from_raw_mode(after.mode))?;
        }
        utimensat(&self.directory, name, &file_times(after), AtFlags::SYMLINK_NOFOLLOW)?;
        self.move_into_place(name, change)
    }

    /// Renames a temporary file to its final name. An existing entry is exchanged with it, so that
    /// the old entry can still be checked.
    fn move_into_place(&self, name: &str, change: &StagedChange) -> io::Result<()> {
        let settled = match &change.before {
            Some(before) if before.is_directory() => {
                self.remove(before).and_then(|()| self.rename(name, RenameFlags::NOREPLACE))
            }
            Some(before) => self.exchange(name, before),
            None => self.rename(name, RenameFlags::NOREPLACE),
        };
        if settled.is_err() {
            // Only OpenOxide uses this name.
            _ = unlinkat(&self.directory, name, AtFlags::empty());
        }
        settled
    }

    fn exchange(&self, name: &str, before: &EntryState) -> io::Result<()> {
        self.rename(name, RenameFlags::EXCHANGE)?;
        if before.is_unchanged(&EntryStamp::read(&self.directory, name.as_ref())?) {
            return Ok(unlinkat(&self.directory, name, AtFlags::empty())?);
        }
        self.rename(name, RenameFlags::EXCHANGE)?;
        Err(changed_error())
    }

    fn rename(&self, name: &str, how: RenameFlags) -> io::Result<()> {
        match renameat_with(&self.directory, name, &self.directory, self.name, how) {
            Err(Errno::EXIST | Errno::NOENT) => Err(changed_error()),
            done => Ok(done?),
        }
    }

    /// Returns an error if the current entry is not the one that was shown.
    pub(super) fn check_unchanged(&self, before: &EntryState) -> io::Result<()> {
        let same = before.is_unchanged(&EntryStamp::read(self.directory.as_fd(), self.name)?);
        same.then_some(()).ok_or_else(changed_error)
    }
}

fn changed_error() -> io::Error {
    io::Error::other("was changed by another program in the meantime")
}

fn attributes_error(error: &io::Error) -> io::Error {
    io::Error::other(format!("was changed, but without its extended attributes: {error}"))
}

/// Returns a temporary name that is not used elsewhere.
fn temporary_name() -> String {
    let number = NEXT_NAME.fetch_add(1, Ordering::Relaxed);
    format!("{}{number}", temporary_prefix(std::process::id()))
}

/// Returns the prefix of the temporary names of a process.
pub(super) fn temporary_prefix(process: u32) -> String {
    format!(".openoxide-{process}-")
}

/// Returns the times of the staged file, because `make` depends on them.
fn file_times(after: &EntryState) -> Timestamps {
    let (tv_sec, tv_nsec) = after.stamp.modified.to_parts();
    let modified = Timespec { tv_sec, tv_nsec };
    Timestamps { last_access: modified, last_modification: modified }
}
