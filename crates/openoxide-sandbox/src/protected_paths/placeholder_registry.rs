//! Placeholders on the host. They are created at paths that must not be created by a program, and
//! removed when no run needs them.

mod placeholder_record;

pub(crate) use placeholder_record::{is_placeholder_stat, may_be_placeholder};

use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, ErrorKind, Write as _},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use crate::protected_paths::{
    guarded_paths::{GuardKind, PlaceholderKind, ProtectedPaths},
    placeholder_registry::placeholder_record::PlaceholderRecord,
};

/// The directory in which each run records the placeholders that it is about to create on the host.
/// It belongs to the user.
///
/// Each run has its own file there, and holds a lock on it until it has ended, however it ends. A
/// process that changes the registry holds a lock on the directory. A placeholder that only
/// unlocked files name is therefore unused, and can be removed.
#[derive(Clone, Debug)]
pub(crate) struct PlaceholderRegistry {
    path: PathBuf,
}

/// The placeholders that a run uses. They stay as long as any run has a lease that names them.
///
/// Dropping the lease leaves them there, as a killed process does. The next
/// [`PlaceholderRegistry::remove_stale`] removes them.
#[derive(Debug)]
#[must_use = "the placeholders lie on the host until it is released"]
pub(crate) struct PlaceholderLease {
    registry: PlaceholderRegistry,
    /// The locked entry of the run. A run without placeholders has none.
    entry: Option<File>,
    skipped_paths: Vec<PathBuf>,
}

/// The maximum time that a run waits for the lock of the registry. Hundreds of runs that start at
/// once need less.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
const LOCK_RETRY: Duration = Duration::from_millis(1);

/// A counter that makes the files of one process unique.
static NEXT_ENTRY: AtomicU64 = AtomicU64::new(0);

impl PlaceholderRegistry {
    /// Opens the registry in this directory, which is created if it does not exist.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be created, or if another user could write in it.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        let registry = Self { path: path.to_owned() };
        let found = path.symlink_metadata()?;
        let own = found.is_dir()
            && found.uid() == placeholder_record::effective_uid()
            && found.mode() & 0o077 == 0;
        let others = || {
            io::Error::new(
                ErrorKind::PermissionDenied,
                format!("{}: writable by other users", path.display()),
            )
        };
        own.then_some(registry).ok_or_else(others)
    }

    /// Returns the directory of the registry.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the placeholders that killed runs have left behind.
    ///
    /// # Errors
    /// Returns an error if the registry cannot be read.
    pub(crate) fn remove_stale(&self) -> io::Result<()> {
        if self.list_entries()?.is_empty() {
            return Ok(());
        }
        let _lock = self.lock()?;
        self.remove_unused()
    }

    /// Returns whether [`PlaceholderRegistry::create_placeholders`] may have to create something.
    #[must_use]
    pub(crate) fn is_needed(&self, guarded: &ProtectedPaths) -> bool {
        guarded.guards.iter().any(|(path, guard)| needs_placeholder(path, *guard))
    }

    /// Creates a placeholder for each guarded path that is missing, and ensures that the
    /// placeholders of other runs stay.
    ///
    /// # Errors
    /// Returns an error if a placeholder cannot be created or recorded. Placeholders that were
    /// created until then are removed.
    pub(crate) fn create_placeholders(
        &self,
        guarded: &ProtectedPaths,
    ) -> io::Result<PlaceholderLease> {
        let mut held =
            PlaceholderLease { registry: self.clone(), entry: None, skipped_paths: Vec::new() };
        let needed: Vec<_> = guarded
            .guards
            .iter()
            .filter(|(path, guard)| needs_placeholder(path, **guard))
            .collect();
        if needed.is_empty() {
            return Ok(held);
        }
        let _lock = self.lock()?;
        held.entry = Some(self.create_entry()?);
        match needed
            .into_iter()
            .try_for_each(|(path, guard)| self.ensure_placeholder(&mut held, path, *guard))
        {
            Ok(()) => Ok(held),
            Err(error) => {
                held.unlock_entry()?;
                self.remove_unused()?;
                Err(error)
            }
        }
    }

    fn ensure_placeholder(
        &self,
        held: &mut PlaceholderLease,
        path: &Path,
        guard: GuardKind,
    ) -> io::Result<()> {
        if let Some(placed) = self.find_record(path)? {
            return held.write_record(&placed);
        }
        match guard {
            GuardKind::Missing(placeholder) => held.create(path, placeholder),
            // A run that has ended since the check has removed the placeholder.
            _ if is_missing(path) => held.create(path, PlaceholderKind::Directory),
            GuardKind::Present
            | GuardKind::Link
            | GuardKind::PrivateConfig
            | GuardKind::PrivateHooks => Ok(()),
        }
    }

    /// Returns the record of this path from the entry of any run, if the placeholder is still
    /// there.
    fn find_record(&self, path: &Path) -> io::Result<Option<PlaceholderRecord>> {
        let named = self
            .list_entries()?
            .into_iter()
            .flat_map(|entry| placeholder_record::read_records(&entry));
        let mut there = named.filter(|placed| placed.path == path && placed.is_present());
        Ok(there.next())
    }

    /// Creates the entry of this run. The caller must hold the lock, so that no other process sees
    /// the entry before it is locked.
    fn create_entry(&self) -> io::Result<File> {
        loop {
            let number = NEXT_ENTRY.fetch_add(1, Ordering::Relaxed);
            let path = self.path.join(format!("{}-{number}", std::process::id()));
            match OpenOptions::new().create_new(true).append(true).mode(0o600).open(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
                Ok(file) => return file.lock().map(|()| file),
            }
        }
    }

    /// Removes the placeholders that no locked entry names, and the entries that are not locked.
    /// The caller must hold the lock.
    fn remove_unused(&self) -> io::Result<()> {
        let (held, left) =
            self.list_entries()?.into_iter().partition::<Vec<_>, _>(|path| is_locked(path));
        let used: Vec<_> = held
            .iter()
            .flat_map(|path| placeholder_record::read_records(path))
            .map(|placed| placed.path)
            .collect();
        for entry in left {
            let gone = |placed: &PlaceholderRecord| used.contains(&placed.path) || placed.remove();
            // If a placeholder cannot be removed now, the next cleanup tries again.
            if placeholder_record::read_records(&entry)
                .iter()
                .filter(|placed| !gone(placed))
                .count()
                == 0
            {
                fs::remove_file(&entry)?;
            }
        }
        Ok(())
    }

    fn list_entries(&self) -> io::Result<Vec<PathBuf>> {
        fs::read_dir(&self.path)?.map(|entry| entry.map(|entry| entry.path())).collect()
    }

    fn lock(&self) -> io::Result<File> {
        lock_directory(&self.path)
    }
}

