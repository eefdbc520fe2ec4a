//! The wiring of Codex: `hooks.json`, and the trust and features in `config.toml`.

use std::path::{Path, PathBuf};

use openoxide_adapters::{claude_code::wiring::DECISION_EVENTS, wiring::HookLocation};
use openoxide_codex::wiring::{CodexConfig, HookTrust};
use serde_json::Value;

use super::{
    problem::{Problem, ProblemCode},
    project_settings::check_project_settings,
    settings_file::{read_json, read_text},
    wired_hook::{WiredHook, read_hooks},
};
use crate::{args::AgentName, commands::init};

/// Returns the hooks of OpenOxide, and the problems of the settings.
pub(super) fn inspect_settings(
    home: &Path,
    projects: &[PathBuf],
) -> (Vec<WiredHook>, Vec<Problem>) {
    let (file, config_file) = (home.join("hooks.json"), home.join("config.toml"));
    let mut problems = Vec::new();
    let settings = read_json(&file).unwrap_or_else(|error| {
        problems.push(invalid_settings(&file, &error));
        None
    });
    let settings = settings.unwrap_or_default();
    let hooks = read_hooks(&file, &settings, DECISION_EVENTS);
    let (ours, others): (Vec<_>, Vec<_>) =
        hooks.into_iter().partition(|hook| hook.is_ours(AgentName::Codex));
    problems.extend(others.iter().map(WiredHook::to_other_hook_problem));
    match read_config(&config_file) {
        Err(error) => problems.push(invalid_settings(&config_file, &error)),
        Ok(config) => {
            problems.extend(check_config(&config_file, &config, !ours.is_empty()));
            problems.extend(ours.iter().filter_map(|hook| check_trust(hook, &config)));
        }
    }
    let projects = projects.iter().filter(|project| project.join(".codex") != home);
    problems.extend(projects.flat_map(|project| check_project(project, !ours.is_empty())));
    (ours, problems)
}

fn read_config(file: &Path) -> Result<CodexConfig, String> {
    let text = read_text(file)?.unwrap_or_default();
    CodexConfig::parse(&text).map_err(|error| error.to_string())
}

/// Returns the problems of the settings that a project brings. Codex reads them if it trusts the
/// project.
fn check_project(project: &Path, is_wired: bool) -> Vec<Problem> {
    let folder = project.join(".codex");
    let (file, hooks) = (folder.join("config.toml"), folder.join("hooks.json"));
    let mut problems = Vec::new();
    if let Ok(Some(settings)) = read_json(&hooks) {
        problems.extend(check_project_settings(&hooks, &settings));
    }
    // What Codex cannot parse has no effect.
    let Ok(config) = read_config(&file) else { return problems };
    problems.extend(disabled_feature(&file, &config).filter(|_| is_wired));
    if config.approval_policy().or(config.sandbox_mode()).is_some() {
        let file = file.display();
        problems.push(Problem::with_advice(
            ProblemCode::ProjectWidens,
            format!("{file}: the project sets the approval policy or the sandbox of Codex"),
            format!("review `approval_policy` and `sandbox_mode` in {file}"),
        ));
    }
    problems
}

fn invalid_settings(file: &Path, error: &str) -> Problem {
    let file = file.display();
    Problem::with_advice(
        ProblemCode::SettingsInvalid,
        format!("{file}: {}", error.trim_end()),
        format!("correct {file}"),
    )
}

fn disabled_feature(file: &Path, config: &CodexConfig) -> Option<Problem> {
    let (name, file) = (config.disabled_feature()?, file.display());
    Some(Problem::with_advice(
        ProblemCode::HooksDisabled,
        format!("{file}: `features.{name} = false` disables the hook of OpenOxide"),
        format!("remove `{name}` below `[features]` in {file}"),
    ))
}

fn check_config(file: &Path, config: &CodexConfig, is_wired: bool) -> Vec<Problem> {
    let mut problems = Vec::new();
    problems.extend(disabled_feature(file, config).filter(|_| is_wired));
    if config.approval_policy() == Some("never")
        && config.sandbox_mode() == Some("danger-full-access")
    {
        let file = file.display();
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
        init::init_command(AgentName::Codex),
    ))
}
