//! The directory and the files of the journal, which only their owner may write.

use std::{
    fs::{self, DirBuilder, File, Metadata, OpenOptions, TryLockError},
    io,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use super::error::AuditError;

/// The segment that records are written to.
pub(super) const ACTIVE_SEGMENT_NAME: &str = "journal.ndjson";
const LOCK_FILE_NAME: &str = "lock";

/// The initial interval at which a waiting writer tries to acquire the lock.
const INITIAL_BACKOFF: Duration = Duration::from_micros(50);
const MAX_BACKOFF: Duration = Duration::from_millis(5);

/// The directory of the journal.
#[derive(Clone, Debug)]
pub(super) struct JournalDirectory(PathBuf);

impl JournalDirectory {
    pub(super) const fn new(path: PathBuf) -> Self {
        Self(path)
    }

    pub(super) fn file_path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(super) fn as_path(&self) -> &Path {
        &self.0
    }

    /// Creates the directory with access only for its owner, if it does not exist.
    ///
    /// # Errors
    /// Returns an error if it cannot be created, or if another user can write it.
    pub(super) fn ensure_exists(&self) -> Result<(), AuditError> {
        let found = match fs::symlink_metadata(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let made = DirBuilder::new().recursive(true).mode(0o700).create(&self.0);
                made.map_err(AuditError::io_error("has no directory, and none can be made"))?;
                fs::symlink_metadata(&self.0)
            }
            found => found,
        };
        let found =
            found.map_err(AuditError::io_error("has a directory that cannot be accessed"))?;
        if !found.is_dir() {
            return Err(self.0.unsafe_error("is not a directory"));
        }
        check_owner(&self.0, &found)
    }

    /// Returns whether the directory exists.
    pub(super) fn exists(&self) -> bool {
        fs::symlink_metadata(&self.0).is_ok()
    }

    /// Locks the journal. Waits for other processes, but no longer than `patience`. The lock is
    /// held until the returned file is dropped.
    ///
    /// # Errors
    /// Returns an error if the lock was not acquired in time, or if the lock file is not safe.
    pub(super) fn lock(&self, patience: Duration) -> Result<File, AuditError> {
        let file = self.open_append(LOCK_FILE_NAME)?;
        let (start, mut wait) = (Instant::now(), INITIAL_BACKOFF);
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) if start.elapsed() < patience => {
                    std::thread::sleep(wait);
                    wait = (wait * 2).min(MAX_BACKOFF);
                }
                Err(TryLockError::WouldBlock) => return Err(AuditError::Busy),
                Err(TryLockError::Error(error)) => {
                    return Err(AuditError::io_error("cannot be locked")(error));
                }
            }
        }
    }

    /// Opens a file for reading and appending. Creates it if it does not exist.
    ///
    /// # Errors
    /// Returns an error if it cannot be opened, or if another user could have written it.
    pub(super) fn open_append(&self, name: &str) -> Result<File, AuditError> {
        let path = self.file_path(name);
        // Only the owner can write the directory, so a file that is not a link now is not a link
        // when it is opened.
        if let Ok(found) = fs::symlink_metadata(&path) {
            check_regular_file(&path, &found)?;
        }
        let mut options = OpenOptions::new();
        let file = options.read(true).append(true).create(true).mode(0o600).open(&path);
        file.map_err(AuditError::io_error("cannot be opened"))
    }

    /// Opens a file for reading.
    ///
    /// # Errors
    /// Returns an error if it cannot be opened, or if another user could have written it.
    pub(super) fn open_read(&self, name: &str) -> Result<File, AuditError> {
        let path = self.file_path(name);
        let found =
            fs::symlink_metadata(&path).map_err(AuditError::io_error("cannot be accessed"))?;
        check_regular_file(&path, &found)?;
        File::open(&path).map_err(AuditError::io_error("cannot be opened"))
    }
}

fn check_regular_file(path: &Path, found: &Metadata) -> Result<(), AuditError> {
    if !found.is_file() {
        return Err(path.unsafe_error("is not a regular file"));
    }
    check_owner(path, found)
}

fn check_owner(path: &Path, found: &Metadata) -> Result<(), AuditError> {
    let user = fs::metadata("/proc/self").map(|process| process.uid());
    match user {
        Ok(user) if user != found.uid() => Err(path.unsafe_error("belongs to another user")),
        _ if found.mode() & 0o022 != 0 => Err(path.unsafe_error("is writable by other users")),
        _ => Ok(()),
    }
}

trait UnsafePath {
    fn unsafe_error(&self, why: &'static str) -> AuditError;
}

impl UnsafePath for Path {
    fn unsafe_error(&self, why: &'static str) -> AuditError {
        AuditError::Unsafe { path: self.to_owned(), why }
    }
}
