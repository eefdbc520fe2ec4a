//! The names of files and directories that stay protected inside writable directories.

/// The names at the top of each root whose content steers tools, agents or OpenOxide. Repositories
/// are not among them: the sandbox protects what makes `git` run something in any of them. Neither
/// is `.mcp.json`, whose placeholder `git` would show and add as an untracked file: the sandbox
/// protects an existing one and quarantines a new one, as it does with other steering files.
pub const PROTECTED_ROOT_NAMES: [&str; 7] =
    [".agents", ".claude", ".codex", ".idea", ".openoxide", ".opencode", ".vscode"];
