//! Write access to `.git` for commits, except for the files that make the next `git` run a program.

use std::collections::BTreeSet;

use openoxide_protocol::{AbsPath, Access, CommandWord, Decision, ExecAccess};

use super::{
    confine_input::ProfileInput,
    granted_accesses::granted_accesses,
    protected_names::{GIT_POINTER_NAMES, GIT_STEERING_NAMES},
};

/// The subcommands that change references, objects and the index of a repository. `config`,
/// `remote`, `init`, `submodule`, `worktree` and similar ones write steering files. `rebase` and
/// `am` save lists of commands to run.
const WRITING_SUBCOMMANDS: [&str; 19] = [
    "add",
    "branch",
    "checkout",
    "cherry-pick",
    "commit",
    "fetch",
    "merge",
    "mv",
    "notes",
    "pull",
    "push",
    "reset",
    "restore",
    "revert",
    "rm",
    "stash",
    "switch",
    "tag",
    "update-index",
];

/// Makes the repositories writable that the decision commits to, except for their steering files.
pub(super) fn unprotect_repositories(
    ground: &ProfileInput<'_>,
    decision: &Decision,
    protected: &mut BTreeSet<AbsPath>,
) {
    for access in granted_accesses(decision) {
        let Access::Exec(exec) = access else { continue };
        let place = exec.cwd.as_ref().unwrap_or(ground.context.cwd);
        if is_repository_write(exec)
            && let Some(git) = find_enclosing_repository(protected, place)
        {
            protected.remove(&git);
            protected.extend(GIT_STEERING_NAMES.map(|name| git.join(name)));
            let directions = GIT_POINTER_NAMES.map(|name| git.join(name));
            protected.extend(
                directions.into_iter().filter(|path| ground.restricted_paths.contains(path)),
            );
        }
    }
}

fn is_repository_write(exec: &ExecAccess) -> bool {
    let words = exec.normalized_argv.as_ref().unwrap_or(&exec.argv);
    let second = words.iter().nth(1);
    words.known_word(0) == Some("git")
        && matches!(second, Some(CommandWord::Known(verb)) if WRITING_SUBCOMMANDS.contains(&verb))
}

/// Returns the innermost protected repository that contains a directory.
fn find_enclosing_repository(protected: &BTreeSet<AbsPath>, place: &AbsPath) -> Option<AbsPath> {
    let is_git = |path: &&AbsPath| path.file_name() == Some(".git");
    let holds =
        |path: &&AbsPath| path.parent().is_some_and(|top| place.strip_prefix(&top).is_some());
    let around = protected.iter().filter(is_git).filter(holds);
    around.max_by_key(|path| path.as_str().len()).cloned()
}
