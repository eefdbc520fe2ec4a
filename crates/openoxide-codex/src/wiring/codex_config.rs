//! The settings of `config.toml` for hooks, approvals and the sandbox.

use openoxide_adapters::wiring::HookLocation;
use toml_edit::{DocumentMut, Item};

use super::hook_state::{TrustError, disabled_feature, hook_hash, hook_state_key, parse_config};

/// The contents of `config.toml`.
#[derive(Clone, Debug)]
pub struct CodexConfig {
    document: DocumentMut,
}

/// Whether Codex runs a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookTrust {
    /// The hook is trusted as it is.
    Trusted,
    /// The hook is disabled.
    Disabled,
    /// Another hook was trusted in its place.
    Changed,
    /// The hook was never trusted.
    Missing,
}

impl CodexConfig {
    /// Parses `config.toml`.
    ///
    /// # Errors
    /// Returns an error if the text is not TOML.
    pub fn parse(text: &str) -> Result<Self, TrustError> {
        Ok(Self { document: parse_config(text)? })
    }

    /// Returns the name of the feature that is disabled, without which Codex runs no hooks.
    #[must_use]
    pub fn disabled_feature(&self) -> Option<&'static str> {
        disabled_feature(&self.document)
    }

    /// Returns the approval policy, if the file sets one.
    #[must_use]
    pub fn approval_policy(&self) -> Option<&str> {
        self.document.get("approval_policy")?.as_str()
    }

    /// Returns the sandbox mode, if the file sets one.
    #[must_use]
    pub fn sandbox_mode(&self) -> Option<&str> {
        self.document.get("sandbox_mode")?.as_str()
    }

    /// Returns whether Codex runs a hook at a location of the file `hooks`.
    #[must_use]
    pub fn hook_trust(
        &self,
        hooks: &str,
        location: &HookLocation,
        matcher: Option<&str>,
        command: &str,
        timeout: Option<u64>,
    ) -> HookTrust {
        let state = self.document.get("hooks").and_then(|hooks| hooks.get("state"));
        let entry = state.and_then(|state| state.get(hook_state_key(hooks, location)));
        let Some(entry) = entry.and_then(Item::as_table_like) else { return HookTrust::Missing };
        if entry.get("enabled").and_then(Item::as_bool) == Some(false) {
            return HookTrust::Disabled;
        }
        match entry.get("trusted_hash").and_then(Item::as_str) {
            None => HookTrust::Missing,
            Some(hash) if hash == hook_hash(location.event, matcher, command, timeout) => {
                HookTrust::Trusted
            }
            Some(_) => HookTrust::Changed,
        }
    }
}
