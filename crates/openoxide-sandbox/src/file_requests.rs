//! Changes of files outside the profile: held, asked about, and done on behalf.
//!
//! The filter hands over every call that opens a file to write, or that makes, removes or renames one. We look at what it means,
//! with a copy of its path. Where the mounts let it pass, and wherever we would not do it ourselves, the call goes on: whatever
//! another thread has put into its memory by then, the same mounts and Landlock judge it, so that going on widens nothing. What they
//! would refuse is asked about by its real path, and what is granted we do ourselves, outside, in the directory that was looked at:
//! the program gets the open file, or the result. Its own call is never made then.

mod file_request;
mod operations;
mod resolved_entry;

use std::{collections::BTreeSet, os::fd::OwnedFd, sync::Arc, time::Duration};

use openoxide_protocol::{AbsPath, SandboxRestrictions};
use rustix::{
    fs::{OFlags, Stat},
    io::Errno,
    process::geteuid,
};
use serde::{Deserialize, Serialize};

use crate::{
    RuntimeDecision, SandboxDenial, network::DenialLog, runtime_reviews::ReviewCoordinator,
    seccomp_notify::PendingSyscall, sys,
};
pub(crate) use file_request::FileRequest;
pub(crate) use resolved_entry::ResolvedEntry;
use resolved_entry::file_id;

/// How long a person may take to answer.
const REVIEW_TIMEOUT: Duration = Duration::from_secs(60);
/// How many questions stand at once. Rules answer most, and programs have many threads.
const MAX_OPEN_REVIEWS: usize = 64;
/// What is nobody's file: settings of the kernel, and devices.
const PSEUDO_FILE_SYSTEMS: [&str; 3] = ["/proc", "/sys", "/dev"];

/// A change that is asked about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RequestedChange {
    /// What is done.
    pub operation: FileOperation,
    /// To which file: where it really is.
    pub path: AbsPath,
    /// What it is called afterwards, if it is renamed.
    pub target: Option<AbsPath>,
    /// How many other names a file has that is changed (hard links): they change with it.
    pub other_links: u64,
}

/// What is done to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileOperation {
    /// It is opened to be written, and made if it is not there.
    Write,
    /// A directory is made.
    MakeDirectory,
    /// It is removed.
    Remove,
    /// It is called otherwise; what had that name is removed.
    Rename,
}

/// Who answers for changes.
pub(crate) struct FileRequestHandler {
    /// What is never offered, nor anything below it: what the profile speaks of, and our own.
    restricted_paths: BTreeSet<AbsPath>,
    /// The same, by whatever name it is reached.
    restricted_files: BTreeSet<(u64, u64)>,
    user: u32,
    reviews: Arc<ReviewCoordinator<RequestedChange>>,
    denials: Arc<DenialLog>,
}

impl FileRequestHandler {
    /// `own` are places of our own; what no one may be asked about is held by `ask`, which answers no.
    pub(crate) fn new(
        profile: &SandboxRestrictions,
        own: impl IntoIterator<Item = AbsPath>,
        denials: Arc<DenialLog>,
        ask: impl Fn(&RequestedChange, &dyn Fn() -> bool) -> RuntimeDecision + Send + Sync + 'static,
    ) -> Self {
        let spoken_of =
            profile.writable.iter().chain(&profile.protected).chain(&profile.unreadable);
        let known: BTreeSet<_> = spoken_of.cloned().chain(own).collect();
        let restricted_files = known.iter().filter_map(resolved_entry::file_id_at).collect();
        let no_files = PSEUDO_FILE_SYSTEMS.map(|place| AbsPath::root().join(place));
        let restricted_paths = known.into_iter().chain(no_files).collect();
        let reviews = ReviewCoordinator::new(ask, REVIEW_TIMEOUT, MAX_OPEN_REVIEWS);
        Self { restricted_paths, restricted_files, user: geteuid().as_raw(), reviews, denials }
    }

