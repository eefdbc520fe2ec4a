//! Links that a script moves or copies, and links below the directories into which it copies.
//!
//! The target of a path is determined before anything runs. A link `../../x` leads into the project
//! from one directory and out of it from another. For example, `mv a/b b; cat b/link/key` would read
//! a file that was not checked.

use std::{
    collections::{HashMap, HashSet},
    fs,
    path::{Component, Path, PathBuf},
};

use openoxide_permission::safety_floor::is_protected;
use openoxide_protocol::{AbsPath, Access, OperationFacts};

use crate::{
    link_commands::{copies_content, copies_directories, moves_links},
    step_budget::StepBudget,
};

/// The maximum number of entries that are examined.
const MAX_ENTRIES: usize = 4096;

/// Adds an opaque access for each moved, copied or hard-linked file if links in it would lead
/// elsewhere and another command follows.
pub(crate) fn check_moved_links(facts: &mut OperationFacts, steps: &StepBudget) {
    let Some(last) = facts.accesses.iter().rposition(|access| matches!(access, Access::Exec(_)))
    else {
        return;
    };
    let (mut moves, mut known, mut added) = (false, HashMap::new(), Vec::new());
    for access in facts.accesses.iter().take(last) {
        if let Access::Exec(exec) = access {
            moves = moves_links(exec);
        }
        let Access::Read(path) = access else { continue };
        let escapes = || has_escaping_link(Path::new(path.path.as_str()), steps);
        if moves && *known.entry(&path.path).or_insert_with(escapes) {
            let text = format!("links below {} lead elsewhere from another directory", path.path);
            added.push(Access::Opaque { text, span: path.span });
        }
    }
    // The accesses stay, so that rules that deny them apply.
    facts.accesses.extend(added);
}

/// Adds an opaque access for each directory into which a command copies files, if a link below it
/// leads elsewhere: `cp -r` writes through such links.
pub(crate) fn check_links_below_targets(facts: &mut OperationFacts, steps: &StepBudget) {
    let (mut copies, mut copies_inside, mut added) = (false, false, Vec::new());
    if !facts
        .accesses
        .iter()
        .any(|access| matches!(access, Access::Exec(exec) if copies_directories(exec)))
    {
        return;
    }
    let edited = facts.accesses.iter().filter_map(|access| {
        let Access::Edit(path) = access else { return None };
        path.path.parent()
    });
    let parents: HashSet<AbsPath> = edited.collect();
    for access in &facts.accesses {
        if let Access::Exec(exec) = access {
            copies = copies_directories(exec);
            copies_inside = copies && exec.argv.iter().skip(1).any(copies_content);
        }
        let Access::Edit(path) = access else { continue };
        // Usually, the directory with the name of the source is the one that is written.
        if !copies || !copies_inside && parents.contains(&path.path) {
            continue;
        }
        let place = fs::canonicalize(path.path.as_str()).unwrap_or_default();
        if place.is_dir() && (!steps.take_steps(1) || has_escaping_link(&place, steps)) {
            let text = format!("{}: links below it lead elsewhere", path.raw_path);
            added.push(Access::Opaque { text, span: path.span });
        }
    }
    facts.accesses.extend(added);
}

/// Returns whether a link at this path or below it leads out of it by `..` or by an absolute path, or
/// may do so.
fn has_escaping_link(root: &Path, steps: &StepBudget) -> bool {
    let mut open = vec![(root.to_path_buf(), 0)];
    let mut seen = 0;
    while let Some((path, depth)) = open.pop() {
        seen += 1;
        if !steps.take_steps(3) {
            return true;
        }
        let Ok(kind) = fs::symlink_metadata(&path) else { continue };
        if seen > MAX_ENTRIES
            || kind.is_symlink() && (is_escaping_link(&path, depth) || leads_to_protected(&path))
        {
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

/// Returns whether a link leads to a protected file. Under its new name, it is not known as such.
fn leads_to_protected(link: &Path) -> bool {
    let target = fs::canonicalize(link).ok();
    let target = target.and_then(|target| AbsPath::new(target.to_str()?).ok());
    target.is_some_and(|target| is_protected(&target))
}

/// Returns whether a link `depth` levels below the root is absolute, or has at least as many `..` as
/// lead to the root.
fn is_escaping_link(link: &Path, depth: usize) -> bool {
    let target: PathBuf = fs::read_link(link).unwrap_or_default();
    if target.is_absolute() {
        return true;
    }
    let up = target.components().filter(|part| matches!(part, Component::ParentDir)).count();
    up > 0 && up >= depth
}

#[cfg(test)]
mod tests {
    use openoxide_protocol::Action;

    use super::*;
    use crate::operation_facts::{CallLocation, collect_action_facts};

    #[test]
    fn a_link_that_leads_out_of_the_moved_files_is_escaping() {
        for (link, target, expected) in [
            ("r/k", "../../x", true),
            ("r/k", "../x", true),
            ("r/bin/k", "../x", false),
            ("r/bin/k", "../../x", true),
            ("r/k", "x", false),
            ("r/k", "/x", true),
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

    #[test]
    fn a_link_that_is_put_into_another_directory_is_not_understood() {
        let dir = tempfile::tempdir().unwrap();
        let root = AbsPath::new(dir.path().canonicalize().unwrap().to_str().unwrap()).unwrap();
        fs::create_dir_all(dir.path().join("sub/deep")).unwrap();
        fs::write(dir.path().join("plain"), "").unwrap();
        std::os::unix::fs::symlink("../../x", dir.path().join("sub/deep/link")).unwrap();
        for (script, expected) in [
            ("mv sub/deep/link h; touch h/x", true),
            ("ln sub/deep/link h; touch h/x", true),
            ("ln -t . sub/deep/link; touch link/x", true),
            ("ln -ts sub/deep/link; touch s/link/x", true),
            ("ln -S s sub/deep/link h; touch h/x", true),
            ("link sub/deep/link h; touch h/x", true),
            ("ln -sf sub/deep/link h; touch h", false),
            ("ln plain h; touch h", false),
            ("touch h; ln sub/deep/link h", false),
        ] {
            let action = Action::Command { script: script.to_owned() };
            let place = CallLocation { cwd: &root, home: None };
            let facts = collect_action_facts(&action, "Bash", place);
            let is_opaque = facts.accesses.iter().any(|access| {
                matches!(access, Access::Opaque { text, .. } if text.contains("lead elsewhere"))
            });
            assert_eq!(is_opaque, expected, "{script}");
        }
    }
}
