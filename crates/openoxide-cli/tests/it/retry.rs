//! Commands that the sandbox has stopped: what is offered, to whom, and the effect of the answer.

use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf};

use crate::{
    prompt::Terminal,
    support::{World, code, stderr},
};

/// A project with a script that writes somewhere, and a directory outside; that must not be among the directories for temporary files,
/// of which a confined process has its own.
struct Outside {
    world: World,
    outside: tempfile::TempDir,
}

impl Outside {
    fn new(script: &str) -> Self {
        let world = World::new().policy("[permissions]\nallow = [\"Bash(./write)\"]\n");
        let outside = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let here = outside.path().canonicalize().unwrap();
        let script = script.replace("OUT", here.to_str().unwrap());
        let file = world.file("write", &format!("#!/bin/sh\n{script}\n"));
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
        Self { world, outside }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.outside.path().canonicalize().unwrap().join(name)
    }

    fn terminal(&self) -> Terminal {
        Terminal::run(&self.world, &["run", "-c", "./write"])
    }
}

/// As one line, wherever the terminal has broken it.
fn joined(text: &str) -> String {
    text.split_whitespace().collect()
}

#[test]
fn approving_the_directory_of_a_new_file_lets_it_be_written() {
    let outside = Outside::new("echo done > OUT/new");
    let mut terminal = outside.terminal();
    terminal.wait_for("writable?");
    assert!(!outside.path("new").exists());
    terminal.press("y");
    let (code, text) = terminal.end();
    assert_eq!(code, 0, "{text}");
    assert_eq!(fs::read_to_string(outside.path("new")).unwrap(), "done\n");
    let directory = outside.path("").display().to_string();
    let asked =
        format!("command failed; retry with `{}` writable?", directory.trim_end_matches('/'));
    assert!(joined(&text).contains(&joined(&asked)), "{text}");
}

/// Guards I32.
#[test]
fn only_an_existing_file_becomes_writable_not_its_siblings() {
    let outside = Outside::new("echo more >> OUT/there || exit 1; echo no > OUT/beside; exit 0");
    fs::write(outside.path("there"), "").unwrap();
    let mut terminal = outside.terminal();
    terminal.wait_for("there` writable?");
    terminal.press("y");
    let (code, text) = terminal.end();
    assert_eq!(code, 0, "{text}");
    assert_eq!(fs::read_to_string(outside.path("there")).unwrap(), "more\n");
    assert!(!outside.path("beside").exists());
}

