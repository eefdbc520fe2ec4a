//! The requests that can be reviewed at all, by path, kind and owner of their files.

use std::{collections::BTreeSet, fs, path::Path};

use openoxide_protocol::{AbsPath, SandboxRestrictions, steering_files::may_be_steering_component};
use rustix::{
    fs::{FileType, OFlags, Stat},
    process::geteuid,
};

use crate::{
    file_requests::{
        file_request::FileRequest,
        resolved_entry::{self, InodeId, ResolvedEntry, file_id, file_id_at},
    },
    seccomp::descriptor_path,
};

/// Directories without ordinary files: kernel settings and devices.
const PSEUDO_FILE_SYSTEMS: [&str; 3] = ["/proc", "/sys", "/dev"];
/// The maximum number of entries of a directory that is moved, with everything below it.
const MAX_MOVED_ENTRIES: usize = 10_000;

/// The limits of a run.
pub(super) struct ReviewLimits {
    /// Paths that are never offered for review, with everything below them: the paths of the
    /// profile, and the sandbox's own.
    restricted_paths: BTreeSet<AbsPath>,
    /// The same files by identity, to recognize them by any other name.
    restricted_files: BTreeSet<InodeId>,
    user: u32,
}

impl ReviewLimits {
    /// `own` are OpenOxide's own paths.
    pub(super) fn new(
        profile: &SandboxRestrictions,
        own: impl IntoIterator<Item = AbsPath>,
    ) -> Self {
        let named = profile.writable.iter().chain(&profile.protected).chain(&profile.unreadable);
        let known: BTreeSet<_> = named.cloned().chain(own).collect();
        let restricted_files = known.iter().filter_map(file_id_at).collect();
        let no_files = PSEUDO_FILE_SYSTEMS.map(|place| AbsPath::root().join(place));
        let restricted_paths = known.into_iter().chain(no_files).collect();
        Self { restricted_paths, restricted_files, user: geteuid().as_raw() }
    }

    /// Returns whether a change can be reviewed.
    pub(super) fn is_reviewable(&self, wish: &FileRequest<ResolvedEntry>) -> bool {
        wish.files().all(|file| self.is_unrestricted(file)) && self.is_supported(wish)
    }

    fn is_supported(&self, wish: &FileRequest<ResolvedEntry>) -> bool {
        match wish {
            FileRequest::Open { file, flags, .. } if file.exists() => {
                let new = flags.contains(OFlags::CREATE | OFlags::EXCL);
                !new && self.is_plain_entry(file) && file.is_writable()
            }
            FileRequest::Open { file, flags, .. } => {
                flags.contains(OFlags::CREATE) && self.can_create_entries(file)
            }
            FileRequest::Truncate { file, .. } => self.is_plain_entry(file) && file.is_writable(),
            FileRequest::MakeDirectory { file, .. } | FileRequest::MakePipe { file, .. } => {
                !file.exists() && self.can_create_entries(file)
            }
            FileRequest::MakeSymlink { file, .. } => {
                // What is restricted must not get another name.
                !file.exists()
                    && self.can_create_entries(file)
                    && wish
                        .to_requested_change()
                        .and_then(|change| change.target)
                        .is_some_and(|target| self.is_unrestricted_path(&target))
            }
            FileRequest::Link { from, to } => {
                !to.exists() && self.can_create_entries(to) && self.is_plain_entry(from)
            }
            FileRequest::Remove { file, directory: true } => {
                self.can_create_entries(file) && file.is_directory()
            }
            FileRequest::Remove { file, directory: false } => {
                self.can_create_entries(file) && self.is_plain_entry(file)
            }
            FileRequest::Rename { from, to, .. } => {
                let over = !to.exists() || self.is_plain_entry(to);
                let is_plain = self.is_plain_entry(from) && over
                    || !to.exists() && self.is_movable_directory(from);
                self.can_create_entries(from) && self.can_create_entries(to) && is_plain
            }
            FileRequest::SetMode { file, .. } | FileRequest::SetTimes { file, .. } => {
                self.is_plain_entry(file) || self.is_own_directory(file)
            }
        }
    }

    /// Returns true if neither the path of the entry nor a directory above it is restricted.
    fn is_unrestricted(&self, spot: &ResolvedEntry) -> bool {
        self.is_unrestricted_path(spot.path())
            && !spot.ancestor_ids().any(|file| self.restricted_files.contains(&file))
    }

    fn is_unrestricted_path(&self, path: &AbsPath) -> bool {
        !self.restricted_paths.iter().any(|place| path.strip_prefix(place).is_some())
    }

    /// Returns whether names can be created and removed in the directory of the entry. It must
    /// belong to this user.
    fn can_create_entries(&self, spot: &ResolvedEntry) -> bool {
        spot.is_directory_writable() && spot.directory_owner() == Some(self.user)
    }

    fn is_plain_entry(&self, spot: &ResolvedEntry) -> bool {
        matches!(spot.stat(), Some(Ok(found)) if self.is_plain_file(&found))
    }

    /// Returns whether this is a file of this user that does not run as another user.
    pub(super) fn is_plain_file(&self, found: &Stat) -> bool {
        resolved_entry::is_plain_file(found)
            && found.st_uid == self.user
            && !self.restricted_files.contains(&file_id(found))
    }

    /// Returns whether this is a directory of this user without a restricted path in it.
    fn is_own_directory(&self, spot: &ResolvedEntry) -> bool {
        let is_own = matches!(spot.stat(), Some(Ok(found))
            if found.st_uid == self.user && is_directory(&found));
        is_own && !self.restricted_paths.iter().any(|path| path.strip_prefix(spot.path()).is_some())
    }

    /// Returns whether a directory can be moved. Files that configure programs, and hidden files,
    /// must stay where they are: at another place, they could have another meaning.
    fn is_movable_directory(&self, spot: &ResolvedEntry) -> bool {
        let Some(directory) = spot.file() else { return false };
        let mut left = MAX_MOVED_ENTRIES;
        self.is_own_directory(spot)
            && contains_only_plain_names(Path::new(&descriptor_path(directory)), &mut left)
    }
}

/// Returns whether a directory contains no hidden file and no file that configures programs, at any
/// depth. `left` is the number of further entries that may be checked.
fn contains_only_plain_names(directory: &Path, left: &mut usize) -> bool {
    let Ok(entries) = fs::read_dir(directory) else { return false };
    for entry in entries {
        let Ok(entry) = entry else { return false };
        let (name, kind) = (entry.file_name(), entry.file_type());
        let is_plain = name
            .to_str()
            .is_some_and(|name| !name.starts_with('.') && !may_be_steering_component(name));
        if *left == 0 || !is_plain {
            return false;
        }
        *left -= 1;
        match kind {
            Ok(kind) if kind.is_dir() => {
                if !contains_only_plain_names(&entry.path(), left) {
                    return false;
                }
            }
            Ok(kind) if kind.is_file() => {}
            _ => return false,
        }
    }
    true
}

fn is_directory(found: &Stat) -> bool {
    FileType::from_raw_mode(found.st_mode) == FileType::Directory
}
