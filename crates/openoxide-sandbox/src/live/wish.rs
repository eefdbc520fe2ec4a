//! What a held call wants: as it is written in its registers and memory, and as it was looked at.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _, path::PathBuf};

use rustix::{
    fs::{Mode, OFlags, RenameFlags},
    io::Errno,
};

use super::{Deed, LiveChange, Spot};
use crate::notify::Call;

/// What a call wants of files that are said so.
#[derive(Debug)]
pub(crate) enum Wish<F> {
    Open { file: F, flags: OFlags, mode: Mode },
    MakeDirectory { file: F, mode: Mode },
    Remove { file: F, directory: bool },
    Rename { from: F, to: F, flags: RenameFlags },
}

/// A file in the words of a call.
#[derive(Debug)]
pub(crate) struct Name {
    /// Its path; a relative one is joined to the directory that it counts from.
    pub(super) path: PathBuf,
}

impl Wish<Name> {
    /// Reads a call. None: it is none that is done on behalf.
    pub(super) fn read(call: &Call<'_>) -> Result<Option<Self>, Errno> {
        let flags = |at| OFlags::from_bits_retain(call.int(at).cast_unsigned());
        let mode = |at| Mode::from_raw_mode(call.int(at).cast_unsigned() & 0o1777);
        let at = |path: usize| Name::of(call, libc::AT_FDCWD, path);
        let from = |base: usize, path: usize| Name::of(call, call.int(base), path);
        Ok(Some(match call.number() {
            #[cfg(target_arch = "x86_64")]
            libc::SYS_open => Self::Open { file: at(0)?, flags: flags(1), mode: mode(2) },
            #[cfg(target_arch = "x86_64")]
            libc::SYS_creat => {
                let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::TRUNC;
                Self::Open { file: at(0)?, flags, mode: mode(1) }
            }
            libc::SYS_openat => Self::Open { file: from(0, 1)?, flags: flags(2), mode: mode(3) },
            #[cfg(target_arch = "x86_64")]
            libc::SYS_mkdir => Self::MakeDirectory { file: at(0)?, mode: mode(1) },
            libc::SYS_mkdirat => Self::MakeDirectory { file: from(0, 1)?, mode: mode(2) },
            #[cfg(target_arch = "x86_64")]
            libc::SYS_rmdir => Self::Remove { file: at(0)?, directory: true },
            #[cfg(target_arch = "x86_64")]
            libc::SYS_unlink => Self::Remove { file: at(0)?, directory: false },
            libc::SYS_unlinkat => match call.int(2) {
                0 => Self::Remove { file: from(0, 1)?, directory: false },
                libc::AT_REMOVEDIR => Self::Remove { file: from(0, 1)?, directory: true },
                _ => return Ok(None),
            },
            #[cfg(target_arch = "x86_64")]
            libc::SYS_rename => {
                Self::Rename { from: at(0)?, to: at(1)?, flags: RenameFlags::empty() }
            }
            libc::SYS_renameat => {
                Self::Rename { from: from(0, 1)?, to: from(2, 3)?, flags: RenameFlags::empty() }
            }
            libc::SYS_renameat2 => {
                let flags = RenameFlags::from_bits_retain(call.int(4).cast_unsigned());
                if !RenameFlags::NOREPLACE.contains(flags) {
                    return Ok(None);
                }
                Self::Rename { from: from(0, 1)?, to: from(2, 3)?, flags }
            }
            _ => return Ok(None),
        }))
    }

    /// Looks at what it means. None: the mounts let it pass, or it is none of what is done on behalf.
    pub(super) fn look(self, call: &Call<'_>) -> Option<Wish<Spot>> {
        Some(match self {
            Self::Open { file, flags, mode } => {
                // Without a name there is nothing to ask about; and where only a place is meant, nothing is written.
                if flags.intersects(OFlags::PATH | OFlags::DIRECTORY) {
                    return None;
                }
                let new = flags.contains(OFlags::CREATE | OFlags::EXCL);
                let file = if new || flags.contains(OFlags::NOFOLLOW) {
                    Spot::named(call, &file)?
                } else {
                    Spot::meant(call, &file)?
                };
                Wish::Open { file, flags, mode }
            }
            Self::MakeDirectory { file, mode } => {
                Wish::MakeDirectory { file: Spot::named(call, &file.without_slash())?, mode }
            }
            Self::Remove { file, directory: true } => {
                Wish::Remove { file: Spot::named(call, &file.without_slash())?, directory: true }
            }
            Self::Remove { file, directory: false } => {
                Wish::Remove { file: Spot::named(call, &file)?, directory: false }
            }
            Self::Rename { from, to, flags } => {
                Wish::Rename { from: Spot::named(call, &from)?, to: Spot::named(call, &to)?, flags }
            }
        })
    }
}

impl Name {
    fn of(call: &Call<'_>, base: i32, path: usize) -> Result<Self, Errno> {
        let path = call.path(path)?;
        if path.as_os_str().is_empty() {
            return Err(Errno::NOENT);
        }
        let path = if path.is_absolute() { path } else { call.base(base)?.join(path) };
        Ok(Self { path })
    }

    /// The name of a directory may end with slashes.
    fn without_slash(self) -> Self {
        let bytes = self.path.as_os_str().as_bytes();
        let length = bytes.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
        let path = bytes.get(..length).unwrap_or_default();
        Self { path: OsStr::from_bytes(path).into() }
    }
}

impl Wish<Spot> {
    /// The files that change.
    pub(super) fn files(&self) -> impl Iterator<Item = &Spot> {
        let (first, second) = match self {
            Self::Open { file, .. }
            | Self::MakeDirectory { file, .. }
            | Self::Remove { file, .. } => (file, None),
            Self::Rename { from, to, .. } => (from, Some(to)),
        };
        [first].into_iter().chain(second)
    }

    /// What is asked.
    pub(super) fn change(&self) -> LiveChange {
        let (deed, file, to) = match self {
            Self::Open { file, .. } => (Deed::Write, file, None),
            Self::MakeDirectory { file, .. } => (Deed::MakeDirectory, file, None),
            Self::Remove { file, .. } => (Deed::Remove, file, None),
            Self::Rename { from, to, .. } => (Deed::Rename, from, Some(to.path().clone())),
        };
        let other_names = if deed == Deed::Write { file.other_names() } else { 0 };
        LiveChange { deed, path: file.path().clone(), to, other_names }
    }
}
