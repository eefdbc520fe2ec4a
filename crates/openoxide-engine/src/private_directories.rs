//! The directories of tools that a confined run may change without changing the real ones.

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
};

use openoxide_protocol::{AbsPath, Decision, SandboxRestrictions};
use openoxide_sandbox::PrivateDirectory;

use crate::{
    private_temp::{edited_path, edited_paths, explicitly_granted},
    sandbox_profile::canonicalize_existing,
    tool_directories::{ALWAYS, Storage, TOOL_DIRECTORIES, ToolDirectory},
};

/// Returns the directories of tools whose changes are private to the run or to the project. A
/// directory comes before the ones below it.
///
/// Directories that `profile` makes writable or hides are left out: there, it decides. Directories
/// in which a person or a rule allows new files by name are left out, too, because a private change
/// would be lost. A mode allows every name, and what it allows stays private.
#[must_use]
pub fn private_directories(
    profile: &SandboxRestrictions,
    home: Option<&AbsPath>,
    decision: Option<&Decision>,
) -> Vec<PrivateDirectory> {
    let Some(home) = home.and_then(canonicalize_existing) else { return Vec::new() };
    let mut found = existing_and_needed(&home);
    add_program_directories(&mut found);
    let granted: Vec<_> = decision.into_iter().flat_map(new_files).collect();
    found.retain(|path, _| is_private(path, profile, &home, &granted));
    without_redundant(&found)
}

/// Returns the files that the decision creates by name in private directories. They do not exist
/// outside of the sandbox.
#[must_use]
pub fn private_new_files(
    decision: &Decision,
    profile: &SandboxRestrictions,
    home: Option<&AbsPath>,
) -> BTreeSet<AbsPath> {
    let is_new = |path: &AbsPath| {
        home.is_some_and(|home| path.strip_prefix(home).is_some())
            && !profile.writable.iter().any(|root| path.strip_prefix(root).is_some())
            && canonicalize_existing(path).is_none()
    };
    let mut files: BTreeSet<_> = edited_paths(decision).filter(is_new).collect();
    if !files.is_empty() {
        let private = private_directories(profile, home, Some(decision));
        files.retain(|file| private.iter().any(|one| file.strip_prefix(&one.path).is_some()));
    }
    files
}

/// Returns the directory whose runs share changes: the outermost writable directory around the
/// working directory.
#[must_use]
pub fn project_directory(profile: &SandboxRestrictions, cwd: &AbsPath) -> Option<AbsPath> {
    // An ancestor is sorted before its descendants.
    profile.writable.iter().find(|root| cwd.strip_prefix(root).is_some()).cloned()
}

/// Returns the rows that apply: those that exist, and those whose tool is installed.
fn existing_and_needed(home: &AbsPath) -> BTreeMap<AbsPath, Storage> {
    let mut found = BTreeMap::new();
    let mut programs = ProgramSearch::default();
    let mut resolver = PathResolver { home, known: [(home.clone(), Place::Existing)].into() };
    for row in TOOL_DIRECTORIES {
        let Some(path) = place(row, home) else { continue };
        match resolver.resolve(&path) {
            Some((path, Place::Existing)) => insert(&mut found, path, row.storage),
            Some((path, Place::Missing { first })) if programs.is_any_installed(row.programs) => {
                // The first missing directory is created, and the rest inside it.
                if first != path {
                    insert(&mut found, first, Storage::Memory);
                }
                insert(&mut found, path, row.storage);
            }
            Some((_, Place::Missing { .. })) | None => {}
        }
    }
    found
}

/// Inserts a directory. Two rows can lead to one directory, of which the stricter one counts.
fn insert(found: &mut BTreeMap<AbsPath, Storage>, path: AbsPath, storage: Storage) {
    let known = found.entry(path).or_insert(storage);
    if storage == Storage::Memory {
        *known = storage;
    }
}

/// Returns the path of a row: the one that its variable names, or the usual one.
fn place(row: &ToolDirectory, home: &AbsPath) -> Option<AbsPath> {
    let usual = || Some(home.join(row.path));
    let Some((name, below)) = row.variable else { return usual() };
    let Some(value) = env::var_os(name).filter(|value| !value.is_empty()) else { return usual() };
    let named = AbsPath::new(value.to_str()?).ok()?;
    Some(if below.is_empty() { named } else { named.join(below) })
}

