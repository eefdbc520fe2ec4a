//! The search for the protected paths of a profile on the disk.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    ffi::{OsStr, OsString},
    fs,
    io::{self, ErrorKind},
    mem,
    path::{Component, Path, PathBuf},
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use openoxide_protocol::{AbsPath, SandboxRestrictions};

use crate::{
    interface::PostRunFinding,
    protected_paths::{
        directory_scan::{FileStamp, ScanResult},
        directory_snapshot::DirectorySnapshot,
        displayed_paths::unsearched_finding,
        git_config::{GitSetting, config_levels},
        guarded_paths::{GuardKind, PlaceholderKind, ProtectedPaths},
        named_programs::{find_imported_documents, find_link_targets, normalize_path},
        program_sources::ProgramSource,
        repository::{self, common_directory, read_gitdir_link},
        steering_files::SteeringMatch,
        user_settings::find_user_settings,
        writable_roots::outermost_roots,
    },
};

/// The kernel gives up after as many symbolic links, too (`MAXSYMLINKS`).
const MAX_SYMLINKS: usize = 40;

impl ProtectedPaths {
    /// Finds the protected and unreadable paths of a profile on the disk, and the repositories
    /// below its writable directories. In these repositories, the hooks, the configuration, and the
    /// files that make `git` look for them elsewhere are guarded. The rest stays writable. Steering
    /// files in any directory are guarded, and so are the programs that guarded configuration
    /// names.
    ///
    /// # Errors
    /// Returns an error if it is unknown what is at a protected path.
    pub(crate) fn find(profile: &SandboxRestrictions) -> io::Result<Self> {
        Self::find_with_changeable(profile, &BTreeSet::new(), DirectorySnapshot::default())
    }

    /// Finds the same paths as [`Self::find`], except for the steering files below the writable
    /// directories that a person has allowed by name to be changed. Directories that have not
    /// changed since the snapshot are not listed again.
    ///
    /// # Errors
    /// Returns an error if it is unknown what is at a protected path.
    pub(crate) fn find_with_changeable(
        profile: &SandboxRestrictions,
        changeable: &BTreeSet<AbsPath>,
        snapshot: DirectorySnapshot,
    ) -> io::Result<Self> {
        let mut search = ProtectedPathSearch::new(profile);
        search.snapshot = snapshot;
        search.changeable_paths =
            changeable.iter().map(|path| PathBuf::from(path.as_str())).collect();
        for path in profile.protected.iter().chain(&profile.unreadable) {
            search.protect_with_targets(Path::new(path.as_str()))?;
        }
        search.protect_repositories()?;
        Ok(search.into_protected_paths())
    }
}

struct ProtectedPathSearch {
    roots: Vec<PathBuf>,
    all_roots: BTreeSet<PathBuf>,
    pins: BTreeSet<PathBuf>,
    guards: BTreeMap<PathBuf, GuardKind>,
    repositories: BTreeSet<PathBuf>,
    unsearched_findings: Vec<PostRunFinding>,
    changeable_paths: BTreeSet<PathBuf>,
    /// The settings of `git` that apply in every repository.
    global_settings: Vec<GitSetting>,
    program_sources: Vec<ProgramSource>,
    /// The directories as listed.
    snapshot: DirectorySnapshot,
    git_state_files: BTreeMap<PathBuf, FileStamp>,
    scan_time: i64,
}

impl ProtectedPathSearch {
    fn new(profile: &SandboxRestrictions) -> Self {
        Self {
            roots: outermost_roots(&profile.writable),
            all_roots: profile.writable.iter().map(|path| PathBuf::from(path.as_str())).collect(),
            pins: BTreeSet::new(),
            guards: BTreeMap::new(),
            repositories: BTreeSet::new(),
            unsearched_findings: Vec::new(),
            changeable_paths: BTreeSet::new(),
            global_settings: config_levels::read_global_settings(),
            program_sources: Vec::new(),
            snapshot: DirectorySnapshot::default(),
            git_state_files: BTreeMap::new(),
            scan_time: current_seconds(),
        }
    }

    fn is_writable(&self, path: &Path) -> bool {
        self.roots.iter().any(|root| path.starts_with(root))
    }

    fn is_below_root(&self, path: &Path) -> bool {
        self.roots.iter().any(|root| path != root && path.starts_with(root))
    }

