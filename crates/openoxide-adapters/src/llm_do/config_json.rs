//! The configuration as JSON, with every default filled in, for programs that implement the tools
//! of llm-do.

use serde_json::{Map, Value, json};

use super::config_file::{
    LlmDoConfig, LlmDoMode, LlmDoPathConfig, LlmDoPathMode, LlmDoSandbox, LlmDoShell,
    SandboxFallback, ShellRule,
};
use crate::policy_translation::PolicyTextError;

/// Parses a configuration, and returns it as JSON. Sections that are missing are `null`.
///
/// ```
/// use openoxide_adapters::llm_do::parse_config;
///
/// let config = parse_config("sandbox: {paths: {data: {root: ./data, mode: rw}}}").unwrap();
/// assert_eq!(config["sandbox"]["paths"]["data"]["write_approval"], true);
/// assert_eq!(config["shell"], serde_json::Value::Null);
/// ```
///
/// # Errors
/// Returns an error if the text is not YAML, or if it contains something that the format does not
/// define.
pub fn parse_config(text: &str) -> Result<Value, PolicyTextError> {
    let config = LlmDoConfig::parse(text)?;
    Ok(json!({
        "sandbox": config.sandbox.as_ref().map(sandbox_to_json),
        "shell": config.shell.as_ref().map(shell_to_json),
        "mode": config.mode.map(LlmDoMode::as_str),
    }))
}

fn sandbox_to_json(sandbox: &LlmDoSandbox) -> Value {
    let paths = sandbox.paths.iter().map(|(name, path)| (name.clone(), path_to_json(path)));
    json!({
        "paths": paths.collect::<Map<_, _>>(),
        "require_os_sandbox": sandbox.require_os_sandbox.as_ref().is_some_and(|one| one.value),
        "os_sandbox_fallback": match sandbox.os_sandbox_fallback {
            Some(SandboxFallback::RefuseTools) => "refuse_tools",
            Some(SandboxFallback::FailFast) | None => "fail_fast",
        },
    })
}

fn path_to_json(path: &LlmDoPathConfig) -> Value {
    let suffixes = path.suffixes.as_ref();
    json!({
        "root": path.root.value,
        "mode": match path.mode {
            LlmDoPathMode::Ro => "ro",
            LlmDoPathMode::Rw => "rw",
        },
        "suffixes": suffixes.map(|all| all.iter().map(|one| &one.value).collect::<Vec<_>>()),
        "max_file_bytes": path.max_file_bytes.as_ref().map(|limit| limit.value),
        "write_approval": path.write_approval,
        "read_approval": path.read_approval,
    })
}

fn shell_to_json(shell: &LlmDoShell) -> Value {
    json!({
        "default": { "allowed": shell.default.allowed, "approval": shell.default.approval },
        "rules": shell.rules.iter().map(rule_to_json).collect::<Vec<_>>(),
        "network": shell.network.as_ref().is_some_and(|one| one.value),
    })
}

fn rule_to_json(rule: &ShellRule) -> Value {
    json!({
        "pattern": rule.pattern.value,
        "allowed": rule.allowed,
        "approval": rule.approval,
        "description": rule.description,
        "sandbox_paths": rule.sandbox_paths,
    })
}
