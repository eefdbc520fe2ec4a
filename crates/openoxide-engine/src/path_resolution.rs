//! Resolution of paths through symbolic links.

use std::{
    fs, io,
    path::{Component, Path, PathBuf},
};

use openoxide_protocol::{AbsPath, PathAccess};

use crate::{real_path::real_path, step_budget::StepBudget};

/// The maximum number of dangling links that are followed.
const MAX_LINKS: usize = 16;
/// The system opens no path of this number of bytes or more (`PATH_MAX`, limits.h(0p)).
const MAX_PATH_BYTES: usize = 4096;

/// Records the target of the path, if it differs from the lexical path. The file need not exist:
/// existing directories are followed, and so are dangling links. Returns whether the step budget
/// was sufficient.
#[must_use]
pub(crate) fn resolve_path(access: &mut PathAccess, cwd: &AbsPath, steps: &StepBudget) -> bool {
    // The path is followed as it was written, because `..` after a symbolic link leads to another
    // directory.
    let written = if access.raw_path.contains("..") {
        Path::new(cwd.as_str()).join(&access.raw_path)
    } else {
        PathBuf::from(access.path.as_str())
    };
    let depth = written.components().count();
    // If the path does not exist, the system walks to each component.
    let walks = if is_too_long(&written) { depth * 16 } else { depth * depth / 64 };
    if !steps.take_steps(1 + depth + walks) {
        return false;
    }
    let found = if is_too_long(&written) {
        follow_components(&written)
    } else {
        follow_links(&written, MAX_LINKS)
    };
    // Some programs shorten the path before they open it.
    let found = found.or_else(|| {
        let is_shortened = access.raw_path.contains("..");
        is_shortened.then(|| follow_links(Path::new(access.path.as_str()), MAX_LINKS)).flatten()
    });
    let found = found.and_then(|path| AbsPath::new(path.to_str()?).ok());
    access.resolved = found.filter(|found| *found != access.path);
    true
}

fn is_too_long(path: &Path) -> bool {
    path.as_os_str().len() >= MAX_PATH_BYTES
}

/// Follows the links of a path that is too long to be opened, component by component. Programs can
/// open the shortened path. Returns `None` if that is too long, too.
fn follow_components(path: &Path) -> Option<PathBuf> {
    let mut real = PathBuf::from("/");
    // The number of components at the end that do not exist.
    let mut missing = 0_usize;
    for component in path.components() {
        match component {
            Component::Normal(name) => {
                real.push(name);
                if missing > 0 || is_missing(&real) {
                    missing += 1;
                } else if is_too_long(&real) {
                    return None;
                } else {
                    real = follow_links(&real, MAX_LINKS)?;
                }
            }
            Component::ParentDir => {
                real.pop();
                missing = missing.saturating_sub(1);
            }
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    Some(real)
}

/// Returns whether no file, and no link either, has this path.
fn is_missing(path: &Path) -> bool {
    let found = path.symlink_metadata();
    found.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

fn follow_links(path: &Path, links: usize) -> Option<PathBuf> {
    match real_path(path) {
        Ok(found) => Some(found),
        Err(error) if error.kind() == io::ErrorKind::NotFound => follow_missing_links(path, links),
        Err(_) => None,
    }
}

fn follow_missing_links(path: &Path, links: usize) -> Option<PathBuf> {
    let parent = path.parent()?;
    if let Ok(target) = fs::read_link(path) {
        return follow_links(&parent.join(target), links.checked_sub(1)?);
    }
    let parent = follow_links(parent, links)?;
    match path.components().next_back()? {
        Component::Normal(name) => Some(parent.join(name)),
        Component::ParentDir => parent.parent().map(Path::to_path_buf),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => Some(parent),
    }
}

#[cfg(test)]
mod tests {
    use std::{fs::File, os::unix::fs::symlink};

    use super::*;

    fn world() -> (tempfile::TempDir, AbsPath) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("p/sub")).unwrap();
        fs::create_dir_all(root.join("out/deep")).unwrap();
        symlink(root.join("out/deep"), root.join("p/link")).unwrap();
        symlink("nowhere", root.join("p/dangling")).unwrap();
        symlink("loop", root.join("p/loop")).unwrap();
        let root = AbsPath::new(root.to_str().unwrap()).unwrap();
        (dir, root)
    }

    fn leads(root: &AbsPath, written: &str) -> Option<String> {
        let cwd = root.join("p");
        let mut access = PathAccess::new(cwd.join(written));
        access.raw_path = written.to_owned();
        assert!(resolve_path(&mut access, &cwd, &StepBudget::new()));
        access.resolved.map(|path| path.strip_prefix(root).unwrap().to_owned())
    }

    #[test]
    fn links_are_followed_also_where_nothing_is_yet() {
        let (_dir, root) = world();
        assert_eq!(leads(&root, "sub"), None);
        assert_eq!(leads(&root, "sub/new/file"), None);
        assert_eq!(leads(&root, "link").as_deref(), Some("out/deep"));
        assert_eq!(leads(&root, "link/new/file").as_deref(), Some("out/deep/new/file"));
        assert_eq!(leads(&root, "dangling").as_deref(), Some("p/nowhere"));
        assert_eq!(leads(&root, "loop"), None);
    }

    #[test]
    fn links_of_a_path_that_is_too_long_to_be_opened_are_followed() {
        let (_dir, root) = world();
        for dots in ["sub/../", "missing/../", "link/../../p/", "dangling/../"] {
            let long = dots.repeat(900);
            let error =
                File::open(Path::new(root.as_str()).join(format!("p/{long}sub"))).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidFilename, "{dots}");
            assert_eq!(leads(&root, &format!("{long}sub")), None, "{dots}");
            for (name, target) in [
                ("link", "out/deep"),
                ("link/../x", "out/x"),
                ("link/new/file", "out/deep/new/file"),
                ("missing/../link", "out/deep"),
                ("dangling", "p/nowhere"),
            ] {
                let found = leads(&root, &format!("{long}{name}"));
                assert_eq!(found.as_deref(), Some(target), "{dots} {name}");
            }
            assert_eq!(leads(&root, &format!("{long}loop")), None, "{dots}");
        }
        assert_eq!(leads(&root, &"sub/".repeat(1_100)), None);
    }

    #[test]
    fn dots_after_a_link_lead_to_another_directory() {
        let (_dir, root) = world();
        assert_eq!(leads(&root, "link/../x").as_deref(), Some("out/x"));
        assert_eq!(leads(&root, "sub/../x"), None);
        // Not openable as written, but after the path was shortened.
        for written in ["loop/../link", "file/../link", "file/x/../../link"] {
            File::create(Path::new(root.as_str()).join("p/file")).unwrap();
            assert_eq!(leads(&root, written).as_deref(), Some("out/deep"), "{written}");
        }
    }
}
