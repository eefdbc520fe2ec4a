//! The scan after a run for new files in the writable directories that a program of the host would
//! run.

mod git_index;
mod git_links;
mod git_state;

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fs,
    io::ErrorKind,
    os::unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
    path::{Path, PathBuf},
};

use openoxide_protocol::SandboxRestrictions;

pub(crate) use self::git_state::is_unsafe_entry as is_unsafe_git_entry;
use crate::{
    interface::PostRunFinding,
    protected_paths::{
        FileStamp, GitSetting, LinkedFileSearch, ProgramSource, ProtectedPaths, QUARANTINE_SUFFIX,
        ScanResult, TemporaryPermissions, are_harmless_additions, find_external_hooks,
        git_config::{self, config_levels},
        outermost_roots, read_common_directory, read_gitdir_link, read_stamp, to_display_path,
    },
};

/// The number of hooks that are quarantined one by one. If there are more, their directory is
/// quarantined.
const MAX_HOOKS: usize = 100;

/// The names of the configuration files in a git directory.
const CONFIG_NAMES: [&str; 2] = ["config", "config.worktree"];

/// Files, each with its state.
type FileStamps = BTreeMap<PathBuf, FileStamp>;

/// The results of the scan after a run.
#[derive(Debug, Default)]
pub(crate) struct NewSteeringFiles {
    /// Files that `git` would run or take commands from. They are quarantined.
    pub(crate) hooks: BTreeSet<PathBuf>,
    /// Other new steering files, and new programs that configuration names. They are quarantined.
    pub(crate) steering_files: BTreeSet<PathBuf>,
    /// Directories that were not searched.
    pub(crate) unsearched_directories: Vec<PathBuf>,
}

