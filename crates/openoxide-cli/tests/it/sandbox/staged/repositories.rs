//! Staged runs in a repository: rules decide about commits, and a person about everything that makes
//! `git` of the host run something.

use std::{fs, path::Path};

use super::{Place, is_root};
use crate::{
    prompt::Terminal,
    support::{World, code, stderr},
};

/// Commands and edits of the project need no question.
const ALLOWS: &str =
    "[permissions]\nallow = [\"Bash(./do.sh)\", \"Bash(git *)\", \"Edit(./**)\"]\n";

/// A repository with one commit, and a policy.
fn repository(policy: &str, user: Option<u32>) -> Place {
    let place = Place::new(policy, user);
    host(
        &place,
        "git config --global user.name A; git config --global user.email a@b; \
         git config --global init.defaultBranch main; git init -q; echo a > a; git add a; git commit -qm a",
    );
    place
}

/// Runs a script on the host. Returns what it prints.
fn host(place: &Place, script: &str) -> String {
    let output = place.command(Path::new("/bin/sh"), &["-ec", script]).output().unwrap();
    assert!(output.status.success(), "{script}: {}", stderr(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// Runs a command with `--stage`. Returns its status and its messages.
fn staged(place: &Place, words: &[&str]) -> (i32, String) {
    let args = [&["run", "--stage", "--"], words].concat();
    let output = place.command(&place.path("openoxide"), &args).output().unwrap();
    (code(&output), stderr(&output))
}

fn is_committed(user: Option<u32>) {
    let place = repository(ALLOWS, user);
    for words in [
        &["git", "commit", "-q", "--allow-empty", "-m", "b"][..],
        &["git", "checkout", "-q", "-b", "topic"],
        &["git", "tag", "v1"],
        &["git", "gc", "-q"],
        &["git", "reset", "-q", "--hard", "HEAD~1"],
        &["git", "merge", "-q", "v1"],
        &["git", "branch", "-q", "-D", "main"],
    ] {
        let (code, said) = staged(&place, words);
        assert_eq!(code, 0, "{words:?}: {said}");
    }
    assert_eq!(
        host(&place, "git fsck --strict; git log --format=%s%d"),
        "b (HEAD -> topic, tag: v1)\na\n"
    );
}

#[test]
fn rules_decide_about_staged_commits() {
    is_committed(None);
    if is_root() {
        is_committed(Some(1234));
    }
}

#[test]
fn rules_that_ask_or_deny_apply_to_the_data_of_a_repository() {
    for rules in [
        "allow = [\"Bash(git *)\"]",
        "allow = [\"Bash(git *)\", \"Edit(./src/**)\"]",
        "allow = [\"Bash(git *)\", \"Edit(./**)\"]\nask = [\"Edit(./.git/refs/**)\"]",
        "allow = [\"Bash(git *)\", \"Edit(./**)\"]\ndeny = [\"Edit(./.git/refs/tags/**)\"]",
        "allow = [\"Bash(git *)\", \"Edit(./**)\"]\nask = [\"Edit(./**/v1)\"]",
    ] {
        let place = repository(&format!("[permissions]\n{rules}\n"), None);
        let (code, said) = staged(&place, &["git", "tag", "v1"]);
        assert_ne!(code, 0, "{rules}: {said}");
        assert_eq!(host(&place, "git tag"), "", "{rules}");
    }
}

/// Other files of a git directory, and links in place of data, need a person.
#[test]
fn a_person_decides_about_everything_else_in_a_git_directory() {
    for change in [
        "echo x > .git/info/attributes",
        "mkdir -p .git/objects/info; echo /x > .git/objects/info/alternates",
        "rm .git/logs/HEAD; ln -s ../../a .git/logs/HEAD",
        "git checkout -q --detach; echo x > .git/rebase-todo",
        "git init -q sub; git -C sub commit -q --allow-empty -m x",
        "git worktree add -q linked",
    ] {
        let place = repository(ALLOWS, None);
        fs::write(place.path("w/do.sh"), "").unwrap();
        host(&place, "cp -a .git ../before");
        let output = place.run(&["--stage"], change);
        assert_eq!(code(&output), 4, "{change}: {}", stderr(&output));
        host(&place, "diff -r .git ../before; test ! -e sub; test ! -e linked");
    }
}

/// An index with a hook as the name of a file is quarantined after the commit.
#[test]
fn a_forged_index_does_not_stay() {
    let place = repository(ALLOWS, None);
    let forge = "cp do.sh Xgit_hooks_post-checkout; git add Xgit_hooks_post-checkout; python3 - <<'END'\n\
        import hashlib\nb = open('.git/index', 'rb').read()[:-20]\n\
        b = b.replace(b'Xgit_hooks_post-checkout', b'.git/hooks/post-checkout')\nb = b[:b.find(b'TREE')] if b'TREE' in b else b\n\
        open('.git/index', 'wb').write(b + hashlib.sha1(b).digest())\nEND";
    let output = place.run(&["--stage"], forge);
    assert!(stderr(&output).contains(".git/index"), "{}", stderr(&output));
    host(&place, "git checkout -- . || true; test ! -e .git/hooks/post-checkout");
}

/// A rule for changes also decides about settings that make `git` run nothing.
#[test]
fn harmless_settings_are_applied_with_the_commit() {
    let place = repository(ALLOWS, None);
    for words in [
        &["git", "remote", "add", "origin", "https://example.org/x"][..],
        &["git", "config", "user.name", "B"],
        &["git", "branch", "-q", "--set-upstream-to=main", "topic"],
    ] {
        host(&place, "git branch -q topic 2> /dev/null || true");
        let (code, said) = staged(&place, words);
        assert_eq!(code, 0, "{words:?}: {said}");
        assert!(!said.contains("held-by-openoxide"), "{words:?}: {said}");
    }
    let settings =
        host(&place, "git config --local --list; git status --porcelain; stat -c %a .git/config");
    for expected in [
        "remote.origin.url=https://example.org/x",
        "user.name=B",
        "branch.topic.merge=refs/heads/main",
        "644",
    ] {
        assert!(settings.contains(expected), "{expected}: {settings}");
    }
    assert!(place.staged().is_empty());
}

/// Nothing is applied before a person has decided, and what can run programs not even then.
#[test]
fn settings_and_hooks_that_run_programs_wait_for_a_person() {
    const CHANGE: &str = "git config core.fsmonitor ./no; git config pull.rebase true; \
        printf '#!/bin/sh\\ntouch ran\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; \
        git commit -q --allow-empty -m x; test -e ran; rm ran";
    let place = repository(ALLOWS, None);
    host(&place, "cp -a .git ../before");
    let output = place.run(&["--stage"], CHANGE);
    let said = stderr(&output);
    assert_eq!(code(&output), 4, "{said}");
    assert!(said.contains(".git/config") && said.contains(".git/hooks/pre-commit"), "{said}");
    host(&place, "diff -r .git ../before");
    let id = place.staged().remove(0).file_name().unwrap().to_str().unwrap().to_owned();
    let (status, screen) =
        answer(&place, &format!("stage commit {id}"), &[("[y]", "y"), ("restore all 2", "n")]);
    assert_eq!(status, 0, "{screen}");
    let settings = host(
        &place,
        "git config --local --list; ls .git .git/hooks; git commit -q --allow-empty -m y; git log --format=%s; test ! -e ran",
    );
    assert!(
        !settings.contains("core.fsmonitor") && settings.contains("pull.rebase=true"),
        "{settings}"
    );
    assert!(
        settings.contains("config.held-by-openoxide")
            && settings.contains("pre-commit.held-by-openoxide"),
        "{settings}"
    );
    assert!(settings.contains("x\n"), "{settings}");
}

/// A checkpoint contains settings, and `undo` restores them.
#[test]
fn settings_can_be_undone() {
    let place = repository(ALLOWS, None);
    let output = place.run(&["--checkpoint"], "git remote add origin https://example.org/x");
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_eq!(host(&place, "git remote"), "origin\n");
    let (status, screen) = answer(&place, "undo", &[("[y]", "y")]);
    assert_eq!(status, 0, "{screen}");
    assert_eq!(host(&place, "git remote"), "");
}

/// Nothing that a program does to its copies reaches the host.
#[test]
fn attacks_on_private_copies_change_nothing() {
    for attack in [
        "rm -rf .git/hooks/* .git/config; mkdir .git/hooks/pre-commit; mkfifo .git/hooks/post-commit",
        "rm -f .git/hooks/*; ln -s /etc/passwd .git/hooks/pre-commit; ln -s ../../do.sh .git/hooks/post-checkout",
        "rm -rf /dev/openoxide/git/*; ln -s /etc /dev/openoxide/git/0; ln -s /etc /dev/openoxide/git/hooks-0",
        "mv .git x; rmdir .git/hooks; chmod 000 .git; chmod 755 .git",
        "head -c 9M /dev/zero > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit",
        "printf '[core]\\n\\thooksPath = .\\n' > .git/config; cp do.sh pre-commit",
    ] {
        let place = repository(&format!("mode = \"accept_edits\"\n{ALLOWS}"), None);
        host(&place, "cp -a .git ../before; rm .git/hooks/*.sample");
        host(&place, "rm -r ../before; cp -a .git ../before");
        let output = place.run(&["--stage"], &format!("set +e; {attack}; true"));
        host(&place, "diff -r .git ../before; git commit -q --allow-empty -m x");
        assert_ne!(code(&output), 101, "{attack}: {}", stderr(&output));
    }
}

/// Runs OpenOxide in a terminal. Waits for each text, and then presses keys.
fn answer(place: &Place, args: &str, keys: &[(&str, &str)]) -> (u32, String) {
    let environment = [
        ("HOME", place.path("home").display().to_string()),
        ("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()),
    ];
    let (directory, program) = (place.path("w"), place.path("openoxide"));
    let script = format!("cd {} && exec {} {args}", directory.display(), program.display());
    let world = World::new();
    let mut terminal = Terminal::start(&world, "bash", &["-c", &script], &environment);
    for (text, key) in keys {
        terminal.wait_for(text);
        terminal.press(key);
    }
    terminal.end()
}
