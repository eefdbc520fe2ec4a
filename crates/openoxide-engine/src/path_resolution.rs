//! Resolution of paths through symbolic links.

use std::{
    fs, io,
    path::{Component, Path, PathBuf},
};

use openoxide_protocol::{AbsPath, PathAccess};

use crate::{real_path::real_path, step_budget::StepBudget};

/// The maximum number of dangling links that are followed.
const MAX_LINKS: usize = 16;

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
    // If the path does not exist, each component is looked up.
    let depth = written.components().count();
    if !steps.take_steps(1 + depth + depth * depth / 256) {
        return false;
    }
    let found =
        follow_links(&written, MAX_LINKS).and_then(|path| AbsPath::new(path.to_str()?).ok());
    access.resolved = found.filter(|found| *found != access.path);
    true
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
    use std::os::unix::fs::symlink;

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
    fn dots_after_a_link_lead_to_another_directory() {
        let (_dir, root) = world();
        assert_eq!(leads(&root, "link/../x").as_deref(), Some("out/x"));
        assert_eq!(leads(&root, "sub/../x"), None);
    }
}
