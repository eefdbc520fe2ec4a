//! The handler of file requests. It decides which of them are reviewed, and performs the approved
//! ones.

use std::{os::fd::OwnedFd, sync::Arc, time::Duration};

use crate::{
    file_requests::{
        file_request::FileRequest, operations, resolved_entry::ResolvedEntry,
        review_limits::ReviewLimits, writable_roots::WritableRoots,
    },
    interface::{RequestedChange, RuntimeDecision, SandboxDenial},
    runtime_reviews::{DenialLog, ReviewCoordinator, ReviewOutcome},
    seccomp::PendingSyscall,
    sys,
};
use openoxide_protocol::{AbsPath, SandboxRestrictions};
use rustix::{fs::OFlags, io::Errno};

/// The time that a person has to answer.
const REVIEW_TIMEOUT: Duration = Duration::from_secs(60);
/// The maximum number of open reviews. Rules answer most requests, and programs have many threads.
const MAX_OPEN_REVIEWS: usize = 64;

/// A handler of file requests.
pub(crate) struct FileRequestHandler {
    limits: ReviewLimits,
    writable_roots: WritableRoots,
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
        let limits = ReviewLimits::new(profile, own);
        let writable_roots = WritableRoots::open(&profile.writable);
        let reviews = ReviewCoordinator::new(ask, REVIEW_TIMEOUT, MAX_OPEN_REVIEWS);
        Self { limits, writable_roots, reviews, denials }
    }

    /// Resolves a system call. Returns `None` if the decision is left to the kernel.
    pub(crate) fn parse_syscall(
        &self,
        call: &PendingSyscall<'_>,
    ) -> Option<FileRequest<ResolvedEntry>> {
        let wish = FileRequest::from_syscall(call).ok()??;
        // The mounts decide about these, and most calls are among them.
        if wish.files().all(|file| self.writable_roots.contain(file)) {
            return None;
        }
        let wish = wish.resolve(call)?;
        self.limits.is_reviewable(&wish).then_some(wish)
    }

    /// Reviews a request. Performs it if it is approved, and otherwise lets the kernel refuse it.
    pub(crate) fn answer(&self, call: &PendingSyscall<'_>, wish: &FileRequest<ResolvedEntry>) {
        let Some(change) = wish.to_requested_change() else { return call.continue_syscall() };
        let waits = || call.check_pending().is_ok();
        let answer = self.reviews.review(&change, waits);
        if answer != ReviewOutcome::Approved {
            if waits() {
                self.denials.record(SandboxDenial::Write { path: change.into_new_path() });
                self.denials.record_outcome(answer);
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
        if !self.limits.is_reviewable(wish) {
            return Err(Errno::ACCESS);
        }
        match wish {
            FileRequest::Open { file, flags, mode } => {
                let opened = operations::open_file(file, *flags, *mode, |found| {
                    self.limits.is_plain_file(found)
                })?;
                Ok(Some((opened, flags.contains(OFlags::CLOEXEC))))
            }
            other => operations::perform(other).map(|()| None),
        }
    }
}
