//! The scans during a run and after it, for findings that a person should see.

use std::{
    collections::BTreeSet,
    sync::mpsc::{self, RecvTimeoutError, TryRecvError},
    thread::{self, JoinHandle},
    time::Duration,
};

use openoxide_protocol::SandboxRestrictions;

use crate::{
    interface::PostRunFinding,
    post_run::{find_hard_links, limit_findings, quarantine_new_files},
    protected_paths::ProtectedPaths,
    supervisor::{
        directory_watches::DirectoryWatches, repository_watch::RepositoryWatch,
        run_killer::RunKiller,
    },
};

/// The time that the end of a run waits for the scan for hard links. That scan produces only a
/// warning; the sandbox does not depend on it.
const HARD_LINK_TIMEOUT: Duration = Duration::from_millis(20);
/// The number of directories above which the end of a run does not wait for that scan, because it
/// reads the metadata of each file.
const MAX_WAIT_DIRECTORIES: usize = 1_000;
/// The time after which that scan starts in a project with more directories. A short command does
/// not have to share the processors with it.
const LARGE_SCAN_DELAY: Duration = Duration::from_millis(500);

/// A scan of the files of a run.
pub(super) struct PostRunScan<'a> {
    protected_paths: &'a ProtectedPaths,
    profile: &'a SandboxRestrictions,
    hard_links: HardLinkScan,
    watch: Option<RepositoryWatch>,
}

/// The scan for hard links, in a thread.
struct HardLinkScan {
    findings: mpsc::Receiver<Vec<PostRunFinding>>,
    /// The thread ends when this is dropped.
    cancel_sender: mpsc::Sender<()>,
    thread: Option<JoinHandle<()>>,
    /// The time that the end of the run waits for the findings.
    timeout: Duration,
}

impl<'a> PostRunScan<'a> {
    /// Starts the scan for hard links and, if there is a killer for the run, the watch for new
    /// repositories, each in a thread. All processes must have been created before.
    pub(super) fn start(
        protected_paths: &'a ProtectedPaths,
        profile: &'a SandboxRestrictions,
        watches: Option<DirectoryWatches>,
        run_killer: Option<RunKiller>,
    ) -> Self {
        let hard_links = HardLinkScan::start(protected_paths, profile);
        let watch = run_killer
            .and_then(|killer| RepositoryWatch::start(protected_paths, profile, watches, killer));
        Self { protected_paths, profile, hard_links, watch }
    }

    /// Waits until the threads have ended. Nothing was run, and processes may be created again.
    pub(super) fn cancel(self) {
        let HardLinkScan { cancel_sender, thread, .. } = self.hard_links;
        drop(cancel_sender);
        // A thread that panicked has also ended.
        drop(thread.map(JoinHandle::join));
        drop(self.watch.map(RepositoryWatch::finish));
    }

    /// Scans after all processes that could change files have ended, and quarantines files that
    /// must not be run yet.
    pub(super) fn collect_findings(self) -> Vec<PostRunFinding> {
        let meanwhile = self.watch.map(RepositoryWatch::finish).unwrap_or_default();
        let after = quarantine_new_files(self.protected_paths, self.profile);
        let links = self.hard_links.finish();
        let before = limit_findings(self.protected_paths.unsearched_findings.clone());
        let all = before
            .into_iter()
            .chain(limit_findings(links))
            .chain(limit_findings(meanwhile))
            .chain(after);
        let mut found: Vec<_> = all.collect::<BTreeSet<_>>().into_iter().collect();
        found.sort_by_key(|one| !one.is_always_named());
        found
    }
}

impl HardLinkScan {
    /// Starts the thread. Without a thread there is no warning.
    fn start(protected_paths: &ProtectedPaths, profile: &SandboxRestrictions) -> Self {
        let is_large = protected_paths.snapshot.directory_count() > MAX_WAIT_DIRECTORIES;
        let (delay, timeout) = match is_large {
            true => (LARGE_SCAN_DELAY, Duration::ZERO),
            false => (Duration::ZERO, HARD_LINK_TIMEOUT),
        };
        let (sender, findings) = mpsc::channel();
        let (cancel_sender, cancelled) = mpsc::channel();
        let (protected_paths, profile) = (protected_paths.clone(), profile.clone());
        let scan = move || {
            if cancelled.recv_timeout(delay) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let is_cancelled = || cancelled.try_recv() != Err(TryRecvError::Empty);
            // If the receiver is gone, the result is not needed.
            drop(sender.send(find_hard_links(&protected_paths, &profile, &is_cancelled)));
        };
        let thread = thread::Builder::new().spawn(scan).ok();
        Self { findings, cancel_sender, thread, timeout }
    }

    /// Returns the findings if the scan has ended in time.
    fn finish(self) -> Vec<PostRunFinding> {
        let Self { findings, cancel_sender, timeout, .. } = self;
        let findings = findings.recv_timeout(timeout).unwrap_or_default();
        drop(cancel_sender);
        findings
    }
}
