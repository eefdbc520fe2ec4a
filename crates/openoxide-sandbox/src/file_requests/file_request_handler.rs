//! The handler of file requests. It decides which of them are reviewed, and performs the approved
//! ones.

use std::{collections::BTreeSet, os::fd::OwnedFd, sync::Arc, time::Duration};

use crate::{
    file_requests::{
        file_request::FileRequest,
        operations,
        resolved_entry::{self, ResolvedEntry, file_id},
    },
    interface::{RequestedChange, RuntimeDecision, SandboxDenial},
    runtime_reviews::{DenialLog, ReviewCoordinator},
    seccomp::PendingSyscall,
    sys,
};
use openoxide_protocol::{AbsPath, SandboxRestrictions};
use rustix::{
    fs::{OFlags, Stat},
    io::Errno,
    process::geteuid,
};

/// The time that a person has to answer.
const REVIEW_TIMEOUT: Duration = Duration::from_secs(60);
/// The maximum number of open reviews. Rules answer most requests, and programs have many threads.
const MAX_OPEN_REVIEWS: usize = 64;
/// Directories without ordinary files: kernel settings and devices.
const PSEUDO_FILE_SYSTEMS: [&str; 3] = ["/proc", "/sys", "/dev"];

/// A handler of file requests.
pub(crate) struct FileRequestHandler {
    /// Paths that are never offered for review, with everything below them: the paths of the
    /// profile, and the sandbox's own.
    restricted_paths: BTreeSet<AbsPath>,
    /// The same files by identity, to recognize them by any other name.
    restricted_files: BTreeSet<(u64, u64)>,
    user: u32,
    reviews: Arc<ReviewCoordinator<RequestedChange>>,
    denials: Arc<DenialLog>,
}

impl FileRequestHandler {
    /// Creates a handler. `own` are OpenOxide's own paths. `ask` rejects requests that no person
    /// may be asked about.
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

    /// Resolves a system call. Returns `None` if the decision is left to the kernel.
    pub(crate) fn parse_syscall(
        &self,
        call: &PendingSyscall<'_>,
    ) -> Option<FileRequest<ResolvedEntry>> {
        let wish = FileRequest::from_syscall(call).ok()??.resolve(call)?;
        self.is_reviewable(&wish).then_some(wish)
    }

    /// Reviews a request. Performs it if it is approved, and otherwise lets the kernel refuse it.
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
        // The process may have been killed while a person was deciding.
        call.check_pending()?;
        // The file may have been replaced by one of another type since it was resolved.
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

    /// Returns whether a change can be reviewed.
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

    /// Returns true if neither the path of the entry nor a directory above it is restricted.
    fn is_unrestricted(&self, spot: &ResolvedEntry) -> bool {
        let closed = |place: &AbsPath| spot.path().strip_prefix(place).is_some();
        !self.restricted_paths.iter().any(closed)
            && !spot.ancestor_ids().any(|file| self.restricted_files.contains(&file))
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
    fn is_plain_file(&self, found: &Stat) -> bool {
        resolved_entry::is_plain_file(found)
            && found.st_uid == self.user
            && !self.restricted_files.contains(&file_id(found))
    }
}
