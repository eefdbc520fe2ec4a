//! A lock between the processes of one user: who changes a file reads it, changes it and puts it back alone.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use crate::locations::Environment;

/// A lock that is held longer is held by something that hangs.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why a lock was not got.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// There is no place for it.
    #[error("no state directory: set HOME or XDG_STATE_HOME")]
    NoState,
    /// Somebody enforces all of it and does not let go.
    #[error("{}: another process kept it locked for too long", .0.display())]
    Held(PathBuf),
    /// The system refused.
    #[error("{}: {error}", .path.display())]
    Io {
        /// What was made or opened.
        path: PathBuf,
        /// Why not.
        #[source]
        error: io::Error,
    },
}

/// A lock that is held, until it is dropped or the process ends.
#[derive(Debug)]
#[must_use = "it ends when it is dropped"]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Waits for its turn to change policy files. Who waits for it twice in one process waits in vain.
    ///
    /// # Errors
    /// When there is no place for the lock, it cannot be opened, or another process enforces all of it for five seconds.
    pub fn of_policies(environment: &Environment) -> Result<Self, LockError> {
        let state = environment.state.as_ref().ok_or(LockError::NoState)?;
        Self::wait(&state.join("openoxide"), "policies.lock")
    }

    /// Waits for its turn. The directory is made if it is not there.
    pub(crate) fn wait(directory: &Path, name: &str) -> Result<Self, LockError> {
        let path = directory.join(name);
        let file = opened(directory, &path)
            .map_err(|error| LockError::Io { path: path.clone(), error })?;
        let since = Instant::now();
        while let Err(error) = file.try_lock() {
            match error {
                fs::TryLockError::WouldBlock if since.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                fs::TryLockError::WouldBlock => return Err(LockError::Held(path)),
                fs::TryLockError::Error(error) => return Err(LockError::Io { path, error }),
            }
        }
        Ok(Self { _file: file })
    }
}

fn opened(directory: &Path, path: &Path) -> io::Result<File> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    File::options().create(true).truncate(false).write(true).mode(0o600).open(path)
}
