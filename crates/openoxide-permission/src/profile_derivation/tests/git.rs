//! Tests of write access to `.git` for commits.

use super::*;

/// Covers the files under `.git` that make the next `git` run a program: git-config(1),
/// gitrepository-layout(5), githooks(5).
///
/// Guards I30.
#[test]
fn committing_opens_the_repository_but_not_its_steering_files() {
    let world = World::new(&[(Allow, "Bash(git *)")]);
    for commit in ["git commit -m x", "git add .", "git stash", "git switch main"] {
        let found = world.confined(&[exec(commit)]);
        for open in [
            "index.lock",
            "HEAD",
            "objects/ab/cd",
            "refs/heads/main",
            "COMMIT_EDITMSG",
            "logs/HEAD",
        ] {
            assert!(found.may_write(&path("/h/p/.git").join(open)), "{commit}: {open}");
        }
        for kept in [
            "config",
            "config.worktree",
            "hooks/pre-commit",
            "modules/m/config",
            "modules/m/hooks/x",
            "worktrees/w/config.worktree",
            "worktrees/w/gitdir",
        ] {
            assert!(!found.may_write(&path("/h/p/.git").join(kept)), "{commit}: {kept}");
        }
        assert!(!found.may_write(&path("/h/p/.claude/x")));
    }
    for other in [
        "git config core.pager x",
        "git remote add a b",
        "git rebase main",
        "git init",
        "git status",
        "make",
        "./git commit",
        "git -C x commit",
        "gitx commit",
        "git submodule add x",
        "git worktree add x",
    ] {
        let found = world.confined(&[exec(other)]);
        assert!(!found.may_write(&path("/h/p/.git/HEAD")), "{other}");
    }
}

#[test]
fn committing_opens_the_innermost_repository_and_follows_no_planted_direction() {
    let seen = ["/h/p/sub/.git", "/h/p/sub/.git/commondir"];
    let world = World::new(&[(Allow, "Bash(git *)")]).seen(&seen);
    let Access::Exec(commit) = exec("git commit") else { panic!() };
    let found = world
        .confined(&[Access::Exec(ExecAccess { cwd: Some(path("/h/p/sub/x")), ..commit.clone() })]);
    assert!(
        found.may_write(&path("/h/p/sub/.git/index")) && !found.may_write(&path("/h/p/.git/index"))
    );
    assert!(!found.may_write(&path("/h/p/sub/.git/commondir")));
    let plain = ExecAccess { normalized_argv: Some("git commit".split(' ').collect()), ..commit };
    let argv = "git --no-pager commit".split(' ').collect();
    let found = world.confined(&[Access::Exec(ExecAccess { argv, ..plain })]);
    assert!(found.may_write(&path("/h/p/.git/index")));
}