impl PlaceholderLease {
    /// Returns the guarded paths that are missing and cannot be created.
    #[must_use]
    pub(crate) fn skipped_paths(&self) -> &[PathBuf] {
        &self.skipped_paths
    }

    /// Removes the placeholders that no other run uses.
    ///
    /// # Errors
    /// Returns an error if the registry cannot be read or written. The next cleanup tries again
    /// then.
    pub(crate) fn release(mut self) -> io::Result<()> {
        if self.entry.is_none() {
            return Ok(());
        }
        let _lock = self.registry.lock()?;
        self.unlock_entry()?;
        self.registry.remove_unused()
    }

    /// Unlocks the entry. A child process may have the file open, too, so closing it would not be
    /// enough.
    fn unlock_entry(&mut self) -> io::Result<()> {
        self.entry.take().map_or(Ok(()), |entry| entry.unlock())
    }

    fn write_record(&mut self, placed: &PlaceholderRecord) -> io::Result<()> {
        self.entry.as_mut().map_or(Ok(()), |entry| entry.write_all(&placed.to_line()))
    }

    /// Creates a placeholder, and records it before each step. If the process is killed in between,
    /// everything that it has created is recorded.
    fn create(&mut self, path: &Path, placeholder: PlaceholderKind) -> io::Result<()> {
        self.write_record(&PlaceholderRecord::from_path(path))?;
        match create_placeholder(path, placeholder) {
            // Another process has created the path itself since it was checked.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            Err(error)
                if error.kind() == ErrorKind::ReadOnlyFilesystem
                    || is_foreign_directory(path, &error) =>
            {
                self.skipped_paths.push(path.to_owned());
                Ok(())
            }
            Err(error) => Err(io::Error::new(error.kind(), format!("{}: {error}", path.display()))),
            Ok(()) => {
                let created = PlaceholderRecord::from_created(path)?;
                self.write_record(&created)?;
                self.write_record(&created.complete()?)
            }
        }
    }
}

/// Creates a placeholder without write permission.
pub(crate) fn create_placeholder(path: &Path, placeholder: PlaceholderKind) -> io::Result<()> {
    match placeholder {
        PlaceholderKind::Directory => {
            DirBuilder::new().mode(placeholder_record::DIRECTORY_MODE).create(path)
        }
        PlaceholderKind::File(text) => {
            let file = OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(placeholder_record::FILE_MODE)
                .open(path);
            file?.write_all(text.as_bytes())
        }
    }
}

/// Returns whether a guard may involve placeholders: of this run, or of a concurrent one.
fn needs_placeholder(path: &Path, guard: GuardKind) -> bool {
    matches!(guard, GuardKind::Missing(_)) || may_be_placeholder(path)
}

fn is_missing(path: &Path) -> bool {
    path.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

/// Returns whether a name could not be created because its directory belongs to another user, who
/// has not granted access. The confined process has no access either. It could give itself access
/// to a directory of its own user.
fn is_foreign_directory(path: &Path, error: &io::Error) -> bool {
    let parent = path.parent().and_then(|parent| parent.metadata().ok());
    error.kind() == ErrorKind::PermissionDenied
        && parent.is_some_and(|parent| parent.uid() != placeholder_record::effective_uid())
}

/// Opens a directory and locks it. A run holds this lock for some milliseconds. If another process
/// holds it longer, other runs fail to start with an error that explains it.
pub(crate) fn lock_directory(directory: &Path) -> io::Result<File> {
    let opened = File::open(directory)?;
    let limit = Instant::now() + LOCK_TIMEOUT;
    loop {
        match opened.try_lock() {
            Ok(()) => return Ok(opened),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if Instant::now() < limit => thread::sleep(LOCK_RETRY),
            Err(TryLockError::WouldBlock) => return Err(lock_timeout_error(directory)),
        }
    }
}

fn lock_timeout_error(directory: &Path) -> io::Error {
    let seconds = LOCK_TIMEOUT.as_secs();
    let text = format!(
        "another process has kept `{}` locked for {seconds} seconds (`fuser` names it)",
        directory.display()
    );
    io::Error::new(ErrorKind::TimedOut, text)
}

/// Returns whether the run of this entry is still active.
fn is_locked(entry: &Path) -> bool {
    let opened = OpenOptions::new().read(true).open(entry);
    opened.is_ok_and(|file| file.try_lock_shared().is_err())
}

#[cfg(test)]
mod tests;
