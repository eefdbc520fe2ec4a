//! Settings of the user's agents, which run programs in every project that an agent works in.

use std::{env, path::PathBuf};

use crate::protected_paths::account::home_directories;

/// The user's settings files of agents, below the home directory. They name commands of hooks,
/// helpers and MCP servers.
const HOME_SETTINGS: &[&str] = &[
    ".aider.conf.yml",
    ".claude.json",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".codex/config.toml",
    ".codex/hooks.json",
    ".codeium/windsurf/mcp_config.json",
    ".config/amp/settings.json",
    ".config/crush/crush.json",
    ".config/goose/config.yaml",
    ".config/opencode/opencode.json",
    ".config/opencode/opencode.jsonc",
    ".continue/config.json",
    ".continue/config.yaml",
    ".copilot/mcp-config.json",
    ".cursor/hooks.json",
    ".cursor/mcp.json",
    ".factory/mcp.json",
    ".factory/settings.json",
    ".gemini/settings.json",
    ".kiro/settings/mcp.json",
    ".qwen/settings.json",
];

/// Environment variables that name another directory for such settings, and the files in it.
const VARIABLE_SETTINGS: &[(&str, &[&str])] = &[
    ("CLAUDE_CONFIG_DIR", &[".claude.json", "settings.json", "settings.local.json"]),
    ("CODEX_HOME", &["config.toml", "hooks.json"]),
    (
        "XDG_CONFIG_HOME",
        &[
            "amp/settings.json",
            "crush/crush.json",
            "goose/config.yaml",
            "opencode/opencode.json",
            "opencode/opencode.jsonc",
        ],
    ),
];

/// Returns the existing settings files.
pub(super) fn find_user_settings() -> Vec<PathBuf> {
    let homes = home_directories().into_iter();
    let below = homes.flat_map(|home| HOME_SETTINGS.iter().map(move |name| home.join(name)));
    let named = VARIABLE_SETTINGS.iter().filter_map(|(name, files)| {
        let directory = PathBuf::from(env::var_os(name)?);
        directory.is_absolute().then(|| files.iter().map(move |file| directory.join(file)))
    });
    below.chain(named.flatten()).filter(|path| path.is_file()).collect()
}
