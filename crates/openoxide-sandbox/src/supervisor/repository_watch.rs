//! Watching for new repositories while the program runs. Files in them that make `git` run
//! something are quarantined immediately, and not only after the program has ended, which can take
//! hours for a server.
//!
//! The kernel reports new names in every directory, and changes in new repositories. There is a
//! short time between the creation of a file and its quarantine. A program that creates such files
//! for a second time is killed, so that it cannot exploit this time repeatedly. Only the scan after
//! the run finds everything.

use std::{
    collections::{BTreeMap, BTreeSet},
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use openoxide_protocol::SandboxRestrictions;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    pipe::{PipeFlags, pipe_with},
};

use crate::{
    interface::PostRunFinding,
    post_run::{
        find_new_repository_hooks, is_unsafe_git_entry, quarantine_path, repository_hook_finding,
    },
    protected_paths::{
        GitSetting, IncrementalWalk, ProtectedPaths, find_external_hooks,
        git_config::config_levels, is_git_name, is_run_when_present, outermost_roots,
        to_display_path,
    },
    supervisor::{
        directory_watches::{DirectoryWatches, WatchEvents},
        repeated_hooks::RepeatedHooks,
        run_killer::RunKiller,
    },
};

/// The interval at which known new repositories are checked without an event, because the kernel
/// does not report changes through a memory mapping.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// The interval at which everything is searched if the kernel does not report new names.
const SEARCH_INTERVAL: Duration = Duration::from_secs(1);
/// The ratio of the time until the next search to the duration of a search.
const SEARCH_TIME_SHARE: u32 = 20;
/// The time during which configuration that cannot be read is treated as incompletely written.
/// Afterwards, it is treated as if it ran something.
const HALF_WRITTEN_TIME: Duration = Duration::from_millis(200);

/// A thread that watches the writable directories of a run.
#[derive(Debug)]
pub(super) struct RepositoryWatch {
    /// The thread ends when this is closed.
    stop_event: OwnedFd,
    is_stopping: Arc<AtomicBool>,
    thread: JoinHandle<Vec<PostRunFinding>>,
}

impl RepositoryWatch {
    /// Starts the watch. If no thread can be created, there is only the scan after the run.
    pub(super) fn start(
        guarded: &ProtectedPaths,
        profile: &SandboxRestrictions,
        watches: Option<DirectoryWatches>,
        run_killer: RunKiller,
    ) -> Option<Self> {
        let roots = outermost_roots(&profile.writable);
        if roots.is_empty() {
            return None;
        }
        let (read, end) = pipe_with(PipeFlags::CLOEXEC).ok()?;
        let is_stopping = Arc::new(AtomicBool::new(false));
        let guarded = guarded.clone();
        let stopping = Arc::clone(&is_stopping);
        let watch = move || {
            RepositoryWatcher::new(guarded, roots, stopping, watches, run_killer).run(&read)
        };
        let thread = thread::Builder::new().spawn(watch).ok()?;
        Some(Self { stop_event: end, is_stopping, thread })
    }

    /// Stops the thread, and returns the findings about quarantined files.
    pub(super) fn finish(self) -> Vec<PostRunFinding> {
        let Self { stop_event, is_stopping, thread } = self;
        is_stopping.store(true, Ordering::Relaxed);
        drop(stop_event);
        thread.join().unwrap_or_default()
    }
}

struct RepositoryWatcher {
    protected_paths: ProtectedPaths,
    roots: Vec<PathBuf>,
    is_stopping: Arc<AtomicBool>,
    run_killer: RunKiller,
    /// The settings of `git` that apply in every repository. A program inside cannot change them.
    global_settings: Vec<GitSetting>,
    /// The watches, or `None` if the kernel does not report new names, or not in every directory.
    watches: Option<DirectoryWatches>,
    /// New git directories.
    repositories: BTreeSet<PathBuf>,
    /// Configuration files that could not be read, with the time of the first failure.
    unreadable_since: BTreeMap<PathBuf, Instant>,
    repeated_hooks: RepeatedHooks,
    findings: Vec<PostRunFinding>,
}

