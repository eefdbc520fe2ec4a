//! Loading policy files into the policy that is in force.

mod policy_compilation;
mod policy_loader;
mod project_trust;
mod sandbox_settings;

use openoxide_permission::{Layer, LayerKind};

use crate::{
    loaded_policy::{LimitedGrants, LoadedPolicy},
    policy_cache::{CacheMetadata, PolicyCache},
    policy_sources::PolicySource,
    trust_store::TrustStore,
    user_environment::UserEnvironment,
};
use policy_loader::PolicyLoader;

/// Loads the files that exist and compiles them, together with the built-in layer.
///
/// The compiled policy is taken from the cache if no file has changed since. It is stored there if
/// there are no errors. A policy with hooks is read each time, so that no hook is lost or changes
/// unnoticed. Compared with the programs that it starts, this costs nothing. Of such a policy, only
/// the last good version is stored, for its deny rules, in case a file becomes invalid. The last
/// good version contains no limited grants.
#[must_use]
pub fn load_policy(sources: &[PolicySource], environment: &UserEnvironment) -> LoadedPolicy {
    let cache = PolicyCache::for_sources(sources, environment);
    if let Some((policy, beside, without)) = cache.as_ref().and_then(PolicyCache::fetch) {
        let CacheMetadata {
            notes,
            untrusted,
            roots,
            sandbox,
            limited_grants: entries,
            other_tasks: elsewhere,
            ..
        } = beside;
        let bounded = without.map(|without| LimitedGrants { entries, policy_without: without });
        let loaded = LoadedPolicy {
            policy,
            notes,
            untrusted_projects: untrusted,
            roots,
            sandbox,
            limited_grants: bounded,
            other_tasks: elsewhere,
            ..LoadedPolicy::default()
        };
        return LoadedPolicy { is_cacheable: true, ..loaded };
    }
    let loaded = read_sources(sources, environment, &[]);
    if let (Some(cache), true) = (&cache, loaded.is_free_of_errors()) {
        loaded.store_in_cache(sources, cache);
    }
    loaded.with_cached_denies(sources, cache.as_ref())
}

/// Loads the policy like [`load_policy`], but always from the files, and including their layers.
/// `more` are layers from elsewhere, such as the command line; they rank after the managed layer.
#[must_use]
pub fn load_policy_uncached(
    sources: &[PolicySource],
    environment: &UserEnvironment,
    more: &[Layer],
) -> LoadedPolicy {
    let loaded = read_sources(sources, environment, more);
    let cache = if loaded.policy_error.is_some() {
        PolicyCache::for_sources(sources, environment)
    } else {
        None
    };
    loaded.with_cached_denies(sources, cache.as_ref())
}

impl LoadedPolicy {
    /// Returns the metadata that is stored next to the compiled policy.
    fn cache_metadata(&self) -> CacheMetadata {
        let (notes, untrusted) = (self.notes.clone(), self.untrusted_projects.clone());
        let (roots, sandbox) = (self.roots.clone(), self.sandbox.clone());
        let led = self.directories.iter().chain(&self.writable);
        let led = led.map(|one| (one.directory.path.clone(), one.resolved_path.clone())).collect();
        let bounded =
            self.limited_grants.iter().flat_map(|bounded| bounded.entries.clone()).collect();
        let elsewhere = self.other_tasks.clone();
        CacheMetadata {
            notes,
            untrusted,
            roots,
            sandbox,
            directory_targets: led,
            limited_grants: bounded,
            other_tasks: elsewhere,
        }
    }

    /// Stores a policy without errors, as far as it can be stored.
    fn store_in_cache(&self, sources: &[PolicySource], cache: &PolicyCache) {
        if self.is_cacheable {
            let without =
                self.limited_grants.is_some().then(|| self.policy_without_limited_grants());
            cache.store(&self.policy, &self.cache_metadata(), without);
        } else if !has_named_source(sources) {
            cache.store_last_good(self.policy_without_limited_grants());
        }
    }

    /// Adds the deny rules of the last good version of the same files if rules may be missing. Does
    /// not apply to files that a person named.
    fn with_cached_denies(self, sources: &[PolicySource], cache: Option<&PolicyCache>) -> Self {
        match cache {
            Some(cache) if self.policy_error.is_some() && !has_named_source(sources) => {
                self.with_fallback_denies(cache.load_last_good())
            }
            _ => self,
        }
    }
}

fn has_named_source(sources: &[PolicySource]) -> bool {
    sources.iter().any(|source| source.required)
}

/// Reads the files without the cache.
fn read_sources(
    sources: &[PolicySource],
    environment: &UserEnvironment,
    more: &[Layer],
) -> LoadedPolicy {
    let mut reading = PolicyLoader::default();
    for source in sources {
        reading.read_source(source, environment);
    }
    let at =
        reading.layers.iter().take_while(|(_, layer)| layer.kind == LayerKind::Managed).count();
    reading.layers.splice(at..at, more.iter().cloned().map(|layer| (None, layer)));
    let lasting = reading.hooks.is_empty();
    reading.apply_trust(&TrustStore::for_user(environment));
    LoadedPolicy { is_cacheable: lasting, ..reading.compile() }
}

#[cfg(test)]
mod tests;
