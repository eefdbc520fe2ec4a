//! Settings of a repository that a confined program changes: with those that are applied, later
//! commands of `git` on the host send, contact and delete the same things as before.

use std::process::Command;

use super::Arena;

/// Runs a script on the host. Returns all that it prints.
fn host(arena: &Arena, script: &str) -> String {
    let mut sh = Command::new("sh");
    sh.args(["-ec", script]).env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
    sh.env("HOME", arena.path("home")).env("GIT_CONFIG_NOSYSTEM", "1").current_dir(arena.path("w"));
    let output = sh.output().unwrap();
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{script}: {said}");
    said
}

fn inside(arena: &Arena, script: &str) -> String {
    let output = arena.run(&[], &["sh", "-ec", script]).output().unwrap();
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{script}: {said}");
    said
}

/// A repository whose remote has a branch and a tag that the repository does not have.
fn repository() -> Arena {
    let arena = Arena::new();
    host(
        &arena,
        "git config --global user.name A; git config --global user.email a@b; \
         git config --global init.defaultBranch main; git init -q; echo a > a; git add a; git commit -qm a; \
         git init -q --bare ../outside/remote; git init -q --bare ../outside/other; \
         git remote add origin $PWD/../outside/remote; git push -q -u origin main; git push -q origin main:release main:refs/tags/v1; \
         git branch -dr origin/release; git tag -d v1 || true",
    );
    arena
}

/// Each of these makes a later `git push` or `git fetch` overwrite, delete or contact something
/// else, or `git gc` remove what the reflogs keep (git-config(1)).
const SETTINGS: &str = "
    remote.origin.mirror true
    remote.origin.push +refs/*:refs/*
    remote.origin.pushurl ../outside/other
    remote.origin.url ../outside/other
    remote.origin.fetch +refs/heads/*:refs/heads/*
    remote.origin.prune true
    remote.origin.promisor true
    remote.pushDefault other
    branch.main.pushRemote other
    branch.main.merge refs/heads/release
    push.default matching
    push.followTags true
    push.recurseSubmodules on-demand
    fetch.prune true
    gc.pruneExpire now
    gc.reflogExpire now
    gc.auto 1
    core.logAllRefUpdates false
";

#[test]
fn settings_that_change_what_git_sends_or_deletes_wait_for_a_person() {
    let arena = repository();
    let before = host(&arena, "git config --local --list");
    let settings = SETTINGS.lines().map(str::trim).filter(|line| !line.is_empty());
    let script: String = settings
        .clone()
        .map(|setting| format!("git config {setting} || git config --add {setting};"))
        .collect();
    let said = inside(&arena, &script);
    assert_eq!(host(&arena, "git config --local --list"), before, "{said}");
    assert!(said.contains("config.held-by-openoxide"), "{said}");
    // What would have been deleted and overwritten is still there.
    host(&arena, "echo b > b; git add b; git commit -qm b; git push -q");
    let remote = host(&arena, "git ls-remote origin; git ls-remote ../outside/other");
    assert!(remote.contains("refs/heads/release") && remote.contains("refs/tags/v1"), "{remote}");
}

/// `config.worktree` overrides the configuration of the repository.
#[test]
fn the_configuration_of_a_worktree_cannot_hide_such_a_setting() {
    let arena = repository();
    let script = "git config extensions.worktreeConfig true; git config --worktree remote.origin.mirror true; \
                  git config --worktree remote.origin.url ../outside/other";
    inside(&arena, script);
    inside(
        &arena,
        "! git config --worktree remote.origin.mirror true; ! git config --worktree remote.origin.pushurl x",
    );
    let url = host(
        &arena,
        "git remote get-url origin; git remote get-url --push origin; git config remote.origin.mirror || true",
    );
    assert!(!url.contains("other") && !url.contains("true") && !url.contains("\nx\n"), "{url}");
}

#[test]
fn branches_and_new_remotes_are_applied() {
    let arena = repository();
    let said = inside(
        &arena,
        "git checkout -q -b topic origin/main; git remote add other ../outside/other; git checkout -q -b local; \
         git branch -q --set-upstream-to main local; git checkout -q main; git branch -qD topic",
    );
    let settings = host(&arena, "git config --local --list");
    assert!(settings.contains("remote.other.url=../outside/other"), "{said}{settings}");
    assert!(
        settings.contains("branch.local.remote=.") && !settings.contains("branch.topic"),
        "{settings}"
    );
    assert!(!said.contains("held-by-openoxide"), "{said}");
}
