//! After a run: what lies in the writable directories now that a program of the host would run by itself.

mod rebase_todo;

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fs,
    io::ErrorKind,
    os::unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
    path::{Path, PathBuf},
};

use openoxide_protocol::SandboxRestrictions;

use crate::{
    PostRunFinding, ProtectedPaths, QUARANTINE_SUFFIX,
    git_config::{self, GitSetting, config_levels},
    protected_paths::{
        DirectoryWalk, FileStamp, ProgramSource, ScanResult, TemporaryPermissions,
        WARNING_SCAN_LIMIT, common_directory, find_external_hooks, is_object_directory,
        outermost_roots, read_gitdir_link, read_stamp, to_display_path,
    },
};

/// How many hooks are put aside one by one; where there are more, their directory is.
const MAX_HOOKS: usize = 100;

/// Files, and which state each was in.
type FileStamps = BTreeMap<PathBuf, FileStamp>;

/// What was found after a run, all of it.
#[derive(Debug, Default)]
pub(crate) struct NewSteeringFiles {
    /// What `git` would run, or take commands from. It is put aside.
    pub(crate) hooks: BTreeSet<PathBuf>,
    /// Other steering files that are new, and new programs that configuration names. They are put aside.
    pub(crate) steering_files: BTreeSet<PathBuf>,
    /// Directories that were not searched.
    pub(crate) unsearched_directories: Vec<PathBuf>,
}

/// Says what a person should look at after a run: hooks and configuration of repositories that were not there before,
/// `.git` files that lead elsewhere, commands that a rebase has yet to run, other steering files that are new, and programs
/// that are new and that configuration names. What was there before is guarded and so is as it was. Samples of hooks run
/// nothing, nor does configuration that only says how `git` stores.
pub(crate) fn find_new_steering_files(
    guarded: &ProtectedPaths,
    profile: &SandboxRestrictions,
    opened: &TemporaryPermissions,
) -> NewSteeringFiles {
    let roots = outermost_roots(&profile.writable);
    let left_out = |path: &Path| guarded.guards.contains_key(path);
    let mut sight = ScanResult::scan(&roots, &left_out, &|path| opened.make_accessible(path));
    let mut hooks = BTreeSet::new();
    let mut open: BTreeSet<_> = sight.repositories.into_iter().collect();
    for path in sight.dot_git_entries.iter().filter(|path| !guarded.contains(path)) {
        follow_gitdir_link(path, &roots, &mut open, &mut hooks);
    }
    let levels = config_levels::read_global_settings();
    open.iter().for_each(|directory| {
        collect_hooks_and_config(directory, &levels, ScanPhase::After, &mut hooks);
    });
    // What was known before is looked at, even where there is too much now to get there.
    sight.rebase_todos.extend(refresh_stamps(&guarded.rebase_todos));
    hooks.extend(
        changed_paths(sight.rebase_todos, &guarded.rebase_todos)
            .filter(|path| rebase_todo::has_exec_line(path)),
    );
    let below = |path: &PathBuf| roots.iter().any(|root| path.starts_with(root) && path != root);
    let programs =
        guarded.program_sources.iter().flat_map(ProgramSource::find_programs).filter(below);
    let steering = sight.steering_files.into_keys().chain(programs);
    let is_new =
        |path: &PathBuf| !guarded.contains(path) && !guarded.changeable_paths.contains(path);
    let steering = steering.filter(|path| is_new(path) && !hooks.contains(path)).collect();
    hooks.retain(|path| !guarded.contains(path));
    NewSteeringFiles {
        hooks,
        steering_files: steering,
        unsearched_directories: sight.unsearched_directories,
    }
}

/// When a repository is looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ScanPhase {
    /// While somebody may be making it: configuration that cannot be read runs nothing yet, and a worktree may be made next.
    During,
    After,
}

impl ScanPhase {
    fn is_harmless(self, settings: Option<&[GitSetting]>, directory: &Path) -> bool {
        let during = self == Self::During;
        let harmless = |one: &GitSetting| {
            one.is_harmless(directory) || during && one.name() == "core.worktree"
        };
        settings.map_or(during, |all| all.iter().all(harmless))
    }
}

/// What makes `git` run something in some directories.
#[derive(Debug, Default)]
pub(crate) struct NewRepositoryHooks {
    pub(crate) hooks: BTreeSet<PathBuf>,
    /// The git directories that are not guarded.
    pub(crate) repositories: BTreeSet<PathBuf>,
}

/// Says what in these directories, and not below them, makes `git` run something and was not there before the run.
pub(crate) fn find_new_repository_hooks(
    directories: Vec<PathBuf>,
    guarded: &ProtectedPaths,
    roots: &[PathBuf],
) -> NewRepositoryHooks {
    let sight = ScanResult::scan_repositories(directories);
    let mut hooks = BTreeSet::new();
    let mut open: BTreeSet<_> = sight.repositories.into_iter().collect();
    // What leads outside, or nowhere yet, may be half made.
    let mut leading = BTreeSet::new();
    for path in sight.dot_git_entries.iter().filter(|path| !guarded.contains(path)) {
        follow_gitdir_link(path, roots, &mut open, &mut leading);
    }
    open.retain(|directory| !guarded.contains(&directory.join("config")));
    let levels = config_levels::read_global_settings();
    open.iter().for_each(|directory| {
        collect_hooks_and_config(directory, &levels, ScanPhase::During, &mut hooks);
    });
    hooks.retain(|path| !guarded.contains(path));
    NewRepositoryHooks { hooks, repositories: open }
}

