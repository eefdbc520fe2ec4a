//! Why the data base cannot be used.

use std::{
    io,
    path::{Path, PathBuf},
};

use openoxide_protocol::ApprovalId;
use rusqlite::ErrorCode;

/// Why a request could not be registered, found or answered. To its asker all of them mean: there is no yes.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// The environment names no directory for it.
    #[error("there is no directory for state: set HOME or XDG_STATE_HOME")]
    Nowhere,
    /// Others could have written it.
    #[error("{}: {why}; remove it, or give it back to you alone", path.display())]
    Unsafe {
        /// What.
        path: PathBuf,
        /// Why.
        why: &'static str,
    },
    /// A later OpenOxide wrote it. It stays as it is.
    #[error("{}: it was written by a newer OpenOxide (version {version} of its form); use that one", path.display())]
    Newer {
        /// Where it lies.
        path: PathBuf,
        /// Its version.
        version: i64,
    },
    /// Somebody holds it and does not let go.
    #[error("{}: another process holds it for too long", .0.display())]
    Locked(PathBuf),
    /// There is no room.
    #[error("{}: there is no room left on the disk", .0.display())]
    Full(PathBuf),
    /// It may not be written.
    #[error("{}: it cannot be written", .0.display())]
    ReadOnly(PathBuf),
    /// It is no data base, or a broken one.
    #[error("{}: it is damaged ({what}); move it away: only what waits right now is lost with it", path.display())]
    Damaged {
        /// Where it lies.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// A request is longer than any should be.
    #[error("a request of {0} bytes is too long to wait for an answer")]
    TooLong(usize),
    /// What is stored is not what was registered.
    #[error("request {0} is not what was registered: it cannot be answered")]
    Changed(String),
    /// It is no longer there.
    #[error("request {0} is no longer there")]
    Gone(ApprovalId),
    /// The system refused.
    #[error("{}: {error}", path.display())]
    Io {
        /// What was read or written.
        path: PathBuf,
        /// Why not.
        #[source]
        error: io::Error,
    },
    /// SQLite refused.
    #[error("{}: {error}", path.display())]
    Sqlite {
        /// Where the data base lies.
        path: PathBuf,
        /// Why not.
        #[source]
        error: rusqlite::Error,
    },
}

impl RequestError {
    /// Says in our words what SQLite says in its own (<https://www.sqlite.org/rescode.html>).
    pub(super) fn of(path: &Path, error: rusqlite::Error) -> Self {
        let path = path.to_owned();
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked(path),
            Some(ErrorCode::DiskFull) => Self::Full(path),
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Self::ReadOnly(path),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Self::Damaged { path, what: error.to_string() }
            }
            _ => Self::Sqlite { path, error },
        }
    }

    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        |error| match error.kind() {
            io::ErrorKind::StorageFull => Self::Full(path),
            io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
                Self::ReadOnly(path)
            }
            _ => Self::Io { path, error },
        }
    }
}
