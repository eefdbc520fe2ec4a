//! Staged runs in a repository: rules decide about commits, and a person about everything that makes
//! `git` of the host run something.

use std::{fs, path::Path};

use super::{Place, code, is_root, stderr};

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
