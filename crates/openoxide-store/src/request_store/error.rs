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
    #[error("no state directory: set HOME or XDG_STATE_HOME")]
    NoStateDirectory,
    /// Others could have written it.
    #[error("{}: {why}; remove it, or give it back to you alone", path.display())]
    Unsafe {
        /// What.
        path: PathBuf,
        /// Why.
        why: &'static str,
    },
    /// A later OpenOxide wrote it. It stays as it is.
    #[error("{}: written by a newer version of OpenOxide (format {version}); use that version", path.display())]
    Newer {
        /// Where it lies.
        path: PathBuf,
        /// Its version.
        version: i64,
    },
    /// Somebody enforces all of it and does not let go.
    #[error("{}: another process kept it locked for too long", .0.display())]
    Locked(PathBuf),
    /// There is no room.
    #[error("{}: no space left on the device", .0.display())]
    Full(PathBuf),
    /// It may not be written.
    #[error("{}: read-only", .0.display())]
    ReadOnly(PathBuf),
    /// It is no data base, or a broken one.
    #[error("{}: database corrupt ({what}); delete it (only pending requests are lost)", path.display())]
    Damaged {
        /// Where it lies.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// A request is longer than any should be.
    #[error("the request is too large to be queued ({0} bytes)")]
    TooLong(usize),
    /// What is stored is not what was registered.
    #[error("request {0} differs from the one that was registered; it cannot be answered")]
    Changed(String),
    /// It is no longer there.
    #[error("request {0} no longer exists")]
    NotFound(ApprovalId),
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
    pub(super) fn from_sqlite(path: &Path, error: rusqlite::Error) -> Self {
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

    pub(super) fn from_io(path: &Path) -> impl FnOnce(io::Error) -> Self {
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
