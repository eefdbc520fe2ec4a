//! The configuration of repositories after a run: harmless changes of the private copies are
//! applied, and others wait for a person.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs::{File, Permissions},
    io::{self, Write as _},
    os::{fd::OwnedFd, unix::fs::PermissionsExt as _},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use openoxide_protocol::AbsPath;
use rustix::{
    fs::{AtFlags, Mode, OFlags, ResolveFlags, openat, openat2, renameat, unlinkat},
    io::Errno,
};

use crate::{
    interface::PostRunFinding,
    post_run::quarantine::{open_parent, quarantine_names, quarantine_path},
    protected_paths::{
        PrivateConfig, find_risky_changes, merge_changes, read_config_text, to_display_path,
        with_access,
    },
};

/// The number of attempts to get the lock of a configuration file, and the time between them. `git`
/// holds it for as long as writing the file takes.
const LOCK_ATTEMPTS: u32 = 20;
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(25);

/// Applies the harmless changes of these files, whose copies are in a directory. Returns findings
/// about files that stay unchanged because of other changes.
#[must_use]
pub(crate) fn apply_private_configs(
    copies: &OwnedFd,
    configs: &[PrivateConfig],
) -> Vec<PostRunFinding> {
    let mut found: Vec<_> = configs.iter().filter_map(hold_changed_config).collect();
    let changed = changed_configs(copies, configs).into_iter();
    found.extend(changed.filter_map(|one| apply_settings(one.config, &one.text).ok().flatten()));
    found
}

/// A configuration file whose copy a program has changed.
pub(crate) struct ChangedConfig<'a> {
    pub(crate) config: &'a PrivateConfig,
    /// The content of the copy.
    pub(crate) text: Vec<u8>,
}

/// Returns the files whose copies, which are in a directory, were changed.
pub(crate) fn changed_configs<'a>(
    copies: &OwnedFd,
    configs: &'a [PrivateConfig],
) -> Vec<ChangedConfig<'a>> {
    let changed = configs.iter().enumerate().filter_map(|(number, config)| {
        // A program that removes its copy or replaces it with something else changes nothing.
        let text = read_copy(copies, number, &config.path)?;
        (text != config.text).then_some(ChangedConfig { config, text })
    });
    changed.collect()
}

/// Restores the host's file if it was changed during the run in a way that can make `git` run
/// something, and holds the changed version. Another program that replaces the file uncovers it for
/// a moment, in which the confined program could change it. So it is not known which program made
/// the change.
fn hold_changed_config(config: &PrivateConfig) -> Option<PostRunFinding> {
    let (directory, name) = with_access(&config.path, || open_parent(&config.path)).ok()?;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let now = match openat(&directory, name, flags, Mode::empty()) {
        Err(Errno::NOENT) => return None,
        file => file.ok().and_then(|file| read_config_text(file.into())),
    };
    if now.as_ref() == Some(&config.text) {
        return None;
    }
    let risky = now.and_then(|now| find_risky_changes(&config.text, &now, &config.path));
    if risky.as_ref().is_some_and(BTreeSet::is_empty) {
        return None;
    }
    // The lock of `git` is not used: the program may have left one.
    let held = quarantine_path(&config.path).ok()?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    if let Ok(file) = openat(&directory, name, flags, Mode::from_raw_mode(config.mode)) {
        drop(File::from(file).write_all(&config.text));
    }
    Some(PostRunFinding::GitSettings {
        path: to_display_path(&config.path)?,
        held: to_display_path(&held)?,
        names: risky.unwrap_or_default().into_iter().collect(),
        conflicts: Vec::new(),
    })
}

/// Reads a copy. A program may have put anything in its place.
fn read_copy(copies: &OwnedFd, number: usize, path: &Path) -> Option<Vec<u8>> {
    let name = Path::new(&number.to_string()).join(path.file_name()?);
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    read_config_text(File::from(openat2(copies, name, flags, Mode::empty(), resolve).ok()?))
}

/// Applies the harmless changes to the host's file. If there are others, writes the new content next
/// to it, so that a person can decide, and returns a finding.
///
/// # Errors
/// Returns an error if a change was neither applied nor written next to the file.
pub(crate) fn apply_settings(
    config: &PrivateConfig,
    new: &[u8],
) -> io::Result<Option<PostRunFinding>> {
    apply_harmless_settings(config, new, find_risky_changes(&config.text, new, &config.path))
}

/// Restores an earlier content of the host's file, regardless of the settings in it.
///
/// # Errors
/// Returns an error if the content was neither restored nor written next to the file.
pub(crate) fn restore_settings(
    config: &PrivateConfig,
    earlier: &[u8],
) -> io::Result<Option<PostRunFinding>> {
    apply_harmless_settings(config, earlier, Some(BTreeSet::new()))
}

