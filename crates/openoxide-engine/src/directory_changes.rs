//! Directories that a script enters through symbolic links.
//!
//! Lexically, `cd link/../x` leads to `x`. It leads to the `x` next to the target of the link if
//! the lexical path does not exist, or if the shell was not started with its path in `PWD`. A path
//! in which `..` follows a link is therefore ambiguous and is treated as opaque.

use std::{
    fs, io,
    path::{Component, Path, PathBuf},
};

use openoxide_protocol::{AbsPath, Access, AccessRoute, OperationFacts};

use crate::step_budget::StepBudget;

/// Makes each ambiguous directory opaque.
pub(crate) fn check(facts: &mut OperationFacts, cwd: &AbsPath, steps: &StepBudget) {
    for access in &mut facts.accesses {
        let Access::ExternalDirectory(path) = access else { continue };
        if !path.raw_path.contains("..") {
            continue;
        }
        let written = Path::new(cwd.as_str()).join(&path.raw_path);
        if leaves_link(&written, steps).unwrap_or(true) {
            let (text, span) = (path.raw_path.clone(), path.span);
            *access = Access::Opaque { text, span };
        }
    }
    // A program works there. The shell does not enter it.
    facts.accesses.retain(
        |access| !matches!(access, Access::ExternalDirectory(path) if path.route == AccessRoute::Metadata),
    );
}

/// Returns whether a component before a `..` is a symbolic link, or `None` if this cannot be
/// determined.
fn leaves_link(written: &Path, steps: &StepBudget) -> Option<bool> {
    let mut place = PathBuf::new();
    for component in written.components() {
        if component != Component::ParentDir {
            place.push(component);
            continue;
        }
        steps.take_steps(1 + place.components().count()).then_some(())?;
        match fs::symlink_metadata(&place) {
            Ok(meta) if meta.is_symlink() => return Some(true),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(_) => return None,
        }
        place.pop();
    }
    Some(false)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_before_two_dots_is_found_at_any_position() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("p/sub/d")).unwrap();
        symlink("sub/d", root.join("p/link")).unwrap();
        fs::write(root.join("p/file"), "").unwrap();
        let rows = [
            ("p/link/..", Some(true)),
            ("p/link/../sub", Some(true)),
            ("p/sub/d/../../link/x/../..", Some(true)),
            ("p/sub/../link", Some(false)),
            ("p/link/x/..", Some(false)),
            ("p/missing/..", Some(false)),
            ("p/file/x/..", None),
        ];
        for (written, expected) in rows {
            let found = leaves_link(&root.join(written), &StepBudget::new());
            assert_eq!(found, expected, "{written}");
        }
    }
}
