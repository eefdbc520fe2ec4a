//! The policy of a long-running process. When a file changes, the whole policy is loaded again.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use openoxide_permission::{Layer, PolicyStack};

use crate::{
    loaded_policy::LoadedPolicy,
    policy_load::{load_policy, load_policy_uncached},
    policy_signature::PolicySignature,
    policy_sources::PolicySource,
    user_environment::UserEnvironment,
};

/// The minimum time between two checks of the files. A check is one `stat` per file.
const CHECK_INTERVAL: Duration = Duration::from_millis(200);

/// The current policy of a set of files.
///
/// The value that [`Self::refresh`] returns is one complete policy. When a file changes, a new
/// policy is created and the old one stays unchanged. Two things are not monitored: the scripts of
/// hooks, and the expiry of grants.
#[derive(Debug)]
pub struct WatchedPolicy {
    sources: Vec<PolicySource>,
    environment: UserEnvironment,
    extra_layers: Vec<Layer>,
    signature: PolicySignature,
    last_check: Instant,
    loaded: Arc<LoadedPolicy>,
    /// The last policy without errors.
    last_good: Option<PolicyStack>,
}

impl WatchedPolicy {
    /// Loads the policy of these sources, with additional layers from elsewhere (see
    /// [`load_policy_uncached`]).
    #[must_use]
    pub fn new(sources: Vec<PolicySource>, environment: UserEnvironment, more: Vec<Layer>) -> Self {
        // The signature is computed first, so that a change while the files are read is detected
        // later.
        let signature = PolicySignature::for_sources(&sources, &environment);
        let loaded = Arc::new(LoadedPolicy::default());
        let looked = Instant::now();
        let mut watch = Self {
            sources,
            environment,
            extra_layers: more,
            signature,
            last_check: looked,
            loaded,
            last_good: None,
        };
        watch.loaded = Arc::new(watch.load_current());
        watch
    }

    /// Returns the policy: a new one if a file has changed, otherwise the same one.
    ///
    /// If a file becomes invalid, nothing is allowed, and the deny rules of the last good version
    /// still apply. A change is detected within 0.2 s.
    pub fn refresh(&mut self) -> Arc<LoadedPolicy> {
        if self.last_check.elapsed() >= CHECK_INTERVAL {
            self.check_files();
        }
        Arc::clone(&self.loaded)
    }

    fn check_files(&mut self) {
        self.last_check = Instant::now();
        let signature = PolicySignature::for_sources(&self.sources, &self.environment);
        let changed = signature.differs(&self.signature);
        // A file that has just changed could have changed again within the resolution of the clock.
        if !changed && self.signature.is_stable {
            return;
        }
        self.signature = signature;
        let loaded = self.load_current();
        if changed || !loaded.is_equivalent(&self.loaded) {
            self.loaded = Arc::new(loaded);
        }
    }

    fn load_current(&mut self) -> LoadedPolicy {
        let loaded = match self.extra_layers.as_slice() {
            [] => load_policy(&self.sources, &self.environment),
            more => load_policy_uncached(&self.sources, &self.environment, more),
        };
        if loaded.is_free_of_errors() {
            self.last_good = Some(loaded.policy.clone());
        }
        if loaded.policy_error.is_some() {
            loaded.with_fallback_denies(self.last_good.clone())
        } else {
            loaded
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    struct Watched {
        dir: tempfile::TempDir,
        watch: WatchedPolicy,
    }

    const GOOD: &str = "[permissions]\ndeny = [\"Bash(rm *)\"]\nallow = [\"Bash(ls *)\"]\n";

    impl Watched {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            fs::write(dir.path().join("p.toml"), GOOD).unwrap();
            let source = PolicySource::from_command_line(dir.path().join("p.toml"));
            let watch = WatchedPolicy::new(vec![source], UserEnvironment::default(), Vec::new());
            Self { dir, watch }
        }

        fn write(&mut self, text: &str) -> Arc<LoadedPolicy> {
            fs::write(self.dir.path().join("p.toml"), text).unwrap();
            self.later()
        }

        fn later(&mut self) -> Arc<LoadedPolicy> {
            std::thread::sleep(CHECK_INTERVAL);
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
        assert!(wrong.policy_error.is_some());
        let alone = load_policy(&watched.watch.sources, &UserEnvironment::default());
        assert_eq!(wrong.policy, alone.policy.with_fallback_denies(good.policy.clone()));
        fs::remove_file(watched.dir.path().join("p.toml")).unwrap();
        let gone = watched.later();
        assert!(gone.policy_error.is_some(), "a file that a person named must be there");
        assert_ne!(
            gone.policy,
            load_policy(&watched.watch.sources, &UserEnvironment::default()).policy
        );
        assert_eq!(watched.write(GOOD).policy, good.policy);
    }
}
