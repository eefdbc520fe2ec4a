//! Files that are replaced from outside while a program runs, as editors do when they save.

use std::{fs, path::Path, process::Stdio, thread, time::Duration};

use super::Arena;

/// Writes a file as an editor does: anew, and then over the old one.
fn save(path: &Path, text: &str) {
    let new = path.with_extension("new");
    fs::write(&new, text).unwrap();
    fs::rename(&new, path).unwrap();
}

fn wait_for(path: &Path) {
    while !path.exists() {
        thread::sleep(Duration::from_millis(10));
    }
}

/// The kernel removes a mount, in every namespace, when the file that it is mounted on is replaced
/// by a rename in another namespace.
///
/// Guards I35.
#[test]
fn protected_files_stay_protected_when_replaced_from_outside() {
    let arena = Arena::new();
    let (settings, secret) = (arena.path("w/.mcp.json"), arena.path("w/secret"));
    save(&settings, "{}");
    save(&secret, "old");
    let script = "touch begun; while ! test -e go; do sleep 0.05; done\n\
        echo evil >> .mcp.json; cat secret; rm -f .mcp.json; mv .mcp.json away; echo evil > .codex/config.toml";
    let mut run = arena.run(&["--deny-read", "secret"], &["sh", "-c", script]);
    let run = run.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let run = run.spawn().unwrap();
    wait_for(&arena.path("w/begun"));
    save(&settings, "{\"ours\": 1}");
    save(&secret, "new");
    thread::sleep(Duration::from_millis(200));
    fs::write(arena.path("w/go"), "").unwrap();
    let output = run.wait_with_output().unwrap();
    assert_eq!(fs::read_to_string(&settings).unwrap(), "{\"ours\": 1}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "", "the secret was read");
    assert!(!arena.path("w/away").exists());
    assert!(!arena.path("w/.codex").exists(), "a placeholder is left");
}

/// A protected file that is permanently removed from outside cannot be created again from inside.
///
/// Guards I35.
#[test]
fn a_protected_file_removed_from_outside_is_not_recreated() {
    let arena = Arena::new();
    let settings = arena.path("w/.mcp.json");
    save(&settings, "{}");
    let script = "touch begun; while ! test -e go; do sleep 0.05; done; echo evil > .mcp.json";
    let run = arena.run(&[], &["sh", "-c", script]).stdin(Stdio::null()).spawn().unwrap();
    wait_for(&arena.path("w/begun"));
    fs::remove_file(&settings).unwrap();
    thread::sleep(Duration::from_secs(2));
    fs::write(arena.path("w/go"), "").unwrap();
    let output = run.wait_with_output().unwrap();
    assert!(!output.status.success());
    assert!(!settings.exists(), "something is left in its place");
}

/// The key that signs grants is in a directory that may not exist before the first run.
#[test]
fn a_state_directory_that_did_not_exist_is_hidden() {
    let arena = Arena::new();
    let (home, key) = (arena.path("new-home"), arena.path("new-home/.local/state/openoxide/key"));
    fs::create_dir(&home).unwrap();
    let script = "touch begun; while ! test -e go; do sleep 0.05; done; cat \"$1\"";
    let mut run = arena.run(&[], &["sh", "-c", script, "sh", key.to_str().unwrap()]);
    run.env("HOME", &home).env_remove("XDG_STATE_HOME");
    let run = run.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let run = run.spawn().unwrap();
    wait_for(&arena.path("w/begun"));
    fs::create_dir_all(key.parent().unwrap()).unwrap();
    fs::write(&key, "secret").unwrap();
    fs::write(arena.path("w/go"), "").unwrap();
    let output = run.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "", "the key was read");
    assert!(!output.status.success());
}
