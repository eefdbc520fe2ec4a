//! The wiring: the user's Claude Code settings, in the forms that the scenarios compare.

use std::path::Path;

use serde_json::{Value, json};

/// The timeout of the `openoxide` hook in seconds. Its own time limit is much shorter.
const PATIENCE: u32 = 20;

/// The program that the client calls before each tool call.
#[derive(Debug, Clone)]
pub(crate) struct Hook {
    program: String,
    arguments: Vec<&'static str>,
    timeout: u32,
}

impl Hook {
    /// Returns the `openoxide` hook.
    pub(crate) fn product(openoxide: &Path) -> Self {
        let program = openoxide.display().to_string();
        Self { program, arguments: vec!["hook", "claude"], timeout: PATIENCE }
    }

    /// Returns another program as the hook, with a timeout of `timeout` seconds.
    pub(crate) fn stand_in(program: &Path, timeout: u32) -> Self {
        Self { program: program.display().to_string(), arguments: Vec::new(), timeout }
    }

    /// Returns the settings that install this hook in addition to the client's own `permissions`.
    ///
    /// With `args` the client starts the program directly; without it the client would use a shell.
    pub(crate) fn settings(&self, permissions: &Value) -> Value {
        let hook = json!({
            "type": "command",
            "command": self.program,
            "args": self.arguments,
            "timeout": self.timeout,
        });
        let everything = json!([{ "matcher": "*", "hooks": [hook] }]);
        json!({
            "permissions": permissions,
            "hooks": { "PreToolUse": everything, "PermissionRequest": everything },
        })
    }
}

/// Returns the permissions of the recommended wiring: the client asks about every tool, so that
/// nothing runs unless the hook answers.
///
/// An ask rule outranks the client's allow rules, its modes and its own list of harmless commands.
pub(crate) fn recommended() -> Value {
    json!({ "ask": ["*"] })
}

/// Returns the recommended permissions in settings whose other rules let `touch` run unasked.
pub(crate) fn recommended_over_careless() -> Value {
    json!({ "ask": ["*"], "allow": ["Bash(touch *)"] })
}

/// Returns permissions under which the client asks only where its own rules do not decide.
pub(crate) fn bare() -> Value {
    json!({})
}

/// Returns permissions under which the client itself lets `touch` run unasked.
pub(crate) fn careless() -> Value {
    json!({ "allow": ["Bash(touch *)"] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hook_is_wired_for_both_events_without_a_shell() {
        let settings = Hook::product(Path::new("/abs/openoxide")).settings(&recommended());
        for event in ["PreToolUse", "PermissionRequest"] {
            let hook = &settings["hooks"][event][0]["hooks"][0];
            assert_eq!(hook["command"], "/abs/openoxide");
            assert_eq!(hook["args"], json!(["hook", "claude"]));
        }
        assert_eq!(settings["permissions"]["ask"], json!(["*"]));
    }
}
