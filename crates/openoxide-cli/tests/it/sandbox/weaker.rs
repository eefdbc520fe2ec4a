//! Never weaker: what the kernel lets a confined process do, the profile allows.

use std::{
    collections::BTreeMap, fs, os::unix::fs::MetadataExt as _, path::Path, process::Command,
};

use openoxide_protocol::{AbsPath, SandboxRestrictions};
use serde_json::{Value, json};

use super::{Arena, names};
use crate::support::workspace;

/// In each of the seeds of a plain run.
const OPERATIONS: usize = 25_000;
/// In a run whose changes are intercepted or staged.
const FEWER_OPERATIONS: usize = 6_000;

/// Directories where the files of a confined process reach no other process.
const ITS_OWN: &[&str] = &["/tmp", "/var/tmp", "/dev", "/proc"];

fn abs(path: &Path) -> AbsPath {
    AbsPath::new(path.to_str().unwrap()).unwrap()
}

/// Two roots, one in the other, with repositories, links out and in, and things that are missing.
fn arena() -> (Arena, SandboxRestrictions) {
    let arena = Arena::new();
    let script = "git init -q w; mkdir -p w/sub/a w/sub/b w/pp/keep w/a/b outside/a outside/sub; git init -q w/a/sub; \
                  echo x > w/x.txt; echo x > outside/x.txt; echo x > w/pp/keep/x.txt; ln -s sub w/link; ln -s ../outside w/out; \
                  ln -s .. w/a/up; ln -s pp/keep w/b; ln -s ../../outside/sub w/sub/link; ln -s nowhere w/d; mkdir w/c";
    let mut sh = Command::new("sh");
    assert!(sh.args(["-ec", script]).current_dir(arena.path("")).status().unwrap().success());
    let all = |names: &[&str]| names.iter().map(|name| abs(&arena.path(name))).collect();
    let profile = SandboxRestrictions {
        writable: all(&["w", "w/sub/b", "outside/sub"]),
        protected: all(&[
            "w/.git",
            "w/.codex",
            "w/.agents",
            "w/.mcp.json",
            "w/pp/keep",
            "w/b",
            "w/sub/b/config",
        ]),
        ..SandboxRestrictions::default()
    };
    (arena, profile)
}

/// Runs random operations in a sandbox with these flags. Returns those that the kernel allowed.
fn run(
    arena: &Arena,
    profile: &SandboxRestrictions,
    seed: usize,
    count: usize,
    flags: &[&str],
) -> Vec<Value> {
    let script = workspace().join("corpus/sandbox/weaker.py");
    fs::copy(script, arena.path("weaker.py")).unwrap();
    let some = |names: &[&str]| names.iter().map(|name| arena.path(name)).collect::<Vec<_>>();
    let mut outside = some(&["outside", "home", "outside/a", ""]);
    outside.push("/tmp".into());
    let data = json!({
        "roots": profile.writable,
        "names": profile.protected,
        "outside": outside,
        "ports": [9, 53, 80, 443],
    });
    let mut arguments = flags.to_vec();
    profile.writable.iter().for_each(|path| arguments.extend(["--root", path.as_str()]));
    profile.protected.iter().for_each(|path| arguments.extend(["--protect", path.as_str()]));
    let script = arena.path("weaker.py");
    let (seed, count, data) = (seed.to_string(), count.to_string(), data.to_string());
    let program = ["python3", "-B", script.to_str().unwrap(), &seed, &count, &data];
    let output = arena.run(&arguments, &program).output().unwrap();
    // Staged changes wait, because no terminal is there to ask on.
    let waits = flags.contains(&"--stage") && output.status.code() == Some(4);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() || waits, "seed {seed}: {} {said}", output.status);
    let lines = String::from_utf8(output.stdout).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Asks the oracle about a place: a directory without links, and a name in it.
fn allowed(profile: &SandboxRestrictions, place: &Value) -> bool {
    let (directory, name) = (place[0].as_str().unwrap(), place[1].as_str().unwrap());
    let path = AbsPath::new(directory).unwrap().join(name);
    let own = ITS_OWN.iter().any(|own| path.strip_prefix(&AbsPath::new(own).unwrap()).is_some());
    own || profile.may_write(&path)
}

/// Returns the type and content of everything that must stay unchanged.
fn outside(arena: &Arena, profile: &SandboxRestrictions) -> BTreeMap<String, String> {
    let mut open: Vec<_> = ["outside", "home"].map(|name| arena.path(name)).into();
    open.extend(profile.protected.iter().map(|path| path.as_str().into()));
    let mut found = BTreeMap::new();
    while let Some(path) = open.pop() {
        let below = path.strip_prefix(arena.path("outside/sub")).is_ok();
        let Ok(state) = path.symlink_metadata() else { continue };
        if below || path.starts_with(arena.path("home/.local")) {
            continue;
        }
        let text = if state.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
        let time = if state.is_dir() { 0 } else { state.mtime_nsec() };
        found.insert(
            path.display().to_string(),
            format!("{:o} {} {} {time} {text:?}", state.mode(), state.uid(), state.ino()),
        );
        if state.is_dir() {
            open.extend(names(&path));
        }
    }
    found
}

/// Checks each operation that the kernel allowed, and that nothing changed outside. Returns the
/// number of operations.
fn assert_never_weaker(seed: usize, count: usize, flags: &[&str]) -> usize {
    let (arena, profile) = arena();
    let before = outside(&arena, &profile);
    let rows = run(&arena, &profile, seed, count, flags);
    let (end, rows) = rows.split_last().unwrap();
    assert_eq!((&end[0], &end[1]), (&json!("end"), &json!(count)), "seed {seed}");
    for row in rows {
        let places = row[3].as_array().unwrap();
        let wrong: Vec<_> = places.iter().filter(|place| !allowed(&profile, place)).collect();
        assert!(wrong.is_empty(), "seed {seed}: {row}");
    }
    assert_eq!(outside(&arena, &profile), before, "seed {seed}");
    assert_eq!(arena.registered(), Vec::<std::path::PathBuf>::new(), "seed {seed}");
    rows.len()
}

/// Guards I34.
#[test]
fn the_kernel_allows_only_operations_that_the_profile_allows() {
    let done: usize = (1..=4).map(|seed| assert_never_weaker(seed, OPERATIONS, &[])).sum();
    // Enough of them went through to mean something.
    assert!(done > OPERATIONS / 10, "{done}");
}

/// A run that intercepts changes, and one that stages them, allow no more.
///
/// Guards I23.
#[test]
fn live_and_staged_runs_allow_only_operations_that_the_profile_allows() {
    for flag in ["--live", "--stage"] {
        let done: usize =
            (5..=6).map(|seed| assert_never_weaker(seed, FEWER_OPERATIONS, &[flag])).sum();
        assert!(done > FEWER_OPERATIONS / 20, "{flag}: {done}");
    }
}

/// One thread changes the path under the other's `open`, two hundred thousand times (corpus/sandbox/race.c).
/// Guards I34.
#[test]
fn the_race_for_a_path_is_never_won() {
    let (arena, _) = arena();
    let program = arena.path("race");
    let source = workspace().join("corpus/sandbox/race.c");
    let built =
        Command::new("cc").args(["-O2", "-pthread", "-o"]).arg(&program).arg(source).status();
    assert!(built.unwrap().success());
    let git = arena.path("w/.git");
    let arguments = ["--protect", git.to_str().unwrap()];
    let output = arena.run(&arguments, &[program.to_str().unwrap()]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.starts_with("not won in"), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(!arena.path("w/.git/x").exists() && arena.path("w/okfile").exists());
}
