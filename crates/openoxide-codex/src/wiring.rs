//! The OpenOxide hook in Codex: the hook in `hooks.json`, and its trust entry in `config.toml`.
//!
//! Codex silently skips a hook whose hash is not in `config.toml`. The hash is SHA-256 over a JSON
//! text of the event, the matcher and the hook, with sorted keys and with missing fields filled in.
//! Facts: Codex 0.169, compared with its `hooks/list`.

mod codex_config;
mod hook_state;

use jsonc_parser::cst::CstInputValue;
use toml_edit::{DocumentMut, Item, Table, value};

use openoxide_adapters::wiring::{
    HookInvocation, HookLocation, HookWiring, WiringError, blocking_command, starts_openoxide,
    timeout_for_wait,
};

pub use codex_config::{CodexConfig, HookTrust};
pub use hook_state::TrustError;

use hook_state::{disabled_feature, hook_hash, hook_state_key, parse_config};

/// Returns the hook that starts a program.
///
/// # Errors
/// Returns an error if the path cannot be written for a shell.
pub fn hook_wiring<'a>(
    invocation: impl Into<HookInvocation<'a>>,
) -> Result<HookWiring, WiringError> {
    let invocation = invocation.into();
    let command = blocking_command(invocation, "codex")?;
    let mut hook =
        vec![("type".to_owned(), "command".into()), ("command".to_owned(), command.into())];
    hook.extend(
        hook_timeout(invocation)
            .map(|seconds| ("timeout".to_owned(), CstInputValue::Number(seconds.to_string()))),
    );
    let hook = CstInputValue::Object(hook);
    Ok(HookWiring {
        hooks: vec![("PreToolUse", hook.clone()), ("PermissionRequest", hook)],
        matcher: None,
        is_ours: |hook| starts_openoxide(hook, "codex"),
    })
}

/// Returns the timeout of a hook that waits for answers, in seconds.
fn hook_timeout(invocation: HookInvocation<'_>) -> Option<u32> {
    invocation.wait.map(timeout_for_wait)
}

/// Returns `config.toml` with the OpenOxide hooks trusted: those at `places` in the file `hooks`,
/// which start a program.
///
/// # Errors
/// Returns an error if the text is not TOML, if the key of the hashes has another value, or if
/// hooks are disabled.
pub fn trust_hook<'a>(
    text: &str,
    hooks: &str,
    places: &[HookLocation],
    invocation: impl Into<HookInvocation<'a>>,
) -> Result<String, TrustError> {
    let mut document = parse_config(text)?;
    check_hooks_enabled(&document)?;
    let state = table_entry(table_entry(document.as_table_mut(), "hooks")?, "state")?;
    let invocation = invocation.into();
    let (command, timeout) = (blocking_command(invocation, "codex")?, hook_timeout(invocation));
    for place in places {
        let hash = hook_hash(place.event, None, &command, timeout.map(u64::from));
        let entry =
            state.entry(&hook_state_key(hooks, place)).or_insert_with(|| Table::new().into());
        let entry = entry.as_table_mut().ok_or(TrustError::StateNotTables)?;
        // A comment after an old hash is preserved.
        match entry.get_mut("trusted_hash").and_then(Item::as_value_mut) {
            Some(there) if there.as_str() == Some(&hash) => {}
            _ => drop(entry.insert("trusted_hash", value(hash))),
        }
        if entry.get("enabled").and_then(Item::as_bool) == Some(false) {
            entry.remove("enabled");
        }
    }
    Ok(document.to_string())
}

/// Returns `config.toml` without the trust entries of the OpenOxide hooks.
///
/// # Errors
/// Returns an error if the text is not TOML.
pub fn untrust_hook(
    text: &str,
    hooks: &str,
    places: &[HookLocation],
) -> Result<String, TrustError> {
    let mut document = parse_config(text)?;
    let Some(all) = document.get_mut("hooks").and_then(Item::as_table_mut) else {
        return Ok(text.to_owned());
    };
    if let Some(state) = all.get_mut("state").and_then(Item::as_table_mut) {
        places.iter().for_each(|place| drop(state.remove(&hook_state_key(hooks, place))));
        if state.is_empty() {
            all.remove("state");
        }
    }
    if all.is_empty() {
        document.remove("hooks");
    }
    Ok(document.to_string())
}

fn check_hooks_enabled(document: &DocumentMut) -> Result<(), TrustError> {
    match disabled_feature(document) {
        Some(name) => Err(TrustError::HooksDisabled(name)),
        None => Ok(()),
    }
}

fn table_entry<'t>(parent: &'t mut Table, name: &str) -> Result<&'t mut Table, TrustError> {
    let made = || {
        let mut table = Table::new();
        table.set_implicit(true);
        table.into()
    };
    let item = parent.entry(name).or_insert_with(made);
    item.as_table_mut().ok_or_else(|| TrustError::NotTable(name.to_owned()))
}

#[cfg(test)]
mod install_tests;

#[cfg(test)]
mod tests {
    use super::*;

    const HOOKS: &str = "/home/me/.codex/hooks.json";

    // The hashes that `hooks/list` of 0.169 returned.
    #[test]
    fn hashes_are_those_of_codex() {
        let expected = "sha256:e0288a024faa6db4eca6dcb1c9fa4d63c1e0a721c59edc6c7c54502ba929caed";
        assert_eq!(hook_hash("PreToolUse", None, "openoxide hook codex", None), expected);
        let expected = "sha256:9d1c20e3a3078752040d4b52678e08520d2bd13c5ca251c2fd95f2f0149b37a2";
        assert_eq!(hook_hash("PermissionRequest", None, "openoxide hook codex", None), expected);
    }

    #[test]
    fn trust_can_be_removed_and_other_entries_stay() {
        let before = "# mine\nmodel = \"x\" # this one\n\n[hooks.state.\"/other:stop:0:0\"]\ntrusted_hash = \"sha256:00\"\n";
        let places = hook_wiring("/bin/openoxide").unwrap().install("").unwrap().hook_locations;
        let after = trust_hook(before, HOOKS, &places, "/bin/openoxide").unwrap();
        assert!(after.starts_with(before), "{after}");
        assert!(after.contains(
            "[hooks.state.\"/home/me/.codex/hooks.json:pre_tool_use:0:0\"]\ntrusted_hash = \"sha256:"
        ));
        assert_eq!(trust_hook(&after, HOOKS, &places, "/bin/openoxide").unwrap(), after);
        assert_eq!(untrust_hook(&after, HOOKS, &places).unwrap(), before);
        let fresh = trust_hook("", HOOKS, &places, "/bin/openoxide").unwrap();
        assert_eq!(untrust_hook(&fresh, HOOKS, &places).unwrap(), "");
    }

    #[test]
    fn a_config_that_cannot_be_changed_is_an_error() {
        let places = hook_wiring("/bin/openoxide").unwrap().install("").unwrap().hook_locations;
        for (text, why) in [
            ("hooks = 1\n", "`hooks` is not written as a table"),
            ("[features]\nhooks = false\n", "disabled"),
            ("[x\n", "TOML parse error at line 1"),
        ] {
            let error = trust_hook(text, HOOKS, &places, "/bin/openoxide").unwrap_err();
            assert!(error.to_string().contains(why), "{error}");
        }
        assert!(hook_wiring("/bin/open\0oxide").is_err());
    }
}
