//! Projects with many directories: unchanged ones are not listed again, and no file is missed.

use std::{fs, process::Command, thread, time::Duration};

use super::Arena;

/// A script that changes a directory without a change of its modification time.
const ADD_REPOSITORY: &str = "touch -r many/50 time; git init -q many/50; \
    printf '#!/bin/sh\\ntouch ran\\n' > many/50/.git/hooks/pre-commit; \
    chmod +x many/50/.git/hooks/pre-commit; touch -r time many/50; rm time";

fn inside(arena: &Arena, script: &str) -> String {
    let output = arena.run(&[], &["sh", "-c", script]).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// The number of stored snapshots.
fn snapshots(arena: &Arena) -> usize {
    let directory = arena.path("home/.local/state/openoxide/sandbox-directories");
    fs::read_dir(directory).map_or(0, Iterator::count)
}

#[test]
fn changed_directories_are_found_beside_unchanged_ones() {
    let arena = Arena::new();
    let many = |number: usize| arena.path(&format!("w/many/{number}"));
    (0..200).for_each(|number| fs::create_dir_all(many(number)).unwrap());
    // Only directories that have been unchanged for some time are not listed again.
    thread::sleep(Duration::from_millis(3_100));
    assert_eq!(inside(&arena, "echo ran"), "ran\n", "no notes");
    assert_eq!(snapshots(&arena), 1);
    // A repository that the host creates between two runs is guarded.
    let created = Command::new("git").args(["init", "-q"]).arg(many(60)).status().unwrap();
    assert!(created.success());
    let output = inside(&arena, "echo x > many/60/.git/hooks/pre-commit");
    assert!(!many(60).join(".git/hooks/pre-commit").exists(), "{output}");
    // One that the program creates is quarantined.
    let output = inside(&arena, ADD_REPOSITORY);
    let hooks = many(50).join(".git/hooks");
    assert!(hooks.is_dir() && !hooks.join("pre-commit").exists(), "{output}");
    assert!(output.contains("many/50/.git/hooks/pre-commit"), "{output}");
    // The program can neither read nor replace the snapshots.
    let output = inside(&arena, "ls $HOME/.local/state/openoxide/sandbox-directories");
    assert!(output.contains("Permission denied"), "{output}");
}