impl RepositoryWatcher {
    fn new(
        protected_paths: ProtectedPaths,
        roots: Vec<PathBuf>,
        is_stopping: Arc<AtomicBool>,
        watches: Option<DirectoryWatches>,
        run_killer: RunKiller,
    ) -> Self {
        let global_settings = config_levels::read_global_settings();
        Self {
            protected_paths,
            roots,
            is_stopping,
            run_killer,
            repeated_hooks: RepeatedHooks::new(&global_settings),
            global_settings,
            watches,
            repositories: BTreeSet::new(),
            unreadable_since: BTreeMap::new(),
            findings: Vec::new(),
        }
    }

    fn run(mut self, end: &OwnedFd) -> Vec<PostRunFinding> {
        self.watch_below(&self.roots.clone());
        let mut next_search = Instant::now();
        loop {
            match self.wait_for_event(end) {
                WaitResult::Stop => return self.findings,
                WaitResult::Events => self.handle_events(),
                WaitResult::Timeout => self.check(self.repositories.iter().cloned().collect()),
            }
            if self.watches.is_none() && next_search <= Instant::now() {
                let started = Instant::now();
                self.watch_below(&self.roots.clone());
                let pause = SEARCH_INTERVAL.max(started.elapsed() * SEARCH_TIME_SHARE);
                next_search = Instant::now() + pause;
            }
        }
    }

    /// Waits for an event. There is a time limit only if a periodic check or search is due.
    fn wait_for_event(&self, end: &OwnedFd) -> WaitResult {
        let mut waits = vec![PollFd::new(end, PollFlags::IN)];
        waits.extend(self.watches.iter().map(|one| PollFd::new(one.descriptor(), PollFlags::IN)));
        let is_idle = self.watches.is_some() && self.repositories.is_empty();
        let limit = if is_idle { None } else { Timespec::try_from(CHECK_INTERVAL).ok() };
        _ = poll(&mut waits, limit.as_ref());
        let mut ready = waits.iter().map(|wait| !wait.revents().is_empty());
        match (ready.next(), ready.next()) {
            (Some(true), _) => WaitResult::Stop,
            (_, Some(true)) => WaitResult::Events,
            _ => WaitResult::Timeout,
        }
    }

    fn handle_events(&mut self) {
        let Some(watches) = &self.watches else { return };
        let events = watches.read_events();
        let mut changed = events.changed_directories.clone();
        changed.extend(self.repositories_with_hooks_elsewhere(&events));
        self.check(changed.into_iter().collect());
        self.quarantine_steering_files(&events.run_when_present);
        self.quarantine_git_state(&events.git_entries);
        if events.is_incomplete {
            self.watch_below(&self.roots.clone());
        }
        for directory in events.created_directories {
            self.watch_below(&[directory]);
        }
    }

    /// Returns the new repositories whose hooks may be in one of the directories with new names,
    /// because the user's configuration names that directory.
    fn repositories_with_hooks_elsewhere(&self, events: &WatchEvents) -> Vec<PathBuf> {
        let is_affected = |repository: &&PathBuf| {
            find_external_hooks(repository, self.global_settings.iter())
                .iter()
                .any(|hooks| events.directories_with_new_names.contains(hooks))
        };
        self.repositories.iter().filter(is_affected).cloned().collect()
    }

    /// Watches these directories and all directories below them, and searches them. A directory is
    /// watched before it is listed, so that each name is either listed or reported.
    fn watch_below(&mut self, directories: &[PathBuf]) {
        let (mut interesting, mut present) = (Vec::new(), Vec::new());
        let (guarded, stopping) = (&self.protected_paths, &self.is_stopping);
        let walk = IncrementalWalk {
            is_relevant: &|_| true,
            is_leaf: &|_| false,
            skips_objects: true,
            skipped_paths: &guarded.guards.keys().map(PathBuf::as_path).collect(),
            make_accessible: &|_| false,
            before_reading: Some(&|path| {
                self.watches.iter().for_each(|watches| watches.watch_names(path));
            }),
            is_cancelled: &|| stopping.load(Ordering::Relaxed),
            newest_stamp: i64::MIN,
        };
        for directory in directories {
            // Nothing is new in a directory that has not changed since the search before the run.
            drop(walk.run(directory, guarded.snapshot.tree(directory), &mut |listing| {
                if listing.names.iter().any(|name| is_git_name(name)) {
                    interesting.push(listing.path.to_owned());
                }
                let paths = listing.names.iter().map(|name| listing.path.join(name));
                present.extend(paths.filter(|path| is_run_when_present(path)));
            }));
        }
        if self.watches.as_ref().is_some_and(DirectoryWatches::is_incomplete) {
            self.watches = None;
        }
        self.check(interesting);
        self.quarantine_steering_files(&present);
    }

