//! `init`: agents call us, and what stood in their settings stays.

use std::{fs, path::PathBuf};

use serde_json::Value;

use crate::support::{World, code, stderr, stdout};

const CONFIG: &str = "# mine\nmodel = \"x\"\n";
const SETTINGS: &str =
    "{\n  \"model\": \"y\",\n  \"permissions\": {\n    \"deny\": [\"Read(.env)\"]\n  }\n}\n";

/// A home in which both agents were started once.
fn home() -> (World, PathBuf, PathBuf) {
    let world = World::new();
    let (claude, codex) = (world.root().join(".claude"), world.root().join(".codex"));
    fs::create_dir(&claude).unwrap();
    fs::create_dir(&codex).unwrap();
    fs::write(claude.join("settings.json"), SETTINGS).unwrap();
    fs::write(codex.join("config.toml"), CONFIG).unwrap();
    (world, claude.join("settings.json"), codex)
}

fn init(world: &World, args: &[&str]) -> (i32, String, String) {
    let output = world.run(&[&["init"], args].concat(), b"");
    (code(&output), stdout(&output), stderr(&output))
}

#[test]
fn both_agents_are_found_wired_and_unwired() {
    let (world, claude, codex) = home();
    let (exit, shown, _) = init(&world, &["--dry-run"]);
    assert_eq!(exit, 0);
    for line in ["+++ ", "+trusted_hash = \"sha256:", "hook codex\"", "+    \"ask\": [\"*\"]"] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    assert_eq!(fs::read_to_string(&claude).unwrap(), SETTINGS);
    assert!(!codex.join("hooks.json").exists());

    let (exit, _, said) = init(&world, &[]);
    assert_eq!(exit, 0, "{said}");
    assert!(said.contains("Codex calls us from its next session on"), "{said}");
    let config = fs::read_to_string(codex.join("config.toml")).unwrap();
    let settings: Value = serde_json::from_slice(&fs::read(&claude).unwrap()).unwrap();
    assert!(config.starts_with(CONFIG), "{config}");
    assert_eq!(config.matches("trusted_hash").count(), 2);
    assert_eq!(settings["permissions"]["deny"][0], "Read(.env)");
    assert_eq!(settings["hooks"]["PermissionRequest"][0]["hooks"][0]["args"][1], "claude");

    // Once more, and nothing changes.
    let (_, shown, _) = init(&world, &["--dry-run"]);
    assert_eq!(shown, "");
    assert!(init(&world, &["codex"]).2.contains("Codex calls us already"));

    let (exit, _, said) = init(&world, &["--undo"]);
    assert_eq!(exit, 0, "{said}");
    assert_eq!(fs::read_to_string(codex.join("config.toml")).unwrap(), CONFIG);
    let settings: Value = serde_json::from_slice(&fs::read(&claude).unwrap()).unwrap();
    assert_eq!(settings, serde_json::from_str::<Value>(SETTINGS).unwrap());
    assert!(init(&world, &["--undo", "codex"]).2.contains("Codex does not call us"));
}

#[test]
fn who_never_called_us_keeps_the_rule_that_asks() {
    let (world, claude, _) = home();
    let own = "{ \"permissions\": { \"ask\": [\"*\"] } }";
    fs::write(&claude, own).unwrap();
    assert_eq!(init(&world, &["--undo", "claude"]).0, 0);
    assert_eq!(fs::read_to_string(&claude).unwrap(), own);
}

#[test]
fn settings_that_are_wrong_are_left_and_nothing_is_written_anywhere() {
    let (world, claude, codex) = home();
    fs::write(codex.join("hooks.json"), "{\"hooks\": []}").unwrap();
    let (exit, _, said) = init(&world, &[]);
    assert_eq!(exit, 2);
    assert!(said.contains("hooks.json: `hooks` is no object"), "{said}");
    assert_eq!(fs::read_to_string(&claude).unwrap(), SETTINGS);
    assert_eq!(fs::read_to_string(codex.join("config.toml")).unwrap(), CONFIG);
}

#[test]
fn where_no_agent_is_one_has_to_be_named() {
    let world = World::new();
    let (exit, _, said) = init(&world, &[]);
    assert_eq!(exit, 2);
    assert!(said.contains("openoxide init codex"), "{said}");
    assert_eq!(init(&world, &["codex"]).0, 0);
    assert!(world.root().join(".codex/hooks.json").exists());
    assert_eq!(init(&world, &["emacs"]).0, 2);
}
