//! Results of commands in `/tmp`, of which each run has its own.

use std::{
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::PathBuf,
    process::Output,
    thread,
    time::Duration,
};

use super::Arena;
use crate::support::{code, stderr, stdout};

/// A file in `/tmp` of the host that does not exist yet, and is deleted at the end.
struct NewFile(PathBuf);

impl NewFile {
    fn new(name: &str) -> Self {
        Self(format!("/tmp/openoxide-result-{name}-{}", std::process::id()).into())
    }

    fn name(&self) -> &str {
        self.0.to_str().unwrap()
    }

    fn exists(&self) -> bool {
        fs::symlink_metadata(&self.0).is_ok()
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.0));
    }
}

const POLICY: &str = "permissions.allow = [\"Bash(*)\", \"Edit(//tmp/**)\"]";

/// Runs `make.sh > FILE` with this program.
fn run(arena: &Arena, policy: &str, options: &[&str], program: &str, file: &NewFile) -> Output {
    let settings = arena.path("home/.config/openoxide");
    fs::create_dir_all(&settings).unwrap();
    fs::write(settings.join("policy.toml"), policy).unwrap();
    let program = program.replace("FILE", file.name());
    let path = arena.path("w/make.sh");
    fs::write(&path, format!("#!/bin/sh\n{program}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let script = format!("./make.sh > {}", file.name());
    let arguments = [&["run", "--no-input"], options, &["-c", &script]].concat();
    arena.command().args(arguments).output().unwrap()
}

#[test]
fn a_new_file_that_a_rule_or_a_mode_allows_is_copied_to_the_host() {
    for policy in [POLICY, "mode = \"bypass_permissions\""] {
        let (arena, file) = (Arena::new(), NewFile::new("copied"));
        let output = run(&arena, policy, &[], "echo 1; cat FILE >&2; : > FILE.other", &file);
        assert_eq!(code(&output), 0, "{policy}: {}", stderr(&output));
        assert_eq!(fs::read_to_string(&file.0).unwrap(), "1\n", "{}", stderr(&output));
        assert!(!fs::exists(format!("{}.other", file.name())).unwrap(), "nothing else is copied");
        assert!(!stderr(&output).contains("private"), "{}", stderr(&output));
        // The next run changes the file itself.
        let number = fs::metadata(&file.0).unwrap().ino();
        let output = run(&arena, policy, &[], "echo 2", &file);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        assert_eq!(fs::read_to_string(&file.0).unwrap(), "2\n");
        assert_eq!(fs::metadata(&file.0).unwrap().ino(), number);
    }
}

/// Editors replace files. The mode of the new one is kept, without set-user-ID and set-group-ID.
#[test]
fn a_replaced_file_is_copied() {
    let (arena, file) = (Arena::new(), NewFile::new("replaced"));
    let program = "echo 2 > FILE.new; chmod 755 FILE.new; mv FILE.new FILE";
    let output = run(&arena, POLICY, &["--stage"], program, &file);
    assert_eq!(fs::read_to_string(&file.0).unwrap(), "2\n", "{}", stderr(&output));
    assert_eq!(fs::metadata(&file.0).unwrap().permissions().mode() & 0o7777, 0o755);
}

#[test]
fn a_file_that_cannot_be_copied_is_named() {
    let (arena, file) = (Arena::new(), NewFile::new("odd"));
    let secret = arena.path("outside/secret");
    fs::write(&secret, "secret").unwrap();
    let link = format!("ln -sf {} FILE", secret.display());
    for (program, reason) in [
        (link.as_str(), "it is a symbolic link"),
        ("rm FILE; mkdir FILE", "it is not a regular file"),
        ("rm FILE; mkfifo FILE", "it is not a regular file"),
    ] {
        let output = run(&arena, POLICY, &[], program, &file);
        let said = stderr(&output);
        let note = format!("`{}` was not copied", file.name());
        assert!(said.contains(&note) && said.contains(reason), "{program}: {said}");
        assert!(!file.exists(), "{program}: {said}");
        assert_eq!(fs::read_to_string(&secret).unwrap(), "secret");
    }
    let output = run(&arena, POLICY, &[], "rm FILE", &file);
    assert!(!file.exists() && !stdout(&output).contains("copied"), "{}", stderr(&output));
}

#[test]
fn a_file_that_another_program_creates_meanwhile_stays() {
    let (arena, file) = (Arena::new(), NewFile::new("race"));
    let (ready, done, host) = (arena.path("w/started"), arena.path("w/done"), file.0.clone());
    let other = thread::spawn(move || {
        // If the program does not start, the test fails at its end.
        for _ in 0..6000 {
            if ready.exists() {
                break;
            }
            thread::sleep(Duration::from_millis(5));
        }
        fs::write(&host, "outside").unwrap();
        fs::write(done, "").unwrap();
    });
    let program = "echo inside; : > started; while ! test -e done; do sleep 0.01; done";
    let output = run(&arena, POLICY, &[], program, &file);
    other.join().unwrap();
    assert!(stderr(&output).contains("was not copied"), "{}", stderr(&output));
    assert_eq!(fs::read_to_string(&file.0).unwrap(), "outside");
}

/// If the command may not create the file, a note names it before the run.
#[test]
fn a_restricted_run_leaves_nothing() {
    let (arena, file) = (Arena::new(), NewFile::new("restricted"));
    let protected = format!("{POLICY}\nsandbox.protected = [{:?}]", file.name());
    for (policy, options) in [(POLICY, &["--sandbox", "read-only"][..]), (&protected, &[])] {
        let output = run(&arena, policy, options, "echo x", &file);
        let note = format!("are private to this run: `{}` will not exist", file.name());
        assert!(stderr(&output).contains(&note), "{}", stderr(&output));
        assert!(!file.exists());
    }
}
