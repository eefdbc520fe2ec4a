//! Staged runs: a commit has the same result as a run that is not staged, and changes that are not
//! committed leave no trace.

mod checkpoints;
mod control_characters;
mod fidelity;
mod operations;
mod repositories;
mod summary;
mod waiting;

use std::{
    collections::BTreeMap,
    fs,
    os::unix::{
        fs::{MetadataExt as _, PermissionsExt as _, chown},
        process::CommandExt as _,
    },
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::{
    prompt::Terminal,
    support::{OPENOXIDE, World, code, stderr},
};

use super::{is_root, names};
use operations::{OPERATIONS, SEED};

/// Edits need no question, so that a run commits what it has staged.
const ACCEPTS: &str = "mode = \"accept_edits\"\n[permissions]\nallow = [\"Bash(./do.sh)\"]\n";
/// A policy under which edits require approval.
const ASKS: &str = "[permissions]\nallow = [\"Bash(./do.sh)\"]\n";

/// A home, a workspace, and the program, where this user may go.
pub(super) struct Place {
    directory: tempfile::TempDir,
    user: Option<u32>,
}

impl Place {
    pub(super) fn new(policy: &str, user: Option<u32>) -> Self {
        // Build directories may be closed to other users, and they are inside a repository, which
        // would be the project.
        Self::new_in("/var/tmp", policy, user)
    }

    pub(super) fn new_in(base: &str, policy: &str, user: Option<u32>) -> Self {
        let directory = tempfile::tempdir_in(base).unwrap();
        let place = Self { directory, user };
        fs::set_permissions(place.directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
        // Not written by this process: a child of another test would hold it open for writing, and then it cannot be run.
        let mut copy = Command::new("cp");
        copy.arg("--preserve=mode");
        assert!(copy.arg(OPENOXIDE).arg(place.path("openoxide")).status().unwrap().success());
        for name in ["w", "home/.config/openoxide"] {
            fs::create_dir_all(place.path(name)).unwrap();
        }
        fs::write(place.path("home/.config/openoxide/policy.toml"), policy).unwrap();
        for name in ["w", "home", "home/.config", "home/.config/openoxide"] {
            chown(place.path(name), user, user).unwrap();
        }
        place
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }

    pub(super) fn command(&self, program: &Path, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(args).current_dir(self.path("w")).env_clear();
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", self.path("home"));
        command.stdin(Stdio::null());
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        command
    }

    /// Creates the files that exist before a run.
    fn seed(&self) {
        let output = self.command(Path::new("/bin/bash"), &["-c", SEED]).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
    }

    pub(super) fn run(&self, options: &[&str], script: &str) -> Output {
        fs::write(self.path("w/do.sh"), format!("#!/bin/bash\n{script}\n")).unwrap();
        fs::set_permissions(self.path("w/do.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        let args = [&["run"], options, &["--", "./do.sh"]].concat();
        self.command(&self.path("openoxide"), &args).output().unwrap()
    }

    /// Returns the staging directories of all runs.
    fn staged(&self) -> Vec<PathBuf> {
        names(&self.path("home/.local/state/openoxide/sandbox-staged"))
    }
}

/// Returns the type, mode and content of everything below a directory. With `times`, the
/// modification time is included.
fn tree(directory: &Path, times: bool) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![directory.to_owned()];
    while let Some(path) = open.pop() {
        let meta = path.symlink_metadata().unwrap();
        let content = if meta.is_dir() {
            open.extend(names(&path));
            "directory".to_owned()
        } else if meta.is_symlink() {
            format!("{:?}", fs::read_link(&path).unwrap())
        } else {
            fs::read(&path).unwrap_or_default().escape_ascii().to_string()
        };
        let time = if times { meta.mtime_nsec() } else { 0 };
        let rest = path.strip_prefix(directory).unwrap().to_owned();
        found.insert(rest, format!("{:o} {time} {content}", meta.mode() & 0o7777));
    }
    found
}

/// Runs each operation with and without staging, and compares the results.
fn what_differs(user: Option<u32>) -> Vec<String> {
    let mut wrong = Vec::new();
    for operation in OPERATIONS {
        let (staged, plain) = (Place::new(ACCEPTS, user), Place::new(ACCEPTS, user));
        let run = |place: &Place, options: &[&str]| {
            place.seed();
            let output = place.run(options, operation);
            (code(&output), stderr(&output), tree(&place.path("w"), false))
        };
        let ((code, said, is), (_, _, should)) = (run(&staged, &["--stage"]), run(&plain, &[]));
        if code != 0 || is != should || !staged.staged().is_empty() {
            let differs: Vec<_> =
                is.iter().filter(|one| should.get(one.0) != Some(one.1)).collect();
            let lacks: Vec<_> = should.keys().filter(|path| !is.contains_key(*path)).collect();
            wrong.push(format!("{operation}\n  {code} {said}\n  {differs:?}\n  lacks {lacks:?}"));
        }
    }
    wrong
}

/// Guards I37.
#[test]
fn a_commit_has_the_same_result_as_an_unstaged_run() {
    let wrong = what_differs(None);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Guards I37.
#[test]
fn a_commit_of_another_user_equals_an_unstaged_run() {
    if is_root() {
        let wrong = what_differs(Some(1234));
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

/// Guards I37.
#[test]
fn unapproved_changes_leave_no_trace() {
    for operation in OPERATIONS {
        let place = Place::new(ASKS, None);
        place.seed();
        fs::write(place.path("w/do.sh"), format!("#!/bin/bash\n{operation}\n")).unwrap();
        fs::set_permissions(place.path("w/do.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        let before = tree(&place.path("w"), true);
        let args = ["run", "--stage", "--", "./do.sh"];
        let output = place.command(&place.path("openoxide"), &args).output().unwrap();
        let said = stderr(&output);
        assert_eq!(code(&output), 4, "{operation}: {said}");
        assert!(said.contains("no file was changed") && said.contains("stage commit"), "{said}");
        assert_eq!(tree(&place.path("w"), true), before, "{operation}");
        assert_eq!(place.staged().len(), 1, "the changes wait: {said}");
    }
}

/// The sandbox enforces a pattern for existing files. The gate checks new files when they are about
/// to be committed.
#[test]
fn a_rule_that_denies_one_file_stops_all_of_it() {
    let place = Place::new(&format!("{ACCEPTS}deny = [\"Edit(//**/*.key)\"]\n"), None);
    let output = place.run(&["--stage"], "echo x > a.txt; echo x > new.key");
    let said = stderr(&output);
    assert_eq!(code(&output), 126, "{said}");
    assert!(said.contains("denied") && said.contains("no file was changed"), "{said}");
    assert!(said.contains("new.key"), "{said}");
    assert!(!place.path("w/a.txt").exists() && !place.path("w/new.key").exists());
}

#[test]
fn background_processes_change_nothing_after_the_commit() {
    let place = Place::new(ACCEPTS, None);
    let late = "echo now > now; (setsid sh -c 'sleep 1; echo late > late' &) ; exit 0";
    let output = place.run(&["--stage"], late);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    thread::sleep(Duration::from_millis(1500));
    assert!(place.path("w/now").exists() && !place.path("w/late").exists());
}

/// Guards I38.
#[test]
fn staged_changes_of_a_killed_run_are_swept() {
    let place = Place::new(ACCEPTS, None);
    let kill = |mut command: Command, waits: &Path| {
        let mut run = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let until = Instant::now() + Duration::from_secs(20);
        while !waits.exists() && Instant::now() < until {
            thread::sleep(Duration::from_millis(10));
        }
        thread::sleep(Duration::from_millis(300));
        run.kill().unwrap();
        run.wait().unwrap();
    };
    let deep = "for i in $(seq 300); do mkdir d; chmod 500 . 2>/dev/null; chmod 700 .; cd d; done; chmod 000 ../../d; sleep 30";
    let openoxide = place.path("openoxide");
    let home = place.path("home/.local/state/openoxide/sandbox-staged");
    kill(
        place.command(&openoxide, &["sandbox", "run", "--stage", "--", "bash", "-c", deep]),
        &home,
    );
    assert_eq!(place.staged().len(), 1);
    // The first process inside may be about to end still.
    let until = Instant::now() + Duration::from_secs(20);
    while !place.staged().is_empty() && Instant::now() < until {
        let next = place.command(&openoxide, &["sandbox", "run", "--", "true"]).output().unwrap();
        assert!(next.status.success(), "{}", stderr(&next));
    }
    assert_eq!(place.staged(), Vec::<PathBuf>::new());
    assert_eq!(names(&place.path("w")), Vec::<PathBuf>::new());
}

/// Guards I37.
#[test]
fn a_command_that_cannot_be_staged_does_not_run() {
    let place = Place::new(ACCEPTS, None);
    let openoxide = place.path("openoxide");
    let run = |args: &[&str]| {
        let output = place.command(&openoxide, args).output().unwrap();
        (code(&output), stderr(&output))
    };
    let home = place.path("home").display().to_string();
    let (status, said) = run(&["sandbox", "run", "--stage", "--root", &home, "--", "touch", "x"]);
    assert_eq!(status, 125, "{said}");
    assert!(said.contains("contains OpenOxide's own state"), "{said}");
    let by = ["sandbox", "run", "--stage", "--backend", "bubblewrap", "--", "touch", "x"];
    let (status, said) = run(&by);
    assert_eq!((status, place.path("w/x").exists()), (125, false), "{said}");
    for sandbox in ["off", "read-only"] {
        let (status, said) = run(&["run", "--stage", "--sandbox", sandbox, "-c", "touch x"]);
        assert_eq!((status, place.path("w/x").exists()), (2, false), "{said}");
    }
}

/// A project with a script that may run.
fn project(script: &str) -> World {
    let world = World::new().policy(ASKS);
    let file = world.file("do.sh", &format!("#!/bin/bash\n{script}\n"));
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
    world
}

#[test]
fn a_person_sees_the_changes_and_approves_them() {
    let script = "echo two >> a.txt; printf '\\e[31mred\\n' > $'x\\ny'; ln -s /etc/passwd l; head -c 9 /dev/zero > z";
    let world = project(script);
    world.file("a.txt", "one\n");
    let mut terminal = Terminal::run(&world, &["run", "--stage", "--", "./do.sh"]);
    terminal.wait_for("[y]");
    assert_eq!(fs::read_to_string(world.project().join("a.txt")).unwrap(), "one\n");
    terminal.press("v");
    terminal.wait_for("x1b[31mred");
    // A key that comes too fast answers nothing.
    thread::sleep(Duration::from_secs(1));
    terminal.press("y");
    let (code, text) = terminal.end();
    assert_eq!(code, 0, "{text}");
    for line in [
        "Apply changes to 4 staged files",
        "changed   a.txt (+1 -0)",
        "new       l → /etc/passwd",
        "new       x\\ny (+1)",
        "new       z (9 bytes)",
        "+\\x1b[31mred",
        "the files were changed",
    ] {
        assert!(text.contains(line), "no `{line}` in\n{text}");
    }
    assert_eq!(fs::read_to_string(world.project().join("a.txt")).unwrap(), "one\ntwo\n");
}

/// Changes to files that configure git require approval in every mode.
#[test]
fn a_new_repository_is_complete_after_approval() {
    let world = project(
        "git init -q new && cd new && echo x > f && git add f && git -c user.name=a -c user.email=a@b.c commit -qm first",
    );
    let mut terminal = Terminal::run(&world, &["run", "--stage", "--", "./do.sh"]);
    terminal.wait_for("[y]");
    terminal.press_until_end("y");
    let (code, text) = terminal.end();
    assert_eq!(code, 0, "{text}");
    let mut git = Command::new("git");
    git.args(["-C", "new", "log", "--format=%s"]).current_dir(world.project());
    let log = git.env("HOME", world.root()).output().unwrap();
    assert_eq!(String::from_utf8(log.stdout).unwrap(), "first\n", "{text}");
    let mut check = Command::new("git");
    let check = check.args(["-C", "new", "fsck", "--strict"]).current_dir(world.project());
    assert!(check.env("HOME", world.root()).status().unwrap().success());
    let mut status = Command::new("git");
    let status = status.args(["-C", "new", "status", "--short"]).current_dir(world.project());
    assert_eq!(status.env("HOME", world.root()).output().unwrap().stdout, b"");
}

#[test]
fn a_person_denies_the_changes() {
    let world = project("echo two >> a.txt");
    world.file("a.txt", "one\n");
    let mut terminal = Terminal::run(&world, &["run", "--stage", "--", "./do.sh"]);
    terminal.wait_for("[y]");
    terminal.press("n");
    let (code, text) = terminal.end();
    assert_eq!(code, 126, "{text}");
    assert!(text.contains("no file was changed"), "{text}");
    assert_eq!(fs::read_to_string(world.project().join("a.txt")).unwrap(), "one\n");
}

#[test]
fn files_changed_during_the_question_are_skipped_and_it_is_asked_again() {
    let world = project("echo two >> a.txt; echo two >> b.txt");
    world.file("a.txt", "one\n");
    world.file("b.txt", "one\n");
    let mut terminal = Terminal::run(&world, &["run", "--stage", "--", "./do.sh"]);
    terminal.wait_for("Apply changes to 2 staged files");
    terminal.wait_for("[y]");
    world.file("a.txt", "mine\n");
    terminal.press("y");
    terminal.wait_for("asking again");
    terminal.wait_for("Apply the change to b.txt");
    terminal.press("y");
    let (code, text) = terminal.end();
    assert_eq!(code, 125, "{text}");
    assert!(text.contains("changed by another program"), "{text}");
    let read = |name: &str| fs::read_to_string(world.project().join(name)).unwrap();
    assert_eq!((read("a.txt").as_str(), read("b.txt").as_str()), ("mine\n", "one\ntwo\n"));
}
