//! The names of files and directories that stay protected inside writable directories.

/// Names at the top of each root whose content steers tools, agents or this program (issue 5 §1).
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

/// The same, but only where they are: any placeholder at these names breaks every `git` (it would be read).
pub(super) const GIT_POINTER_NAMES: [&str; 2] = ["commondir", "gitdir"];
