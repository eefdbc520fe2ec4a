//! Job control: a run is stopped, continued and put into the background by an interactive shell.

use std::{fs, process::Command};

use super::{Arena, is_root, staged::Place};
use crate::support::{OPENOXIDE, stderr, stdout};

const SCRIPT: &str = include_str!("job_control.py");

#[test]
fn a_shell_controls_a_run_as_any_job() {
    let arena = Arena::new();
    fs::write(arena.path("script.py"), SCRIPT).unwrap();
    let mut shell = Command::new("python3");
    shell.arg(arena.path("script.py")).args([OPENOXIDE, "sandbox", "run"]);
    shell.current_dir(arena.path("w")).env("HOME", arena.path("home"));
    let output = shell.output().unwrap();
    assert_eq!(stdout(&output), "", "{}", stderr(&output));
}

/// With a separate supervisor, and as another user.
#[test]
fn a_shell_controls_a_run_under_a_policy() {
    let policy = "[permissions]\nallow = [\"Bash(./count.py)\", \"Bash(./background.sh)\", \"Bash(./stops.sh)\"]\n";
    let place = Place::new(policy, is_root().then_some(1234));
    fs::write(place.path("home/script.py"), SCRIPT).unwrap();
    let (script, program) = (place.path("home/script.py"), place.path("openoxide"));
    let arguments = [script.to_str().unwrap(), program.to_str().unwrap(), "run"];
    let output = place.command("/usr/bin/python3".as_ref(), &arguments).output().unwrap();
    assert_eq!(stdout(&output), "", "{}", stderr(&output));
}