/// Returns the files that a person should look at after a run: new hooks and configuration of
/// repositories, `.git` files that refer to other directories, commands in the remaining steps of a
/// rebase, other new steering files, and new programs that configuration names. Files that existed
/// before are guarded and therefore unchanged. Samples of hooks are left out because they are not
/// run, and so is configuration that only determines how `git` stores data.
pub(crate) fn find_new_steering_files(
    guarded: &ProtectedPaths,
    profile: &SandboxRestrictions,
    opened: &TemporaryPermissions,
) -> NewSteeringFiles {
    let roots = outermost_roots(&profile.writable);
    let mut sight = ScanResult::scan(&roots, guarded.guards.keys(), &guarded.snapshot, &|path| {
        opened.make_accessible(path)
    });
    let mut hooks = BTreeSet::new();
    let mut open: BTreeSet<_> = sight.repositories.into_iter().collect();
    for path in sight.dot_git_entries.iter().filter(|path| !guarded.contains(path)) {
        follow_gitdir_link(path, &roots, &mut open, &mut hooks);
    }
    let levels = config_levels::read_global_settings();
    open.iter().for_each(|directory| {
        collect_hooks_and_config(directory, &levels, ScanPhase::After, &mut hooks);
    });
    // Files that were known before are checked, even if the scan cannot reach them any more.
    sight.git_state_files.extend(refresh_stamps(&guarded.git_state_files));
    hooks.extend(
        changed_paths(sight.git_state_files, &guarded.git_state_files)
            .filter(|path| git_state::is_unsafe(path)),
    );
    hooks.extend(
        open.iter().flat_map(|directory| {
            git_links::find_outward_links(directory, &roots, guarded.scan_time)
        }),
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

/// The time of a scan of a repository.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ScanPhase {
    /// During the run, while a process may be creating the repository. Configuration that cannot be
    /// read runs nothing yet, and a worktree may be created next.
    During,
    After,
}

impl ScanPhase {
    fn is_harmless(self, settings: Option<&[GitSetting]>, directory: &Path, name: &str) -> bool {
        let during = self == Self::During;
        let harmless = |one: &GitSetting| {
            one.is_harmless(directory) || during && one.name() == "core.worktree"
        };
        settings.map_or(during, |all| {
            all.iter().all(harmless) && (during || may_be_added(&directory.join(name), all))
        })
    }
}

/// Returns whether a new file with these settings changes nothing that `git` does with an existing
/// repository: `config.worktree` overrides the configuration of the repository.
fn may_be_added(file: &Path, settings: &[GitSetting]) -> bool {
    !file.ends_with("config.worktree") || are_harmless_additions(file, settings)
}

/// The files that make `git` run something in some directories.
#[derive(Debug, Default)]
pub(crate) struct NewRepositoryHooks {
    /// The files, each with its git directory.
    pub(crate) hooks: BTreeMap<PathBuf, PathBuf>,
    /// The git directories that are not guarded.
    pub(crate) repositories: BTreeSet<PathBuf>,
    /// Configuration that cannot be read, each with its git directory. It may be incompletely
    /// written.
    pub(crate) unreadable_configs: BTreeMap<PathBuf, PathBuf>,
}

/// Returns the files that make `git` run something and did not exist before the run, in these
/// directories but not below them. `levels` are the settings of the user and the system.
pub(crate) fn find_new_repository_hooks(
    directories: Vec<PathBuf>,
    guarded: &ProtectedPaths,
    roots: &[PathBuf],
    levels: &[GitSetting],
) -> NewRepositoryHooks {
    let sight = ScanResult::scan_repositories(directories);
    let mut found = NewRepositoryHooks::default();
    let mut open: BTreeSet<_> = sight.repositories.into_iter().collect();
    // A link that leads outside, or to a missing target, may be incomplete.
    let mut leading = BTreeSet::new();
    for path in sight.dot_git_entries.iter().filter(|path| !guarded.contains(path)) {
        follow_gitdir_link(path, roots, &mut open, &mut leading);
    }
    open.retain(|directory| !guarded.contains(&directory.join("config")));
    for directory in &open {
        let mut hooks = BTreeSet::new();
        collect_hooks_and_config(directory, levels, ScanPhase::During, &mut hooks);
        hooks.retain(|path| !guarded.contains(path));
        found.hooks.extend(hooks.into_iter().map(|path| (path, directory.clone())));
        let configs = CONFIG_NAMES.map(|name| directory.join(name));
        let unreadable = configs.into_iter().filter(|path| git_config::read_file(path).is_none());
        found.unreadable_configs.extend(unreadable.map(|path| (path, directory.clone())));
    }
    NewRepositoryHooks { repositories: open, ..found }
}

fn refresh_stamps(known: &FileStamps) -> FileStamps {
    known.keys().filter_map(|path| Some((path.clone(), read_stamp(path)?))).collect()
}

fn changed_paths(now: FileStamps, before: &FileStamps) -> impl Iterator<Item = PathBuf> {
    now.into_iter().filter(|(path, stamp)| before.get(path) != Some(stamp)).map(|(path, _)| path)
}

/// Follows a `.git` that is not a directory to the directory that it refers to. A directory inside
/// is checked. A link to a directory outside is itself reported. A link to a missing directory may
/// become valid later. A file that names no directory never does.
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

/// Adds the files in a git directory that make `git` run something, and those in the directories
/// where configuration of the user or the system makes `git` look for hooks.
fn collect_hooks_and_config(
    directory: &Path,
    levels: &[GitSetting],
    moment: ScanPhase,
    armed: &mut BTreeSet<PathBuf>,
) {
    if has_foreign_commondir(directory, moment) {
        armed.insert(directory.join("commondir"));
    }
    for name in CONFIG_NAMES {
        let settings = git_config::read_file(&directory.join(name));
        if !moment.is_harmless(settings.as_deref(), directory, name) {
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

/// Returns whether hooks and configuration belong to another repository. Only the directory of a
/// linked worktree may share those of its main repository.
///
/// The file is read once: `git` creates it empty, writes it and removes it while this runs.
fn has_foreign_commondir(directory: &Path, moment: ScanPhase) -> bool {
    let file = directory.join("commondir");
    let is_foreign = match read_common_directory(directory) {
        // `git` refuses to work with an empty file.
        Ok(None) => moment == ScanPhase::After,
        Ok(Some(common)) => !is_main_repository(&common, directory),
        Err(error) if error.kind() == ErrorKind::NotFound => file.is_symlink(),
        Err(_) => true,
    };
    is_foreign && file.symlink_metadata().is_ok()
}

/// Returns whether a directory is the one of the repository that a linked worktree belongs to.
fn is_main_repository(common: &Path, linked: &Path) -> bool {
    let main = linked.parent().filter(|above| above.file_name() == Some(OsStr::new("worktrees")));
    let main = main.and_then(Path::parent).and_then(|main| main.canonicalize().ok());
    main.is_some() && common.canonicalize().ok() == main
}

/// Returns whether `git` runs a hook: it is executable, and its name has no extension
/// (githooks(5)).
fn is_active_hook(file: &fs::DirEntry) -> bool {
    let name = file.file_name();
    let name = name.as_bytes();
    let passive = name.ends_with(b".sample")
        || name.windows(QUARANTINE_SUFFIX.len()).any(|part| part == QUARANTINE_SUFFIX.as_bytes());
    !passive
        && file.metadata().map_or(true, |found| found.is_symlink() || found.mode() & 0o111 != 0)
}

/// Returns the files in the writable directories that have another name outside (a hard link), so
/// that writing one also writes the other. It checks each file once, and is intended for a thread
/// that runs in parallel to the program. `is_cancelled` ends the search.
#[must_use]
pub(crate) fn find_hard_links(
    guarded: &ProtectedPaths,
    profile: &SandboxRestrictions,
    is_cancelled: &dyn Fn() -> bool,
) -> Vec<PostRunFinding> {
    let mut linked: BTreeMap<(u64, u64), (u64, PathBuf)> = BTreeMap::new();
    let is_guarded = |path: &Path| guarded.guards.contains_key(path);
    let search = LinkedFileSearch { is_skipped: &is_guarded, is_cancelled };
    search.run(outermost_roots(&profile.writable), &mut |path, found| {
        if !is_guarded(&path) {
            let file = (found.st_dev, found.st_ino);
            let (others, _) = linked.entry(file).or_insert((found.st_nlink, path));
            *others = others.saturating_sub(1);
        }
    });
    let outside = linked.into_values().filter(|(others, _)| *others > 0);
    outside
        .filter_map(|(_, path)| Some(PostRunFinding::HardLink { path: to_display_path(&path)? }))
        .collect()
}

#[cfg(test)]
mod tests;
