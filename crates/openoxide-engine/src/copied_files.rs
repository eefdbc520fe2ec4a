//! Steering files that are copied together with their directory: `cp -r cloned/. .`.
//!
//! Such a command names only the directory. Each file that would configure shells, tools or agents
//! at its destination is added as a separate edit with its own name.

use std::{collections::HashSet, fs, path::Path};

use openoxide_permission::safety_floor::is_protected;
use openoxide_protocol::{
    AbsPath, Access, OperationFacts, PathAccess, Span, steering_files::may_be_steering_component,
};

use crate::step_budget::StepBudget;

/// The maximum number of directory entries that are examined.
const MAX_ENTRIES: usize = 16_384;
/// The maximum number of steering files that are listed.
const MAX_STEERING_FILES: usize = 8;
/// The cost of finding out whether a path is protected.
const PROTECTION_STEPS: usize = 4;

/// Adds an edit for each steering file among the files that are copied or moved.
pub(crate) fn add_copied_steering_files(facts: &mut OperationFacts, steps: &StepBudget) {
    let mut added = Vec::new();
    let mut examined = HashSet::new();
    for (index, access) in facts.accesses.iter().enumerate() {
        let Access::Exec(exec) = access else { continue };
        let name = exec.argv.known_word(0).map(|name| name.rsplit('/').next().unwrap_or(name));
        if !matches!(name, Some("mv" | "cp" | "rsync" | "gmv" | "gcp" | "ditto")) {
            continue;
        }
        let own = facts.accesses.iter().skip(index + 1);
        let own = || own.clone().take_while(|access| !matches!(access, Access::Exec(_)));
        let sources: Vec<&PathAccess> = own().filter_map(read_path).collect();
        let targets: Vec<&PathAccess> = own().filter_map(edited_path).collect();
        // The edits of all such commands are added at the position of the first one.
        let paths = |of: &[&PathAccess]| -> Vec<AbsPath> {
            of.iter().map(|path| path.path.clone()).collect()
        };
        if !examined.insert((paths(&sources), paths(&targets))) {
            continue;
        }
        match find_copied_steering_files(&sources, &targets, steps) {
            Some(found) => added.extend(found.into_iter().map(|path| edit_access(path, exec.span))),
            None => {
                let text =
                    format!("{}: too many files to find the steering files among them", exec.text);
                added.push(Access::Opaque { text, span: exec.span });
            }
        }
    }
    facts.accesses.extend(added);
}

fn read_path(access: &Access) -> Option<&PathAccess> {
    if let Access::Read(path) = access {
        Some(path).filter(|path| path.search.is_none())
    } else {
        None
    }
}

fn edited_path(access: &Access) -> Option<&PathAccess> {
    if let Access::Edit(path) = access { Some(path) } else { None }
}

fn edit_access(path: AbsPath, span: Span) -> Access {
    Access::Edit(PathAccess { span, ..PathAccess::new(path) })
}

/// Returns the steering files that a copy of the sources would create at the targets, or `None` if
/// there are too many files to examine.
fn find_copied_steering_files(
    sources: &[&PathAccess],
    targets: &[&PathAccess],
    steps: &StepBudget,
) -> Option<Vec<AbsPath>> {
    let mut found: Vec<AbsPath> = Vec::new();
    let mut seen = 0;
    for source in sources {
        let root = Path::new(source.path.as_str());
        let name = source.path.file_name().unwrap_or_default();
        if !steps.take_steps(PROTECTION_STEPS * targets.len()) {
            return None;
        }
        // The source can be any file that the pattern matches.
        let itself = targets.iter().map(|target| target.path.join(name)).find(is_protected);
        found.extend(itself.filter(|place| !name.is_empty() && !found.contains(place)));
        let mut open = vec![String::new()];
        while let Some(below) = open.pop() {
            if !steps.take_directory() {
                return None;
            }
            let Ok(entries) = fs::read_dir(root.join(&below)) else { continue };
            for entry in entries.filter_map(Result::ok) {
                seen += 1;
                if seen > MAX_ENTRIES || !steps.take_steps(2) {
                    return None;
                }
                let file = entry.file_name();
                let Some(file) = file.to_str() else { continue };
                let path =
                    if below.is_empty() { file.to_owned() } else { format!("{below}/{file}") };
                // The contents are copied into the directory itself, or below its name.
                let named = format!("{name}/{path}");
                // The directory itself is not protected, or would not be searched.
                let judged = if may_be_steering_component(file) { targets } else { &[] };
                if !steps.take_steps(2 * PROTECTION_STEPS * judged.len()) {
                    return None;
                }
                let steers = judged.iter().find_map(|target| {
                    [&path, &named]
                        .into_iter()
                        .map(|path| target.path.join(path))
                        .find(is_protected)
                });
                match steers {
                    Some(place) if !found.contains(&place) => found.push(place),
                    Some(_) => {}
                    None if entry.file_type().is_ok_and(|kind| kind.is_dir()) => open.push(path),
                    None => {}
                }
                if found.len() >= MAX_STEERING_FILES {
                    return Some(found);
                }
            }
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steering_files_are_copied_with_their_directory() {
        for (file, steers) in [
            ("CLAUDE.md", true),
            (".vscode/tasks.json", true),
            ("a/b/.github/workflows/x.yml", true),
            ("a/b/readme", false),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let source = dir.path().join("from");
            fs::create_dir_all(source.join(file).parent().unwrap()).unwrap();
            fs::write(source.join(file), "").unwrap();
            let path = |name: &str| {
                PathAccess::new(AbsPath::new(dir.path().join(name).to_str().unwrap()).unwrap())
            };
            let found =
                find_copied_steering_files(&[&path("from")], &[&path("to")], &StepBudget::new())
                    .unwrap();
            assert_eq!(!found.is_empty(), steers, "{file}");
        }
    }
}
