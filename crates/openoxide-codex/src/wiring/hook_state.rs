//! The state of hooks in `config.toml`: their names, their hashes, and the features that disable
//! them.

use openoxide_adapters::wiring::{HookLocation, WiringError};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use thiserror::Error;
use toml_edit::{DocumentMut, Item, TomlError};

/// The time that Codex waits for a hook, in seconds. After that Codex continues as if there were no
/// hook, so the time is long.
const HOOK_TIMEOUT_SECONDS: u32 = 600;

/// The reason for which `config.toml` cannot be changed.
#[derive(Debug, Error)]
pub enum TrustError {
    /// The hook cannot be written.
    #[error(transparent)]
    Hook(#[from] WiringError),
    /// The text is not TOML.
    #[error("{}", .0.to_string().trim_end())]
    InvalidToml(#[source] Box<TomlError>),
    /// Hooks are disabled. Contains the name of the setting.
    #[error("hooks are disabled: `features.{0} = false`")]
    HooksDisabled(&'static str),
    /// The entries with the hashes are not tables.
    #[error("`hooks.state` is not written as tables")]
    StateNotTables,
    /// A value is not a table. Contains its name.
    #[error("`{0}` is not written as a table")]
    NotTable(String),
}

pub(super) fn parse_config(text: &str) -> Result<DocumentMut, TrustError> {
    text.parse().map_err(|error| TrustError::InvalidToml(Box::new(error)))
}

/// Returns the name of the feature that is disabled, without which Codex runs no hooks.
pub(super) fn disabled_feature(document: &DocumentMut) -> Option<&'static str> {
    let features = document.get("features").and_then(Item::as_table_like);
    let off = |name: &str| {
        let told = features.and_then(|features| features.get(name)).and_then(Item::as_bool);
        told == Some(false)
    };
    ["hooks", "codex_hooks"].into_iter().find(|name| off(name))
}

/// Returns the name by which Codex identifies a hook.
pub(super) fn hook_state_key(hooks: &str, place: &HookLocation) -> String {
    format!("{hooks}:{}:{}:{}", event_key(place.event), place.group, place.hook)
}

fn event_key(event: &str) -> &'static str {
    match event {
        "PreToolUse" => "pre_tool_use",
        _ => "permission_request",
    }
}

pub(super) fn hook_hash(
    event: &str,
    matcher: Option<&str>,
    command: &str,
    timeout: Option<u64>,
) -> String {
    let timeout = timeout.unwrap_or(HOOK_TIMEOUT_SECONDS.into());
    // The keys of these maps are sorted.
    let hook = json!({ "async": false, "command": command, "timeout": timeout, "type": "command" });
    let mut identity = json!({ "event_name": event_key(event), "hooks": [hook] });
    if let (Some(matcher), Some(fields)) = (matcher, identity.as_object_mut()) {
        fields.insert("matcher".to_owned(), matcher.into());
    }
    let digest = Sha256::digest(identity.to_string().as_bytes());
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}
