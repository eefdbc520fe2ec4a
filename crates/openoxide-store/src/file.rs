//! Reading files that others may have prepared.

use std::{
    fs::{self, File, Metadata, OpenOptions},
    io::{self, Read as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::Path,
};

/// Do not wait for a writer when the file is a named pipe (open(2)); the value is the kernel's, the same on all of a system's
/// architectures that Rust builds for here.
#[cfg(any(target_os = "linux", target_os = "android"))]
const O_NONBLOCK: i32 = 0o4000;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const O_NONBLOCK: i32 = 0x0004;

/// Why a file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// There is none.
    #[error("there is no such file")]
    Missing,
    /// It is a directory, a pipe or a device.
    #[error("it is not a regular file")]
    NotRegular,
    /// It is longer than any such file should be.
    #[error("it is longer than {0} bytes")]
    TooLong(u64),
    /// It is not text.
    #[error("it is not UTF-8: byte {0} begins no character")]
    NotText(usize),
    /// The system refused.
    #[error("{0}")]
    Io(#[source] io::Error),
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Self::Missing,
            _ => Self::Io(error),
        }
    }
}

/// Opens a regular file of at most `limit` bytes. It never waits: a pipe in the file's place is refused.
///
/// # Errors
/// As [`ReadError`] says.
pub(crate) fn open_regular(path: &Path, limit: u64) -> Result<(File, Metadata), ReadError> {
    let file = OpenOptions::new().read(true).custom_flags(O_NONBLOCK).open(path)?;
    let meta = file.metadata()?;
    match meta.len() {
        _ if !meta.is_file() => Err(ReadError::NotRegular),
        length if length > limit => Err(ReadError::TooLong(limit)),
        _ => Ok((file, meta)),
    }
}

/// Returns the content of a regular file of at most `limit` bytes. It never waits.
///
/// # Errors
/// As [`ReadError`] says.
pub fn read_regular(path: &Path, limit: u64) -> Result<Vec<u8>, ReadError> {
    let (file, meta) = open_regular(path, limit)?;
    // One byte more than it said, so that the end is found without growing.
    let mut bytes = Vec::with_capacity(usize::try_from(meta.len()).unwrap_or(0) + 1);
    file.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit { Err(ReadError::TooLong(limit)) } else { Ok(bytes) }
}

/// As [`read_regular`], for text.
pub(crate) fn read_text(path: &Path, limit: u64) -> Result<String, ReadError> {
    String::from_utf8(read_regular(path, limit)?)
        .map_err(|error| ReadError::NotText(error.utf8_error().valid_up_to()))
}

/// Says whether somebody else could have written a file: another user owns it (root does not count), or all may write it.
pub(crate) fn is_open_to_others(path: &Path) -> bool {
    let own = fs::metadata("/proc/self").map(|meta| meta.uid());
    fs::metadata(path).is_ok_and(|meta| {
        let owner = meta.uid();
        meta.mode() & 0o002 != 0 || owner != 0 && own.is_ok_and(|own| own != owner)
    })
}

/// Says whether root alone can write a file, and put another in its place.
pub(crate) fn is_roots_alone(path: &Path) -> bool {
    let places = [Some(path), path.parent()];
    places.into_iter().flatten().all(|place| {
        fs::metadata(place).is_ok_and(|meta| meta.uid() == 0 && meta.mode() & 0o022 == 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_regular_file_is_refused_without_waiting() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        assert!(matches!(read_regular(&pipe, 10), Err(ReadError::NotRegular)));
        assert!(matches!(read_regular(dir.path(), 10), Err(ReadError::NotRegular)));
        assert!(matches!(read_regular(&dir.path().join("none"), 10), Err(ReadError::Missing)));
    }

    #[test]
    fn what_is_too_long_or_no_text_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        std::fs::write(&path, b"ab\xFF").unwrap();
        assert!(matches!(read_regular(&path, 2), Err(ReadError::TooLong(2))));
        assert!(matches!(read_text(&path, 3), Err(ReadError::NotText(2))));
        assert_eq!(read_regular(&path, 3).unwrap(), b"ab\xFF");
    }
}
