//! Other names of a file: a hard link is the same file.
//!
//! `ln .env notes` makes a second name that tells nothing about the contents. A command that reads
//! or changes a file with several names therefore also accesses the names that the file has in the
//! project, and those among the secrets and steering files of the home directory. Names elsewhere
//! are not searched for, because that would mean the whole disk.

use std::{
    collections::{BTreeSet, HashSet},
    fs,
    os::unix::fs::{DirEntryExt as _, MetadataExt as _},
    path::{Path, PathBuf},
};

use openoxide_permission::{HomeDirectories, hidden_secret_paths};
use openoxide_protocol::{AbsPath, Access, AccessRoute, OperationFacts, PathAccess};

use crate::step_budget::StepBudget;

/// The maximum number of directory entries that are compared.
const MAX_ENTRIES: usize = 16_384;
/// The maximum number of other names of the files of one call.
const MAX_NAMES: usize = 64;
/// Directories whose files are installed or generated, often as hard links.
const SKIPPED_DIRECTORIES: [&str; 5] =
    ["node_modules", "site-packages", "target", "objects", ".venv"];

/// The device and the number of a file.
type FileId = (u64, u64);

/// Adds an access for each other name of the files that a call reads or changes.
pub(crate) fn add_other_names(
    facts: &mut OperationFacts,
    cwd: &AbsPath,
    home: Option<&AbsPath>,
    steps: &StepBudget,
) {
    let linked: HashSet<FileId> =
        facts.accesses.iter().filter_map(accessed_file).filter_map(linked_file).collect();
    if linked.is_empty() {
        return;
    }
    let names = find_names(&linked, cwd, home, steps);
    for access in std::mem::take(&mut facts.accesses) {
        let file = accessed_file(&access).and_then(linked_file);
        match (&names, file) {
            (None, Some(_)) => facts.accesses.extend(opaque_access(&access)),
            (Some(names), Some(file)) => {
                let others = names.iter().filter(|(id, _)| *id == file);
                let added: Vec<_> =
                    others.filter_map(|(_, name)| renamed_access(&access, name)).collect();
                facts.accesses.push(access);
                facts.accesses.extend(added);
            }
            (_, None) => facts.accesses.push(access),
        }
    }
}

/// Returns the path whose contents an access reads or changes.
fn accessed_file(access: &Access) -> Option<&PathAccess> {
    if let Access::Read(path) | Access::Edit(path) = access {
        Some(path).filter(|path| path.route != AccessRoute::Metadata)
    } else {
        None
    }
}

/// Returns the identity of a file that has several names.
fn linked_file(path: &PathAccess) -> Option<FileId> {
    let real = path.resolved.as_ref().unwrap_or(&path.path);
    let found = fs::symlink_metadata(real.as_str()).ok()?;
    (found.is_file() && found.nlink() > 1).then(|| (found.dev(), found.ino()))
}

fn renamed_access(access: &Access, name: &AbsPath) -> Option<Access> {
    let renamed = |path: &PathAccess| {
        let is_new = path.paths().all(|known| known != name);
        is_new.then(|| PathAccess {
            route: path.route,
            span: path.span,
            ..PathAccess::new(name.clone())
        })
    };
    if let Access::Read(path) = access {
        renamed(path).map(Access::Read)
    } else if let Access::Edit(path) = access {
        renamed(path).map(Access::Edit)
    } else {
        None
    }
}

/// Returns an access that no rule allows, for a file whose other names could not be found.
fn opaque_access(access: &Access) -> Option<Access> {
    let path = accessed_file(access)?;
    let text = format!("{}: too many files to find its other names", path.path);
    Some(Access::Opaque { text, span: path.span })
}

