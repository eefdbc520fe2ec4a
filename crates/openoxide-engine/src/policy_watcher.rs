//! An engine that reloads its policy.

use std::sync::Arc;

use openoxide_store::{LoadedPolicy, WatchedPolicy};

use crate::{engine::Engine, error::EngineOpenError};

/// An engine that reloads the policy when one of its files changes.
#[derive(Debug)]
pub struct WatchedEngine {
    engine: Engine,
    policy_watch: Option<(WatchedPolicy, Arc<LoadedPolicy>)>,
}

impl WatchedEngine {
    /// Starts to watch the policy files of an engine. Files that a person named are not watched.
    ///
    /// # Errors
    /// Returns the same errors as [`Engine::open`].
    pub fn new(mut engine: Engine) -> Result<Self, EngineOpenError> {
        if !engine.options.policy_files.is_empty() {
            return Ok(Self { engine, policy_watch: None });
        }
        let rules = engine.options.rule_layer()?;
        let more = if rules.rules.is_empty() { Vec::new() } else { vec![rules] };
        let environment = engine.options.environment.clone();
        let sources = openoxide_store::find_policy_sources(&environment, &engine.project);
        let mut watch = WatchedPolicy::new(sources, environment, more);
        let loaded = watch.refresh();
        engine.replace_policy(&loaded);
        Ok(Self { engine, policy_watch: Some((watch, loaded)) })
    }

    /// Reloads the policy if a file has changed. Returns whether it did.
    pub fn refresh(&mut self) -> bool {
        let Some((watch, seen)) = &mut self.policy_watch else { return false };
        let loaded = watch.refresh();
        if Arc::ptr_eq(seen, &loaded) {
            return false;
        }
        self.engine.replace_policy(&loaded);
        *seen = loaded;
        true
    }

    /// Returns the engine with the policy of the last refresh.
    #[must_use]
    pub const fn engine(&self) -> &Engine {
        &self.engine
    }
}
