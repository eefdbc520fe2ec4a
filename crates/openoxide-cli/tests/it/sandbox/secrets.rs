//! Files with secrets are hidden from what runs confined, whichever way it is started.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, process::Output};

use super::Arena;
use crate::support::OPENOXIDE;

/// The files that are planted in a home directory, one path per line. The list is derived from the
/// manuals of the programs, not from our table.
const PLANTED: &str = include_str!("../../../../../corpus/sandbox/secrets.txt");
const MARK: &str = "planted-secret";

fn planted() -> Vec<&'static str> {
    PLANTED.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}

/// A home with all of them.
fn arena() -> Arena {
    let arena = Arena::new();
    for name in planted() {
        let path = arena.path("home").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{MARK} {name}\n")).unwrap();
    }
    let home = arena.path("home");
    let files: Vec<_> = planted().into_iter().map(|name| home.join(name)).collect();
    let script = files.iter().map(|path| format!("cat '{}'\n", path.display()));
    let text = format!("#!/bin/sh\n{}", script.collect::<String>());
    fs::write(arena.path("w/read.sh"), text).unwrap();
    fs::set_permissions(arena.path("w/read.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    arena
}

fn seen(output: &Output) -> Vec<String> {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines()
        .filter_map(|line| line.strip_prefix(MARK))
        .map(|name| name.trim().to_owned())
        .collect()
}

#[test]
fn there_are_enough_of_them() {
    assert!(planted().len() >= 95, "{}", planted().len());
}

#[test]
fn none_is_read_under_sandbox_run() {
    let arena = arena();
    let output = arena.run(&[], &["sh", "read.sh"]).output().unwrap();
    assert_eq!(seen(&output), Vec::<String>::new(), "{output:?}");
    let unconfined = arena.command().env("X", "1").arg("--version").output().unwrap();
    assert!(unconfined.status.success());
    let all = std::process::Command::new("sh").arg(arena.path("w/read.sh")).output().unwrap();
    assert_eq!(seen(&all).len(), planted().len(), "unconfined, each can be read");
}

#[test]
fn none_is_read_under_run() {
    let arena = arena();
    fs::write(arena.path("policy.toml"), "[permissions]\nallow = [\"Bash(./read.sh)\"]\n").unwrap();
    let policy = arena.path("policy.toml");
    let mut run = arena.command();
    run.args(["run", "--no-input", "--policy"]).arg(policy).args(["--", "./read.sh"]);
    let output = run.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("Permission denied"), "it ran: {said}");
    assert_eq!(seen(&output), Vec::<String>::new());
}

#[test]
fn secrets_allowed_by_name_or_owned_by_the_program_are_readable() {
    let arena = arena();
    let file = arena.path("home/.config/gh/hosts.yml");
    let name = file.to_str().unwrap();
    let output = arena.run(&["--allow-read", name], &["cat", name]).output().unwrap();
    assert_eq!(seen(&output), [".config/gh/hosts.yml"]);
    // A program whose own file it is, by its name.
    let bin = arena.path("outside/mvn");
    let settings = arena.path("home/.m2/settings.xml");
    fs::write(&bin, format!("#!/bin/sh\ncat '{}' '{name}'\n", settings.display())).unwrap();
    fs::set_permissions(&bin, fs::Permissions::from_mode(0o755)).unwrap();
    let output = arena.run(&[], &[bin.to_str().unwrap()]).output().unwrap();
    assert_eq!(seen(&output), [".m2/settings.xml"]);
}

/// A process that can read the key of the grants can create grants.
#[test]
fn the_state_of_this_program_is_not_there() {
    let arena = arena();
    let state = arena.path("home/.local/state/openoxide");
    fs::create_dir_all(&state).unwrap();
    fs::write(state.join("key"), format!("{MARK} key")).unwrap();
    let script = format!(
        "cat {0}/key; ls -A {0}; cp -r {0} /tmp/state; cat /tmp/state/key; flock {0} true && echo {MARK} locked",
        state.display()
    );
    for options in [&[][..], &["--root", arena.path("home").to_str().unwrap()]] {
        let output = arena.run(options, &["sh", "-c", &script]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{options:?}");
    }
    assert!(Path::new(&state.join("key")).exists());
}

/// A registry that a process on the host keeps locked does not block a run forever.
#[test]
fn a_registry_that_stays_locked_is_reported() {
    let arena = arena();
    let registry = arena.path("home/.local/state/openoxide/sandbox");
    fs::create_dir_all(&registry).unwrap();
    fs::set_permissions(&registry, fs::Permissions::from_mode(0o700)).unwrap();
    let held = fs::File::open(&registry).unwrap();
    held.lock().unwrap();
    let started = std::time::Instant::now();
    let output = arena.run(&[], &["true"]).output().unwrap();
    assert!(started.elapsed().as_secs() < 30);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("has kept") && said.contains("locked"), "{said}");
    drop(held);
    assert!(arena.run(&[], &["true"]).status().unwrap().success());
}

/// `HOME` may name another directory than `/etc/passwd` has for the account.
#[test]
fn secrets_of_the_account_are_hidden_whatever_home_names() {
    let arena = arena();
    let (home, read) = (arena.path("home"), arena.path("w/read.sh"));
    let state = home.join(".local/state/openoxide/key");
    fs::create_dir_all(state.parent().unwrap()).unwrap();
    fs::write(&state, format!("{MARK} state\n")).unwrap();
    fs::write(home.join("plain"), format!("{MARK} plain\n")).unwrap();
    fs::create_dir(arena.path("other")).unwrap();
    let more = format!("cat '{}'\ncat '{}'\n", state.display(), home.join("plain").display());
    fs::write(&read, fs::read_to_string(&read).unwrap() + &more).unwrap();
    fs::write(arena.path("passwd"), format!("root:x:0:0::{}:/bin/sh\n", home.display())).unwrap();
    let policy = arena.path("policy.toml");
    fs::write(&policy, "[permissions]\nallow = [\"Bash(./read.sh)\"]\n").unwrap();
    for command in ["sandbox run -- sh read.sh", "run --no-input --policy \"$POLICY\" -- ./read.sh"]
    {
        let script = format!("mount --bind \"$PASSWD\" /etc/passwd; exec \"$OPENOXIDE\" {command}");
        let mut unshare = std::process::Command::new("unshare");
        unshare.args(["--user", "--map-root-user", "--mount", "sh", "-ec", &script]);
        unshare.current_dir(arena.path("w")).env_clear();
        unshare.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("HOME", arena.path("other"));
        unshare.env("OPENOXIDE", OPENOXIDE).env("PASSWD", arena.path("passwd"));
        let output = unshare.env("POLICY", &policy).output().unwrap();
        assert_eq!(seen(&output), ["plain"], "{command}: {output:?}");
    }
}
