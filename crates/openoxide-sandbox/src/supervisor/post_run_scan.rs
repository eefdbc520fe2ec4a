//! The scans during a run and after it, for findings that a person should see.

use std::{
    collections::BTreeSet,
    sync::mpsc,
    thread::{self, JoinHandle},
    time::Duration,
};

use openoxide_protocol::SandboxRestrictions;

use crate::{
    interface::PostRunFinding,
    post_run::{find_hard_links, limit_findings, quarantine_new_files},
    protected_paths::ProtectedPaths,
    supervisor::{repository_watch::RepositoryWatch, run_killer::RunKiller},
};

/// The time that the end of a run waits for the scan for hard links. That scan produces only a
/// warning; the sandbox does not depend on it.
const HARD_LINK_TIMEOUT: Duration = Duration::from_millis(20);
/// The number of directories above which the end of a run does not wait for that scan, because it
/// reads the metadata of each file.
const MAX_WAIT_DIRECTORIES: usize = 1_000;

/// A scan of the files of a run.
pub(super) struct PostRunScan<'a> {
    protected_paths: &'a ProtectedPaths,
    profile: &'a SandboxRestrictions,
    hard_links: mpsc::Receiver<Vec<PostRunFinding>>,
    scan_thread: Option<JoinHandle<()>>,
    watch: Option<RepositoryWatch>,
}

impl<'a> PostRunScan<'a> {
    /// Starts the scan for hard links and, if there is a killer for the run, the watch for new
    /// repositories, each in a thread. All processes must have been created before.
    pub(super) fn start(
        protected_paths: &'a ProtectedPaths,
        profile: &'a SandboxRestrictions,
        run_killer: Option<RunKiller>,
    ) -> Self {
        let (sender, hard_links) = mpsc::channel();
        let (held, writable) = (protected_paths.clone(), profile.clone());
        // Without a thread there is no warning. If the receiver is gone, the result is dropped.
        let look = move || drop(sender.send(find_hard_links(&held, &writable)));
        let scan_thread = thread::Builder::new().spawn(look).ok();
        let watch =
            run_killer.and_then(|killer| RepositoryWatch::start(protected_paths, profile, killer));
        Self { protected_paths, profile, hard_links, scan_thread, watch }
    }

    /// Waits until the threads have ended. Nothing was run, and processes may be created again.
    pub(super) fn cancel(self) {
        // A thread that panicked has also ended.
        drop(self.scan_thread.map(JoinHandle::join));
        drop(self.watch.map(RepositoryWatch::finish));
    }

    /// Scans after all processes that could change files have ended, and quarantines files that
    /// must not be run yet.
    pub(super) fn collect_findings(self) -> Vec<PostRunFinding> {
        let timeout = self.hard_link_timeout();
        let meanwhile = self.watch.map(RepositoryWatch::finish).unwrap_or_default();
        let after = quarantine_new_files(self.protected_paths, self.profile);
        let links = self.hard_links.recv_timeout(timeout).unwrap_or_default();
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

    fn hard_link_timeout(&self) -> Duration {
        let is_large = self.protected_paths.snapshot.directory_count() > MAX_WAIT_DIRECTORIES;
        if is_large { Duration::ZERO } else { HARD_LINK_TIMEOUT }
    }
}
