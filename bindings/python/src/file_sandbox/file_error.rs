//! The errors of file operations, and their exceptions.

use std::io::{self, ErrorKind};

use pyo3::{
    PyErr, Python,
    exceptions::{
        PyFileNotFoundError, PyIsADirectoryError, PyNotADirectoryError, PyOSError,
        PyPermissionError, PyValueError,
    },
};
use rustix::{
    fs::{FileType, Stat},
    io::Errno,
};

use crate::error::ErrorClass;

/// An error of a file operation.
#[derive(Debug)]
pub(crate) enum FileError {
    /// The file is neither a regular file nor a directory.
    Special(&'static str),
    /// The file has more bytes than permitted.
    TooLong { length: u64, limit: u64 },
    /// The path refers to another file than before.
    Changed,
    /// The file exists and may not be written.
    ReadOnly,
    /// There are more files than can be listed.
    TooMany { limit: usize },
    /// An error of the operating system.
    Io(io::Error),
}

impl From<io::Error> for FileError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Errno> for FileError {
    fn from(error: Errno) -> Self {
        Self::Io(error.into())
    }
}

impl FileError {
    /// Returns whether the error may come from a link that has appeared since the path was checked.
    /// A link in place of a directory is reported as no directory.
    pub(crate) fn may_be_race(&self) -> bool {
        let codes =
            [Errno::LOOP, Errno::XDEV, Errno::AGAIN, Errno::NOTDIR].map(Errno::raw_os_error);
        match self {
            Self::Changed => true,
            Self::Io(error) => error.raw_os_error().is_some_and(|code| codes.contains(&code)),
            _ => false,
        }
    }

    /// Returns the exception. `path` is the path as it was given.
    pub(crate) fn into_exception(self, py: Python<'_>, path: &str) -> PyErr {
        match self {
            Self::Special(kind) => {
                blocked(py, format!("`{path}` is {kind}; only regular files can be accessed"))
            }
            Self::TooLong { length, limit } => {
                blocked(py, format!("`{path}` has {length} bytes; at most {limit} are permitted"))
            }
            Self::Changed => blocked(py, changed_message(path)),
            Self::ReadOnly => PyPermissionError::new_err(format!("`{path}` is read-only")),
            Self::TooMany { limit } => PyValueError::new_err(format!(
                "`{path}` has more than {limit} files; list a subdirectory"
            )),
            Self::Io(error) => io_exception(py, &error, path),
        }
    }
}

/// Returns whether the kernel refused a link or a path out of the directory.
fn is_race_code(code: Option<i32>) -> bool {
    let codes = [Errno::LOOP, Errno::XDEV, Errno::AGAIN].map(Errno::raw_os_error);
    code.is_some_and(|code| codes.contains(&code))
}

fn changed_message(path: &str) -> String {
    format!("`{path}` has changed since it was checked: it now refers to another file")
}

fn blocked(py: Python<'_>, message: String) -> PyErr {
    ErrorClass::OperationBlocked.with_message(py, message)
}

fn io_exception(py: Python<'_>, error: &io::Error, path: &str) -> PyErr {
    match error.kind() {
        ErrorKind::NotFound => PyFileNotFoundError::new_err(format!("`{path}` does not exist")),
        ErrorKind::IsADirectory => PyIsADirectoryError::new_err(format!("`{path}` is a directory")),
        ErrorKind::NotADirectory => {
            PyNotADirectoryError::new_err(format!("a part of `{path}` is no directory"))
        }
        ErrorKind::PermissionDenied => {
            PyPermissionError::new_err(format!("permission denied: `{path}`"))
        }
        _ if is_race_code(error.raw_os_error()) => blocked(py, changed_message(path)),
        _ => PyOSError::new_err((error.raw_os_error(), format!("`{path}`: {error}"))),
    }
}

/// Checks that a file is a regular one.
///
/// # Errors
/// Returns an error that says what it is.
pub(crate) fn check_regular(stat: &Stat) -> Result<(), FileError> {
    Err(match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => return Ok(()),
        FileType::Directory => Errno::ISDIR.into(),
        FileType::Symlink => FileError::Changed,
        FileType::Fifo => FileError::Special("a FIFO"),
        FileType::Socket => FileError::Special("a socket"),
        FileType::CharacterDevice | FileType::BlockDevice => FileError::Special("a device"),
        FileType::Unknown => FileError::Special("a special file"),
    })
}
