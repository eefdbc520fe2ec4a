//! After a run: what lies in the writable directories now that a program of the host would run by itself.

mod todo;

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fs,
    io::ErrorKind,
    os::unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
    path::{Path, PathBuf},
};

use openoxide_protocol::Confined;

use crate::{
    Found, Guarded, SUFFIX,
    git_config::{self, Setting, levels},
    protect::{
        FOR_A_WARNING, Opened, Sight, Source, Stamp, Walk, common, holds_objects, hooks_elsewhere,
        leads_to, outermost, said, stamp_of,
    },
};

/// How many hooks are put aside one by one; where there are more, their directory is.
const HOOKS: usize = 100;

/// Files, and which state each was in.
type Stamps = BTreeMap<PathBuf, Stamp>;

/// What was found after a run, all of it.
#[derive(Debug, Default)]
pub(crate) struct Armed {
    /// What `git` would run, or take commands from. It is put aside.
    pub(crate) hooks: BTreeSet<PathBuf>,
    /// Other steering files that are new, and new programs that configuration names. They are put aside.
    pub(crate) steering: BTreeSet<PathBuf>,
    /// Directories that were not searched.
    pub(crate) unsearched: Vec<PathBuf>,
}

/// Says what a person should look at after a run: hooks and configuration of repositories that were not there before,
/// `.git` files that lead elsewhere, commands that a rebase has yet to run, other steering files that are new, and programs
/// that are new and that configuration names. What was there before is guarded and so is as it was. Samples of hooks run
/// nothing, nor does configuration that only says how `git` stores.
pub(crate) fn armed(guarded: &Guarded, profile: &Confined, opened: &Opened) -> Armed {
    let roots = outermost(&profile.writable);
    let left_out = |path: &Path| guarded.guards.contains_key(path);
    let mut sight = Sight::of(&roots, &left_out, &|path| opened.open(path));
    let mut hooks = BTreeSet::new();
    let mut open: BTreeSet<_> = sight.repositories.into_iter().collect();
    for path in sight.named_git.iter().filter(|path| !guarded.holds(path)) {
        follow(path, &roots, &mut open, &mut hooks);
    }
    let levels = levels::of_every_repository();
    open.iter().for_each(|directory| arm(directory, &levels, Moment::After, &mut hooks));
    // What was known before is looked at, even where there is too much now to get there.
    sight.todo.extend(again(&guarded.todo));
    hooks.extend(changed(sight.todo, &guarded.todo).filter(|path| todo::runs_something(path)));
    let below = |path: &PathBuf| roots.iter().any(|root| path.starts_with(root) && path != root);
    let programs = guarded.sources.iter().flat_map(Source::programs).filter(below);
    let steering = sight.steering.into_keys().chain(programs);
    let is_new = |path: &PathBuf| !guarded.holds(path) && !guarded.changeable.contains(path);
    let steering = steering.filter(|path| is_new(path) && !hooks.contains(path)).collect();
    hooks.retain(|path| !guarded.holds(path));
    Armed { hooks, steering, unsearched: sight.unsearched }
}

/// When a repository is looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// While somebody may be making it: configuration that cannot be read runs nothing yet, and a worktree may be made next.
    During,
    After,
}

impl Moment {
    fn is_harmless(self, settings: Option<&[Setting]>, directory: &Path) -> bool {
        let during = self == Self::During;
        let harmless =
            |one: &Setting| one.harmless(directory) || during && one.name() == "core.worktree";
        settings.map_or(during, |all| all.iter().all(harmless))
    }
}

/// What makes `git` run something in some directories.
#[derive(Debug, Default)]
pub(crate) struct ArmedRepositories {
    pub(crate) hooks: BTreeSet<PathBuf>,
    /// The git directories that are not guarded.
    pub(crate) repositories: BTreeSet<PathBuf>,
}

/// Says what in these directories, and not below them, makes `git` run something and was not there before the run.
pub(crate) fn armed_at(
    directories: Vec<PathBuf>,
    guarded: &Guarded,
    roots: &[PathBuf],
) -> ArmedRepositories {
    let sight = Sight::of_repositories_in(directories);
    let mut hooks = BTreeSet::new();
    let mut open: BTreeSet<_> = sight.repositories.into_iter().collect();
    // What leads outside, or nowhere yet, may be half made.
    let mut leading = BTreeSet::new();
    for path in sight.named_git.iter().filter(|path| !guarded.holds(path)) {
        follow(path, roots, &mut open, &mut leading);
    }
    open.retain(|directory| !guarded.holds(&directory.join("config")));
    let levels = levels::of_every_repository();
    open.iter().for_each(|directory| arm(directory, &levels, Moment::During, &mut hooks));
    hooks.retain(|path| !guarded.holds(path));
    ArmedRepositories { hooks, repositories: open }
}

fn again(known: &Stamps) -> Stamps {
    known.keys().filter_map(|path| Some((path.clone(), stamp_of(path)?))).collect()
}

fn changed(now: Stamps, before: &Stamps) -> impl Iterator<Item = PathBuf> {
    now.into_iter().filter(|(path, stamp)| before.get(path) != Some(stamp)).map(|(path, _)| path)
}

/// A `.git` that is not a directory leads to one: inside, that is looked at; outside, the leading itself is the matter. What
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

/// Adds what in a git directory makes `git` run something, and in the directories where configuration of the user or the
/// system has `git` look for hooks.
fn arm(directory: &Path, levels: &[Setting], moment: Moment, armed: &mut BTreeSet<PathBuf>) {
    if leads_astray(directory) {
        armed.insert(directory.join("commondir"));
    }
    for name in ["config", "config.worktree"] {
        let settings = git_config::read(&directory.join(name));
        if !moment.is_harmless(settings.as_deref(), directory) {
            armed.insert(directory.join(name));
        }
    }
    let elsewhere = hooks_elsewhere(directory, levels.iter());
    for hooks in elsewhere.into_iter().chain([directory.join("hooks")]) {
        arm_hooks(hooks, armed);
    }
}

fn arm_hooks(hooks: PathBuf, armed: &mut BTreeSet<PathBuf>) {
    if hooks.symlink_metadata().is_ok_and(|found| found.is_symlink()) {
        armed.insert(hooks);
        return;
    }
    match fs::read_dir(&hooks) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        // `git` runs hooks in a directory that cannot be listed, too.
        Err(_) => drop(armed.insert(hooks)),
        Ok(files) => {
            let running: Vec<_> = files.flatten().filter(runs).take(HOOKS + 1).collect();
            let too_many = running.len() > HOOKS;
            armed.extend(running.iter().filter(|_| !too_many).map(fs::DirEntry::path));
            armed.extend(too_many.then_some(hooks));
        }
    }
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

/// Returns files in the writable directories that have another name outside (a hard link), so that writing them writes
/// the other, too. It looks at each file once: meant for a thread beside the program. Objects of repositories are left out;
/// they are what `git clone` links, and nobody writes them twice.
#[must_use]
pub fn hard_links(guarded: &Guarded, profile: &Confined) -> Vec<Found> {
    let mut linked: BTreeMap<(u64, u64), (u64, PathBuf)> = BTreeMap::new();
    let walk = Walk {
        asked: &|_| true,
        skipped: &|path| guarded.guards.contains_key(path) || holds_objects(path),
        open: &|_| false,
        limit: FOR_A_WARNING,
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
    outside.filter_map(|(_, path)| Some(Found::HardLink { path: said(&path)? })).collect()
}

#[cfg(test)]
mod tests;
