//! An engine whose policy follows its files.

use std::sync::Arc;

use openoxide_store::{Loaded, PolicyWatch};

use crate::{Engine, OpenError};

/// An engine that loads the policy again when one of its files changes.
#[derive(Debug)]
pub struct WatchedEngine {
    engine: Engine,
    watch: Option<(PolicyWatch, Arc<Loaded>)>,
}

impl WatchedEngine {
    /// Starts to watch the policy files of an engine; none where a person named them.
    ///
    /// # Errors
    /// As [`Engine::open`].
    pub fn new(mut engine: Engine) -> Result<Self, OpenError> {
        if !engine.options.named.is_empty() {
            return Ok(Self { engine, watch: None });
        }
        let rules = engine.options.rule_layer()?;
        let more = if rules.rules.is_empty() { Vec::new() } else { vec![rules] };
        let environment = engine.options.environment.clone();
        let sources = openoxide_store::sources(&environment, &engine.project);
        let mut watch = PolicyWatch::new(sources, environment, more);
        let loaded = watch.refresh();
        engine.replace_policy(&loaded);
        Ok(Self { engine, watch: Some((watch, loaded)) })
    }

    /// Loads the policy again if a file has changed; returns whether one has.
    pub fn refresh(&mut self) -> bool {
        let Some((watch, seen)) = &mut self.watch else { return false };
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
