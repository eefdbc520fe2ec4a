//! After a run: what lies in the writable directories now that a program of the host would run by itself.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
    path::{Path, PathBuf},
};

use openoxide_protocol::{AbsPath, Confined};

use crate::{
    Found, Guarded, git_config,
    protect::{Sight, Walk, common, holds_objects, leads_to, outermost, unsearched_at},
    quarantine::SUFFIX,
};

/// How many things are named. A person who is shown more reads none of them.
const NAMED: usize = 100;

/// How many files a directory of hooks may have.
const HOOKS: usize = 1000;

/// Says what a person should look at after a run: hooks and configuration of repositories that were not there before,
/// `.git` files that lead elsewhere, and settings of agents that are new or were changed. What was there before is
/// guarded and so is as it was. Samples of hooks run nothing, nor does configuration that only says how `git` stores.
#[must_use]
pub fn found(guarded: &Guarded, profile: &Confined) -> Vec<Found> {
    let roots = outermost(&profile.writable);
    let sight = Sight::of(&roots, &|path| guarded.guards.contains_key(path));
    let mut armed = BTreeSet::new();
    let mut open: BTreeSet<_> = sight.repositories.into_iter().collect();
    for path in sight.named_git.iter().filter(|path| !guarded.holds(path)) {
        follow(path, &roots, &mut open, &mut armed);
    }
    open.iter().for_each(|directory| arm(directory, &mut armed));
    armed.retain(|path| !guarded.holds(path));
    let changed =
        sight.settings.iter().filter(|(path, stamp)| guarded.settings.get(*path) != Some(stamp));
    let hooks = armed
        .iter()
        .filter_map(|path| said(path, |path| Found::RepositoryHook { path, held: None }));
    let settings = changed.filter_map(|(path, _)| said(path, |path| Found::AgentSettings { path }));
    let unsearched = sight.unsearched.iter().filter_map(|path| unsearched_at(path));
    hooks.chain(settings).chain(unsearched).take(NAMED).collect()
}

/// A `.git` that is no directory leads to one: inside, that is looked at; outside, the leading itself is the matter. What
/// leads nowhere yet may lead somewhere tomorrow; a file that names nothing leads nowhere ever.
fn follow(
    path: &Path,
    roots: &[PathBuf],
    open: &mut BTreeSet<PathBuf>,
    armed: &mut BTreeSet<PathBuf>,
) {
    let Ok(kind) = path.symlink_metadata() else { return };
    let end = match leads_to(path) {
        Some(end) => end,
        None if kind.is_symlink() => path.to_owned(),
        None => return,
    };
    match end.canonicalize().ok().filter(|end| roots.iter().any(|root| end.starts_with(root))) {
        Some(end) => open.insert(end),
        None => armed.insert(path.to_owned()),
    };
}

/// Adds what in a git directory makes `git` run something.
fn arm(directory: &Path, armed: &mut BTreeSet<PathBuf>) {
    if leads_astray(directory) {
        armed.insert(directory.join("commondir"));
    }
    for name in ["config", "config.worktree"] {
        let settings = git_config::read(&directory.join(name));
        if !settings.is_some_and(|all| all.iter().all(|one| one.harmless(directory))) {
            armed.insert(directory.join(name));
        }
    }
    let hooks = directory.join("hooks");
    if hooks.symlink_metadata().is_ok_and(|found| found.is_symlink()) {
        armed.insert(hooks);
        return;
    }
    let files = fs::read_dir(&hooks).into_iter().flatten().flatten();
    armed.extend(files.filter(runs).map(|file| file.path()).take(HOOKS));
}

/// Hooks and configuration are the main repository's only in the directory of a linked worktree.
fn leads_astray(directory: &Path) -> bool {
    let Some(common) = common(directory) else {
        return directory.join("commondir").symlink_metadata().is_ok();
    };
    let main =
        directory.parent().filter(|above| above.file_name() == Some(OsStr::new("worktrees")));
    let main = main.and_then(Path::parent).and_then(|main| main.canonicalize().ok());
    main.is_none() || common.canonicalize().ok() != main
}

/// `git` runs a hook that is executable; its name has no ending (githooks(5)).
fn runs(file: &fs::DirEntry) -> bool {
    let name = file.file_name();
    let name = name.as_bytes();
    let passive = name.ends_with(b".sample")
        || name.windows(SUFFIX.len()).any(|part| part == SUFFIX.as_bytes());
    !passive
        && file.metadata().map_or(true, |found| found.is_symlink() || found.mode() & 0o111 != 0)
}

/// What cannot be said exactly is said to be unsearched.
fn said(path: &Path, found: impl FnOnce(AbsPath) -> Found) -> Option<Found> {
    match path.to_str().and_then(|path| AbsPath::new(path).ok()) {
        Some(path) => Some(found(path)),
        None => unsearched_at(path),
    }
}

/// Returns files in the writable directories that have another name outside (a hard link), so that writing them writes
/// the other, too. It looks at each file once: meant for a thread beside the program. Objects of repositories are left out;
/// they are what `git clone` links, and nobody writes them twice.
#[must_use]
pub fn hard_links(guarded: &Guarded, profile: &Confined) -> Vec<Found> {
    let mut linked: BTreeMap<(u64, u64), (u64, PathBuf)> = BTreeMap::new();
    let walk = Walk {
        asked: &|_| true,
        skipped: &|path| guarded.guards.contains_key(path) || holds_objects(path),
    };
    let _unsearched = walk.go(outermost(&profile.writable), |listing| {
        for path in listing.names.iter().map(|name| listing.path.join(name)) {
            let Ok(found) = path.symlink_metadata() else { continue };
            if found.is_file() && found.nlink() > 1 && !guarded.guards.contains_key(&path) {
                linked.entry((found.dev(), found.ino())).or_insert((found.nlink(), path)).0 -= 1;
            }
        }
    });
    let outside = linked.into_values().filter(|(others, _)| *others > 0);
    outside
        .filter_map(|(_, path)| said(&path, |path| Found::HardLink { path }))
        .take(NAMED)
        .collect()
}

#[cfg(test)]
mod tests;
