//! Watching for new repositories while the program runs. Files in them that make `git` run
//! something are quarantined immediately, and not only when the program has ended, which for a
//! server is hours later.
//!
//! The kernel reports new names in every directory (inotify(7)). If it cannot, because the user's
//! watches are used up, all directories are searched periodically instead. There is a short time
//! between the creation of a file and its quarantine. Only the scan after the run misses nothing.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    mem::MaybeUninit,
    os::{fd::OwnedFd, unix::ffi::OsStrExt as _},
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
    fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags},
    io::Errno,
    pipe::{PipeFlags, pipe_with},
};

use crate::{
    interface::PostRunFinding,
    post_run::{find_new_repository_hooks, quarantine_path, repository_hook_finding},
    protected_paths::{
        DirectoryWalk, ProtectedPaths, is_git_name, is_object_directory, outermost_roots,
    },
};

/// Most programs have ended by then, and the look after the run follows at once.
const START_DELAY: Timespec = Timespec { tv_sec: 0, tv_nsec: 40_000_000 };
/// The interval at which known new repositories are checked: writing into a file creates no name.
const EVENT_INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// The interval at which everything is searched if the kernel does not report new names.
const SEARCH_INTERVAL: Duration = Duration::from_secs(1);
/// The ratio of the time until the next search to the duration of a search.
const SEARCH_TIME_SHARE: u32 = 20;
const BUFFER_BYTES: usize = 64 * 1024;

/// A thread that watches the writable directories of a run.
#[derive(Debug)]
pub(super) struct RepositoryWatch {
    /// The thread ends when this is closed.
    stop_event: OwnedFd,
    is_stopping: Arc<AtomicBool>,
    thread: JoinHandle<Vec<PostRunFinding>>,
}

impl RepositoryWatch {
    /// Begins to watch. Without a thread there is only the look after the run.
    pub(super) fn start(guarded: &ProtectedPaths, profile: &SandboxRestrictions) -> Option<Self> {
        let roots = outermost_roots(&profile.writable);
        if roots.is_empty() {
            return None;
        }
        let (read, end) = pipe_with(PipeFlags::CLOEXEC).ok()?;
        let ending = Arc::new(AtomicBool::new(false));
        let guarded = guarded.clone();
        let ended = Arc::clone(&ending);
        let watch = move || RepositoryWatcher::new(guarded, roots, ended).run(&read);
        let thread = thread::Builder::new().spawn(watch).ok()?;
        Some(Self { stop_event: end, is_stopping: ending, thread })
    }

    /// Stops the thread, and returns the findings about quarantined files.
    pub(super) fn finish(self) -> Vec<PostRunFinding> {
        let Self { stop_event: end, is_stopping: ending, thread } = self;
        ending.store(true, Ordering::Relaxed);
        drop(end);
        thread.join().unwrap_or_default()
    }
}

struct RepositoryWatcher {
    protected_paths: ProtectedPaths,
    roots: Vec<PathBuf>,
    is_stopping: Arc<AtomicBool>,
    /// None: the kernel does not tell, or not of everything.
    inotify: Option<OwnedFd>,
    directories: BTreeMap<i32, PathBuf>,
    /// New git directories.
    repositories: BTreeSet<PathBuf>,
    findings: Vec<PostRunFinding>,
}

impl RepositoryWatcher {
    fn new(
        protected_paths: ProtectedPaths,
        roots: Vec<PathBuf>,
        is_stopping: Arc<AtomicBool>,
    ) -> Self {
        Self {
            protected_paths,
            roots,
            is_stopping,
            inotify: None,
            directories: BTreeMap::new(),
            repositories: BTreeSet::new(),
            findings: Vec::new(),
        }
    }

    fn run(mut self, end: &OwnedFd) -> Vec<PostRunFinding> {
        if wait_for_event(end, None, &START_DELAY) == WaitResult::Stop {
            return self.findings;
        }
        self.inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok();
        let mut search = Instant::now();
        self.watch_all();
        loop {
            let waited = wait_for_event(end, self.inotify.as_ref(), &EVENT_INTERVAL);
            if waited == WaitResult::Stop {
                return self.findings;
            }
            let changed =
                if waited == WaitResult::Events { self.read_events() } else { BTreeSet::new() };
            let known = self.repositories.iter().cloned();
            self.quarantine_hooks(changed.into_iter().chain(known).collect());
            if self.inotify.is_none() && search <= Instant::now() {
                let started = Instant::now();
                self.watch_all();
                search =
                    Instant::now() + SEARCH_INTERVAL.max(started.elapsed() * SEARCH_TIME_SHARE);
            }
        }
    }