/// Returns all names of these files in the project and among the known files of the home directory.
/// Returns `None` if there are too many entries.
fn find_names(
    files: &HashSet<FileId>,
    cwd: &AbsPath,
    home: Option<&AbsPath>,
    steps: &StepBudget,
) -> Option<BTreeSet<(FileId, AbsPath)>> {
    let mut search = NameSearch { files, names: BTreeSet::new(), entries: 0 };
    let homes: Vec<AbsPath> = home.cloned().into_iter().collect();
    let user = HomeDirectories { homes, relocated: Vec::new() };
    let secrets = hidden_secret_paths(&user, None);
    for path in secrets.iter().chain(&user.protected_paths()) {
        steps.take_steps(2).then_some(())?;
        search.compare(Path::new(path.as_str()));
    }
    let mut open: Vec<_> = secrets.iter().map(|path| PathBuf::from(path.as_str())).collect();
    open.push(project_directory(Path::new(cwd.as_str())));
    while let Some(directory) = open.pop() {
        let Ok(entries) = fs::read_dir(&directory) else { continue };
        steps.take_directory().then_some(())?;
        for entry in entries.filter_map(Result::ok) {
            search.entries += 1;
            (search.entries <= MAX_ENTRIES && steps.take_steps(1)).then_some(())?;
            let Ok(kind) = entry.file_type() else { continue };
            let is_skipped =
                entry.file_name().to_str().is_some_and(|name| SKIPPED_DIRECTORIES.contains(&name));
            if kind.is_dir() && !is_skipped {
                open.push(entry.path());
            } else if kind.is_file() && files.iter().any(|(_, number)| *number == entry.ino()) {
                search.compare(&entry.path());
            }
        }
        (search.names.len() <= MAX_NAMES).then_some(())?;
    }
    Some(search.names)
}

/// The names that a search has found.
struct NameSearch<'a> {
    files: &'a HashSet<FileId>,
    names: BTreeSet<(FileId, AbsPath)>,
    entries: usize,
}

impl NameSearch<'_> {
    /// Adds a path if it is a name of one of the files.
    fn compare(&mut self, path: &Path) {
        let Ok(found) = fs::symlink_metadata(path) else { return };
        let id = (found.dev(), found.ino());
        let name = path.to_str().and_then(|text| AbsPath::new(text).ok());
        if found.is_file()
            && self.files.contains(&id)
            && let Some(name) = name
        {
            self.names.insert((id, name));
        }
    }
}

/// Returns the directory of the repository that contains a directory, or else the directory itself.
fn project_directory(cwd: &Path) -> PathBuf {
    let repository = cwd.ancestors().find(|above| above.join(".git").symlink_metadata().is_ok());
    repository.unwrap_or(cwd).to_path_buf()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the paths that reading `name` accesses, below the root.
    fn names_read(root: &Path, name: &str) -> Vec<String> {
        let path = |name: &str| AbsPath::new(root.join(name).to_str().unwrap()).unwrap();
        let mut facts = OperationFacts {
            accesses: vec![Access::Read(PathAccess::new(path(name)))],
            findings: Vec::new(),
        };
        add_other_names(&mut facts, &path("p"), Some(&path("home")), &StepBudget::new());
        let below = |access: &Access| access.summary().replace(path("").as_str(), "");
        facts.accesses.iter().map(below).collect()
    }

    #[test]
    fn a_file_has_all_its_names_of_the_project_and_of_known_files_at_home() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for (file, link) in [
            ("home/.ssh/id_rsa", "p/a"),
            ("home/.aws/credentials", "p/sub/b"),
            ("home/.netrc", "p/c"),
            ("home/.bashrc", "p/d"),
            ("home/notes", "p/e"),
            ("p/.env", "p/sub/deep/f"),
            ("p/node_modules/x.js", "p/g"),
        ] {
            for name in [file, link] {
                fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            }
            fs::write(root.join(file), "x").unwrap();
            fs::hard_link(root.join(file), root.join(link)).unwrap();
        }
        fs::write(root.join("p/single"), "x").unwrap();
        for (name, other) in [
            ("p/a", Some("/home/.ssh/id_rsa")),
            ("p/sub/b", Some("/home/.aws/credentials")),
            ("p/c", Some("/home/.netrc")),
            ("p/d", Some("/home/.bashrc")),
            ("p/e", None),
            ("p/sub/deep/f", Some("/p/.env")),
            ("p/.env", Some("/p/sub/deep/f")),
            ("p/g", None),
            ("p/single", None),
            ("p/missing", None),
        ] {
            let own = format!("/{name}");
            let expected: Vec<_> = std::iter::once(own).chain(other.map(str::to_owned)).collect();
            assert_eq!(names_read(&root, name), expected, "{name}");
        }
    }

    #[test]
    fn a_name_that_could_not_be_searched_for_is_not_understood() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("p/many")).unwrap();
        fs::write(root.join("p/a"), "x").unwrap();
        fs::hard_link(root.join("p/a"), root.join("p/b")).unwrap();
        for number in 0..MAX_ENTRIES {
            fs::write(root.join(format!("p/many/{number}")), "").unwrap();
        }
        assert_eq!(names_read(&root, "p/a"), ["/p/a: too many files to find its other names"]);
    }
}
