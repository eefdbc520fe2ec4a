//! Watches of directories in which the kernel reports new names and changes (inotify(7)).

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    mem::MaybeUninit,
    os::{fd::OwnedFd, unix::ffi::OsStrExt as _},
    path::{Path, PathBuf},
};

use rustix::{
    fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags},
    io::Errno,
};

use crate::protected_paths::{is_git_name, is_run_when_present};

const BUFFER_BYTES: usize = 64 * 1024;

/// The watches of a run.
#[derive(Debug)]
pub(super) struct DirectoryWatches {
    inotify: OwnedFd,
    /// The directory of each watch. A file is watched for its directory.
    directories: RefCell<BTreeMap<i32, PathBuf>>,
    /// True if the kernel refused a watch, because the watches of this user are used up.
    is_incomplete: Cell<bool>,
}

/// The events that were pending.
#[derive(Debug, Default)]
pub(super) struct WatchEvents {
    /// New directories, in order of creation. Their contents are not watched yet.
    pub(super) created_directories: Vec<PathBuf>,
    /// Directories with changes that can make `git` run something.
    pub(super) changed_directories: BTreeSet<PathBuf>,
    /// New files that programs of the host execute as soon as they exist.
    pub(super) run_when_present: Vec<PathBuf>,
    /// New entries of git directories.
    pub(super) git_entries: Vec<PathBuf>,
    /// All directories with a new name.
    pub(super) directories_with_new_names: BTreeSet<PathBuf>,
    /// True if there were too many events, so that some are missing.
    pub(super) is_incomplete: bool,
}

impl DirectoryWatches {
    /// Creates an instance without any watch. Returns `None` if the kernel refuses it.
    pub(super) fn new() -> Option<Self> {
        let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?;
        Some(Self { inotify, directories: RefCell::default(), is_incomplete: Cell::new(false) })
    }

    /// Returns the descriptor to poll for events.
    pub(super) const fn descriptor(&self) -> &OwnedFd {
        &self.inotify
    }

    /// Returns whether a watch is missing.
    pub(super) const fn is_incomplete(&self) -> bool {
        self.is_incomplete.get()
    }

    /// Watches a directory for new names.
    pub(super) fn watch_names(&self, directory: &Path) {
        self.add(directory, directory, WatchFlags::ONLYDIR);
    }

    /// Watches a git directory for changes of its configuration and of its hooks. The file itself is
    /// watched, too: it may have another name elsewhere (a hard link).
    pub(super) fn watch_repository(&self, directory: &Path) {
        let changes = WatchFlags::MODIFY | WatchFlags::CLOSE_WRITE | WatchFlags::ATTRIB;
        for name in ["", "hooks"] {
            let directory = directory.join(name);
            self.add(&directory, &directory, WatchFlags::ONLYDIR | changes);
        }
        self.add(&directory.join("config"), directory, changes);
    }

    fn add(&self, path: &Path, directory: &Path, flags: WatchFlags) {
        let flags = flags
            | WatchFlags::CREATE
            | WatchFlags::MOVED_TO
            | WatchFlags::DONT_FOLLOW
            | WatchFlags::EXCL_UNLINK
            | WatchFlags::MASK_ADD;
        match inotify::add_watch(&self.inotify, path, flags) {
            Ok(number) => drop(self.directories.borrow_mut().insert(number, directory.to_owned())),
            // The entry no longer exists, or access is denied.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::LOOP) => {}
            Err(_) => self.is_incomplete.set(true),
        }
    }

    /// Reads the pending events.
    pub(super) fn read_events(&self) -> WatchEvents {
        let mut events = WatchEvents::default();
        let mut buffer = [MaybeUninit::uninit(); BUFFER_BYTES];
        let mut reader = Reader::new(&self.inotify, &mut buffer);
        let directories = self.directories.borrow();
        while let Ok(event) = reader.next() {
            events.is_incomplete |= event.events().contains(ReadFlags::QUEUE_OVERFLOW);
            let Some(directory) = directories.get(&event.wd()) else { continue };
            match event.file_name() {
                Some(name) => {
                    let name = OsStr::from_bytes(name.to_bytes());
                    events.add(directory, name, event.events().contains(ReadFlags::ISDIR));
                }
                // The event concerns the watched file itself, or the mode of the watched directory.
                None => events.add_changed(directory),
            }
            if reader.is_buffer_empty() {
                break;
            }
        }
        events
    }
}

impl WatchEvents {
    fn add(&mut self, directory: &Path, name: &OsStr, is_directory: bool) {
        let path = directory.join(name);
        if is_run_when_present(&path) {
            self.run_when_present.push(path.clone());
        }
        if directory.iter().any(|name| name == ".git") {
            self.git_entries.push(path.clone());
        }
        if is_directory {
            self.created_directories.push(path);
        }
        if is_git_name(name) || directory.ends_with("hooks") {
            self.add_changed(directory);
        }
        if !self.directories_with_new_names.contains(directory) {
            self.directories_with_new_names.insert(directory.to_owned());
        }
    }

    /// Adds a directory and its parent, because a `hooks` directory belongs to the repository above
    /// it.
    fn add_changed(&mut self, directory: &Path) {
        if !self.changed_directories.contains(directory) {
            self.changed_directories.insert(directory.to_owned());
            self.changed_directories.extend(directory.parent().map(Path::to_owned));
        }
    }
}