    /// Guards a path, and, if it is a repository's, what that leads to.
    fn protect_with_targets(&mut self, path: &Path) -> io::Result<()> {
        let Some(end) = self.protect_path(path)? else { return Ok(()) };
        if path.file_name() != Some(OsStr::new(".git")) {
            return Ok(());
        }
        let directory = read_gitdir_link(&end).unwrap_or(end);
        for directory in [common_directory(&directory), Some(directory)].into_iter().flatten() {
            self.protect_path(&directory)?;
            self.protect_external_paths(&directory)?;
            self.add_program_sources(&directory);
        }
        Ok(())
    }

    /// Follows a path, one component after the other, as the kernel does. Guards the final path and
    /// each link on the way. Returns the path without links, if it exists.
    fn protect_path(&mut self, path: &Path) -> io::Result<Option<PathBuf>> {
        self.protect_roots_below(path);
        let (mut at, mut links) = (PathBuf::from("/"), 0);
        let mut ahead: VecDeque<OsString> = path_components(path);
        while let Some(name) = ahead.pop_front() {
            if name == ".." {
                at.pop();
                continue;
            }
            at.push(name);
            // Roots and their parent directories are resolved paths. A symbolic link outside of the
            // roots is found only on a path that does not lead through them.
            match at.symlink_metadata() {
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    let placeholder = if ahead.is_empty() {
                        choose_placeholder(&at)
                    } else {
                        PlaceholderKind::Directory
                    };
                    self.insert_guard(&at, GuardKind::Missing(placeholder));
                    return Ok(None);
                }
                Err(error) => return self.protect_inaccessible(&at, &error).map(|()| None),
                Ok(kind) if kind.is_symlink() => {
                    links += 1;
                    if links > MAX_SYMLINKS {
                        return Ok(None);
                    }
                    self.insert_guard(&at, GuardKind::Link);
                    let target =
                        fs::read_link(&at).map_err(|error| add_path_to_error(&at, &error))?;
                    at.pop();
                    if target.is_absolute() {
                        at = PathBuf::from("/");
                    }
                    path_components(&target)
                        .into_iter()
                        .rev()
                        .for_each(|name| ahead.push_front(name));
                }
                Ok(kind) if kind.is_dir() && !ahead.is_empty() => {}
                Ok(_) => {
                    self.insert_guard(&at, GuardKind::Present);
                    return Ok(Some(at));
                }
            }
        }
        self.insert_guard(&at, GuardKind::Present);
        Ok(Some(at))
    }

    /// Guards the parent directory of a path that cannot be accessed. A confined process has the
    /// same access as this one, so a path outside of the roots needs no guard. Below a root, it
    /// could make its parent directory accessible again, so that directory is guarded. If the
    /// parent is itself a root, the error is returned.
    fn protect_inaccessible(&mut self, path: &Path, error: &io::Error) -> io::Result<()> {
        match path.parent() {
            _ if !self.is_below_root(path) => Ok(()),
            Some(parent) if self.is_below_root(parent) => {
                self.insert_guard(parent, GuardKind::Present);
                Ok(())
            }
            _ => Err(add_path_to_error(path, error)),
        }
    }

    /// Guards the roots inside a protected path, because they are not writable.
    fn protect_roots_below(&mut self, path: &Path) {
        let below = self.all_roots.iter().filter(|root| root.starts_with(path));
        self.guards.extend(below.map(|root| (root.clone(), GuardKind::Present)));
    }

    fn insert_guard(&mut self, path: &Path, how: GuardKind) {
        if !self.is_below_root(path) {
            return;
        }
        self.guards.insert(path.to_owned(), how);
        let between = path.ancestors().skip(1);
        let between = between.take_while(|above| self.is_below_root(above)).map(Path::to_owned);
        self.pins.extend(between.collect::<Vec<_>>());
    }

    fn protect_repositories(&mut self) -> io::Result<()> {
        let mut sight =
            ScanResult::scan(&self.roots, self.guards.keys(), &self.snapshot, &|_| false);
        self.snapshot =
            mem::take(&mut self.snapshot).with_update(mem::take(&mut sight.snapshot_update));
        self.unsearched_findings = sight
            .unsearched_directories
            .iter()
            .filter_map(|path| unsearched_finding(path))
            .collect();
        self.git_state_files = sight.git_state_files;
        for path in sight.dot_git_entries {
            self.protect_gitdir_link(&path, &mut sight.repositories)?;
        }
        sight
            .repositories
            .iter()
            .try_for_each(|directory| self.protect_git_directory(directory))?;
        sight
            .steering_files
            .iter()
            .try_for_each(|(path, steering)| self.protect_steering_file(path, steering))?;
        self.protect_user_includes()?;
        self.protect_named_programs()
    }

    /// Guards a steering file, unless a person has allowed changing it.
    fn protect_steering_file(&mut self, path: &Path, steering: &SteeringMatch) -> io::Result<()> {
        if !self.changeable_paths.contains(path) {
            if is_hook_directory(path) {
                self.protect_hooks(path)?;
            } else {
                self.protect_path(path)?;
            }
        }
        if steering.is_executed {
            let bases = vec![steering.base_directory.clone()];
            self.program_sources.push(ProgramSource::Files { path: path.to_owned(), bases });
            return Ok(());
        }
        let imported = find_imported_documents(path).into_iter();
        imported
            .filter(|document| !self.changeable_paths.contains(document))
            .collect::<Vec<_>>()
            .iter()
            .try_for_each(|document| self.protect_path(document).map(|_| ()))
    }

    /// Guards the files that the user's configuration of `git` includes, and records the settings
    /// of the user's agents. Both may name files of the writable directories.
    fn protect_user_includes(&mut self) -> io::Result<()> {
        for path in config_levels::find_included_files() {
            self.protect_path(&path)?;
            // If `git` reads a file there, a directory would be an error.
            if let Some(guard @ GuardKind::Missing(_)) = self.guards.get_mut(&normalize_path(&path))
            {
                *guard = GuardKind::Missing(PlaceholderKind::File(""));
            }
        }
        let bases: Vec<_> = self.all_roots.iter().cloned().collect();
        for path in find_user_settings() {
            self.program_sources.push(ProgramSource::UserSettings { path, bases: bases.clone() });
        }
        Ok(())
    }

    /// Records the sources in a git directory that can name programs: its configuration, that of
    /// the user and the system, and hooks.
    fn add_program_sources(&mut self, directory: &Path) {
        let bases =
            vec![repository::worktree_directory(directory).to_owned(), directory.to_owned()];
        for text in repository::find_commands(directory, &self.global_settings) {
            self.program_sources.push(ProgramSource::Command { text, bases: bases.clone() });
        }
        let hooks = repository::find_external_paths(directory, &self.global_settings);
        for path in hooks.into_iter().chain([directory.join("hooks")]) {
            self.program_sources.push(ProgramSource::Files { path, bases: bases.clone() });
        }
    }

    /// Guards the programs that configuration names, and the targets of links among hooks and
    /// settings.
    fn protect_named_programs(&mut self) -> io::Result<()> {
        for source in self.program_sources.clone() {
            let links = match &source {
                ProgramSource::Files { path, .. } => find_link_targets(path),
                ProgramSource::Command { .. } | ProgramSource::UserSettings { .. } => Vec::new(),
            };
            for directory in source.find_module_directories() {
                if !self.all_roots.iter().any(|root| root.starts_with(&directory)) {
                    self.protect_path(&directory)?;
                }
            }
            let named = source
                .find_programs()
                .into_iter()
                .chain(links)
                .chain(source.find_missing_program());
            for path in named {
                if !self.changeable_paths.contains(&path) {
                    self.protect_path(&path)?;
                }
            }
        }
        Ok(())
    }

    /// Guards a `.git` that is not a directory, and adds the git directories that it leads to.
    fn protect_gitdir_link(&mut self, path: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
        if path.symlink_metadata().is_ok_and(|kind| !kind.is_dir()) {
            self.protect_link_or_file(path)?;
            let directory = read_gitdir_link(path).unwrap_or_else(|| path.to_owned());
            found.extend(common_directory(&directory));
            found.push(directory);
        }
        Ok(())
    }

    /// Guards a `.git` that is a link, but not its whole target.
    fn protect_link_or_file(&mut self, path: &Path) -> io::Result<()> {
        if path.symlink_metadata()?.is_symlink() {
            self.insert_guard(path, GuardKind::Link);
            return Ok(());
        }
        self.protect_path(path).map(|_| ())
    }

    /// Guards the files in a git directory that make `git` run something. The programs of
    /// attributes are named in the configuration, so attributes need no guard.
    fn protect_git_directory(&mut self, directory: &Path) -> io::Result<()> {
        let Ok(directory) = directory.canonicalize() else { return Ok(()) };
        if !self.is_writable(&directory) || !self.repositories.insert(directory.clone()) {
            return Ok(());
        }
        self.protect_path(&directory.join("commondir"))?;
        if repository::has_worktree_config(&directory) {
            self.protect_config(&directory.join("config.worktree"))?;
        }
        if common_directory(&directory).is_none() {
            self.protect_hooks(&directory.join("hooks"))?;
            self.protect_config(&directory.join("config"))?;
        }
        self.add_program_sources(&directory);
        self.protect_external_paths(&directory)
    }

    /// Guards a configuration file of a repository. The program changes a private copy, unless the
    /// profile protects the file or is a link.
    fn protect_config(&mut self, path: &Path) -> io::Result<()> {
        let is_guarded = path.ancestors().any(|above| self.guards.contains_key(above));
        let end = self.protect_path(path)?;
        if !is_guarded && end.is_some_and(|end| end == path && end.is_file()) {
            self.insert_guard(path, GuardKind::PrivateConfig);
        }
        Ok(())
    }

    /// Guards a directory with hooks. The program changes a private copy, unless the profile protects
    /// the directory or a link leads to it.
    fn protect_hooks(&mut self, path: &Path) -> io::Result<()> {
        let is_guarded = path.ancestors().any(|above| self.guards.contains_key(above));
        let end = self.protect_path(path)?;
        if !is_guarded && end.is_some_and(|end| end == path && end.is_dir()) {
            self.insert_guard(path, GuardKind::PrivateHooks);
        }
        Ok(())
    }

    /// Guards hooks and configuration outside of the git directory, if they are in a writable
    /// directory. A path that contains a whole root is left out, for example if hooks are kept at
    /// the top of a project. Guarding it would make the whole project read-only.
    fn protect_external_paths(&mut self, directory: &Path) -> io::Result<()> {
        for path in repository::find_external_paths(directory, &self.global_settings) {
            let end = path.canonicalize().unwrap_or_else(|_| path.clone());
            if !self.all_roots.iter().any(|root| root.starts_with(&end)) {
                self.protect_hooks(&path)?;
            }
        }
        Ok(())
    }

    /// Builds the result. A path inside a guarded directory needs no additional guard or pin.
    fn into_protected_paths(self) -> ProtectedPaths {
        let Self {
            guards,
            pins,
            all_roots,
            unsearched_findings: unsearched,
            changeable_paths: changeable,
            program_sources: sources,
            snapshot,
            git_state_files,
            scan_time,
            ..
        } = self;
        let covered =
            |path: &Path| path.ancestors().skip(1).any(|above| guards.contains_key(above));
        let mounted = |path: &PathBuf| guards.contains_key(path) || all_roots.contains(path);
        ProtectedPaths {
            pins: pins.into_iter().filter(|pin| !mounted(pin) && !covered(pin)).collect(),
            guards: guards
                .iter()
                .filter(|(path, _)| !covered(path))
                .map(|(path, how)| (path.clone(), *how))
                .collect(),
            unsearched_findings: unsearched,
            changeable_paths: changeable,
            program_sources: sources,
            snapshot: Arc::new(snapshot),
            git_state_files,
            scan_time,
        }
    }
}

