//! Tests of write access to repositories.

use super::*;

/// The sandbox protects what makes `git` run something, in any repository. The profile protects
/// only what rules and settings name.
///
/// Guards I30.
#[test]
fn every_command_may_change_repositories_unless_a_rule_restricts_it() {
    for command in ["git commit -m x", "git rebase main", "make", "git worktree add x"] {
        let found = World::new(&[]).confined(&[exec(command)]);
        assert!(found.may_write(&path("/h/p/.git/HEAD")), "{command}");
        assert!(!found.may_write(&path("/h/p/.claude/x")), "{command}");
    }
    let restricted = World::new(&[(Deny, "Edit(.git/refs/**)")]);
    assert!(!restricted.confined(&[exec("make")]).may_write(&path("/h/p/.git/refs/heads/x")));
    let planned = World::new(&[]).mode(PermissionMode::Plan).confined(&[exec("git commit")]);
    assert!(!planned.may_write(&path("/h/p/.git/HEAD")));
}

#[test]
fn the_repository_of_a_linked_worktree_is_writable_unless_a_rule_restricts_it() {
    let world = |rules: &[(Effect, &str)]| World {
        git_directories: vec![path("/h/main/.git"), path("/h"), path("/h/.ssh")],
        ..World::new(rules)
    };
    let found = world(&[]).confined(&[exec("git commit")]);
    assert_eq!(texts(&found.writable), ["/h/main/.git", "/h/p"]);
    assert!(!found.protected.iter().any(|path| path.as_str().starts_with("/h/main/.git/")));
    let denied = world(&[(Deny, "Edit(~/main/**)")]).confined(&[exec("git commit")]);
    assert_eq!(texts(&denied.writable), ["/h/p"]);
}
