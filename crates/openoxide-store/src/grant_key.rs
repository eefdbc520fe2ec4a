//! The key of this user on this machine: 32 random bytes that no other user can read.

use std::{
    fs::{self, File},
    io::{self, Read as _, Write as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::Path,
};

use crate::file_access::{FileReadError, find_replaceable_directory, open_regular};

const KEY_BYTES: usize = 32;

/// The reason why the key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum GrantKeyError {
    /// Another user could have read the key.
    #[error(
        "{0}: the key file is accessible to other users (expected mode 0600); delete it and re-create your grants"
    )]
    ExposedKey(String),
    /// Another user could replace the key or the records of grants.
    #[error(
        "{0}: the directory is writable by other users, so grants are not valid; run `chmod go-w {0}`"
    )]
    ExposedDirectory(String),
    /// The file is not a key, because its length is wrong.
    #[error(
        "{0}: the key file is corrupt (expected 32 bytes); delete it and re-create your grants"
    )]
    Damaged(String),
    /// The key cannot be read or written.
    #[error("{path}: {error}")]
    Io {
        /// The path of the key.
        path: String,
        /// The error of the operating system.
        #[source]
        error: io::Error,
    },
}

/// Reads the key. Fails if another user could have read it.
pub(crate) fn read_key(path: &Path) -> Result<Vec<u8>, GrantKeyError> {
    let failed = |error| io_error(path, error);
    check_directory(path)?;
    let (mut file, meta) = open_regular(path, KEY_BYTES as u64).map_err(|error| match error {
        FileReadError::NotRegular | FileReadError::TooLong(_) => damaged_error(path),
        other => failed(io::Error::other(other)),
    })?;
    let own = fs::metadata("/proc/self").map_err(failed)?.uid();
    if meta.mode() & 0o077 != 0 || meta.uid() != own {
        return Err(GrantKeyError::ExposedKey(path.to_string_lossy().into_owned()));
    }
    if meta.len() != KEY_BYTES as u64 {
        return Err(damaged_error(path));
    }
    let mut key = vec![0; KEY_BYTES];
    file.read_exact(&mut key).map_err(failed)?;
    Ok(key)
}

fn damaged_error(path: &Path) -> GrantKeyError {
    GrantKeyError::Damaged(path.to_string_lossy().into_owned())
}

/// Checks that no other user can replace files in the directory of the key.
fn check_directory(path: &Path) -> Result<(), GrantKeyError> {
    let directories: Vec<&Path> = path.parent().into_iter().collect();
    match find_replaceable_directory(&directories) {
        Some(open) => Err(GrantKeyError::ExposedDirectory(open.to_string_lossy().into_owned())),
        None => Ok(()),
    }
}

/// Reads the key, and creates it if there is none. An invalid file at its path is left unchanged,
/// so that a person can look at it.
pub(crate) fn read_or_create_key(path: &Path) -> Result<Vec<u8>, GrantKeyError> {
    check_directory(path)?;
    let mut key = vec![0; KEY_BYTES];
    let random = File::open("/dev/urandom").and_then(|mut random| random.read_exact(&mut key));
    random.map_err(|error| io_error(path, error))?;
    let file = File::options().create_new(true).write(true).mode(0o600).open(path);
    match file.and_then(|mut file| file.write_all(&key).and_then(|()| file.sync_all())) {
        Ok(()) => Ok(key),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => read_key(path),
        Err(error) => Err(io_error(path, error)),
    }
}

/// Returns a new random id of 16 hexadecimal digits.
pub(crate) fn generate_id() -> io::Result<String> {
    let mut bytes = [0; 8];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn io_error(path: &Path, error: io::Error) -> GrantKeyError {
    GrantKeyError::Io { path: path.to_string_lossy().into_owned(), error }
}
