//! A lock between the processes of one user. A process that changes a file holds the lock while it
//! reads, changes and replaces the file.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use crate::user_environment::UserEnvironment;

/// The maximum time to wait for a lock. A process that holds it longer probably hangs.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// The reason why a lock could not be acquired.
#[derive(Debug, thiserror::Error)]
pub enum FileLockError {
    /// There is no state directory for the lock.
    #[error("no state directory: set HOME or XDG_STATE_HOME")]
    NoStateDirectory,
    /// Another process held the lock for too long.
    #[error("{}: another process kept it locked for too long", .0.display())]
    TimedOut(PathBuf),
    /// The operating system reported an error.
    #[error("{}: {error}", .path.display())]
    Io {
        /// The path that was created or opened.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        error: io::Error,
    },
}

/// An acquired lock. It is released when it is dropped or the process ends.
#[derive(Debug)]
#[must_use = "it ends when it is dropped"]
pub struct FileLock {
    _file: File,
}

impl FileLock {
    /// Acquires the lock for changing policy files. A process that acquires it twice always times
    /// out.
    ///
    /// # Errors
    /// Returns an error if there is no state directory for the lock, it cannot be opened, or
    /// another process holds it for five seconds.
    pub fn acquire_policy_lock(environment: &UserEnvironment) -> Result<Self, FileLockError> {
        let state = environment.state.as_ref().ok_or(FileLockError::NoStateDirectory)?;
        Self::acquire(&state.join("openoxide"), "policies.lock")
    }

    /// Waits until the lock is acquired. Creates the directory if it does not exist.
    pub(crate) fn acquire(directory: &Path, name: &str) -> Result<Self, FileLockError> {
        let path = directory.join(name);
        let file = open_lock_file(directory, &path)
            .map_err(|error| FileLockError::Io { path: path.clone(), error })?;
        let since = Instant::now();
        while let Err(error) = file.try_lock() {
            match error {
                fs::TryLockError::WouldBlock if since.elapsed() < LOCK_TIMEOUT => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                fs::TryLockError::WouldBlock => return Err(FileLockError::TimedOut(path)),
                fs::TryLockError::Error(error) => return Err(FileLockError::Io { path, error }),
            }
        }
        Ok(Self { _file: file })
    }
}

fn open_lock_file(directory: &Path, path: &Path) -> io::Result<File> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    File::options().create(true).truncate(false).write(true).mode(0o600).open(path)
}
