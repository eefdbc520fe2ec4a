//! Resolution of paths whose last components may be missing.

use std::{
    collections::VecDeque,
    ffi::OsString,
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use openoxide_protocol::AbsPath;

use crate::protected_paths::path_search::{MAX_SYMLINKS, path_components};

/// Returns a path with all links resolved, including dangling ones. Missing components are kept.
///
/// Returns `None` if the path cannot be accessed or is not UTF-8.
#[must_use]
pub fn resolve_with_missing(path: &AbsPath) -> Option<AbsPath> {
    let place = resolve(Path::new(path.as_str()))?;
    AbsPath::new(place.to_str()?).ok()
}

fn resolve(path: &Path) -> Option<PathBuf> {
    let (mut at, mut links) = (PathBuf::from("/"), 0);
    let mut ahead: VecDeque<OsString> = path_components(path);
    while let Some(name) = ahead.pop_front() {
        if name == ".." {
            at.pop();
            continue;
        }
        at.push(name);
        match at.symlink_metadata() {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                at.extend(ahead);
                return Some(at);
            }
            Err(_) => return None,
            Ok(found) if found.is_symlink() => {
                links += 1;
                let target = fs::read_link(&at).ok().filter(|_| links <= MAX_SYMLINKS)?;
                at.pop();
                if target.is_absolute() {
                    at = PathBuf::from("/");
                }
                path_components(&target).into_iter().rev().for_each(|name| ahead.push_front(name));
            }
            Ok(_) => {}
        }
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_resolved_up_to_what_is_missing() {
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path().canonicalize().unwrap();
        fs::create_dir(base.join("real")).unwrap();
        fs::write(base.join("file"), "").unwrap();
        symlink("real", base.join("link")).unwrap();
        symlink("link/later", base.join("dangling")).unwrap();
        symlink("loop", base.join("loop")).unwrap();
        for (path, expected) in [
            ("link", Some("real")),
            ("link/a/b", Some("real/a/b")),
            ("dangling", Some("real/later")),
            ("dangling/more", Some("real/later/more")),
            ("missing/a", Some("missing/a")),
            ("loop", None),
            ("file/below", None),
        ] {
            assert_eq!(resolve(&base.join(path)), expected.map(|path| base.join(path)), "{path}");
        }
    }
}
