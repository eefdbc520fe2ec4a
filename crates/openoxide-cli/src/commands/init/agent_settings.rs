//! The hook in the settings of each agent.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use openoxide_codex as codex;

use super::{
    claude_ask_rule::{change_claude_settings, parse_settings},
    settings_change::SettingsChange,
    wiring::Wiring,
};
use crate::{
    args::{AgentName, InitArgs},
    error::{CliError, file_error::FileError, init_error::InitError},
};

/// Returns the agents with the directories of their settings.
pub(super) fn select_agents(args: &InitArgs) -> Result<Vec<(AgentName, PathBuf)>, InitError> {
    let is_wanted = |agent: &AgentName| args.agents.is_empty() || args.agents.contains(agent);
    let mut agents = Vec::new();
    for agent in [AgentName::Claude, AgentName::Codex].into_iter().filter(is_wanted) {
        let home = settings_directory(agent).ok_or(InitError::NoHome)?;
        if home.is_dir() || !args.agents.is_empty() {
            agents.push((agent, home));
        }
    }
    if agents.is_empty() {
        return Err(InitError::NoAgent);
    }
    Ok(agents)
}

/// Returns the directory of an agent's settings, as the agent itself finds it.
pub(crate) fn settings_directory(agent: AgentName) -> Option<PathBuf> {
    let (variable, name) = match agent {
        AgentName::Claude => ("CLAUDE_CONFIG_DIR", ".claude"),
        AgentName::Codex => ("CODEX_HOME", ".codex"),
    };
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
    // Codex identifies a hook by the path of its file, and resolves links in a directory that a
    // variable names.
    let named = set(variable).map(|path| fs::canonicalize(&path).unwrap_or_else(|_| path.into()));
    named.or_else(|| Some(PathBuf::from(set("HOME")?).join(name)))
}

/// Returns the changes of the settings of an agent.
pub(super) fn agent_changes(
    agent: AgentName,
    home: &Path,
    wiring: Wiring<'_>,
) -> Result<Vec<SettingsChange>, CliError> {
    match agent {
        AgentName::Claude => Ok(vec![claude_change(home, wiring)?]),
        AgentName::Codex => codex_changes(home, wiring),
    }
}

fn claude_change(home: &Path, wiring: Wiring<'_>) -> Result<SettingsChange, FileError> {
    let file = home.join("settings.json");
    SettingsChange::from_file(file, |before| Ok(change_claude_settings(before, wiring)?))
}

fn codex_changes(home: &Path, wiring: Wiring<'_>) -> Result<Vec<SettingsChange>, CliError> {
    use codex::wiring::{hook_wiring, trust_hook, untrust_hook};
    let Wiring { mut invocation, undo, .. } = wiring;
    let (file, mut places) = (home.join("hooks.json"), Vec::new());
    let name = file.to_str().ok_or(InitError::SettingsNotUtf8)?.to_owned();
    let hooks = SettingsChange::from_file(file, |before| {
        invocation = wiring.invocation_for(&parse_settings(before), "codex");
        let wiring = hook_wiring(invocation)?;
        let wired = if undo { wiring.uninstall(before)? } else { wiring.install(before)? };
        places = wired.hook_locations;
        Ok(wired.text)
    })?;
    let config = SettingsChange::from_file(home.join("config.toml"), |before| {
        Ok(match undo {
            false => trust_hook(before, &name, &places, invocation)?,
            true => untrust_hook(before, &name, &places)?,
        })
    })?;
    // Trust in a hook that is not installed yet is harmless. In the other order Codex would skip
    // the hook for a moment.
    Ok(vec![config, hooks])
}
