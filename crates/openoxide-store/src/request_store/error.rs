//! Errors of the request database.

use std::{
    io,
    path::{Path, PathBuf},
};

use openoxide_protocol::ApprovalId;
use rusqlite::ErrorCode;

/// The reason why a request could not be registered, found or answered. For the requester, each of
/// them means that the request is not approved.
#[derive(Debug, thiserror::Error)]
pub enum RequestStoreError {
    /// The environment names no state directory.
    #[error("no state directory: set HOME or XDG_STATE_HOME")]
    NoStateDirectory,
    /// Another user could have written the database.
    #[error("{}: {why}; remove it, or make it accessible only to you", path.display())]
    Unsafe {
        /// The path of the file or directory.
        path: PathBuf,
        /// The problem.
        why: &'static str,
    },
    /// A later version of OpenOxide wrote the database. It is not changed.
    #[error("{}: written by a newer version of OpenOxide (format {version}); use that version", path.display())]
    Newer {
        /// The path of the database.
        path: PathBuf,
        /// The version of the database.
        version: i64,
    },
    /// Another process held the lock for too long.
    #[error("{}: another process kept it locked for too long", .0.display())]
    Locked(PathBuf),
    /// There is no space left on the device.
    #[error("{}: no space left on the device", .0.display())]
    Full(PathBuf),
    /// The database is read-only.
    #[error("{}: read-only", .0.display())]
    ReadOnly(PathBuf),
    /// The file is not a database, or is damaged.
    #[error("{}: database corrupt ({what}); delete it (only pending requests are lost)", path.display())]
    Damaged {
        /// The path of the database.
        path: PathBuf,
        /// The problem.
        what: String,
    },
    /// A request exceeds the maximum length.
    #[error("the request is too large to be queued ({0} bytes)")]
    TooLong(usize),
    /// The stored request differs from the one that was registered.
    #[error("request {0} differs from the one that was registered; it cannot be answered")]
    Changed(String),
    /// The request no longer exists.
    #[error("request {0} no longer exists")]
    NotFound(ApprovalId),
    /// The operating system reported an error.
    #[error("{}: {error}", path.display())]
    Io {
        /// The path that was read or written.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        error: io::Error,
    },
    /// SQLite reported an error.
    #[error("{}: {error}", path.display())]
    Sqlite {
        /// The path of the database.
        path: PathBuf,
        /// The error of SQLite.
        #[source]
        error: rusqlite::Error,
    },
}

impl RequestStoreError {
    /// Converts an error of SQLite (<https://www.sqlite.org/rescode.html>).
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
