//! Files below the directories for temporary files that are copied to the host after a run.
//!
//! Each run has its own directories for temporary files, and the result of a command can be a new
//! file there whose name was permitted. All processes of the run have ended when it is copied.

use std::{
    collections::BTreeSet,
    fs::{File, Permissions},
    io,
    os::{fd::OwnedFd, unix::fs::PermissionsExt as _},
    path::{Path, PathBuf},
};

use openoxide_protocol::AbsPath;
use rustix::{
    fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags, openat2, unlinkat},
    io::Errno,
};

use crate::{interface::PostRunFinding, staging::copy_content};

/// Copies the files that the run has created in its own directories. Returns the reason for each
/// one that was not copied.
pub(super) fn save_files(
    files: &BTreeSet<AbsPath>,
    directories: &[(PathBuf, OwnedFd)],
) -> Vec<PostRunFinding> {
    let save = |file: &AbsPath| {
        let reason = save_file(file, directories).err()?.to_string();
        Some(PostRunFinding::UnsavedFile { path: file.clone(), reason })
    };
    files.iter().filter_map(save).collect()
}

/// Copies a file, if it was created.
fn save_file(file: &AbsPath, directories: &[(PathBuf, OwnedFd)]) -> io::Result<()> {
    let path = Path::new(file.as_str());
    let find = |(place, directory): &'_ (PathBuf, OwnedFd)| {
        path.strip_prefix(place).ok().map(|rest| open_inside(directory, rest))
    };
    match directories.iter().find_map(find) {
        None | Some(Err(Errno::NOENT | Errno::NOTDIR)) => Ok(()),
        Some(Err(Errno::LOOP)) => Err(io::Error::other("it is a symbolic link")),
        Some(from) => create_copy(&File::from(from?), path),
    }
}

/// Opens a file of the run. No link and no mount leads out of the directory.
fn open_inside(directory: &OwnedFd, rest: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    openat2(directory, rest, flags, Mode::empty(), resolve)
}

/// Creates a file with the content and the permissions of this one. A file that exists by now is not
/// replaced.
fn create_copy(from: &File, path: &Path) -> io::Result<()> {
    let found = from.metadata()?;
    if !found.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidFilename.into());
    };
    let directory = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let parent = openat2(CWD, parent, directory, Mode::empty(), ResolveFlags::NO_SYMLINKS)?;
    let new = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let to =
        File::from(openat2(&parent, name, new, Mode::RUSR | Mode::WUSR, ResolveFlags::BENEATH)?);
    let mode = Permissions::from_mode(found.permissions().mode() & 0o777);
    copy_content(from, &to).and_then(|()| to.set_permissions(mode)).inspect_err(|_| {
        // Part of a file must not pass for the result.
        _ = unlinkat(&parent, name, AtFlags::empty());
    })
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        os::unix::fs::{DirBuilderExt as _, symlink},
    };

    use super::*;

    fn reason(inside: &Path, host: &Path, name: &str) -> Option<String> {
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        let directory = rustix::fs::open(inside, flags, Mode::empty()).unwrap();
        let file = AbsPath::new(host.join(name).to_str().unwrap()).unwrap();
        match save_files(&[file].into(), &[(host.to_owned(), directory)]).pop() {
            Some(PostRunFinding::UnsavedFile { reason, .. }) => Some(reason),
            other => {
                assert_eq!(other, None);
                None
            }
        }
    }

    #[test]
    fn only_new_regular_files_are_copied() {
        let (inside, host) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let host_path = host.path().canonicalize().unwrap();
        let save = |name: &str| reason(inside.path(), &host_path, name);
        assert_eq!(save("missing"), None);
        fs::write(inside.path().join("plain"), "result").unwrap();
        fs::set_permissions(inside.path().join("plain"), Permissions::from_mode(0o6755)).unwrap();
        assert_eq!(save("plain"), None);
        let copy = host.path().join("plain");
        assert_eq!(fs::read_to_string(&copy).unwrap(), "result");
        let mode = fs::metadata(&copy).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o755, "no set-user-ID mode");
        fs::write(inside.path().join("plain"), "other").unwrap();
        assert!(save("plain").unwrap().contains("exists"));
        assert_eq!(fs::read_to_string(&copy).unwrap(), "result", "it is not replaced");
        let secret = host.path().join("secret");
        fs::write(&secret, "secret").unwrap();
        symlink(&secret, inside.path().join("link")).unwrap();
        assert_eq!(save("link").unwrap(), "it is a symbolic link");
        symlink(host.path(), inside.path().join("above")).unwrap();
        fs::create_dir(host.path().join("above")).unwrap();
        assert_eq!(save("above/secret").unwrap(), "it is a symbolic link");
        fs::DirBuilder::new().mode(0o700).create(inside.path().join("directory")).unwrap();
        assert_eq!(save("directory").unwrap(), "it is not a regular file");
        rustix::fs::mknodat(
            CWD,
            inside.path().join("pipe"),
            rustix::fs::FileType::Fifo,
            Mode::RWXU,
            0,
        )
        .unwrap();
        assert_eq!(save("pipe").unwrap(), "it is not a regular file");
        // A link in place of the directory outside.
        fs::create_dir(inside.path().join("d")).unwrap();
        fs::write(inside.path().join("d/x"), "x").unwrap();
        symlink(host.path(), host.path().join("d")).unwrap();
        assert!(save("d/x").is_some());
        assert!(!host.path().join("x").exists());
    }
}