    /// Looks at a call. None: it is the kernel's to judge.
    pub(crate) fn parse_syscall(
        &self,
        call: &PendingSyscall<'_>,
    ) -> Option<FileRequest<ResolvedEntry>> {
        let wish = FileRequest::from_syscall(call).ok()??.resolve(call)?;
        self.is_reviewable(&wish).then_some(wish)
    }

    /// Asks, and does it or lets the kernel refuse it.
    pub(crate) fn answer(&self, call: &PendingSyscall<'_>, wish: &FileRequest<ResolvedEntry>) {
        let change = wish.to_requested_change();
        let waits = || call.check_pending().is_ok();
        if !self.reviews.review(&change, waits) {
            if waits() {
                self.denials
                    .record(SandboxDenial::Write { path: change.target.unwrap_or(change.path) });
            }
            return call.continue_syscall();
        }
        match self.perform(call, wish) {
            Ok(Some((file, close_on_exec))) => call.return_descriptor(&file, close_on_exec),
            Ok(None) => call.respond(Ok(())),
            Err(error) => call.respond(Err(error)),
        }
    }

    fn perform(
        &self,
        call: &PendingSyscall<'_>,
        wish: &FileRequest<ResolvedEntry>,
    ) -> Result<Option<(OwnedFd, bool)>, Errno> {
        let mask = call.umask()?;
        sys::set_thread_umask(mask).map_err(|_| Errno::PERM)?;
        // Whoever was killed while a person thought wants nothing any more.
        call.check_pending()?;
        // What was looked at may have become another kind of file since.
        if !self.is_reviewable(wish) {
            return Err(Errno::ACCESS);
        }
        match wish {
            FileRequest::Open { file, flags, mode } => {
                let opened =
                    operations::open_file(file, *flags, *mode, |found| self.is_plain_file(found))?;
                Ok(Some((opened, flags.contains(OFlags::CLOEXEC))))
            }
            FileRequest::MakeDirectory { file, mode } => {
                operations::make_directory(file, *mode).map(|()| None)
            }
            FileRequest::Remove { file, directory } => {
                operations::remove(file, *directory).map(|()| None)
            }
            FileRequest::Rename { from, to, flags } => {
                operations::rename(from, to, *flags).map(|()| None)
            }
        }
    }

    /// Says whether a change can be asked about at all.
    fn is_reviewable(&self, wish: &FileRequest<ResolvedEntry>) -> bool {
        wish.entries().all(|spot| self.is_unrestricted(spot)) && self.is_supported(wish)
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
            FileRequest::MakeDirectory { file, .. } => {
                !file.exists() && self.can_create_entries(file)
            }
            FileRequest::Remove { file, directory: true } => {
                self.can_create_entries(file) && file.is_directory()
            }
            FileRequest::Remove { file, directory: false } => {
                self.can_create_entries(file) && self.is_plain_entry(file)
            }
            FileRequest::Rename { from, to, .. } => {
                let over = !to.exists() || self.is_plain_entry(to);
                self.can_create_entries(from)
                    && self.can_create_entries(to)
                    && self.is_plain_entry(from)
                    && over
            }
        }
    }

    /// Says whether nothing speaks of this place: neither by its path nor by what lies on the way there.
    fn is_unrestricted(&self, spot: &ResolvedEntry) -> bool {
        let closed = |place: &AbsPath| spot.path().strip_prefix(place).is_some();
        !self.restricted_paths.iter().any(closed)
            && !spot.ancestor_ids().any(|file| self.restricted_files.contains(&file))
    }

    /// Says whether names can be made and removed there: the directory is this user's own.
    fn can_create_entries(&self, spot: &ResolvedEntry) -> bool {
        spot.is_directory_writable() && spot.directory_owner() == Some(self.user)
    }

    fn is_plain_entry(&self, spot: &ResolvedEntry) -> bool {
        matches!(spot.stat(), Some(Ok(found)) if self.is_plain_file(&found))
    }

    /// Says whether this is a file of this user that nobody runs as somebody else.
    fn is_plain_file(&self, found: &Stat) -> bool {
        resolved_entry::is_plain_file(found)
            && found.st_uid == self.user
            && !self.restricted_files.contains(&file_id(found))
    }
}

#[cfg(test)]
mod tests;
