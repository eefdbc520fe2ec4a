//! The real path of a file: absolute, without symbolic links and `..`.

use std::{
    collections::VecDeque,
    ffi::OsString,
    fs,
    io::{self, ErrorKind},
    path::{Component, Path, PathBuf},
};

/// The maximum number of symbolic links that are followed, as in the kernel.
const MAX_LINKS: usize = 40;

/// Returns the real path of a file. Components that do not exist are kept, so the path of a new
/// file is complete.
///
/// # Errors
/// Returns an error if a directory cannot be searched or if there are too many links.
pub(crate) fn real_path(path: &Path) -> io::Result<PathBuf> {
    let mut remaining: VecDeque<OsString> = VecDeque::new();
    let mut real = PathBuf::from("/");
    push_front(&mut remaining, path);
    let mut links = 0;
    while let Some(name) = remaining.pop_front() {
        if name == ".." {
            real.pop();
            continue;
        }
        let next = real.join(&name);
        let Some(target) = link_target(&next)? else {
            real = next;
            continue;
        };
        links += 1;
        if links > MAX_LINKS {
            return Err(io::Error::from(rustix::io::Errno::LOOP));
        }
        if target.is_absolute() {
            real = PathBuf::from("/");
        }
        push_front(&mut remaining, &target);
    }
    Ok(real)
}

/// Puts the components of a path before the remaining ones.
fn push_front(remaining: &mut VecDeque<OsString>, path: &Path) {
    for component in path.components().rev() {
        match component {
            Component::Normal(name) => remaining.push_front(name.to_owned()),
            Component::ParentDir => remaining.push_front("..".into()),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
}

/// Returns the target of a symbolic link, or `None` if the path is no link or does not exist.
fn link_target(path: &Path) -> io::Result<Option<PathBuf>> {
    match fs::read_link(path) {
        Ok(target) => Ok(Some(target)),
        // EINVAL is the answer for a file that is no link.
        Err(error) if error.kind() == ErrorKind::InvalidInput => Ok(None),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
