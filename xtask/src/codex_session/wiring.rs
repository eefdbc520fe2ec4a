//! The test of the hook that `openoxide init` installs, in a session of the real Codex. Codex
//! trusts the hook and follows its decisions. If the program is missing or crashes, the hook
//! blocks.

use std::{
    fs, io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};

use super::{
    model::{Model, line},
    stage::Stage,
};
use crate::tool_lists;

const POLICY: &str =
    "[permissions]\nallow = [\"Bash(touch *)\"]\ndeny = [\"Bash(touch denied*)\"]\n";

/// The commands that are called, and the text that Codex then gives to the model.
const CALLS: [(&str, &str); 3] = [
    ("touch allowed", "Process exited with code 0"),
    ("touch denied", "blocked by PreToolUse hook"),
    // A call that requires approval is blocked, because Codex continues if a hook asks.
    ("touch-no-rule-matches", "blocked by PreToolUse hook"),
];

/// The state of the wired program when Codex calls it.
#[derive(Clone, Copy, Debug)]
enum Program {
    Intact,
    /// The program is removed, for example with its build directory.
    Missing,
    /// The program is replaced by this script.
    Script(&'static str),
}

/// Each state, and the expected text for a call that Codex itself would run.
const STATES: [(Program, &str); 6] = [
    (Program::Intact, "Process exited with code 0"),
    (Program::Missing, "blocked by PreToolUse hook"),
    (Program::Script("kill -9 $$"), "blocked by PreToolUse hook"),
    (Program::Script("kill -SEGV $$"), "blocked by PreToolUse hook"),
    (Program::Script("exit 101"), "blocked by PreToolUse hook"),
    (Program::Script("exit 127"), "blocked by PreToolUse hook"),
];

/// Checks that calls are blocked when the program that `init` has wired is missing or crashes.
///
/// Codex asks about nothing and confines nothing here, so only the hook can block. The first state
/// shows that the call runs.
pub(super) fn blocks_without_program(
    ours: &Path,
    theirs: &Path,
    model: &Model,
) -> Result<(), String> {
    for (state, expected) in STATES {
        let mut stage = Stage::prepared(theirs, model, |root| {
            let copy = copy_program(ours, root).map_err(|error| error.to_string())?;
            wire(&copy, root)?;
            state.put(&copy).map_err(|error| error.to_string())
        })?;
        trusted(&stage.hooks()?)?;
        let thread = stage.thread(&json!("never"), "danger-full-access", &[])?;
        let call = line("broken", &json!({ "cmd": "touch allowed" }));
        let asked = stage.client.turn(&thread, &call, |_| json!("accept"))?;
        let told = model.take("broken").unwrap_or_default();
        let ran = stage.has_file("allowed");
        let is_intact = matches!(state, Program::Intact);
        if !asked.is_empty() || ran != is_intact || !told.contains(expected) {
            return Err(format!(
                "{state:?}: ran: {ran}, asked: {asked:?}, the model read {told:?}"
            ));
        }
        println!("{state:?}: {}", if ran { "the call ran" } else { "the call was blocked" });
    }
    Ok(())
}

impl Program {
    fn put(self, place: &Path) -> io::Result<()> {
        match self {
            Self::Intact => Ok(()),
            Self::Missing => fs::remove_file(place),
            Self::Script(body) => {
                fs::remove_file(place)?;
                fs::write(place, format!("#!/bin/sh\n{body}\n"))?;
                fs::set_permissions(place, fs::Permissions::from_mode(0o755))
            }
        }
    }
}

/// Copies the program to a separate directory.
fn copy_program(ours: &Path, root: &Path) -> io::Result<PathBuf> {
    let copy = root.join("bin/openoxide");
    fs::create_dir_all(root.join("bin"))?;
    fs::copy(ours, &copy)?;
    Ok(copy)
}

/// Tests the installed hook in the real Codex.
pub(super) fn holds(ours: &Path, theirs: &Path, model: &Model) -> Result<(), String> {
    let mut stage = Stage::prepared(theirs, model, |root| {
        let copy = copy_program(ours, root).map_err(|error| error.to_string())?;
        wire(&copy, root)
    })?;
    trusted(&stage.hooks()?)?;
    // Codex would ask about all of these calls. The hook answers in place of the person.
    let thread = stage.thread(&json!("untrusted"), "danger-full-access", &[])?;
    let ids: Vec<String> = (0..CALLS.len()).map(|at| format!("hook-{at}")).collect();
    let call = |(id, (script, _)): (&String, &(&str, &str))| line(id, &json!({ "cmd": script }));
    let prompt: String = ids.iter().zip(&CALLS).map(call).collect();
    let asked = stage.client.turn(&thread, &prompt, |_| json!("decline"))?;
    if !asked.is_empty() {
        return Err(format!("Codex asks although our hook answers: {asked:?}"));
    }
    for (id, (script, expected)) in ids.iter().zip(CALLS) {
        let told = model.take(id).unwrap_or_default();
        if !told.contains(expected) {
            return Err(format!("`{script}`: {expected:?} is not in {told:?}"));
        }
    }
    let tools = model.offered_tools();
    tool_lists::check_codex(tools.iter().map(String::as_str))?;
    println!("{} tools of Codex are in the recorded list", tools.len());
    println!("{} calls were answered by the hook that `init` put in", CALLS.len());
    Ok(())
}

fn wire(ours: &Path, root: &Path) -> Result<(), String> {
    let config = root.join("home/.config/openoxide");
    fs::create_dir_all(&config)
        .and_then(|()| fs::write(config.join("policy.toml"), POLICY))
        .map_err(|error| error.to_string())?;
    let mut init = Command::new(ours);
    init.args(["init", "codex", "--from-build"]).env_clear();
    init.env("HOME", root.join("home")).env("CODEX_HOME", root.join("codex"));
    let output = init.output().map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// Checks that both hooks exist and that Codex itself lists them as trusted.
fn trusted(listed: &Value) -> Result<(), String> {
    let hooks = listed.pointer("/data/0/hooks").and_then(Value::as_array);
    let state = |hook: &Value| hook.get("trustStatus").and_then(Value::as_str) == Some("trusted");
    match hooks.map(|hooks| (hooks.len(), hooks.iter().all(state))) {
        Some((2, true)) => Ok(()),
        _ => Err(format!("Codex does not trust the hooks of `openoxide init`: {listed}")),
    }
}
