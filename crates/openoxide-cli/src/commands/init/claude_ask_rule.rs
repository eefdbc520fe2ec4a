//! The rule that makes Claude Code ask about every tool. `init` adds it with `--strict`, and removes
//! it with `--undo` if it has added it. Otherwise the rule is the person's own.

use openoxide_adapters::{
    claude_code::wiring::{
        has_ask_rule, has_marked_ask_rule, hook_wiring, with_ask_rule, without_ask_rule,
    },
    wiring::WiringError,
};
use serde_json::Value;

use super::{settings_change::SettingsChange, wiring::Wiring};

/// Returns the settings of Claude Code with the hook, or without it and the rule that belongs to it.
///
/// # Errors
///
/// If the settings cannot be changed.
pub(super) fn change_claude_settings(
    before: &str,
    wiring: Wiring<'_>,
) -> Result<String, WiringError> {
    let settings = parse_settings(before);
    let is_marked = has_marked_ask_rule(&settings);
    if wiring.undo {
        let text = hook_wiring(wiring.invocation, false)?.uninstall(before)?.text;
        return if is_marked { without_ask_rule(&text) } else { Ok(text) };
    }
    let is_added = wiring.strict && !has_ask_rule(&settings);
    let invocation = wiring.invocation_for(&settings, "claude");
    let text = hook_wiring(invocation, is_marked || is_added)?.install(before)?.text;
    if wiring.strict { with_ask_rule(&text) } else { Ok(text) }
}

/// Returns a message about the rule if `init` keeps it without `--strict`, or if `--undo` removes or
/// keeps it.
pub(super) fn describe_ask_rule(change: &SettingsChange, wiring: Wiring<'_>) -> Option<String> {
    let (before, after) = (parse_settings(change.before()), parse_settings(change.after()));
    let file = change.display_path();
    if !has_ask_rule(&before) || wiring.strict {
        return None;
    }
    if !has_ask_rule(&after) {
        return Some(format!("{file}: without the ask rule `*`, which `init --strict` has added"));
    }
    let removal = match (wiring.undo, has_marked_ask_rule(&before)) {
        (false, true) => "`openoxide init --undo claude` removes it with the hook",
        _ => "to remove it, delete `\"*\"` from `permissions.ask`",
    };
    Some(format!(
        "{file} keeps the ask rule `*`: Claude Code asks about every call that no hook allows, also \
         about calls that its own rules allow; {removal}"
    ))
}

/// Parses settings. Errors are reported when they are changed.
pub(super) fn parse_settings(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}