/// Applies the changes except for these risky ones, which are `None` if they cannot be determined.
fn apply_harmless_settings(
    config: &PrivateConfig,
    new: &[u8],
    risky: Option<BTreeSet<String>>,
) -> io::Result<Option<PostRunFinding>> {
    let is_harmless = risky.as_ref().is_some_and(BTreeSet::is_empty);
    let update = update_config(config, new, is_harmless).unwrap_or_else(|_| ConfigUpdate {
        all: new.to_vec(),
        conflicts: BTreeSet::new(),
        is_complete: false,
    });
    if update.is_complete {
        return Ok(None);
    }
    let held = hold_config(config, &update.all)?;
    let paths = to_display_path(&config.path).zip(to_display_path(&held));
    let (path, held) = paths.ok_or(io::ErrorKind::InvalidFilename)?;
    Ok(Some(PostRunFinding::GitSettings {
        path,
        held,
        names: risky.unwrap_or_default().into_iter().collect(),
        conflicts: update.conflicts.into_iter().collect(),
    }))
}

/// The result of an update of the host's file.
struct ConfigUpdate {
    /// The content with all changes.
    all: Vec<u8>,
    /// The names of settings that another program has changed in the meantime.
    conflicts: BTreeSet<String>,
    /// True if all changes were applied.
    is_complete: bool,
}

/// Applies the harmless changes to the host's file, which another program may have changed since the
/// run began. Uses the lock of `git`, so that no `git` of the host writes it at the same time.
fn update_config(
    config: &PrivateConfig,
    new: &[u8],
    is_harmless: bool,
) -> io::Result<ConfigUpdate> {
    let (directory, name) = with_access(&config.path, || open_parent(&config.path))?;
    let lock = LockedConfig::create(&directory, name)?;
    let now = read_text_at(&directory, name).ok_or(io::ErrorKind::InvalidData)?;
    let is_unchanged = now == config.text;
    if is_harmless && is_unchanged {
        lock.commit(new, config.mode)?;
        return Ok(ConfigUpdate {
            all: new.to_vec(),
            conflicts: BTreeSet::new(),
            is_complete: true,
        });
    }
    let merged =
        merge_changes(&config.text, new, &now, &config.path).ok_or(io::ErrorKind::InvalidData)?;
    if merged.harmless != now {
        lock.commit(&merged.harmless, config.mode)?;
    }
    Ok(ConfigUpdate {
        all: if is_unchanged { new.to_vec() } else { merged.all },
        is_complete: is_harmless && merged.conflicts.is_empty(),
        conflicts: merged.conflicts,
    })
}

/// Reads a file of a directory on the host.
fn read_text_at(directory: &OwnedFd, name: &OsStr) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    read_config_text(File::from(openat(directory, name, flags, Mode::empty()).ok()?))
}

/// Writes the program's version next to the host's file, unless it is there already. Returns its
/// path.
fn hold_config(config: &PrivateConfig, new: &[u8]) -> io::Result<PathBuf> {
    let (directory, name) = with_access(&config.path, || open_parent(&config.path))?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    for aside in quarantine_names(name) {
        match openat(&directory, &aside, flags, Mode::from_raw_mode(config.mode & 0o666)) {
            Err(Errno::EXIST) if read_text_at(&directory, &aside).as_deref() == Some(new) => {
                return Ok(config.path.with_file_name(aside));
            }
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
            Ok(file) => {
                File::from(file).write_all(new)?;
                return Ok(config.path.with_file_name(aside));
            }
        }
    }
    Err(Errno::EXIST.into())
}

/// Replaces a configuration file with the program's version, after a person has approved that.
///
/// # Errors
/// Returns an error if the version does not exist any more, or if another program is changing the
/// file.
pub fn restore_git_settings(path: &AbsPath, held: &AbsPath) -> io::Result<()> {
    let (path, held) = (Path::new(path.as_str()), Path::new(held.as_str()));
    let (directory, name) = with_access(path, || open_parent(path))?;
    let (same, aside) = open_parent(held)?;
    let _lock = LockedConfig::create(&directory, name)?;
    Ok(renameat(same, aside, &directory, name)?)
}

/// A configuration file that is locked in the way of `git`: a file with the suffix `.lock`, which is
/// removed when this is dropped.
struct LockedConfig<'a> {
    directory: &'a OwnedFd,
    name: &'a OsStr,
    file: File,
    is_committed: bool,
}

impl<'a> LockedConfig<'a> {
    fn create(directory: &'a OwnedFd, name: &'a OsStr) -> io::Result<Self> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for _ in 1..LOCK_ATTEMPTS {
            match openat(directory, lock_name(name), flags, Mode::from_raw_mode(0o600)) {
                Err(Errno::EXIST) => thread::sleep(LOCK_RETRY_INTERVAL),
                file => {
                    return Ok(Self { directory, name, file: file?.into(), is_committed: false });
                }
            }
        }
        Err(Errno::EXIST.into())
    }

    /// Writes the new content and replaces the file.
    fn commit(mut self, text: &[u8], mode: u32) -> io::Result<()> {
        self.file.write_all(text)?;
        self.file.set_permissions(Permissions::from_mode(mode))?;
        renameat(self.directory, lock_name(self.name), self.directory, self.name)?;
        self.is_committed = true;
        Ok(())
    }
}

impl Drop for LockedConfig<'_> {
    fn drop(&mut self) {
        // After a commit, another program may have locked the file.
        if !self.is_committed {
            _ = unlinkat(self.directory, lock_name(self.name), AtFlags::empty());
        }
    }
}

fn lock_name(name: &OsStr) -> PathBuf {
    let mut lock = name.to_owned();
    lock.push(".lock");
    lock.into()
}
