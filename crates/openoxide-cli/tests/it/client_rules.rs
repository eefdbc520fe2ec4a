//! The allow rules of Claude Code in the user's settings, where Claude Code does not apply them.

use std::{
    fs,
    io::Write as _,
    process::{Command, Output, Stdio},
};

use serde_json::{Value, json};

use crate::{
    after_call::{decision, payload},
    support::{OPENOXIDE, World, stderr, stdout},
};

/// Runs the hook in a mount namespace with these files of the administrator below `/etc`.
fn hook_with_managed_files(world: &World, files: &[(&str, &str)], payload: &Value) -> Output {
    let writes = files
        .iter()
        .map(|(file, text)| format!("&& mkdir -p $(dirname {file}) && echo '{text}' > {file}"));
    let words: Vec<String> =
        ["mount -t tmpfs none /etc".to_owned()].into_iter().chain(writes).collect();
    let script = words.join(" ");
    let mut shell = Command::new("unshare");
    shell.args(["--user", "--map-root-user", "--mount", "sh", "-c"]);
    shell.args([&format!("{script} && exec {OPENOXIDE} hook claude"), "sh"]);
    shell.current_dir(world.project()).env_clear().env("PATH", "/usr/bin:/bin");
    shell.env("HOME", world.root()).env("XDG_CONFIG_HOME", world.root().join("config"));
    let mut child =
        shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(payload.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    output
}

/// In these cases Claude Code does not apply the rules, or runs a call without them.
#[test]
fn rules_of_the_client_that_it_does_not_apply_allow_nothing() {
    let world = World::new();
    fs::create_dir(world.root().join(".claude")).unwrap();
    let settings = world.root().join(".claude/settings.json");
    fs::write(settings, r#"{"permissions": {"allow": ["Bash(npm run *)"]}}"#).unwrap();
    world.file("package.json", r#"{"scripts": {"build": "true"}}"#);
    let claude = "/etc/claude-code/managed-settings.json";
    let fragment = "/etc/claude-code/managed-settings.d/a.json";
    let only_managed = r#"{"allowManagedPermissionRulesOnly": true}"#;
    let no_bypass = "[managed]\ndisable_bypass_permissions = true";
    let own = "/etc/openoxide/managed.toml";
    for (files, mode, expected) in [
        (&[(claude, "{}"), (own, no_bypass)][..], "default", None),
        (&[(claude, only_managed)], "default", Some("ask")),
        (&[(fragment, only_managed)], "default", Some("ask")),
        (&[(own, no_bypass)], "bypassPermissions", Some("ask")),
    ] {
        let mut payload = payload(&world, "PreToolUse", "1", "npm run build");
        payload["permission_mode"] = json!(mode);
        let output = hook_with_managed_files(&world, files, &payload);
        let answer = Some(&output).filter(|output| !output.stdout.is_empty()).map(decision);
        assert_eq!(answer.as_deref(), expected, "{files:?} {mode}: {}", stdout(&output));
    }
}
