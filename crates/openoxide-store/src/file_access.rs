//! Reading files that another user may have prepared.

use std::{
    fs::{self, File, Metadata, OpenOptions},
    io::{self, Read as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::Path,
};

/// The flag that opens a named pipe without waiting for a writer (open(2)). This is the kernel's
/// value, which is the same on all architectures that this program is built for.
#[cfg(any(target_os = "linux", target_os = "android"))]
const O_NONBLOCK: i32 = 0o4000;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const O_NONBLOCK: i32 = 0x0004;

/// The reason why a file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum FileReadError {
    /// The file does not exist.
    #[error("file not found")]
    Missing,
    /// The path is a directory, a pipe or a device.
    #[error("not a regular file")]
    NotRegular,
    /// The file is longer than the limit, in bytes.
    #[error("it is longer than {0} bytes")]
    TooLong(u64),
    /// The file is not valid UTF-8, starting at this byte.
    #[error("not valid UTF-8 (at byte {0})")]
    NotText(usize),
    /// The operating system reported an error.
    #[error("{0}")]
    Io(#[source] io::Error),
}

impl From<io::Error> for FileReadError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::Missing,
            _ => Self::Io(error),
        }
    }
}

/// Returns the metadata of a file, or `None` if it does not exist.
///
/// # Errors
/// Returns an error if this cannot be determined: a directory cannot be searched, links form a
/// loop, a file is found where a directory is expected, or the target of a symbolic link in the
/// path is missing. Such a file may exist, so it is not reported as missing.
pub(crate) fn metadata_if_present(path: &Path) -> io::Result<Option<Metadata>> {
    match fs::metadata(path) {
        Ok(meta) => Ok(Some(meta)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => check_absent(path).map(|()| None),
        Err(error) => Err(error),
    }
}

/// Checks that the nearest existing ancestor of a missing file is not a dangling symbolic link.
fn check_absent(path: &Path) -> io::Result<()> {
    for place in path.ancestors() {
        match fs::symlink_metadata(place) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
            Ok(meta) if meta.is_symlink() && fs::metadata(place).is_err() => {
                let place = place.display();
                let what = format!("the symbolic link `{place}` has no target");
                return Err(io::Error::other(what));
            }
            Ok(_) => return Ok(()),
        }
    }
    Ok(())
}

/// Opens a regular file of at most `limit` bytes. Never blocks: a pipe is an error.
///
/// # Errors
/// Returns an error for each of the reasons in [`FileReadError`].
pub(crate) fn open_regular(path: &Path, limit: u64) -> Result<(File, Metadata), FileReadError> {
    let file = OpenOptions::new().read(true).custom_flags(O_NONBLOCK).open(path)?;
    let meta = file.metadata()?;
    match meta.len() {
        _ if !meta.is_file() => Err(FileReadError::NotRegular),
        length if length > limit => Err(FileReadError::TooLong(limit)),
        _ => Ok((file, meta)),
    }
}

/// Reads a regular file of at most `limit` bytes. Never blocks.
///
/// # Errors
/// Returns an error for each of the reasons in [`FileReadError`].
pub fn read_regular_file(path: &Path, limit: u64) -> Result<Vec<u8>, FileReadError> {
    let (file, meta) = open_regular(path, limit)?;
    // One byte more than the reported length, so that the end is detected without growing the
    // buffer.
    let mut bytes = Vec::with_capacity(usize::try_from(meta.len()).unwrap_or(0) + 1);
    file.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit { Err(FileReadError::TooLong(limit)) } else { Ok(bytes) }
}

/// Reads a text file in the same way as [`read_regular_file`].
///
/// # Errors
/// Returns an error if the file cannot be read, is longer than `limit`, or is not valid UTF-8.
pub fn read_text(path: &Path, limit: u64) -> Result<String, FileReadError> {
    String::from_utf8(read_regular_file(path, limit)?)
        .map_err(|error| FileReadError::NotText(error.utf8_error().valid_up_to()))
}

