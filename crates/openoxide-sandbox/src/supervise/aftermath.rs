//! What is looked for while the program runs and after it: what a person should see.

use std::{
    collections::BTreeSet,
    sync::mpsc,
    thread::{self, JoinHandle},
    time::Duration,
};

use openoxide_protocol::Confined;

use super::watch::Watch;
use crate::{Found, Guarded, found::named, found_and_put_aside, hard_links};

/// How long the end waits for the look at hard links. It is a warning, and nothing that the sandbox hangs on.
const PATIENCE: Duration = Duration::from_millis(20);

/// A look at the files of a run.
pub(super) struct Aftermath<'a> {
    guarded: &'a Guarded,
    profile: &'a Confined,
    links: mpsc::Receiver<Vec<Found>>,
    looking: Option<JoinHandle<()>>,
    watch: Option<Watch>,
}

impl<'a> Aftermath<'a> {
    /// Begins to look for hard links and, unless the run is staged, to watch for new repositories, each in a thread: all
    /// processes must have been made before.
    pub(super) fn start(guarded: &'a Guarded, profile: &'a Confined, staged: bool) -> Self {
        let (sender, links) = mpsc::channel();
        let (held, writable) = (guarded.clone(), profile.clone());
        // Without a thread there is no warning. Where nobody waits any more, nobody is told.
        let look = move || drop(sender.send(hard_links(&held, &writable)));
        let looking = thread::Builder::new().spawn(look).ok();
        let watch = if staged { None } else { Watch::start(guarded, profile) };
        Self { guarded, profile, links, looking, watch }
    }

    /// Waits until the thread is gone: nothing was run, and processes may be made again.
    pub(super) fn forget(self) {
        // A thread that failed is gone, too.
        drop(self.looking.map(JoinHandle::join));
        drop(self.watch.map(Watch::finish));
    }

    /// Looks, when everything has ended that could change files, and puts aside what must not be run yet.
    pub(super) fn find(self) -> Vec<Found> {
        let meanwhile = self.watch.map(Watch::finish).unwrap_or_default();
        let after = found_and_put_aside(self.guarded, self.profile);
        let links = self.links.recv_timeout(PATIENCE).unwrap_or_default();
        let before = named(self.guarded.unsearched.clone());
        let all = before.into_iter().chain(named(links)).chain(named(meanwhile)).chain(after);
        let mut found: Vec<_> = all.collect::<BTreeSet<_>>().into_iter().collect();
        found.sort_by_key(|one| !one.is_in_place());
        found
    }
}
