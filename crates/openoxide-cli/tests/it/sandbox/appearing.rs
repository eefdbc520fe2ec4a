//! Files that appear or change outside while a program runs.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
    process::{Command, Output, Stdio},
    thread,
    time::Duration,
};

use super::Arena;

const WAIT: &str = "touch begun; while ! test -e go; do sleep 0.05; done\n";

/// Runs it, and calls `outside` while it waits.
fn run_with(arena: &Arena, run: &mut Command, outside: impl FnOnce()) -> Output {
    let run = run.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut run = run.spawn().unwrap();
    while !arena.path("w/begun").exists() && run.try_wait().unwrap().is_none() {
        thread::sleep(Duration::from_millis(10));
    }
    outside();
    fs::write(arena.path("w/go"), "").unwrap();
    run.wait_with_output().unwrap()
}

fn plant(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "planted-secret\n").unwrap();
}

const LATER: &[&str] = &[
    ".npmrc",
    ".pgpass",
    ".netrc",
    ".kube/config",
    ".config/gh/hosts.yml",
    ".cargo/credentials.toml",
    ".local/state/openoxide/key",
    ".config/openoxide/policy.toml",
    "dot/late",
];

/// A home with a cache that lacks a secret, and with a link in a hidden directory that leads nowhere.
fn arena_with_home() -> Arena {
    let arena = Arena::new();
    for name in [".cargo/bin", ".ssh", "dot", "notes"] {
        fs::create_dir_all(arena.path("home").join(name)).unwrap();
    }
    symlink("../dot/late", arena.path("home/.ssh/id_rsa")).unwrap();
    arena
}

fn read_all(arena: &Arena) -> String {
    let files =
        LATER.iter().map(|name| format!("cat '{}'\n", arena.path("home").join(name).display()));
    files.collect::<String>() + "cat ../outside/later; ls -A ~/.local/state/openoxide\n"
}

fn plant_all(arena: &Arena) {
    LATER.iter().for_each(|name| plant(&arena.path("home").join(name)));
    plant(&arena.path("outside/later"));
}

/// Guards I34.
#[test]
fn secrets_that_appear_are_not_read_under_sandbox_run() {
    for options in [&[][..], &["--stage"]] {
        let arena = arena_with_home();
        let script = WAIT.to_owned() + &read_all(&arena);
        let later = arena.path("outside/later");
        let mut arguments = vec!["--deny-read", later.to_str().unwrap()];
        arguments.extend(options);
        let output = if options.is_empty() {
            run_with(&arena, &mut arena.run(&arguments, &["sh", "-c", &script]), || {
                plant_all(&arena);
            })
        } else {
            // The changes of a staged program are not visible outside, so it waits for a time.
            let script = format!("sleep 2\n{}", read_all(&arena));
            let mut run = arena.run(&arguments, &["sh", "-c", &script]);
            let run = run.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let run = run.spawn().unwrap();
            thread::sleep(Duration::from_millis(1500));
            plant_all(&arena);
            run.wait_with_output().unwrap()
        };
        assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{options:?}: {output:?}");
    }
}

/// Guards I34.
#[test]
fn secrets_that_appear_are_not_read_under_run() {
    let arena = arena_with_home();
    let script = "#!/bin/sh\n".to_owned() + WAIT + &read_all(&arena);
    fs::write(arena.path("w/read.sh"), script).unwrap();
    fs::set_permissions(arena.path("w/read.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    let text = format!(
        "[permissions]\nallow = [\"Bash(./read.sh)\"]\n[sandbox]\nunreadable = [\"{}\"]\n",
        arena.path("outside/later").display()
    );
    fs::write(arena.path("policy.toml"), text).unwrap();
    let mut run = arena.command();
    run.args(["run", "--no-input", "--policy"]).arg(arena.path("policy.toml"));
    let output = run_with(&arena, run.args(["--", "./read.sh"]), || plant_all(&arena));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("cat: "), "it ran: {output:?}");
}

/// A home that is writable shows what appears in it, except for the state of this program.
#[test]
fn own_state_that_appears_in_a_writable_home_is_not_read() {
    let arena = arena_with_home();
    let home = arena.path("home");
    let script = WAIT.to_owned()
        + "cat ~/.local/state/openoxide/key ~/.config/openoxide/policy.toml; ls ~/.cache/openoxide";
    let (home, work) = (home.to_str().unwrap(), arena.path("w"));
    let arguments = ["--root", home, "--root", work.to_str().unwrap()];
    let output = run_with(&arena, &mut arena.run(&arguments, &["sh", "-c", &script]), || {
        plant(&arena.path("home/.local/state/openoxide/key"));
        plant(&arena.path("home/.config/openoxide/policy.toml"));
        plant(&arena.path("home/.cache/openoxide/entry"));
    });
    assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{output:?}");
    let mode = fs::metadata(arena.path("home/.config/openoxide")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

/// Files that are no secrets stay what they are: read, updated, executed, and cached.
#[test]
fn ordinary_files_of_the_home_work_as_before() {
    let arena = arena_with_home();
    let home = arena.path("home");
    for name in [".gitconfig", "notes/a", ".cargo/bin/tool"] {
        fs::write(home.join(name), "#!/bin/sh\necho old\n").unwrap();
    }
    fs::set_permissions(home.join(".cargo/bin/tool"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("notes/a", home.join("link")).unwrap();
    let script = WAIT.to_owned()
        + "cd ~; cat .gitconfig notes/a notes/new link; .cargo/bin/tool; \
           touch .cargo/made && echo cached; touch ~/made || echo kept; cd ..; ls home";
    let output = run_with(&arena, &mut arena.run(&[], &["sh", "-c", &script]), || {
        fs::write(home.join(".gitconfig"), "in place\n").unwrap();
        fs::write(home.join("notes/next"), "renamed\n").unwrap();
        fs::rename(home.join("notes/next"), home.join("notes/a")).unwrap();
        fs::write(home.join("notes/new"), "new\n").unwrap();
    });
    let expected = "in place\nrenamed\nnew\nrenamed\nold\ncached\nkept\ndot\nlink\nnotes\n";
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{output:?}");
    assert!(!home.join(".cargo/made").exists());
}

/// Guards I34.
#[test]
fn targets_of_links_in_hidden_directories_are_not_read() {
    let arena = arena_with_home();
    let home = arena.path("home");
    for (link, target) in [
        (".ssh/id_ed25519", "dot/key"),
        (".aws/credentials", "dot/aws"),
        (".gnupg/secring.gpg", "dot/ring"),
        (".kube/config", "dot/kube"),
        (".password-store/x.gpg", "dot/pass"),
        (".config/gcloud/credentials.db", "dot/gcloud"),
    ] {
        plant(&home.join(target));
        fs::create_dir_all(home.join(link).parent().unwrap()).unwrap();
        symlink(home.join(target), home.join(link)).unwrap();
    }
    let output = arena.run(&[], &["sh", "-c", "cat ~/dot/*"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{output:?}");
    let policy = "[permissions]\nallow = [\"Bash(cat *)\", \"Read(//**)\"]\n";
    fs::write(arena.path("policy.toml"), policy).unwrap();
    let mut run = arena.command();
    run.args(["run", "--no-input", "--policy"]).arg(arena.path("policy.toml"));
    let output = run.args(["--", "cat"]).arg(home.join("dot/key")).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{output:?}");
}
