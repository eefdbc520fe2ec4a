//! Committing: a widening of `.git` that keeps what makes the next `git` run something.

use std::collections::BTreeSet;

use openoxide_protocol::{AbsPath, Access, Decision, Exec, Word};

use super::{
    Ground, granted,
    protected::{GIT_DIRECTIONS, GIT_STEERING},
};

/// Subcommands that change references, objects and the index of a repository. `config`, `remote`, `init`, `submodule`,
/// `worktree` and their like write what steers; `rebase` and `am` keep lists of commands to run.
const COMMITS: [&str; 19] = [
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

/// Opens the repositories that the decision commits to, but for what steers.
pub(super) fn open(ground: &Ground<'_>, decision: &Decision, protected: &mut BTreeSet<AbsPath>) {
    for access in granted(decision) {
        let Access::Exec(exec) = access else { continue };
        let place = exec.place.as_ref().unwrap_or(ground.context.cwd);
        if commits(exec)
            && let Some(git) = of(protected, place)
        {
            protected.remove(&git);
            protected.extend(GIT_STEERING.map(|name| git.join(name)));
            let directions = GIT_DIRECTIONS.map(|name| git.join(name));
            protected.extend(directions.into_iter().filter(|path| ground.seen.contains(path)));
        }
    }
}

fn commits(exec: &Exec) -> bool {
    let words = exec.plain.as_ref().unwrap_or(&exec.argv);
    let second = words.iter().nth(1);
    words.known(0) == Some("git")
        && matches!(second, Some(Word::Known(verb)) if COMMITS.contains(&verb))
}

/// The innermost repository that a directory lies in.
fn of(protected: &BTreeSet<AbsPath>, place: &AbsPath) -> Option<AbsPath> {
    let is_git = |path: &&AbsPath| path.name() == Some(".git");
    let holds = |path: &&AbsPath| path.parent().is_some_and(|top| place.below(&top).is_some());
    let around = protected.iter().filter(is_git).filter(holds);
    around.max_by_key(|path| path.as_str().len()).cloned()
}