#[test]
fn a_no_leaves_the_status_of_the_command_and_both_are_written_down() {
    let outside = Outside::new("echo done > OUT/new || exit 42");
    let mut terminal = outside.terminal();
    terminal.wait_for("writable?");
    terminal.press("n");
    let (code, text) = terminal.end();
    assert_eq!((code, outside.path("new").exists()), (42, false), "{text}");
    let log = outside.world.run(&["audit", "log", "--json"], b"");
    let log = String::from_utf8(log.stdout).unwrap();
    let edit = log.lines().find(|line| line.contains(r#""tool":"Edit""#)).expect(&log);
    assert!(edit.contains(r#""decision":"abort""#), "{edit}");
    let outcome = log.lines().find(|line| line.contains(r#""record":"outcome""#)).expect(&log);
    assert!(outcome.contains("changing") && outcome.contains(r#""status":42"#), "{outcome}");
}

/// Guards I32.
#[test]
fn a_denial_of_a_protected_path_is_explained_without_a_retry() {
    let outside = Outside::new("echo x > .vscode/tasks.json || exit 3");
    let (code, text) = outside.terminal().end();
    assert_eq!(code, 3, "{text}");
    assert!(text.contains("not retried: it is protected"), "{text}");
    assert!(!text.contains("writable?") && !text.contains("without sandbox"), "{text}");
}

#[test]
fn no_retry_is_offered_for_a_rule_that_denies() {
    let outside = Outside::new("echo x > OUT/new || exit 3");
    let directory = outside.path("").display().to_string();
    let rule = format!("Edit(/{}/**)", directory.trim_end_matches('/'));
    let outside = Outside {
        world: outside
            .world
            .policy(&format!("[permissions]\nallow = [\"Bash(./write)\"]\ndeny = [\"{rule}\"]\n")),
        ..outside
    };
    let (code, text) = outside.terminal().end();
    assert_eq!((code, outside.path("new").exists()), (3, false), "{text}");
    assert!(!text.contains("writable?"), "{text}");
}

#[test]
fn without_a_terminal_no_retry_is_offered_and_a_hint_is_shown() {
    let outside = Outside::new("echo done > OUT/new || exit 42");
    let output = outside.world.run(&["run", "-c", "./write"], b"y\n");
    let said = stderr(&output);
    assert_eq!((code(&output), outside.path("new").exists()), (42, false), "{said}");
    let directory = outside.path("").display().to_string();
    let directory = directory.trim_end_matches('/');
    assert!(said.contains("new: Read-only file system"), "it sees what was printed: {said}");
    assert!(said.contains(&format!("--add-dir {directory}")), "{said}");
    let with = ["run", "--add-dir", directory, "-c", "./write"];
    let output = outside.world.run(&with, b"");
    assert_eq!((code(&output), outside.path("new").exists()), (0, true), "{}", stderr(&output));
}

#[test]
fn output_that_looks_like_a_denial_is_not_a_denial() {
    let outside = Outside::new("echo \"cat: $PWD/sandbox/x: Permission denied\" >&2; exit 5");
    let (code, text) = outside.terminal().end();
    assert_eq!(code, 5, "{text}");
    assert!(!text.contains("refused") && !text.contains("tried again"), "{text}");
}

#[test]
fn without_the_sandbox_comes_last_and_never_while_a_rule_denies_reading() {
    let outside = Outside::new("touch /etc/openoxide-test-new || exit 6");
    let mut terminal = outside.terminal();
    terminal.wait_for("retry without sandbox?");
    terminal.press("n");
    let (code, text) = terminal.end();
    assert_eq!(code, 6, "{text}");
    let world = outside
        .world
        .policy("[permissions]\nallow = [\"Bash(./write)\"]\ndeny = [\"Read(//srv/never/**)\"]\n");
    let (code, text) = Terminal::run(&world, &["run", "-c", "./write"]).end();
    assert_eq!(code, 6, "{text}");
    assert!(!text.contains("without sandbox"), "{text}");
}

/// A file that was granted by name is mounted, also where a directory of the sandbox's own hides its place.
#[test]
fn a_file_granted_below_a_directory_for_temporary_files_is_written() {
    let world = World::new();
    let file = tempfile::NamedTempFile::new().unwrap();
    let script = format!("echo new > {}", file.path().display());
    let output = world.run(&["run", "--mode", "bypass_permissions", "-c", &script], b"");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(std::fs::read_to_string(file.path()).unwrap(), "new\n");
}

const PLANTS: &str =
    "git init -q new; echo 'echo planted' > new/.git/hooks/update; chmod +x new/.git/hooks/update";

#[test]
fn a_quarantined_hook_is_restored_after_its_content_is_approved() {
    let outside = Outside::new(PLANTS);
    let mut terminal = outside.terminal();
    terminal.wait_for("to where programs execute or read it?");
    let hook = outside.world.project().join("new/.git/hooks/update");
    assert!(!hook.exists());
    terminal.press("y");
    let (code, text) = terminal.end();
    assert_eq!(code, 0, "{text}");
    assert_eq!(fs::read_to_string(&hook).unwrap(), "echo planted\n");
    assert!(text.contains("echo planted"), "{text}");
    assert!(joined(&text).contains(&joined("restored `")), "{text}");
}

#[test]
fn a_hook_stays_quarantined_after_a_denial_or_without_a_terminal() {
    let outside = Outside::new(PLANTS);
    let hook = outside.world.project().join("new/.git/hooks/update");
    let aside = hook.with_extension("held-by-openoxide");
    let mut terminal = outside.terminal();
    terminal.wait_for("to where programs execute or read it?");
    terminal.press("n");
    let (status, text) = terminal.end();
    assert_eq!((status, hook.exists(), aside.exists()), (0, false, true), "{text}");
    fs::remove_dir_all(outside.world.project().join("new")).unwrap();
    let out = outside.world.run(&["run", "-c", "./write"], b"");
    assert_eq!((code(&out), hook.exists(), aside.exists()), (0, false, true));
}

/// A command can leave any kind of file in place of a hook. Reading it must not block.
#[test]
fn a_hook_that_is_not_a_regular_file_is_not_read() {
    // In place at once: what watches the directory would move it before its mode is set.
    let outside = Outside::new("git init -q new; mkfifo -m 755 f; mv f new/.git/hooks/update");
    let mut terminal = outside.terminal();
    terminal.wait_for("to where programs execute or read it?");
    terminal.press("y");
    let (code, text) = terminal.end();
    assert_eq!(code, 0, "{text}");
    assert!(outside.world.project().join("new/.git/hooks/update").exists());
}