/// Returns whether another user could have written a file: it belongs to a user other than this one
/// and root, or it is world-writable.
pub(crate) fn is_writable_by_others(path: &Path) -> bool {
    let own = fs::metadata("/proc/self").map(|meta| meta.uid());
    fs::metadata(path).is_ok_and(|meta| {
        let owner = meta.uid();
        meta.mode() & 0o002 != 0 || owner != 0 && own.is_ok_and(|own| own != owner)
    })
}

/// Returns the first of these directories in which another user could replace files. Missing
/// directories are skipped. A directory that cannot be examined is returned.
pub(crate) fn find_replaceable_directory<'a>(directories: &[&'a Path]) -> Option<&'a Path> {
    const STICKY: u32 = 0o1000;
    let own = fs::metadata("/proc/self").map(|meta| meta.uid());
    let is_safe = |meta: &Metadata| {
        let owner = meta.uid();
        let is_own = owner == 0 || own.as_ref().is_ok_and(|own| *own == owner);
        is_own && (meta.mode() & 0o002 == 0 || meta.mode() & STICKY != 0)
    };
    let replaceable = |place: &&&Path| match metadata_if_present(place) {
        Ok(meta) => !meta.is_none_or(|meta| is_safe(&meta)),
        Err(_) => true,
    };
    directories.iter().find(replaceable).copied()
}

/// Returns whether only root can write or replace a file.
pub(crate) fn is_writable_only_by_root(path: &Path) -> bool {
    let places = [Some(path), path.parent()];
    places.into_iter().flatten().all(|place| {
        fs::metadata(place).is_ok_and(|meta| meta.uid() == 0 && meta.mode() & 0o022 == 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_is_not_a_regular_file_is_refused_without_blocking() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        assert!(matches!(read_regular_file(&pipe, 10), Err(FileReadError::NotRegular)));
        assert!(matches!(read_regular_file(dir.path(), 10), Err(FileReadError::NotRegular)));
        assert!(matches!(
            read_regular_file(&dir.path().join("none"), 10),
            Err(FileReadError::Missing)
        ));
    }

    #[test]
    fn only_a_missing_file_is_absent() {
        use std::os::unix::fs::symlink;
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir(at("real")).unwrap();
        fs::write(at("file"), "").unwrap();
        symlink(at("real"), at("link")).unwrap();
        symlink(at("gone"), at("dangling")).unwrap();
        symlink(at("dangling"), at("twice")).unwrap();
        symlink(at("loop"), at("loop")).unwrap();
        for absent in ["none", "none/deeper/x", "real/none", "link/none/x"] {
            assert!(metadata_if_present(&at(absent)).unwrap().is_none(), "{absent}");
        }
        for unknown in [
            "dangling",
            "dangling/x",
            "dangling/x/y",
            "twice",
            "twice/x",
            "loop",
            "loop/x",
            "file/x",
        ] {
            assert!(metadata_if_present(&at(unknown)).is_err(), "{unknown}");
        }
        for present in ["file", "real", "link"] {
            assert!(metadata_if_present(&at(present)).unwrap().is_some(), "{present}");
        }
    }

    #[test]
    fn a_directory_that_all_can_write_is_replaceable_unless_it_is_sticky() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let with_mode = |mode| {
            fs::set_permissions(dir.path(), fs::Permissions::from_mode(mode)).unwrap();
            find_replaceable_directory(&[Path::new("/"), dir.path()]).is_some()
        };
        for (mode, replaceable) in
            [(0o700, false), (0o775, false), (0o777, true), (0o702, true), (0o1777, false)]
        {
            assert_eq!(with_mode(mode), replaceable, "{mode:o}");
        }
        assert_eq!(find_replaceable_directory(&[&dir.path().join("none")]), None);
    }

    #[test]
    fn a_file_that_is_too_long_or_not_utf8_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        std::fs::write(&path, b"ab\xFF").unwrap();
        assert!(matches!(read_regular_file(&path, 2), Err(FileReadError::TooLong(2))));
        assert!(matches!(read_text(&path, 3), Err(FileReadError::NotText(2))));
        assert_eq!(read_regular_file(&path, 3).unwrap(), b"ab\xFF");
    }
}
