//! The policy of a process that goes on: read anew when a file changes, all of it or nothing.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use openoxide_permission::{Layer, PolicyStack};

use crate::{
    load::{Loaded, load, load_fresh},
    locations::{Environment, Source},
    signature::Signature,
};

/// The files are looked at no more often: one look is a `stat` of each.
const LOOK: Duration = Duration::from_millis(200);

/// The policy of these files, as they are now.
///
/// Whoever holds what [`Self::refresh`] returned holds one whole policy: a change of a file makes a new one beside it. A gate takes
/// it by `PermissionGate::set_policy`, which decides anew about what waits. What is not looked at: the scripts of hooks, and whether a
/// grant's time is over.
#[derive(Debug)]
pub struct PolicyWatch {
    sources: Vec<Source>,
    environment: Environment,
    more: Vec<Layer>,
    signature: Signature,
    looked: Instant,
    loaded: Arc<Loaded>,
    /// The last policy that nothing was wrong with.
    good: Option<PolicyStack>,
}

impl PolicyWatch {
    /// Loads the policy of these sources, with layers that were made elsewhere (as [`load_fresh`]).
    #[must_use]
    pub fn new(sources: Vec<Source>, environment: Environment, more: Vec<Layer>) -> Self {
        // Looked at before it is read: what changes meanwhile is seen as a change.
        let signature = Signature::of(&sources, &environment);
        let loaded = Arc::new(Loaded::default());
        let looked = Instant::now();
        let mut watch = Self { sources, environment, more, signature, looked, loaded, good: None };
        watch.loaded = Arc::new(watch.read());
        watch
    }

    /// Returns the policy: another one if a file has changed, the same one otherwise.
    ///
    /// A file that has turned wrong allows nothing, and what the last good version denied stays denied. A change is seen
    /// at most 0.2 s later.
    pub fn refresh(&mut self) -> Arc<Loaded> {
        if self.looked.elapsed() >= LOOK {
            self.look();
        }
        Arc::clone(&self.loaded)
    }

    fn look(&mut self) {
        self.looked = Instant::now();
        let signature = Signature::of(&self.sources, &self.environment);
        let changed = signature.differs(&self.signature);
        // A file that has just changed could have changed again within the clock's step.
        if !changed && self.signature.settled {
            return;
        }
        self.signature = signature;
        let loaded = self.read();
        if changed || !loaded.says_the_same(&self.loaded) {
            self.loaded = Arc::new(loaded);
        }
    }

    fn read(&mut self) -> Loaded {
        let loaded = match self.more.as_slice() {
            [] => load(&self.sources, &self.environment),
            more => load_fresh(&self.sources, &self.environment, more),
        };
        if loaded.is_good() {
            self.good = Some(loaded.policy.clone());
        }
        if loaded.doubt.is_some() { loaded.held_by(self.good.clone()) } else { loaded }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    struct Watched {
        dir: tempfile::TempDir,
        watch: PolicyWatch,
    }

    const GOOD: &str = "[permissions]\ndeny = [\"Bash(rm *)\"]\nallow = [\"Bash(ls *)\"]\n";

    impl Watched {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            fs::write(dir.path().join("p.toml"), GOOD).unwrap();
            let source = Source::named(dir.path().join("p.toml"));
            let watch = PolicyWatch::new(vec![source], Environment::default(), Vec::new());
            Self { dir, watch }
        }

        fn write(&mut self, text: &str) -> Arc<Loaded> {
            fs::write(self.dir.path().join("p.toml"), text).unwrap();
            self.later()
        }

        fn later(&mut self) -> Arc<Loaded> {
            std::thread::sleep(LOOK);
            self.watch.refresh()
        }
    }

    #[test]
    fn a_change_of_a_file_makes_another_policy_and_nothing_else_does() {
        let mut watched = Watched::new();
        let first = watched.watch.refresh();
        assert!(Arc::ptr_eq(&first, &watched.later()));
        let second =
            watched.write("[permissions]\ndeny = [\"Bash(mv *)\"]\nallow = [\"Bash(ls *)\"]\n");
        assert_ne!(first.policy, second.policy, "of the same length, and perhaps of the same time");
        assert!(Arc::ptr_eq(&second, &watched.later()));
        assert_eq!(watched.write(GOOD).policy, first.policy);
    }

    #[test]
    fn a_file_that_turns_wrong_keeps_its_last_denies_and_loses_its_allows() {
        let mut watched = Watched::new();
        let good = watched.watch.refresh();
        let wrong = watched.write("[permissions]\ndeny = [\"Bash(\"]\nallow = [\"Bash(ls *)\"]\n");
        assert!(wrong.doubt.is_some());
        let alone = load(&watched.watch.sources, &Environment::default());
        assert_eq!(wrong.policy, alone.policy.held_by(good.policy.clone()));
        fs::remove_file(watched.dir.path().join("p.toml")).unwrap();
        let gone = watched.later();
        assert!(gone.doubt.is_some(), "a file that a person named must be there");
        assert_ne!(gone.policy, load(&watched.watch.sources, &Environment::default()).policy);
        assert_eq!(watched.write(GOOD).policy, good.policy);
    }
}