/// Returns whether a steering file is a directory with hooks of `git`, into which tools write when
/// they install packages (husky).
fn is_hook_directory(path: &Path) -> bool {
    path.file_name() == Some(OsStr::new(".husky"))
}

/// Returns the current time in seconds since 1970.
fn current_seconds() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(0)
}

/// Chooses the placeholder for a missing path. A name with an extension is the name of a file, and
/// so are some names in a git directory. The text of the file has no effect on programs of the host
/// that read it.
pub(super) fn choose_placeholder(path: &Path) -> PlaceholderKind {
    let in_git = path.parent().is_some_and(|parent| parent.join("HEAD").symlink_metadata().is_ok());
    match path.file_name().and_then(OsStr::to_str) {
        Some("commondir") if in_git => PlaceholderKind::File(".\n"),
        Some("config" | "config.worktree") if in_git => PlaceholderKind::File(""),
        _ => match path.extension().and_then(OsStr::to_str) {
            Some("json" | "jsonc") => PlaceholderKind::File("{}"),
            Some(extension) if extension.bytes().all(|byte| byte.is_ascii_alphabetic()) => {
                PlaceholderKind::File("")
            }
            _ => PlaceholderKind::Directory,
        },
    }
}

fn path_components(path: &Path) -> VecDeque<OsString> {
    let name = |part: Component<'_>| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    };
    path.components().filter_map(name).collect()
}

fn add_path_to_error(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
