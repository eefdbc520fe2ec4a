//! Links that lead elsewhere after they are moved or copied.
//!
//! The target of a link is determined before anything runs. `../../x` leads into the project from
//! one directory and out of it from another. For example, `mv a/b b; cat b/link/key` would read a
//! file that was not checked.

use std::{
    collections::HashMap,
    fs,
    path::{Component, Path, PathBuf},
};

use openoxide_protocol::{Access, OperationFacts};

use crate::step_budget::StepBudget;

/// The maximum number of entries that are examined.
const MAX_ENTRIES: usize = 4096;

/// Makes the moved or copied files opaque if links in them would lead elsewhere and another command
/// follows.
pub(crate) fn check_moved_links(facts: &mut OperationFacts, steps: &StepBudget) {
    let mut moves = false;
    let mut known = HashMap::new();
    let last = facts.accesses.iter().rposition(|access| matches!(access, Access::Exec(_)));
    for (index, access) in facts.accesses.iter_mut().enumerate() {
        if let Access::Exec(exec) = &*access {
            let name = exec.argv.known_word(0).map(|name| name.rsplit('/').next().unwrap_or(name));
            moves = matches!(name, Some("mv" | "cp" | "rsync" | "gmv" | "gcp"));
        }
        let followed = moves && last.is_some_and(|last| index < last);
        if let Access::Read(path) = &*access
            && followed
            && *known
                .entry(path.path.clone())
                .or_insert_with(|| has_escaping_link(Path::new(path.path.as_str()), steps))
        {
            let text = format!("links below {}, which lead elsewhere once moved", path.path);
            *access = Access::Opaque { text, span: path.span };
        }
    }
}

/// Returns whether a link at this path or below it leads out of it by `..`, or may do so.
fn has_escaping_link(root: &Path, steps: &StepBudget) -> bool {
    let mut open = vec![(root.to_path_buf(), 0)];
    let mut seen = 0;
    while let Some((path, depth)) = open.pop() {
        seen += 1;
        if !steps.take_steps(3) {
            return true;
        }
        let Ok(kind) = fs::symlink_metadata(&path) else { continue };
        if seen > MAX_ENTRIES || kind.is_symlink() && is_escaping_link(&path, depth) {
            return true;
        }
        if kind.is_dir() {
            if !steps.take_directory() {
                return true;
            }
            let entries = fs::read_dir(&path).into_iter().flatten().filter_map(Result::ok);
            for entry in entries {
                if open.len() > MAX_ENTRIES || !steps.take_steps(1) {
                    return true;
                }
                open.push((entry.path(), depth + 1));
            }
        }
    }
    false
}

/// Returns whether a link `depth` levels below the root has at least as many `..` as lead to the
/// root.
fn is_escaping_link(link: &Path, depth: usize) -> bool {
    let target: PathBuf = fs::read_link(link).unwrap_or_default();
    let up = target.components().filter(|part| matches!(part, Component::ParentDir)).count();
    up > 0 && up >= depth
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_that_leads_out_of_the_moved_files_is_escaping() {
        for (link, target, expected) in [
            ("r/k", "../../x", true),
            ("r/k", "../x", true),
            ("r/bin/k", "../x", false),
            ("r/bin/k", "../../x", true),
            ("r/k", "x", false),
            ("r/k", "/x", false),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let link = dir.path().join(link);
            fs::create_dir_all(link.parent().unwrap()).unwrap();
            std::os::unix::fs::symlink(target, &link).unwrap();
            assert_eq!(
                has_escaping_link(&dir.path().join("r"), &StepBudget::new()),
                expected,
                "{link:?} {target}"
            );
        }
    }
}