/// A directory, according to the file system.
#[derive(Clone)]
enum Place {
    Existing,
    /// It is missing and below the home directory.
    Missing {
        /// The first missing directory of its path.
        first: AbsPath,
    },
}

/// Resolves the links of paths that have directories in common.
struct PathResolver<'a> {
    home: &'a AbsPath,
    /// The directories that were resolved before.
    known: BTreeMap<AbsPath, Place>,
}

impl PathResolver<'_> {
    /// Returns a path with links resolved. A link that leads nowhere and a missing path outside of
    /// the home directory have no place.
    fn resolve(&mut self, path: &AbsPath) -> Option<(AbsPath, Place)> {
        if let Some(place) = self.known.get(path) {
            return Some((path.clone(), place.clone()));
        }
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Some((path.clone(), Place::Existing));
        };
        let (parent, place) = self.resolve(&parent)?;
        let path = parent.join(name);
        let place = match place {
            Place::Existing => match fs::symlink_metadata(path.as_str()) {
                Ok(found) if found.is_dir() => Place::Existing,
                Ok(_) => return Some((canonicalize_existing(&path)?, Place::Existing)),
                Err(_) => {
                    path.strip_prefix(self.home)?;
                    Place::Missing { first: path.clone() }
                }
            },
            missing @ Place::Missing { .. } => missing,
        };
        self.known.insert(path.clone(), place.clone());
        Some((path, place))
    }
}

/// Adds the directories of `PATH` that are inside persistent ones. The programs that a run creates
/// there must not be found by later runs.
fn add_program_directories(found: &mut BTreeMap<AbsPath, Storage>) {
    let path = env::var_os("PATH").unwrap_or_default();
    for directory in env::split_paths(&path) {
        let Some(directory) = directory.to_str().and_then(|text| AbsPath::new(text).ok()) else {
            continue;
        };
        let directory = canonicalize_existing(&directory).unwrap_or(directory);
        // The last one is the closest one.
        let above = found.iter().rfind(|(path, _)| directory.strip_prefix(path).is_some());
        if above.is_some_and(|(_, storage)| *storage == Storage::Project) {
            found.insert(directory, Storage::Memory);
        }
    }
}

fn is_private(
    path: &AbsPath,
    profile: &SandboxRestrictions,
    home: &AbsPath,
    granted: &[AbsPath],
) -> bool {
    let is_within = |of: &BTreeSet<AbsPath>| of.iter().any(|one| path.strip_prefix(one).is_some());
    let contains = |other: &AbsPath| other.strip_prefix(path).is_some();
    !is_within(&profile.writable)
        && !is_within(&profile.unreadable)
        && !contains(home)
        && !granted.iter().any(contains)
}

/// Returns the files that a person or a rule allows to be created by name.
fn new_files(decision: &Decision) -> impl Iterator<Item = AbsPath> {
    let edited = explicitly_granted(decision).filter_map(edited_path);
    edited.filter(|path| canonicalize_existing(path).is_none())
}

/// Leaves out directories inside another one with the same storage.
fn without_redundant(found: &BTreeMap<AbsPath, Storage>) -> Vec<PrivateDirectory> {
    let closest = |path: &AbsPath| {
        found.iter().rfind(|(other, _)| *other != path && path.strip_prefix(other).is_some())
    };
    let needed = found
        .iter()
        .filter(|(path, storage)| closest(path).is_none_or(|(_, above)| above != *storage));
    needed
        .map(|(path, storage)| PrivateDirectory {
            path: path.clone(),
            is_persistent: *storage == Storage::Project,
        })
        .collect()
}

/// The installed programs, looked up in `PATH` once for each name.
#[derive(Default)]
struct ProgramSearch(BTreeMap<&'static str, bool>);

impl ProgramSearch {
    fn is_any_installed(&mut self, names: &'static [&'static str]) -> bool {
        names == ALWAYS
            || names.iter().any(|name| *self.0.entry(name).or_insert_with(|| is_installed(name)))
    }
}

fn is_installed(name: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .any(|directory| directory.is_absolute() && directory.join(name).is_file())
}
