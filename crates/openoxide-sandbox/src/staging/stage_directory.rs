//! The directories of staged changes. They are next to the registry. Each run has one, which is
//! locked until the run ends.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, DirBuilder, File},
    hash::{BuildHasher as _, Hasher as _, RandomState},
    io::{self, ErrorKind},
    os::unix::{
        ffi::{OsStrExt as _, OsStringExt as _},
        fs::DirBuilderExt as _,
    },
    path::{Path, PathBuf},
};

use rustix::{
    fd::AsFd,
    fs::{Mode, chmod, fstat},
};

use crate::{
    protected_paths::{PlaceholderRegistry, lock_directory},
    staging::{stage_record::StageRecord, tree},
};

/// A directory that belongs to this run.
#[derive(Debug)]
pub(super) struct StageDirectory {
    path: PathBuf,
    /// The lock on the directory.
    _lock: File,
}

/// The two directories that an overlay uses.
#[derive(Debug)]
pub(crate) struct OverlayLayer {
    pub(crate) upper: PathBuf,
    pub(crate) work: PathBuf,
}

/// Returns the directory of all staging areas of this user. It is next to the registry, not in it,
/// because every file of the registry is an entry.
pub(super) fn staging_root(registry: &Path) -> PathBuf {
    let mut home = OsString::from(registry);
    home.push("-staged");
    home.into()
}

impl StageDirectory {
    /// Creates a directory for a run. It is locked before `remove_stale` can see it.
    pub(super) fn create(registry: &Path) -> io::Result<Self> {
        let home = staging_root(registry);
        // Opening fails unless the directory belongs to the user.
        PlaceholderRegistry::open(&home)?;
        let _all = lock_directory(&home)?;
        loop {
            let path = home.join(new_stage_id());
            match DirBuilder::new().mode(0o700).create(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
                Ok(()) => return Ok(Self { _lock: lock_directory(&path)?, path }),
            }
        }
    }

    /// Opens the directory of a waiting stage.
    pub(super) fn open(registry: &Path, id: &str) -> io::Result<Self> {
        let home = staging_root(registry);
        let path = home.join(id);
        let is_name = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !is_name || !StageRecord::exists(&path) {
            return Err(io::Error::new(ErrorKind::NotFound, format!("no staged changes `{id}`")));
        }
        PlaceholderRegistry::open(&home)?;
        let lock = File::open(&path)?;
        lock.try_lock().map_err(|_| {
            io::Error::new(ErrorKind::WouldBlock, format!("another process uses `{id}`"))
        })?;
        Ok(Self { _lock: lock, path })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn id(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// Returns a new name of eight hexadecimal digits. It need not be secret.
#[must_use]
pub fn new_stage_id() -> String {
    let random = RandomState::new().build_hasher().finish();
    format!("{:08x}", random & u64::from(u32::MAX))
}

impl Drop for StageDirectory {
    fn drop(&mut self) {
        if StageRecord::exists(&self.path) {
            return;
        }
        // If a part cannot be removed now, the next cleanup tries again.
        drop(tree::remove_tree(&self.path));
    }
}

impl OverlayLayer {
    /// Returns the directories of the writable directory with this index.
    pub(crate) fn new(place: &Path, number: usize) -> Self {
        let layer = place.join(number.to_string());
        Self { upper: layer.join("upper"), work: layer.join("work") }
    }

    /// Creates the directories. The upper one gets the permissions of `below`, the lower one.
    pub(super) fn create(&self, below: impl AsFd) -> io::Result<()> {
        for path in [&self.upper, &self.work] {
            DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        }
        let mode = Mode::from_raw_mode(fstat(below)?.st_mode & 0o777);
        Ok(chmod(&self.upper, mode)?)
    }
}

/// Removes the staged changes of killed runs, and those that have waited too long.
pub(crate) fn remove_stale(registry: &Path) -> io::Result<()> {
    let home = staging_root(registry);
    if !home.is_dir() || fs::read_dir(&home)?.next().is_none() {
        return Ok(());
    }
    let _all = lock_directory(&home)?;
    for entry in fs::read_dir(&home)? {
        let path = entry?.path();
        let unused = File::open(&path).is_ok_and(|place| place.try_lock().is_ok());
        if unused && !StageRecord::is_kept(&path) {
            tree::remove_tree(&path)?;
        }
    }
    Ok(())
}

/// Returns an error for directories that an overlay could not show unchanged.
pub(super) fn check_roots(registry: &Path, roots: &[PathBuf]) -> io::Result<()> {
    let mounted = fs::read("/proc/self/mountinfo")?;
    let refused =
        |path: &Path, why: &str| Err(io::Error::other(format!("`{}` {why}", path.display())));
    for root in roots {
        if !root.is_dir() {
            return refused(root, "is not a directory: only files in directories are staged");
        }
        if staging_root(registry).starts_with(root) {
            return refused(root, "contains OpenOxide's own state, where changes would be staged");
        }
        if parse_mount_points(&mounted).any(|point| point != *root && point.starts_with(root)) {
            return refused(
                root,
                "has another file system mounted below it, which an overlay would not show",
            );
        }
    }
    Ok(())
}

/// Returns the fifth field of each line. Spaces and similar characters are written as `\040`
/// (proc_pid_mountinfo(5)).
pub(super) fn parse_mount_points(mounted: &[u8]) -> impl Iterator<Item = PathBuf> {
    let lines = mounted.split(|byte| *byte == b'\n');
    let fields = lines.filter_map(|line| line.split(|byte| *byte == b' ').nth(4));
    fields.map(|field| PathBuf::from(unescape(field)))
}

fn unescape(field: &[u8]) -> OsString {
    let mut parts = field.split(|byte| *byte == b'\\');
    let mut text = parts.next().unwrap_or_default().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at_checked(3).unwrap_or((part, b""));
        let digits = OsStr::from_bytes(digits).to_str();
        text.extend(digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()));
        text.extend(rest);
    }
    OsString::from_vec(text)
}
