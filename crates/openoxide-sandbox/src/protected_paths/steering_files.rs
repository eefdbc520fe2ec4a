//! The steering files that the sandbox protects, from the common list, in a form for the traversal
//! of directories.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::{OsStr, OsString},
    fs,
    hash::{Hash as _, Hasher},
    path::PathBuf,
    sync::OnceLock,
};

use openoxide_protocol::steering_files::{
    SteeringCategory, SteeringEffect, SteeringLocation, all_steering_files,
};

use crate::protected_paths::{
    directory_walk::DirectoryListing, quarantine_suffix::QUARANTINE_SUFFIX,
};

/// Directories that other tools fill with whole packages. They are not searched for files that
/// configure agents and editors, because an installed package is not opened as a project.
pub(super) const PACKAGE_DIRECTORIES: &[&str] = &["node_modules", "site-packages", "dist-packages"];

/// Repositories, which contain data in addition to steering files. Only the steering files in them
/// are protected. `git` has a separate module (`repository`).
const REPOSITORIES: &[&str] = &[
    ".git/",
    ".gitmodules",
    ".hg/",
    ".hgsub",
    ".hgsubstate",
    ".jj/",
    ".svn/",
    ".bzr/",
    "_darcs/",
    ".pijul/",
    ".sl/",
    ".fslckout",
    "_FOSSIL_",
];

/// The steering files of these repositories: hgrc(5), `jj help config`, `bzr help configuration`,
/// `darcs help defaults`, Sapling and Pijul.
const REPOSITORY_SETTINGS: &[&str] = &[
    ".hg/hgrc",
    ".hg/hgrc-not-shared",
    ".hg/sharedpath",
    ".jj/repo/config.toml",
    ".jj/repo/workspace-config.toml",
    ".jj/workspace-config.toml",
    ".bzr/branch/branch.conf",
    ".bzr/branch/location",
    "_darcs/prefs/defaults",
    "_darcs/prefs/prefs",
    ".pijul/config",
    ".sl/config",
    ".sl/sharedpath",
];

/// A steering file that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SteeringMatch {
    /// True if programs of the host run the file or the programs that it names; false if they only
    /// follow its instructions.
    pub(crate) is_executed: bool,
    /// The directory that it steers.
    pub(crate) base_directory: PathBuf,
}

struct SteeringPattern {
    components: Vec<&'static str>,
    is_executed: bool,
}

/// The rows by the first component of their patterns, in lower case, and the rows that begin with a
/// wildcard.
struct SteeringTable {
    by_first_name: BTreeMap<String, Vec<SteeringPattern>>,
    wildcard_patterns: Vec<SteeringPattern>,
}

fn steering_table() -> &'static SteeringTable {
    static ROWS: OnceLock<SteeringTable> = OnceLock::new();
    ROWS.get_or_init(SteeringTable::new)
}

impl SteeringTable {
    fn new() -> Self {
        let mut rows = Self { by_first_name: BTreeMap::new(), wildcard_patterns: Vec::new() };
        for file in all_steering_files().filter(|file| file.is_protected) {
            let elsewhere = matches!(
                file.category,
                SteeringCategory::System | SteeringCategory::ContinuousIntegration
            );
            if let SteeringLocation::Anywhere(pattern) = file.location
                && !elsewhere
                && !REPOSITORIES.contains(&pattern)
            {
                rows.insert(pattern, file.effect == SteeringEffect::Executes);
            }
        }
        REPOSITORY_SETTINGS.iter().for_each(|pattern| rows.insert(pattern, true));
        rows
    }

    fn insert(&mut self, pattern: &'static str, executes: bool) {
        let components: Vec<_> = pattern.split('/').filter(|part| !part.is_empty()).collect();
        let Some(first) = components.first() else { return };
        let key = first.to_ascii_lowercase();
        let row = SteeringPattern { components, is_executed: executes };
        if key.contains('*') {
            self.wildcard_patterns.push(row);
        } else {
            self.by_first_name.entry(key).or_default().push(row);
        }
    }

