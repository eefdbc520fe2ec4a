//! What stays as it is inside writable directories: the one list.

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

/// What in a repository's own directory makes the next `git` run something (git-config(1), gitrepository-layout(5)).
///
/// `hooks` are run. `config` and `config.worktree` name programs (`core.fsmonitor`, `core.sshCommand`, `core.pager`, aliases,
/// filters, `core.hooksPath`, `include.path`). `modules` and `worktrees` hold the like of submodules and other worktrees.
/// Attributes only choose among filters that a configuration names, and lie in the project as well; references, objects and
/// the index are data.
pub const GIT_STEERING_NAMES: [&str; 5] =
    ["config", "config.worktree", "hooks", "modules", "worktrees"];

/// The same, but only where they are: any placeholder at these names breaks every `git` (it would be read).
pub(super) const GIT_POINTER_NAMES: [&str; 2] = ["commondir", "gitdir"];
