use std::{
    os::unix::fs::{PermissionsExt as _, symlink},
    process::Command,
};

use super::*;
use crate::{quarantine, restore};

struct Place {
    directory: tempfile::TempDir,
    profile: Confined,
    before: Guarded,
}

impl Place {
    /// A directory in which these commands of the shell have been run, and which a run has seen.
    fn new(before: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().canonicalize().unwrap();
        fs::create_dir(path.join("w")).unwrap();
        let root = AbsPath::new(path.join("w").to_str().unwrap()).unwrap();
        let profile = Confined { writable: [root].into(), ..Confined::default() };
        let mut place = Self { directory, profile, before: Guarded::default() };
        place.sh(before);
        place.before = Guarded::find(&place.profile).unwrap();
        place
    }

    fn path(&self, name: &str) -> AbsPath {
        AbsPath::new(self.directory.path().canonicalize().unwrap().join(name).to_str().unwrap())
            .unwrap()
    }

    fn sh(&self, script: &str) {
        let git = "git() { command git -c protocol.file.allow=always -c user.name=a -c user.email=a@b \"$@\"; }";
        let mut sh = Command::new("sh");
        sh.args(["-ec", &format!("{git}\n{script}")]).current_dir(self.directory.path().join("w"));
        let output = sh.output().unwrap();
        assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn all(&self) -> Vec<Found> {
        found(&self.before, &self.profile)
    }

    /// What is found after this was run, by its names below `w`.
    fn after(&self, script: &str) -> Vec<String> {
        self.sh(script);
        let name = |found: Found| match found {
            Found::RepositoryHook { path, .. } => path.below(&self.path("w")).unwrap().to_owned(),
            Found::AgentSettings { path } => format!("{} *", path.below(&self.path("w")).unwrap()),
            other => panic!("{other:?}"),
        };
        self.all().into_iter().map(name).collect()
    }
}

const NONE: [&str; 0] = [];

#[test]
fn what_git_makes_by_itself_is_not_found() {
    let place = Place::new("git init -q one; git -C one commit -q --allow-empty -m a");
    let made = "git clone -q one two; git clone -q --bare one three; git init -q four; echo a > one/a; \
                git -C one add a; git -C one commit -q -m b; git -C one worktree add -q ../five; \
                git -C two submodule --quiet add ../one six";
    assert_eq!(place.after(made), NONE);
}

#[test]
fn what_was_there_is_not_found() {
    let place = Place::new(
        "git init -q one; echo > one/.git/hooks/pre-commit; chmod +x one/.git/hooks/pre-commit; \
         git -C one config core.fsmonitor x; echo {} > .mcp.json; mkdir .opencode .opencode/plugin; \
         echo > .opencode/plugin/a.js",
    );
    assert_eq!(place.after("echo > other"), NONE);
}

#[test]
fn hooks_and_configuration_of_new_repositories_are_found() {
    let place = Place::new("mkdir made");
    let made = "git init -q a; echo > a/.git/hooks/pre-commit; chmod +x a/.git/hooks/pre-commit; \
                echo > a/.git/hooks/not-run; ln -s ../x a/.git/hooks/post-checkout; \
                git init -q b; git -C b config core.fsmonitor x; \
                mkdir -p c/objects c/refs c/hooks; echo ref: refs/heads/x > c/HEAD; ln -s /bin/true c/hooks/update; \
                git init -q d; rm -r d/.git/hooks; ln -s ../../made d/.git/hooks; \
                mkdir e; echo ref: refs/heads/x > e/HEAD; echo ../b/.git > e/commondir; \
                git init -q f; echo '[' > f/.git/config";
    let found = [
        "a/.git/hooks/post-checkout",
        "a/.git/hooks/pre-commit",
        "b/.git/config",
        "c/hooks/update",
        "d/.git/hooks",
        "e/commondir",
        "f/.git/config",
    ];
    assert_eq!(place.after(made), found);
}

/// `git checkout` writes in the worktree (git-config(1), "core.worktree").
#[test]
fn a_worktree_outside_of_the_checkout_is_found() {
    let place = Place::new("mkdir ../home");
    let made = "for name in a b c d e; do git init -q $name; mkdir $name/in; done; ln -s ../../home b/link; \
                git -C a config core.worktree ../../../home; git -C b config core.worktree ../link; \
                git -C c config core.worktree ../../e; git -C d config core.worktree ../in; \
                git -C e config core.worktree ../later";
    let found = ["a/.git/config", "b/.git/config", "c/.git/config", "e/.git/config"];
    assert_eq!(place.after(made), found);
}

#[test]
fn a_repository_that_is_made_of_old_files_is_found() {
    let place = Place::new(
        "mkdir -p old/hooks old/refs; echo > old/hooks/update; chmod +x old/hooks/update",
    );
    assert_eq!(
        place.after("mkdir old/objects; echo ref: refs/heads/x > old/HEAD"),
        ["old/hooks/update"]
    );
}

#[test]
fn indirections_that_lead_outside_are_found_and_inside_are_followed() {
    let place = Place::new("git init -q ../outside; git init -q ../outside2");
    let made = "mkdir a b c d; echo 'gitdir: ../../outside/.git' > a/.git; ln -s ../../outside2/.git b/.git; \
                mkdir -p .deep/objects .deep/refs; echo ref: refs/heads/x > .deep/HEAD; echo '[core]pager=x' > .deep/config; \
                echo 'gitdir: ../.deep' > c/.git; echo nonsense > d/.git";
    assert_eq!(place.after(made), [".deep/config", "a/.git", "b/.git"]);
}

#[test]
fn new_and_changed_settings_of_agents_are_found() {
    let place = Place::new(
        "mkdir -p a/.claude b; echo {} > a/.claude/settings.json; echo {} > b/.mcp.json",
    );
    let made = "echo '{\"hooks\":1}' > a/.claude/settings.json; mkdir -p c/.opencode/plugin; \
                echo > c/.opencode/plugin/x.ts; echo > .mcp.json; echo > a/.claude/notes.md; \
                mkdir -p node_modules/x; echo > node_modules/x/.mcp.json; echo > c/.envrc";
    let found = [".mcp.json *", "a/.claude/settings.json *", "c/.opencode/plugin/x.ts *"];
    assert_eq!(place.after(made), found);
}

#[test]
fn what_is_found_is_put_aside_and_git_does_not_run_it() {
    let place = Place::new("true");
    place.sh("git init -q a; printf '#!/bin/sh\ntouch ran\n' > a/.git/hooks/pre-commit; \
              chmod +x a/.git/hooks/pre-commit; echo > a/.git/hooks/pre-commit.held-by-openoxide");
    let [mut found] = place.all().try_into().unwrap();
    quarantine(&mut found).unwrap();
    let Found::RepositoryHook { path, held: Some(held) } = &found else { panic!("{found:?}") };
    assert_eq!(held, &place.path("w/a/.git/hooks/pre-commit.held-by-openoxide.2"));
    place.sh("git -C a commit -q --allow-empty -m a; test ! -e a/ran");
    assert_eq!(place.all(), []);
    restore(path, held).unwrap();
    place.sh("git -C a commit -q --allow-empty -m b; test -e a/ran");
}

#[test]
fn nothing_is_put_aside_through_a_link() {
    let place = Place::new("true");
    place.sh("git init -q a; echo > a/.git/hooks/update; chmod +x a/.git/hooks/update; mkdir ../victim; echo > ../victim/update");
    let [mut found] = place.all().try_into().unwrap();
    place.sh("mv a/.git/hooks a/.git/h; ln -s ../../../victim a/.git/hooks");
    assert!(quarantine(&mut found).is_err());
    place.sh("test -e ../victim/update");
}

#[test]
fn a_name_that_cannot_be_said_is_unsearched() {
    let place = Place::new("true");
    place.sh("git init -q \"$(printf 'a\\377')\"; cd a*; echo > .git/hooks/update; chmod +x .git/hooks/update");
    assert!(matches!(&place.all()[..], [Found::Unsearched { .. }]));
}

#[test]
fn files_with_other_names_outside_are_found() {
    let place = Place::new("echo > ../outside; echo > in; echo > both");
    place.sh("ln ../outside linked; ln in in2; ln both both2; ln both ../both3");
    let mut names: Vec<_> = hard_links(&place.before, &place.profile)
        .into_iter()
        .map(|found| match found {
            Found::HardLink { path } => path.name().unwrap().chars().take(4).collect::<String>(),
            other => panic!("{other:?}"),
        })
        .collect();
    names.sort();
    assert_eq!(names, ["both", "link"]);
}

#[test]
fn a_directory_that_cannot_be_searched_is_said() {
    let place = Place::new("true");
    place.sh("mkdir closed");
    let closed = place.path("w/closed");
    fs::set_permissions(closed.as_str(), fs::Permissions::from_mode(0o0)).unwrap();
    let expected: &[Found] = &[Found::Unsearched { path: closed.clone() }];
    // Nothing is closed to root.
    if fs::read_dir(closed.as_str()).is_err() {
        assert_eq!(place.all(), expected);
    }
    fs::set_permissions(closed.as_str(), fs::Permissions::from_mode(0o700)).unwrap();
    symlink("nowhere", place.path("w/link").as_str()).unwrap();
    assert_eq!(place.all(), []);
}
