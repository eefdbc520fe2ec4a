//! Detection of calls that ask to run outside of their agent's sandbox.

use openoxide_protocol::Access;
use serde_json::Value;

/// The tool name for rules about calls that ask to run outside of their agent's sandbox.
pub const RUN_WITHOUT_SANDBOX: &str = "RunWithoutSandbox";

/// The fields that ask for it, each with the values that do not: of Claude Code's Bash, Codex's
/// shell (current and earlier versions), and Cursor's terminal.
const OPT_OUT_FIELDS: &[(&str, &[&str])] = &[
    ("dangerouslyDisableSandbox", &["false"]),
    ("dangerously_disable_sandbox", &["false"]),
    ("disable_sandbox", &["false"]),
    ("no_sandbox", &["false"]),
    ("sandbox_permissions", &["use_default", "useDefault", "default"]),
    ("with_escalated_permissions", &["false"]),
    ("additional_permissions", &["false"]),
    ("required_permissions", &["false"]),
];

/// Returns an additional access if the call asks to run outside of its agent's sandbox. An approval
/// of the command does not include this access.
#[must_use]
pub fn sandbox_opt_out_access(input: &Value) -> Option<Access> {
    let object = input.as_object()?;
    let asks = |(name, harmless): &(&str, &[&str])| {
        object.get(*name).is_some_and(|value| !is_opt_out_unset(value, harmless))
    };
    let tool = RUN_WITHOUT_SANDBOX.to_owned();
    OPT_OUT_FIELDS.iter().any(asks).then_some(Access::CallTool { tool })
}

/// Returns whether the value of an opt-out field is clearly negative. An agent may treat any other
/// value as set.
fn is_opt_out_unset(value: &Value, harmless: &[&str]) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty() || harmless.contains(&text.as_str()),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(true) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_that_opts_out_of_the_sandbox_is_detected() {
        for input in [
            json!({ "command": "ls", "dangerouslyDisableSandbox": true }),
            json!({ "command": "ls", "dangerouslyDisableSandbox": "true" }),
            json!({ "command": "ls", "dangerouslyDisableSandbox": 1 }),
            json!({ "command": ["ls"], "sandbox_permissions": "require_escalated" }),
            json!({ "command": ["ls"], "sandbox_permissions": "with_additional_permissions" }),
            json!({ "command": ["ls"], "with_escalated_permissions": true }),
            json!({ "command": "ls", "required_permissions": ["all"] }),
        ] {
            assert!(sandbox_opt_out_access(&input).is_some(), "{input}");
        }
        for input in [
            json!({ "command": "ls" }),
            json!({ "command": "ls", "dangerouslyDisableSandbox": false }),
            json!({ "command": "ls", "dangerouslyDisableSandbox": null }),
            json!({ "command": ["ls"], "sandbox_permissions": "use_default" }),
            json!({ "command": "ls", "required_permissions": [] }),
            json!("dangerouslyDisableSandbox"),
        ] {
            assert_eq!(sandbox_opt_out_access(&input), None, "{input}");
        }
    }
}
