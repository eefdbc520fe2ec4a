//! Files below a directory that a command changes, and whose names another program prints.
//!
//! A mode can allow edits in the project without approval, but not edits of files that configure
//! tools. So each such file that the names can include is an edit of its own, with its name.

use std::{
    fs,
    path::{Path, PathBuf},
};

use openoxide_permission::safety_floor::is_protected;
use openoxide_protocol::{AbsPath, Access, FileSearch, OperationFacts, PathAccess};

use crate::{name_pattern::name_may_match, step_budget::StepBudget};

/// The maximum number of entries below a directory. Beyond it, the files that are changed are
/// unknown.
const MAX_ENTRIES: usize = 65_536;
/// The maximum number of files that are listed. Beyond it, they are unknown.
const MAX_FOUND: usize = 256;
/// The directory with packages of others. Files there configure no tools.
const PACKAGE_DIRECTORY: &str = "node_modules";

/// Replaces each search for files to change with edits of the protected files that it may find.
pub(crate) fn expand_changed_files(facts: &mut OperationFacts, steps: &StepBudget) {
    let is_change = |access: &Access| matches!(access, Access::Edit(path) if path.search.is_some());
    if !facts.accesses.iter().any(is_change) {
        return;
    }
    let (changes, others): (Vec<_>, Vec<_>) =
        std::mem::take(&mut facts.accesses).into_iter().partition(is_change);
    facts.accesses = others;
    let mut known: Vec<(AbsPath, FileSearch)> = Vec::new();
    for access in changes {
        let Access::Edit(PathAccess { search: Some(search), path, span, route, .. }) = access
        else {
            continue;
        };
        let change = (path, *search);
        if known.contains(&change) {
            continue;
        }
        let found = find_protected_files(&change.0, &change.1, steps);
        let edit = |path| Access::Edit(PathAccess { span, route, ..PathAccess::new(path) });
        facts.accesses.extend(found.paths.into_iter().map(edit));
        if !found.is_complete {
            let text = format!("{}: the files that it may change are not known", change.0);
            facts.accesses.push(Access::Opaque { text, span });
        }
        known.push(change);
    }
}

/// The protected files below a directory that a search may find.
#[derive(Default)]
struct FoundFiles {
    paths: Vec<AbsPath>,
    /// False if a link leads elsewhere, or if too much would have to be looked at.
    is_complete: bool,
}

fn find_protected_files(root: &AbsPath, search: &FileSearch, steps: &StepBudget) -> FoundFiles {
    let mut found = FoundFiles::default();
    let mut open = vec![PathBuf::from(root.as_str())];
    let (mut count, mut has_doubtful_link) = (0, false);
    while let Some(place) = open.pop() {
        count += 1;
        if count + open.len() > MAX_ENTRIES || !steps.take_steps(2) {
            return found;
        }
        let Ok(kind) = fs::symlink_metadata(&place) else { continue };
        if kind.is_dir() {
            if !steps.take_directory() {
                return found;
            }
            let entries = fs::read_dir(&place).into_iter().flatten().filter_map(Result::ok);
            let is_entered = |path: &PathBuf| !is_excluded(path, search);
            open.extend(entries.map(|entry| entry.path()).filter(is_entered));
        }
        let Ok(path) = AbsPath::new(&place.to_string_lossy()) else { continue };
        if path == *root || !may_be_found(&place, search) {
            continue;
        }
        has_doubtful_link |=
            kind.is_symlink() && !(steps.take_steps(8) && stays_below(&place, root));
        if is_protected(&path) {
            found.paths.push(path);
        }
        if found.paths.len() > MAX_FOUND {
            return found;
        }
    }
    found.paths.sort();
    found.is_complete = !has_doubtful_link;
    found
}

/// Returns whether a link leads to a file below a directory, and to no protected one.
fn stays_below(link: &Path, root: &AbsPath) -> bool {
    let Ok(target) = fs::canonicalize(link) else { return false };
    let named = target.to_str().and_then(|target| AbsPath::new(target).ok());
    fs::canonicalize(root.as_str()).is_ok_and(|root| target.starts_with(root))
        && named.is_some_and(|target| !is_protected(&target))
}

