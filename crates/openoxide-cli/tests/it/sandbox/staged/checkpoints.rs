//! `run --checkpoint` and `undo`: what a run has changed is undone.

use std::{
    fs,
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::{Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use super::{ACCEPTS, ASKS, Place, operations::OPERATIONS, tree};
use crate::{
    prompt::Terminal,
    sandbox::{is_root, names},
    support::{code, stderr},
};

impl Place {
    fn openoxide(&self, args: &[&str]) -> Output {
        let args = [&["--no-input"], args].concat();
        self.command(&self.path("openoxide"), &args).output().unwrap()
    }

    fn checkpoints(&self) -> Vec<serde_json::Value> {
        let output = self.openoxide(&["undo", "--list", "--json"]);
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// The results of `undo` are compared with the files before, and those of a second `undo` with the
/// files of the run, which are compared with a run without a checkpoint.
fn what_differs(user: Option<u32>) -> Vec<String> {
    let mut wrong = Vec::new();
    // A link that leads out of the project needs an answer of a person when it is undone.
    for operation in OPERATIONS.iter().filter(|operation| !operation.contains("ln -s / out")) {
        let (place, plain) = (Place::new(ACCEPTS, user), Place::new(ACCEPTS, user));
        place.seed();
        plain.seed();
        fs::write(place.path("w/do.sh"), format!("#!/bin/bash\n{operation}\n")).unwrap();
        let before = tree(&place.path("w"), false);
        let run = place.run(&["--checkpoint"], operation);
        let after = tree(&place.path("w"), false);
        plain.run(&[], operation);
        if code(&run) != 0 || after != tree(&plain.path("w"), false) {
            wrong.push(format!("{operation}: run {} {}", code(&run), stderr(&run)));
            continue;
        }
        for (what, expected) in [("undo", &before), ("redo", &after)] {
            let Some(last) = place.checkpoints().first().cloned() else { break };
            let output = place.openoxide(&["undo", last["id"].as_str().unwrap()]);
            let now = tree(&place.path("w"), false);
            let is_script = |path: &PathBuf| path == Path::new("do.sh");
            let differs: Vec<_> = expected
                .iter()
                .filter(|(path, state)| !is_script(path) && now.get(*path) != Some(*state))
                .collect();
            let more: Vec<_> = now.keys().filter(|path| !expected.contains_key(*path)).collect();
            if code(&output) != 0 || !differs.is_empty() || !more.is_empty() {
                wrong.push(format!(
                    "{operation}: {what} {} {} {differs:?} {more:?}",
                    code(&output),
                    stderr(&output)
                ));
            }
        }
    }
    wrong
}

#[test]
fn undo_restores_the_files_and_a_second_undo_the_changes() {
    let wrong = what_differs(is_root().then_some(1234));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// After the undo of a commit, the branch, the index and the files are as before.
#[test]
fn undo_restores_the_branch_and_the_index_of_git() {
    let policy =
        "mode = \"accept_edits\"\n[permissions]\nallow = [\"Bash(git *)\", \"Bash(./do.sh)\"]\n";
    let place = Place::new(policy, None);
    let git = |args: &str| {
        let script = format!("git -c user.name=a -c user.email=a@b.c {args}");
        let output = place.command(Path::new("/bin/bash"), &["-c", &script]).output().unwrap();
        assert!(output.status.success(), "{script}: {}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    git("init -q -b main .");
    fs::write(place.path("w/a.txt"), "one\n").unwrap();
    fs::write(place.path("w/do.sh"), "#!/bin/bash\n").unwrap();
    git("add -A");
    git("commit -qm first");
    fs::write(place.path("w/a.txt"), "two\n").unwrap();
    let state = || (git("rev-parse HEAD"), git("status --short a.txt"), git("log --format=%s"));
    let before = state();
    let args = [
        "--no-input",
        "run",
        "--checkpoint",
        "--",
        "git",
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b.c",
        "commit",
        "-qam",
        "second",
    ];
    let output = place.command(&place.path("openoxide"), &args).output().unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_eq!(git("log --format=%s"), "second\nfirst\n");
    // The safety floor asks about files of a repository, so that a person takes it back.
    let output = place.openoxide(&["undo"]);
    assert_eq!(code(&output), 4, "{}", stderr(&output));
    assert_eq!(git("log --format=%s"), "second\nfirst\n");
    let environment = [
        ("HOME", place.path("home").display().to_string()),
        ("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()),
    ];
    let world = crate::support::World::new();
    let script = format!(
        "cd {} && exec {} undo",
        place.path("w").display(),
        place.path("openoxide").display()
    );
    let mut terminal = Terminal::start(&world, "bash", &["-c", &script], &environment);
    terminal.wait_for("[y]");
    terminal.press("y");
    thread::sleep(Duration::from_secs(2));
    terminal.press("y");
    let (status, text) = terminal.end();
    assert_eq!(status, 0, "{text}");
    assert_eq!(state(), before, "{text}");
    git("fsck --strict");
}

#[test]
fn undo_changes_nothing_if_files_were_changed_after_the_run() {
    let place = Place::new(ACCEPTS, None);
    for name in ["a.txt", "b.txt"] {
        fs::write(place.path("w").join(name), "one\n").unwrap();
    }
    let output = place.run(&["--checkpoint"], "echo two > a.txt; echo two > b.txt; echo x > n");
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let id = place.checkpoints()[0]["id"].as_str().unwrap().to_owned();
    assert!(stderr(&output).contains(&format!("`openoxide undo {id}`")), "{}", stderr(&output));
    let log = place.openoxide(&["audit", "log"]);
    let log = String::from_utf8(log.stdout).unwrap();
    assert!(log.contains(&format!("checkpoint {id}")), "{log}");
    fs::write(place.path("w/a.txt"), "mine\n").unwrap();
    let before = tree(&place.path("w"), true);
    let output = place.openoxide(&["undo"]);
    let said = stderr(&output);
    assert_eq!(code(&output), 1, "{said}");
    assert!(said.contains("a.txt` was changed after the run"), "{said}");
    assert!(said.contains(&format!("undo --skip-changed {id}")), "{said}");
    assert_eq!(tree(&place.path("w"), true), before);
    let output = place.openoxide(&["undo", "--skip-changed", &id]);
    let read = |name: &str| fs::read_to_string(place.path("w").join(name)).unwrap_or_default();
    assert_eq!(
        (read("a.txt"), read("b.txt"), read("n")),
        ("mine\n".into(), "one\n".into(), String::new()),
        "{}",
        stderr(&output)
    );
    // A rule or a person decides about an undo, too.
    fs::write(place.path("home/.config/openoxide/policy.toml"), ASKS).unwrap();
    let last = place.checkpoints()[0]["id"].as_str().unwrap().to_owned();
    let output = place.openoxide(&["undo", &last]);
    assert_eq!((code(&output), read("b.txt")), (4, "one\n".into()), "{}", stderr(&output));
}

/// A program in the sandbox neither reads nor changes the previous versions.
/// The policy sets the size of the previous versions. What does not fit is named.
#[test]
fn the_size_of_checkpoints_is_set_by_the_policy() {
    let policy = format!("{ACCEPTS}[sandbox]\ncheckpoint_size = \"64 KiB\"\n");
    let place = Place::new(&policy, None);
    let big = [b'x'; 100 << 10];
    fs::write(place.path("w/big"), big).unwrap();
    fs::write(place.path("w/small"), "old\n").unwrap();
    let output = place.run(&["--checkpoint"], "echo new > big; echo new > small");
    let text = stderr(&output);
    assert_eq!(code(&output), 0, "{text}");
    let note = "the previous version of 1 file is not kept";
    assert!(text.contains(note) && text.contains("limited to 64 KiB"), "{text}");
    fs::write(place.path("w/half"), &big[..40 << 10]).unwrap();
    place.run(&["--checkpoint"], "echo new > half");
    fs::write(place.path("w/half"), &big[..40 << 10]).unwrap();
    let output = place.run(&["--checkpoint"], "echo newer > half");
    let note = "was deleted, because all checkpoints together are limited to 64 KiB";
    assert_eq!(stderr(&output).matches(note).count(), 2, "{}", stderr(&output));
    assert_eq!(place.checkpoints().len(), 1);
}

#[test]
fn a_sandboxed_program_cannot_reach_the_checkpoints() {
    let place = Place::new(ACCEPTS, None);
    fs::write(place.path("w/a.txt"), "one\n").unwrap();
    assert_eq!(code(&place.run(&["--checkpoint"], "echo two > a.txt")), 0);
    let state = place.path("home/.local/state/openoxide/sandbox-checkpoints");
    let id = names(&state).pop().unwrap();
    assert_eq!(fs::read_to_string(id.join("contents/0")).unwrap(), "one\n");
    let script = format!("cat {0}/contents/0; echo evil > {0}/contents/0; true", id.display());
    let output = place.run(&[], &script);
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "");
    assert_eq!(code(&place.openoxide(&["undo"])), 0);
    assert_eq!(fs::read_to_string(place.path("w/a.txt")).unwrap(), "one\n");
}

/// After `kill -9` of an undo, each file is either old or new, and the same command finishes it.
#[test]
fn an_undo_that_is_killed_can_be_finished() {
    const FILES: usize = 500;
    for delay in [0, 2, 10] {
        let place = Place::new(ACCEPTS, None);
        for number in 1..=FILES {
            fs::write(place.path(&format!("w/f{number}")), "old\n").unwrap();
        }
        let script = "for i in $(seq 500); do echo new new > f$i; done; mkdir d; echo x > d/x";
        assert_eq!(code(&place.run(&["--checkpoint"], script)), 0);
        let id = place.checkpoints()[0]["id"].as_str().unwrap().to_owned();
        let mut undo = place.command(&place.path("openoxide"), &["--no-input", "undo", &id]);
        let mut undo = undo.stderr(Stdio::null()).spawn().unwrap();
        let read = |number: usize| fs::read_to_string(place.path(&format!("w/f{number}"))).unwrap();
        let until = Instant::now() + Duration::from_secs(30);
        while (1..=FILES).all(|number| read(number) == "new new\n") && Instant::now() < until {
            thread::sleep(Duration::from_micros(100));
        }
        thread::sleep(Duration::from_millis(delay));
        undo.kill().unwrap();
        let killed = undo.wait().unwrap().signal().is_some();
        assert!((1..=FILES).all(|number| ["old\n", "new new\n"].contains(&read(number).as_str())));
        let output = place.run(&[], "true");
        let named = stderr(&output).contains(&format!("`openoxide undo {id}` was interrupted"));
        assert!(named || !killed || place.checkpoints().len() == 1, "{}", stderr(&output));
        let output = place.openoxide(&["undo", &id]);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        assert!((1..=FILES).all(|number| read(number) == "old\n") && !place.path("w/d").exists());
        let left = names(&place.path("w"));
        let is_ours = |path: &&PathBuf| path.to_string_lossy().contains("/.openoxide-");
        assert_eq!(left.iter().filter(is_ours).count(), 0, "{left:?}");
    }
}
