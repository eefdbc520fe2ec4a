//! The names of files and directories that stay protected inside writable directories.

/// The names at the top of each root whose content steers tools, agents or OpenOxide.
pub const PROTECTED_ROOT_NAMES: [&str; 9] = [
    ".agents",
    ".claude",
    ".codex",
    ".git",
    ".idea",
    ".mcp.json",
    ".openoxide",
    ".opencode",
    ".vscode",
];

/// The names in a repository's `.git` directory that make the next `git` run a program
/// (git-config(1), gitrepository-layout(5)).
///
/// `hooks` contains programs. `config` and `config.worktree` name programs (`core.fsmonitor`,
/// `core.sshCommand`, `core.pager`, aliases, filters, `core.hooksPath`, `include.path`). `modules`
/// and `worktrees` contain the same files for submodules and other worktrees. Attributes only
/// select filters that a configuration names, and also exist in the project. References, objects
/// and the index are data.
pub const GIT_STEERING_NAMES: [&str; 5] =
    ["config", "config.worktree", "hooks", "modules", "worktrees"];

/// The names that are only protected where they exist: a placeholder at one of them would break
/// every `git`, which reads them.
pub(super) const GIT_POINTER_NAMES: [&str; 2] = ["commondir", "gitdir"];