fn refresh_stamps(known: &FileStamps) -> FileStamps {
    known.keys().filter_map(|path| Some((path.clone(), read_stamp(path)?))).collect()
}

fn changed_paths(now: FileStamps, before: &FileStamps) -> impl Iterator<Item = PathBuf> {
    now.into_iter().filter(|(path, stamp)| before.get(path) != Some(stamp)).map(|(path, _)| path)
}

/// A `.git` that is not a directory leads to one: inside, that is looked at; outside, the leading itself is the matter. What
/// leads nowhere yet may lead somewhere tomorrow; a file that names nothing leads nowhere ever.
fn follow_gitdir_link(
    path: &Path,
    roots: &[PathBuf],
    open: &mut BTreeSet<PathBuf>,
    armed: &mut BTreeSet<PathBuf>,
) {
    let Ok(kind) = path.symlink_metadata() else { return };
    let end = match read_gitdir_link(path) {
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
fn collect_hooks_and_config(
    directory: &Path,
    levels: &[GitSetting],
    moment: ScanPhase,
    armed: &mut BTreeSet<PathBuf>,
) {
    if has_foreign_commondir(directory) {
        armed.insert(directory.join("commondir"));
    }
    for name in ["config", "config.worktree"] {
        let settings = git_config::read_file(&directory.join(name));
        if !moment.is_harmless(settings.as_deref(), directory) {
            armed.insert(directory.join(name));
        }
    }
    let elsewhere = find_external_hooks(directory, levels.iter());
    for hooks in elsewhere.into_iter().chain([directory.join("hooks")]) {
        collect_hooks(hooks, armed);
    }
}

fn collect_hooks(hooks: PathBuf, armed: &mut BTreeSet<PathBuf>) {
    if hooks.symlink_metadata().is_ok_and(|found| found.is_symlink()) {
        armed.insert(hooks);
        return;
    }
    match fs::read_dir(&hooks) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        // `git` runs hooks in a directory that cannot be listed, too.
        Err(_) => drop(armed.insert(hooks)),
        Ok(files) => {
            let running: Vec<_> =
                files.flatten().filter(is_active_hook).take(MAX_HOOKS + 1).collect();
            let too_many = running.len() > MAX_HOOKS;
            armed.extend(running.iter().filter(|_| !too_many).map(fs::DirEntry::path));
            armed.extend(too_many.then_some(hooks));
        }
    }
}

/// Hooks and configuration are the main repository's only in the directory of a linked worktree.
fn has_foreign_commondir(directory: &Path) -> bool {
    let Some(common) = common_directory(directory) else {
        return directory.join("commondir").symlink_metadata().is_ok();
    };
    let main =
        directory.parent().filter(|above| above.file_name() == Some(OsStr::new("worktrees")));
    let main = main.and_then(Path::parent).and_then(|main| main.canonicalize().ok());
    main.is_none() || common.canonicalize().ok() != main
}

/// `git` runs a hook that is executable; its name has no ending (githooks(5)).
fn is_active_hook(file: &fs::DirEntry) -> bool {
    let name = file.file_name();
    let name = name.as_bytes();
    let passive = name.ends_with(b".sample")
        || name.windows(QUARANTINE_SUFFIX.len()).any(|part| part == QUARANTINE_SUFFIX.as_bytes());
    !passive
        && file.metadata().map_or(true, |found| found.is_symlink() || found.mode() & 0o111 != 0)
}

/// Returns files in the writable directories that have another name outside (a hard link), so that writing them writes
/// the other, too. It looks at each file once: meant for a thread beside the program. Objects of repositories are left out;
/// they are what `git clone` links, and nobody writes them twice.
#[must_use]
pub fn find_hard_links(
    guarded: &ProtectedPaths,
    profile: &SandboxRestrictions,
) -> Vec<PostRunFinding> {
    let mut linked: BTreeMap<(u64, u64), (u64, PathBuf)> = BTreeMap::new();
    let walk = DirectoryWalk {
        is_relevant: &|_| true,
        is_skipped: &|path| guarded.guards.contains_key(path) || is_object_directory(path),
        make_accessible: &|_| false,
        max_names: WARNING_SCAN_LIMIT,
    };
    let _unsearched = walk.run(outermost_roots(&profile.writable), |listing| {
        for path in listing.names.iter().map(|name| listing.path.join(name)) {
            let Ok(found) = path.symlink_metadata() else { continue };
            if found.is_file() && found.nlink() > 1 && !guarded.guards.contains_key(&path) {
                linked.entry((found.dev(), found.ino())).or_insert((found.nlink(), path)).0 -= 1;
            }
        }
    });
    let outside = linked.into_values().filter(|(others, _)| *others > 0);
    outside
        .filter_map(|(_, path)| Some(PostRunFinding::HardLink { path: to_display_path(&path)? }))
        .collect()
}

#[cfg(test)]
mod tests;
