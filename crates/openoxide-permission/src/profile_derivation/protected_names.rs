//! The names of files and directories that stay protected inside writable directories.

/// The names at the top of each root whose content steers tools, agents or OpenOxide. Repositories
/// are not among them: the sandbox protects what makes `git` run something in any of them.
pub const PROTECTED_ROOT_NAMES: [&str; 8] =
    [".agents", ".claude", ".codex", ".idea", ".mcp.json", ".openoxide", ".opencode", ".vscode"];
