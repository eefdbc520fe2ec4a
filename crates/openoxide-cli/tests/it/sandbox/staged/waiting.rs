//! `stage list`, `show`, `commit` and `drop`: staged changes that wait for a decision.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, chown},
    path::PathBuf,
    process::{Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use super::{ACCEPTS, ASKS, Place, tree};
use crate::{
    prompt::Terminal,
    sandbox::{is_root, names},
    support::{code, stderr},
};

const SCRIPT: &str = "echo two >> a.txt; rm gone; mkdir -p n/m; echo x > n/m/f; echo y > n/g";

impl Place {
    fn with_waiting_changes(user: Option<u32>) -> (Self, String) {
        let place = Self::new(ASKS, user);
        for name in ["a.txt", "gone"] {
            fs::write(place.path("w").join(name), "one\n").unwrap();
            chown(place.path("w").join(name), user, user).unwrap();
        }
        let output = place.run(&["--stage"], SCRIPT);
        let said = stderr(&output);
        assert_eq!(code(&output), 4, "{said}");
        let [id] = place.waiting().try_into().unwrap();
        for verb in ["show", "commit", "drop"] {
            assert!(said.contains(&format!("`openoxide stage {verb} {id}`")), "{said}");
        }
        (place, id)
    }

    fn waiting(&self) -> Vec<String> {
        let name = |path: PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
        self.staged().into_iter().map(name).collect()
    }

    fn stage(&self, args: &[&str]) -> Output {
        let args = [&["--no-input", "stage"], args].concat();
        self.command(&self.path("openoxide"), &args).output().unwrap()
    }

    fn policy(&self, text: &str) {
        fs::write(self.path("home/.config/openoxide/policy.toml"), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path("w").join(name)).unwrap_or_default()
    }
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn changes_without_a_decision_wait_and_are_committed_later() {
    let users = if is_root() { vec![None, Some(1234)] } else { vec![None] };
    for user in users {
        let (place, id) = Place::with_waiting_changes(user);
        let before = tree(&place.path("w"), true);
        let listed = stdout(&place.stage(&["list"]));
        assert!(listed.starts_with(&id) && listed.contains("./do.sh"), "{listed}");
        let json = stdout(&place.stage(&["list", "--json"]));
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!((&value["id"], &value["command"]), (&id.as_str().into(), &"./do.sh".into()));
        let shown = stdout(&place.stage(&["show", id.get(..4).unwrap()]));
        for line in
            ["changed   a.txt (+1 -0)", "removed   gone (-1)", "new       n/m/f (+1)", "+two"]
        {
            assert!(shown.contains(line), "{shown}");
        }
        let value: serde_json::Value =
            serde_json::from_slice(&place.stage(&["show", "--json", &id]).stdout).unwrap();
        assert_eq!(value["changes"][0]["diff"], "@@ -1 +1,2 @@\n one\n+two\n", "{value}");
        // Without a rule and without a terminal, there is still no decision.
        let output = place.stage(&["commit", &id]);
        assert_eq!(code(&output), 4, "{}", stderr(&output));
        assert_eq!(tree(&place.path("w"), true), before);
        place.policy(ACCEPTS);
        let output = place.stage(&["commit", &id]);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        assert_eq!((place.read("a.txt"), place.read("n/m/f")), ("one\ntwo\n".into(), "x\n".into()));
        assert!(!place.path("w/gone").exists());
        assert_eq!(place.waiting(), Vec::<String>::new());
    }
}

#[test]
fn files_are_committed_one_by_one() {
    let (place, id) = Place::with_waiting_changes(None);
    place.policy("[permissions]\nallow = [\"Edit(a.txt)\", \"Edit(n/m/**)\"]\n");
    let output = place.stage(&["commit", &id, "n/m/f"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_eq!(
        (place.read("n/m/f"), place.read("n/g"), place.read("a.txt")),
        ("x\n".into(), String::new(), "one\n".into())
    );
    assert_eq!(code(&place.stage(&["commit", &id, "missing"])), 2);
    assert_eq!(code(&place.stage(&["commit", &id, "a.txt", "n/m"])), 0);
    assert_eq!(place.read("a.txt"), "one\ntwo\n");
    let shown = stdout(&place.stage(&["show", &id]));
    assert!(shown.contains("removed   gone") && shown.contains("n/g") && !shown.contains("a.txt"));
    let output = place.stage(&["commit", &id, "gone"]);
    assert_eq!((code(&output), place.path("w/gone").exists()), (4, true), "{}", stderr(&output));
    assert_eq!(code(&place.stage(&["drop", &id])), 0);
    assert_eq!(place.waiting(), Vec::<String>::new());
    assert!(place.path("w/gone").exists());
    for verb in ["show", "commit", "drop"] {
        assert_eq!(code(&place.stage(&[verb, &id])), 2);
    }
}

/// Guards I37.
#[test]
fn files_that_change_while_the_stage_waits_are_left() {
    let (place, id) = Place::with_waiting_changes(None);
    fs::write(place.path("w/a.txt"), "mine\n").unwrap();
    place.policy(ACCEPTS);
    let output = place.stage(&["commit", &id]);
    let said = stderr(&output);
    assert_eq!(code(&output), 125, "{said}");
    assert!(said.contains("a.txt` was changed by another program"), "{said}");
    assert_eq!((place.read("a.txt"), place.read("n/g")), ("mine\n".into(), "y\n".into()));
    // The edit of the command is still there.
    assert_eq!(place.waiting(), [id.as_str()]);
    let shown = stdout(&place.stage(&["show", &id]));
    assert!(shown.contains("a.txt` was changed by another program"), "{shown}");
}

#[test]
fn another_directory_at_the_path_is_not_changed() {
    let (place, id) = Place::with_waiting_changes(None);
    place.policy(ACCEPTS);
    fs::rename(place.path("w"), place.path("moved")).unwrap();
    fs::create_dir(place.path("w")).unwrap();
    let output = place.stage(&["commit", &id]);
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    assert!(stderr(&output).contains("is not the directory that the command changed"));
    assert_eq!(names(&place.path("w")), Vec::<PathBuf>::new());
}

/// A program in the sandbox neither finds the staged changes nor can approve them.
///
/// Guards I10.
#[test]
fn a_sandboxed_program_cannot_commit_or_forge_staged_changes() {
    let (place, id) = Place::with_waiting_changes(None);
    let openoxide = place.path("openoxide").display().to_string();
    let state = place.path("home/.local/state/openoxide").display().to_string();
    let script = format!(
        "ls {state}/sandbox-staged/{id}; echo evil > {state}/sandbox-staged/{id}/0/upper/a.txt; \
         mkdir -p {state}/sandbox-staged/00000000; {openoxide} --no-input stage commit {id}; true"
    );
    for policy in [ACCEPTS, ASKS] {
        place.policy(policy);
        let output = place.run(&[], &script);
        let said = format!("{}{}", stderr(&output), stdout(&output));
        assert_eq!(place.read("a.txt"), "one\n", "{said}");
        assert!(!said.contains("stage.json"), "{said}");
    }
    assert_eq!(place.waiting(), [id.as_str()]);
    assert!(!stdout(&place.stage(&["show", &id])).contains("evil"));
}

#[test]
fn another_user_cannot_use_the_staged_changes() {
    if !is_root() {
        return;
    }
    let (place, id) = Place::with_waiting_changes(Some(1234));
    let directory = place.path("home/.local/state/openoxide/sandbox-staged");
    assert_eq!(fs::metadata(&directory).unwrap().permissions().mode() & 0o777, 0o700);
    let mut other = place.command(&place.path("openoxide"), &["stage", "commit", &id]);
    use std::os::unix::process::CommandExt as _;
    let output = other.uid(1235).gid(1235).output().unwrap();
    assert_ne!(code(&output), 0);
    assert_eq!(place.read("a.txt"), "one\n");
}

#[test]
fn a_person_commits_one_file_in_a_terminal() {
    let world = super::project("echo two >> a.txt; echo two >> b.txt");
    world.file("a.txt", "one\n");
    world.file("b.txt", "one\n");
    let output = world.run(&["--no-input", "run", "--stage", "--", "./do.sh"], b"");
    let said = stderr(&output);
    let id = said.split("stage show ").nth(1).unwrap().split('`').next().unwrap();
    let mut terminal = Terminal::run(&world, &["stage", "commit", id, "b.txt"]);
    terminal.wait_for("Apply the change to b.txt");
    terminal.wait_for("[y]");
    terminal.press("y");
    let (code, text) = terminal.end();
    assert_eq!(code, 0, "{text}");
    let read = |name: &str| fs::read_to_string(world.project().join(name)).unwrap();
    assert_eq!((read("a.txt").as_str(), read("b.txt").as_str()), ("one\n", "one\ntwo\n"));
}

/// After `kill -9`, each file is either old or new, nothing else is left, and the next run reports it.
///
/// Guards I37.
#[test]
fn a_commit_that_is_killed_can_be_finished() {
    const FILES: usize = 600;
    let script = "for i in $(seq 600); do echo new new > f$i; done; mkdir d; echo x > d/x; rm gone";
    for delay in [0, 1, 3, 10, 30] {
        let place = Place::new(ASKS, None);
        for number in 1..=FILES {
            fs::write(place.path(&format!("w/f{number}")), "old\n").unwrap();
        }
        fs::write(place.path("w/gone"), "old\n").unwrap();
        assert_eq!(code(&place.run(&["--stage"], script)), 4);
        let [id] = <[String; 1]>::try_from(place.waiting()).unwrap();
        place.policy(ACCEPTS);
        let mut commit =
            place.command(&place.path("openoxide"), &["--no-input", "stage", "commit", &id]);
        let mut commit = commit.stderr(Stdio::null()).spawn().unwrap();
        let until = Instant::now() + Duration::from_secs(30);
        let is_new = |number: usize| place.read(&format!("f{number}")) == "new new\n";
        while !(1..=FILES).any(is_new) && Instant::now() < until {
            thread::sleep(Duration::from_micros(100));
        }
        thread::sleep(Duration::from_millis(delay));
        commit.kill().unwrap();
        commit.wait().unwrap();
        for number in 1..=FILES {
            let content = place.read(&format!("f{number}"));
            assert!(["old\n", "new new\n"].contains(&content.as_str()), "{content:?}");
        }
        if place.waiting().is_empty() {
            // It was complete before it was killed.
            continue;
        }
        let output = place.command(&place.path("openoxide"), &["run", "--", "./do.sh"]);
        fs::write(place.path("w/do.sh"), "#!/bin/sh\ntrue\n").unwrap();
        let output = {
            let mut command = output;
            command.output().unwrap()
        };
        let said = stderr(&output);
        assert!(said.contains("was interrupted") && said.contains(&id), "{said}");
        let left: Vec<_> = names(&place.path("w"))
            .into_iter()
            .filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with(".openoxide-"))
            .collect();
        assert_eq!(left, Vec::<PathBuf>::new());
        let output = place.stage(&["commit", &id]);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        assert!((1..=FILES).all(is_new) && !place.path("w/gone").exists());
        assert_eq!((place.read("d/x"), place.waiting()), ("x\n".into(), Vec::new()));
    }
}
