//! The location of the database, and the check that no other user could have written it.

use std::{
    fs::{self, DirBuilder, File, Metadata},
    io,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use super::error::RequestStoreError;

const DATABASE_NAME: &str = "openoxide.db";
/// The suffixes of the files that SQLite creates next to the database
/// (<https://www.sqlite.org/tempfiles.html>).
const COMPANION_SUFFIXES: [&str; 3] = ["-wal", "-shm", "-journal"];

/// Returns the path of the database in this directory. If they do not exist, creates the directory
/// and an empty file that only their owner can access.
///
/// # Errors
/// Returns an error if they cannot be created, are links, belong to another user, or can be written
/// by other users.
pub(super) fn create_database_file(directory: &Path) -> Result<PathBuf, RequestStoreError> {
    let path = ensure_directory(directory)?.join(DATABASE_NAME);
    let file = File::options().create_new(true).write(true).mode(0o600).open(&path);
    match file {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(RequestStoreError::from_io(&path)(error));
        }
        _ => {}
    }
    check_files(&path)?;
    Ok(path)
}

/// Returns whether the database exists.
pub(super) fn has_database(directory: &Path) -> bool {
    fs::symlink_metadata(directory.join(DATABASE_NAME)).is_ok()
}

/// Creates the directory if it does not exist. Returns its canonical path, so that no component of
/// it is a link.
fn ensure_directory(directory: &Path) -> Result<PathBuf, RequestStoreError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(directory);
    made.map_err(RequestStoreError::from_io(directory))?;
    let found = fs::symlink_metadata(directory).map_err(RequestStoreError::from_io(directory))?;
    if !found.is_dir() {
        return Err(unsafe_error(directory, "it is not a directory"));
    }
    check_owner(directory, &found, 0o022, "it is writable by other users")?;
    fs::canonicalize(directory).map_err(RequestStoreError::from_io(directory))
}

fn check_files(path: &Path) -> Result<(), RequestStoreError> {
    check_file(path)?;
    for ending in COMPANION_SUFFIXES {
        let mut beside = path.as_os_str().to_owned();
        beside.push(ending);
        check_file(Path::new(&beside))?;
    }
    Ok(())
}

/// Checks that a file is safe, if it exists. No other user can write the directory, so the file is
/// still safe when it is opened.
fn check_file(path: &Path) -> Result<(), RequestStoreError> {
    match fs::symlink_metadata(path) {
        Ok(found) if !found.is_file() => Err(unsafe_error(path, "not a regular file")),
        Ok(found) => check_owner(path, &found, 0o077, "it is accessible to other users"),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(RequestStoreError::from_io(path)(error)),
    }
}

fn check_owner(
    path: &Path,
    found: &Metadata,
    others: u32,
    why: &'static str,
) -> Result<(), RequestStoreError> {
    let user = fs::metadata("/proc/self").map(|process| process.uid());
    match user {
        Ok(user) if user != found.uid() => Err(unsafe_error(path, "it belongs to another user")),
        _ if found.mode() & others != 0 => Err(unsafe_error(path, why)),
        _ => Ok(()),
    }
}

fn unsafe_error(path: &Path, why: &'static str) -> RequestStoreError {
    RequestStoreError::Unsafe { path: path.to_owned(), why }
}