    /// Returns the rows whose patterns begin with this name.
    fn find_by_name<'a>(&'a self, name: &'a OsStr) -> impl Iterator<Item = &'a SteeringPattern> {
        let text = name.to_str().unwrap_or_default();
        let named = self.by_first_name.get(&text.to_ascii_lowercase()).into_iter().flatten();
        let is_first = |row: &&SteeringPattern| {
            row.components.first().is_some_and(|one| matches_component(one, text))
        };
        named.chain(self.wildcard_patterns.iter().filter(move |row| is_first(row)))
    }
}

/// Returns whether a name can be the beginning of a steering file's path. Quarantined files have no
/// effect and do not match.
pub(super) fn is_steering_name(name: &OsStr) -> bool {
    !is_quarantined(name) && steering_table().find_by_name(name).next().is_some()
}

/// Adds the names that [`is_steering_name`] accepts to a hash.
pub(super) fn hash_steering_names(hasher: &mut impl Hasher) {
    let table = steering_table();
    table.by_first_name.keys().for_each(|name| name.hash(hasher));
    let first_names = table.wildcard_patterns.iter().map(|pattern| pattern.components.first());
    first_names.for_each(|name| name.hash(hasher));
    QUARANTINE_SUFFIX.hash(hasher);
}

/// Returns the steering files in a directory.
pub(super) fn find_steering_files(
    listing: &DirectoryListing<'_>,
) -> BTreeMap<PathBuf, SteeringMatch> {
    let mut found: BTreeMap<PathBuf, SteeringMatch> = BTreeMap::new();
    if listing
        .path
        .components()
        .any(|part| PACKAGE_DIRECTORIES.iter().any(|name| part.as_os_str() == *name))
    {
        return found;
    }
    for name in &listing.names {
        for row in steering_table().find_by_name(name) {
            for path in
                expand_pattern(listing.path.join(name), row.components.get(1..).unwrap_or_default())
            {
                let base = listing.path.to_owned();
                let new = SteeringMatch { is_executed: row.is_executed, base_directory: base };
                found.entry(path).or_insert(new).is_executed |= row.is_executed;
            }
        }
    }
    // A file inside a directory that is itself a steering file is covered by that directory.
    let whole: BTreeSet<_> = found.keys().cloned().collect();
    found.retain(|path, _| !path.ancestors().skip(1).any(|above| whole.contains(above)));
    found
}

pub(super) fn is_quarantined(name: &OsStr) -> bool {
    let text = name.to_str().unwrap_or_default();
    let number = |tail: &str| {
        let number = tail.strip_prefix('.').unwrap_or("x");
        tail.is_empty() || number.bytes().all(|byte| byte.is_ascii_digit())
    };
    text.rsplit_once(QUARANTINE_SUFFIX).is_some_and(|(_, tail)| number(tail))
}

/// Returns the paths below this one that match the remaining components of a pattern.
fn expand_pattern(path: PathBuf, components: &[&str]) -> Vec<PathBuf> {
    let Some((first, rest)) = components.split_first() else {
        return if path.symlink_metadata().is_ok() { vec![path] } else { Vec::new() };
    };
    if !first.contains('*') {
        return expand_pattern(path.join(first), rest);
    }
    let names = fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let matching = names
        .filter(|name: &OsString| name.to_str().is_some_and(|name| matches_component(first, name)));
    matching.flat_map(|name| expand_pattern(path.join(name), rest)).collect()
}

/// Returns whether a name matches a component of a pattern. A component contains at most one `*`.
pub(super) fn matches_component(pattern: &str, name: &str) -> bool {
    let Some((head, tail)) = pattern.split_once('*') else {
        return pattern.eq_ignore_ascii_case(name);
    };
    let same = |part: Option<&str>, wanted: &str| {
        part.is_some_and(|part| part.eq_ignore_ascii_case(wanted))
    };
    name.len() >= head.len() + tail.len()
        && same(name.get(..head.len()), head)
        && same(name.get(name.len() - tail.len()..), tail)
}
