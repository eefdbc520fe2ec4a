//! Tests with settings that contain other entries, which must not change.

use serde_json::json;

use openoxide_adapters::wiring::*;

use super::*;

fn ours() -> HookWiring {
    hook_wiring("/opt/open oxide/openoxide").unwrap()
}

const OTHERS: &str = r#"{
  "model":   "x",
  "hooks": {
    "PreToolUse": [
      { "matcher": "Bash", "hooks": [{ "type": "command", "command": "mine" }] }
    ],
    "Stop": []
  }
}
"#;

#[test]
fn the_hook_is_installed_after_others_and_does_not_change_them() {
    let wired = ours().install(OTHERS).unwrap();
    let place = |event, group| HookLocation { event, group, hook: 0 };
    assert_eq!(wired.hook_locations, [place("PreToolUse", 1), place("PermissionRequest", 0)]);
    assert!(wired.text.contains(r#""model":   "x""#), "{}", wired.text);
    assert!(wired.text.contains(r#"'/opt/open oxide/openoxide' hook codex"#), "{}", wired.text);
    // A second installation changes nothing, and removal restores the previous settings.
    assert_eq!(ours().install(&wired.text).unwrap(), wired);
    let taken = ours().uninstall(&wired.text).unwrap();
    let value = |text: &str| AgentSettings::parse(text).unwrap().object.to_serde_value().unwrap();
    assert_eq!(value(&taken.text), value(OTHERS));
    assert!(taken.text.contains(r#""model":   "x""#));
    assert_eq!(taken.hook_locations.len(), 2);
}

#[test]
fn an_earlier_openoxide_hook_is_updated_in_place() {
    let old = ours().install(OTHERS).unwrap().text.replace("/opt/open oxide/", "/old/");
    let wired = ours().install(&old).unwrap();
    assert_eq!(wired.hook_locations, ours().install(OTHERS).unwrap().hook_locations);
    assert!(!wired.text.contains("/old/"), "{}", wired.text);
    assert_eq!(wired.text.matches("hook codex").count(), 2);
}

#[test]
fn groups_behind_ours_keep_their_numbers() {
    let wired = ours().install("").unwrap().text;
    let later = wired.replacen(
        "\"PreToolUse\": [",
        "\"PreToolUse\": [{ \"hooks\": [{ \"command\": \"/usr/bin/openoxide hook codex\" }] }, { \"hooks\": [{ \"command\": \"mine\" }] },",
        1,
    );
    let taken = ours().uninstall(&later).unwrap();
    let value = AgentSettings::parse(&taken.text).unwrap().object.to_serde_value().unwrap();
    let expected = json!([{ "hooks": [] }, { "hooks": [{ "command": "mine" }] }]);
    assert_eq!(value["hooks"]["PreToolUse"], expected, "{}", taken.text);
    assert!(value["hooks"].get("PermissionRequest").is_none());
}

#[test]
fn invalid_settings_are_an_error_and_are_not_overwritten() {
    for (text, why) in [
        ("[]", "expected a JSON object"),
        ("{", "invalid JSON"),
        ("{\n  // mine\n}", "line 2 column 3"),
        ("{'hooks': {}}", "line 1 column 2"),
        (r#"{"hooks": {},}"#, "line 1 column 14"),
        (r#"{"hooks": []}"#, "`hooks` is not an object"),
        (r#"{"hooks": {"PreToolUse": {}}}"#, "`PreToolUse` is not a list"),
        (r#"{"hooks": {}, "hooks": {}}"#, "more than once"),
    ] {
        let error = ours().install(text).unwrap_err();
        assert!(error.to_string().contains(why), "{text}: {error}");
    }
}

#[test]
fn a_hook_of_another_program_is_not_ours() {
    for (hook, is_ours) in [
        (json!({ "command": "/x/openoxide hook codex --untrusted" }), true),
        (json!({ "command": "openoxide", "args": ["hook", "codex"] }), true),
        (json!({ "command": "/x/openoxide hook claude" }), false),
        (json!({ "command": "/x/closedoxide hook codex" }), false),
        (json!({ "command": blocking_command("/x/openoxide-0.2".into(), "codex").unwrap() }), true),
        (
            json!({ "command": blocking_command("/x/ox".into(), "codex").unwrap() + "  # mine" }),
            true,
        ),
        (json!({ "command": blocking_command("/x/ox".into(), "claude").unwrap() }), false),
        (json!({ "command": "openoxide check" }), false),
        (json!({ "url": "openoxide hook codex" }), false),
    ] {
        assert_eq!(starts_openoxide(&hook, "codex"), is_ours, "{hook}");
    }
}