    /// Quarantines new files that programs of the host execute as soon as they exist.
    fn quarantine_steering_files(&mut self, paths: &[PathBuf]) {
        let (guarded, roots) = (&self.protected_paths, &self.roots);
        let is_new = |path: &PathBuf| {
            !guarded.contains(path)
                && !guarded.changeable_paths.contains(path)
                && roots.iter().any(|root| path.starts_with(root))
        };
        for path in paths.iter().filter(|path| is_new(path)) {
            // A file that could not be quarantined is reported by the scan after the run.
            let Ok(held) = quarantine_path(path) else { continue };
            let (path, held) = (to_display_path(path), to_display_path(&held));
            let finding = path.map(|path| PostRunFinding::SteeringFile { path, quarantined: held });
            self.findings.extend(finding);
        }
    }

    /// Quarantines new links in git directories that lead outside, and an index with names outside of
    /// the checkout.
    fn quarantine_git_state(&mut self, paths: &[PathBuf]) {
        for path in paths {
            if is_unsafe_git_entry(path, &self.roots, self.protected_paths.scan_time)
                && !self.protected_paths.contains(path)
            {
                let repository = path.parent().unwrap_or(path).to_owned();
                self.quarantine(path, &repository);
            }
        }
    }

    /// Quarantines what `git` would run in these directories. New repositories are watched before
    /// they are checked for the last time.
    fn check(&mut self, directories: Vec<PathBuf>) {
        if directories.is_empty() {
            return;
        }
        let new = self.check_once(directories);
        if !new.is_empty() {
            self.check_once(new);
        }
    }

    /// Checks directories, and returns the repositories that were not known before.
    fn check_once(&mut self, directories: Vec<PathBuf>) -> Vec<PathBuf> {
        let found = find_new_repository_hooks(
            directories,
            &self.protected_paths,
            &self.roots,
            &self.global_settings,
        );
        let new: Vec<_> = found.repositories.difference(&self.repositories).cloned().collect();
        let unreadable =
            self.find_lasting_unreadable(&found.repositories, found.unreadable_configs);
        for (path, repository) in found.hooks.into_iter().chain(unreadable) {
            self.quarantine(&path, &repository);
        }
        // A configuration file that was replaced is a new file.
        for directory in &found.repositories {
            self.watches.iter().for_each(|watches| watches.watch_repository(directory));
        }
        self.repositories.extend(found.repositories);
        new
    }

    fn quarantine(&mut self, path: &Path, repository: &Path) {
        // A file that could not be quarantined is reported by the scan after the run.
        let held = quarantine_path(path).ok();
        if self.repeated_hooks.is_repetition(path, held.as_deref(), repository) {
            self.run_killer.kill_all();
            let ended = to_display_path(path).map(|path| PostRunFinding::RunEnded { path });
            self.findings.extend(ended);
        }
        if let Some(held) = held {
            self.findings.extend(repository_hook_finding(path, Some(&held)));
        }
    }

    /// Returns the configuration files of checked repositories that have been unreadable for longer
    /// than writing them takes.
    fn find_lasting_unreadable(
        &mut self,
        checked: &BTreeSet<PathBuf>,
        unreadable: BTreeMap<PathBuf, PathBuf>,
    ) -> BTreeMap<PathBuf, PathBuf> {
        let is_checked = |path: &Path| path.parent().is_some_and(|above| checked.contains(above));
        self.unreadable_since.retain(|path, _| !is_checked(path) || unreadable.contains_key(path));
        let now = Instant::now();
        let mut is_lasting = |path: &Path| {
            let since = *self.unreadable_since.entry(path.to_owned()).or_insert(now);
            now.duration_since(since) >= HALF_WRITTEN_TIME
        };
        unreadable.into_iter().filter(|(path, _)| is_lasting(path)).collect()
    }
}

#[derive(PartialEq, Eq)]
enum WaitResult {
    Stop,
    Events,
    Timeout,
}
