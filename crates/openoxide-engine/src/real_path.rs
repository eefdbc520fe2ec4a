//! The real path of a file: all symbolic links followed.

use std::{
    fs::{self, File},
    io::{self, ErrorKind},
    os::{fd::AsRawFd as _, unix::fs::OpenOptionsExt as _},
    path::{Path, PathBuf},
};

/// Opens a path without the file (`O_PATH`, open(2)), so that opening a pipe or device does not
/// block.
const O_PATH: i32 = 0o10_000_000;

/// Returns the real path of a file, as [`fs::canonicalize`] does.
///
/// That function asks the system about every component, and the system walks from the root each
/// time. A deep path then takes a quadratic time. Here the system walks once.
///
/// # Errors
/// Returns an error if the file does not exist or cannot be reached.
pub(crate) fn real_path(path: &Path) -> io::Result<PathBuf> {
    match File::options().read(true).custom_flags(O_PATH).open(path) {
        Ok(place) => path_of_descriptor(&place).map_or_else(|| fs::canonicalize(path), Ok),
        Err(error) if is_about_path(&error) => Err(error),
        // For example, there may be no file descriptor left.
        Err(_) => fs::canonicalize(path),
    }
}

/// Returns the path that the system knows for an open file. Returns `None` if it is not the path of
/// an existing file (proc(5), `/proc/pid/fd`).
fn path_of_descriptor(place: &File) -> Option<PathBuf> {
    let found = fs::read_link(format!("/proc/self/fd/{}", place.as_raw_fd())).ok()?;
    let is_deleted = found.as_os_str().as_encoded_bytes().ends_with(b" (deleted)");
    (found.is_absolute() && !is_deleted).then_some(found)
}

fn is_about_path(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::PermissionDenied
    )
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn real_paths_are_those_of_the_standard_library() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        fs::create_dir_all(root.join("a/b (deleted)")).unwrap();
        fs::write(root.join("a/file\nname"), "").unwrap();
        symlink("a", root.join("link")).unwrap();
        symlink("nowhere", root.join("dangling")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        let fifo = std::process::Command::new("mkfifo").arg(root.join("fifo")).status().unwrap();
        assert!(fifo.success());
        for name in [
            "a",
            "a/b (deleted)",
            "a/file\nname",
            "link",
            "link/../link/b (deleted)",
            "link/.",
            "dangling",
            "loop",
            "missing",
            "a/file\nname/x",
            "fifo",
            "",
        ] {
            let path = root.join(name);
            let found = real_path(&path).map_err(|error| error.kind());
            let expected = fs::canonicalize(&path).map_err(|error| error.kind());
            assert_eq!(found, expected, "{name}");
        }
        for name in ["/", "/proc/self/exe", "/proc/self/cwd/..", "/dev/null", "/usr/bin/.."] {
            assert_eq!(real_path(Path::new(name)).ok(), fs::canonicalize(name).ok(), "{name}");
        }
        let long = root.join("x".repeat(5_000));
        assert_eq!(real_path(&long).is_err(), fs::canonicalize(&long).is_err());
    }
}