    /// Searches all directories, and watches them.
    fn watch_all(&mut self) {
        self.watch_below(&self.roots.clone());
    }

    /// Searches these directories and all below them, and watches them. It does this twice: an
    /// entry that was created after a directory was listed and before it was watched is found the
    /// second time.
    fn watch_below(&mut self, directories: &[PathBuf]) {
        for _ in 0..2 {
            self.watch_level(directories.to_vec());
        }
    }

    fn watch_level(&mut self, directories: Vec<PathBuf>) {
        let (mut seen, mut interesting) = (Vec::new(), Vec::new());
        let (guarded, ending) = (&self.protected_paths, &self.is_stopping);
        let skipped = |path: &Path| {
            ending.load(Ordering::Relaxed)
                || guarded.guards.contains_key(path)
                || is_object_directory(path)
        };
        let walk = DirectoryWalk {
            is_relevant: &is_git_name,
            is_skipped: &skipped,
            make_accessible: &|_| false,
            max_names: usize::MAX,
        };
        drop(walk.run(directories, |listing| {
            seen.push(listing.path.to_owned());
            if !listing.names.is_empty() {
                interesting.push(listing.path.to_owned());
            }
        }));
        seen.into_iter().for_each(|directory| self.add_watch(directory));
        self.quarantine_hooks(interesting);
    }

    fn add_watch(&mut self, directory: PathBuf) {
        let Some(inotify) = &self.inotify else { return };
        let flags = WatchFlags::CREATE
            | WatchFlags::MOVED_TO
            | WatchFlags::ONLYDIR
            | WatchFlags::DONT_FOLLOW
            | WatchFlags::EXCL_UNLINK;
        match inotify::add_watch(inotify, &directory, flags) {
            Ok(number) => drop(self.directories.insert(number, directory)),
            // It has gone again, or is closed to us.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::LOOP) => {}
            Err(_) => self.inotify = None,
        }
    }

    /// Reads what the kernel tells: watches new directories, and returns those in which a name is new that `git` could read.
    fn read_events(&mut self) -> BTreeSet<PathBuf> {
        let (mut changed, mut made, mut lost) = (BTreeSet::new(), BTreeSet::new(), false);
        if let Some(inotify) = &self.inotify {
            let mut buffer = [MaybeUninit::uninit(); BUFFER_BYTES];
            let mut events = Reader::new(inotify, &mut buffer);
            while let Ok(event) = events.next() {
                lost |= event.events().contains(ReadFlags::QUEUE_OVERFLOW);
                let directory = self.directories.get(&event.wd());
                let (Some(directory), Some(name)) = (directory, event.file_name()) else {
                    continue;
                };
                let name = OsStr::from_bytes(name.to_bytes());
                if event.events().contains(ReadFlags::ISDIR) {
                    made.insert(directory.join(name));
                }
                if is_git_name(name) || directory.ends_with("hooks") {
                    changed.insert(directory.clone());
                    changed.extend(directory.parent().map(Path::to_owned));
                }
            }
        }
        if lost {
            self.watch_all();
        }
        if !made.is_empty() {
            self.watch_below(&made.into_iter().collect::<Vec<_>>());
        }
        changed
    }

    /// Puts aside what `git` would run in these directories.
    fn quarantine_hooks(&mut self, directories: Vec<PathBuf>) {
        if directories.is_empty() {
            return;
        }
        let armed = find_new_repository_hooks(directories, &self.protected_paths, &self.roots);
        self.repositories.extend(armed.repositories);
        for path in armed.hooks {
            // What could not be put aside, the look after the run names.
            if let Ok(held) = quarantine_path(&path) {
                self.findings.extend(repository_hook_finding(&path, Some(&held)));
            }
        }
    }
}

#[derive(PartialEq, Eq)]
enum WaitResult {
    Stop,
    Events,
    Timeout,
}

fn wait_for_event(end: &OwnedFd, inotify: Option<&OwnedFd>, time: &Timespec) -> WaitResult {
    let mut waits = vec![PollFd::new(end, PollFlags::IN)];
    waits.extend(inotify.map(|inotify| PollFd::new(inotify, PollFlags::IN)));
    _ = poll(&mut waits, Some(time));
    let mut told = waits.iter().map(|wait| !wait.revents().is_empty());
    match (told.next(), told.next()) {
        (Some(true), _) => WaitResult::Stop,
        (_, Some(true)) => WaitResult::Events,
        _ => WaitResult::Timeout,
    }
}
