//! The wiring of Codex: `hooks.json`, and the trust and features in `config.toml`.

use std::{fs, io, path::Path};

use openoxide_adapters::wiring::HookLocation;
use openoxide_codex::wiring::{CodexConfig, HookTrust};
use serde_json::Value;

use super::{
    problem::{Problem, ProblemCode},
    wired_hook::{WiredHook, read_hooks},
};
use crate::args::AgentName;

/// Returns the hooks of OpenOxide, and the problems of the settings.
pub(super) fn inspect_settings(home: &Path) -> (Vec<WiredHook>, Vec<Problem>) {
    let (file, config_file) = (home.join("hooks.json"), home.join("config.toml"));
    let mut problems = Vec::new();
    let settings = read_text(&file)
        .and_then(|text| match text.trim() {
            "" => Ok(Value::Null),
            text => serde_json::from_str(text).map_err(|error| error.to_string()),
        })
        .unwrap_or_else(|error| {
            problems.push(invalid_settings(&file, &error));
            Value::Null
        });
    let hooks = read_hooks(&file, &settings);
    let (ours, others): (Vec<_>, Vec<_>) =
        hooks.into_iter().partition(|hook| hook.is_ours(AgentName::Codex));
    problems.extend(others.iter().map(WiredHook::to_other_hook_problem));
    let config = read_text(&config_file)
        .and_then(|text| CodexConfig::parse(&text).map_err(|error| error.to_string()));
    match config {
        Err(error) => problems.push(invalid_settings(&config_file, &error)),
        Ok(config) => {
            problems.extend(check_config(&config_file, &config, !ours.is_empty()));
            problems.extend(ours.iter().filter_map(|hook| check_trust(hook, &config)));
        }
    }
    (ours, problems)
}

fn read_text(file: &Path) -> Result<String, String> {
    match fs::read_to_string(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        read => read.map_err(|error| error.to_string()),
    }
}

fn invalid_settings(file: &Path, error: &str) -> Problem {
    let file = file.display();
    Problem::with_advice(
        ProblemCode::SettingsInvalid,
        format!("{file}: {}", error.trim_end()),
        format!("correct {file}"),
    )
}

fn check_config(file: &Path, config: &CodexConfig, is_wired: bool) -> Vec<Problem> {
    let file = file.display();
    let mut problems = Vec::new();
    if let Some(name) = config.disabled_feature().filter(|_| is_wired) {
        problems.push(Problem::with_advice(
            ProblemCode::HooksDisabled,
            format!("{file}: `features.{name} = false` disables the hook of OpenOxide"),
            format!("remove `{name}` below `[features]` in {file}"),
        ));
    }
    if config.approval_policy() == Some("never")
        && config.sandbox_mode() == Some("danger-full-access")
    {
        problems.push(Problem::with_advice(
            ProblemCode::BypassMode,
            format!("{file}: `approval_policy` and `sandbox_mode` disable Codex's approvals and its sandbox"),
            format!("remove `sandbox_mode` from {file}"),
        ));
    }
    problems
}

/// Returns a problem if Codex skips the hook, which it does silently.
fn check_trust(hook: &WiredHook, config: &CodexConfig) -> Option<Problem> {
    let (group, index) = hook.location;
    let place = HookLocation { event: hook.event, group, hook: index };
    let timeout = hook.hook.get("timeout").and_then(Value::as_u64);
    let file = hook.file.to_str()?;
    let trust = config.hook_trust(file, &place, hook.matcher.as_deref(), hook.command(), timeout);
    let why = match trust {
        HookTrust::Trusted => return None,
        HookTrust::Disabled => "is disabled in config.toml",
        HookTrust::Changed => "was changed after it was trusted",
        HookTrust::Missing => "is not trusted",
    };
    Some(Problem::with_command(
        ProblemCode::HookUntrusted,
        format!("{file}: the hook for {} {why}, so Codex skips it", hook.event),
        "openoxide init codex",
    ))
}