/// Returns whether a search does not enter a directory of this name.
fn is_excluded(place: &Path, search: &FileSearch) -> bool {
    let name = file_name(place);
    search.excluded_directories.contains(&name)
        || name == PACKAGE_DIRECTORY
        || !search.includes_hidden && search.include_patterns.is_empty() && name.starts_with('.')
}

fn may_be_found(place: &Path, search: &FileSearch) -> bool {
    let name = file_name(place).to_lowercase();
    let may_match = |pattern: &String| {
        let last = pattern.to_lowercase();
        let last = last.rsplit('/').next().unwrap_or_default();
        last.is_empty() || last.contains(['{', '\\']) || name_may_match(last, &name)
    };
    search.include_patterns.is_empty()
        || search.includes_matching_directories
        || search.include_patterns.iter().any(may_match)
}

fn file_name(place: &Path) -> String {
    place.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use openoxide_protocol::Action;

    use super::*;
    use crate::operation_facts::{CallLocation, collect_action_facts};

    /// Returns the protected files that a script changes.
    fn protected_edits(project: &AbsPath, script: &str) -> Vec<String> {
        let action = Action::Command { script: script.to_owned() };
        let place = CallLocation { cwd: project, home: None };
        let facts = collect_action_facts(&action, "Bash", place);
        let mut found: Vec<String> = facts
            .accesses
            .iter()
            .filter_map(|access| {
                if matches!(access, Access::Opaque { text, .. } if text.contains("not known")) {
                    return Some("not known".to_owned());
                }
                let Access::Edit(path) = access else { return None };
                is_protected(&path.path)
                    .then(|| path.path.strip_prefix(project).unwrap().to_owned())
            })
            .collect();
        found.sort();
        found.dedup();
        found
    }

    #[test]
    fn protected_files_that_a_command_finds_and_changes_are_edits_of_their_own() {
        let dir = tempfile::tempdir().unwrap();
        let project = AbsPath::new(dir.path().canonicalize().unwrap().to_str().unwrap()).unwrap();
        for file in [".git/config", ".git/HEAD", "CLAUDE.md", "src/a.rs", ".vscode/tasks.json"] {
            let file = dir.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        }
        std::os::unix::fs::symlink("../x", dir.path().join("out.link")).unwrap();
        std::os::unix::fs::symlink("a.rs", dir.path().join("src/b.rs")).unwrap();
        for (script, expected) in [
            ("find . -name '*.md' -exec sed -i s/a/b/ {} +", &["CLAUDE.md"][..]),
            ("find . -name '*.MD' -exec sed -i s/a/b/ {} +", &["CLAUDE.md"]),
            ("find . -name '*.md' -exec cp src/a.rs {} \\;", &["CLAUDE.md"]),
            ("find . -name tasks.json -exec cp src/a.rs {} \\;", &[".vscode/tasks.json"]),
            ("find . -path './.git/*' -exec tee {} +", &[".git/config"]),
            ("find .git -type f -exec touch {} +", &[".git/config"]),
            (
                "find . -type f | xargs sed -i s/a/b/",
                &[".git/config", ".vscode/tasks.json", "CLAUDE.md"],
            ),
            (
                "grep -rl a . | xargs sed -i s/a/b/",
                &[".git/config", ".vscode/tasks.json", "CLAUDE.md"],
            ),
            ("sed -i s/a/b/ $(git ls-files)", &[".vscode/tasks.json", "CLAUDE.md"]),
            ("git grep -l a | xargs sed -i s/a/b/", &[".vscode/tasks.json", "CLAUDE.md"]),
            ("find . -name '*.link' -exec sed -i s/a/b/ {} +", &["not known"]),
            ("find . -name '*.rs' -exec sed -i s/a/b/ {} +", &[]),
            ("find src -type f -exec sed -i s/a/b/ {} +", &[]),
            ("grep -rl a src | xargs sed -i s/a/b/", &[]),
            ("for f in src/a.rs; do sed -i s/a/b/ $f; done", &[]),
        ] {
            let found = protected_edits(&project, script);
            assert!(
                expected.iter().all(|file| found.iter().any(|it| it == file)),
                "{script}: {found:?}"
            );
            assert_eq!(found.is_empty(), expected.is_empty(), "{script}: {found:?}");
        }
    }
}
