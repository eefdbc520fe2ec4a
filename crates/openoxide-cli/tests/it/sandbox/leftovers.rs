//! Cleanup of sandboxes: nothing is left, however they end.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use super::{Arena, is_root, names, processes_with, staged::Place};

/// The number of parallel series of runs, which use the same placeholders.
const ROWS: usize = 2;
const IN_A_ROW: usize = 500;
const KILLS: u64 = 200;

/// Returns the state of the host that must not change.
fn host(arena: &Arena) -> (Vec<std::path::PathBuf>, String) {
    (names(&arena.path("w")), fs::read_to_string("/proc/self/mountinfo").unwrap())
}

/// A repository inside, and names that are missing.
fn arena() -> (Arena, Vec<String>) {
    let arena = Arena::new_empty();
    let git = Command::new("git").args(["init", "-q", "sub"]).current_dir(arena.path("w")).status();
    assert!(git.unwrap().success());
    let path = |name: &str| arena.path("w").join(name).to_str().unwrap().to_owned();
    let arguments =
        [".codex", ".agents", ".mcp.json"].map(|name| ["--protect".to_owned(), path(name)]);
    let arguments = arguments.into_iter().flatten().collect();
    (arena, arguments)
}

fn nothing_is_left(arena: &Arena, mark: &str) -> bool {
    let files = names(&arena.path("w")) == [arena.path("w/sub")];
    let parts = names(&arena.path("w/sub/.git")).iter().all(|path| !path.ends_with("commondir"));
    files && parts && arena.registered().is_empty() && processes_with(mark).is_empty()
}

/// Guards I38.
#[test]
fn a_thousand_in_a_row_leave_nothing() {
    let (arena, arguments) = arena();
    let before = host(&arena);
    thread::scope(|scope| {
        for _ in 0..ROWS {
            scope.spawn(|| {
                for _ in 0..IN_A_ROW {
                    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
                    let mut run = arena.run(&arguments, &["true"]);
                    let output = run.env("MARK", "thousand").stdin(Stdio::null()).output().unwrap();
                    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
                }
            });
        }
    });
    assert_eq!(host(&arena), before);
    assert!(nothing_is_left(&arena, "MARK=thousand"));
}

/// Guards I38.
#[test]
fn a_killed_supervisor_leaves_nothing() {
    let (arena, arguments) = arena();
    let before = host(&arena);
    let mark = format!("MARK=killed-{}", std::process::id());
    for round in 0..KILLS {
        let mut given: Vec<_> = arguments.iter().map(String::as_str).collect();
        given.extend(["--env", &mark]);
        let mut run = arena.run(&given, &["sleep", "30"]);
        let run = run
            .env("MARK", mark.trim_start_matches("MARK="))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut run = run.spawn().unwrap();
        // All moments of a start, spread by a step that has no common factor with the number of rounds.
        thread::sleep(Duration::from_micros(round * 7919 % 60_000));
        run.kill().unwrap();
        run.wait().unwrap();
    }
    let until = Instant::now() + Duration::from_secs(10);
    while !nothing_is_left(&arena, &mark) && Instant::now() < until {
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(processes_with(&mark), Vec::<std::path::PathBuf>::new());
    assert_eq!(arena.registered(), Vec::<std::path::PathBuf>::new());
    assert_eq!(host(&arena), before);
}

/// The next run would take the files that this one planted for files that were always there.
///
/// Guards I38.
#[test]
fn files_planted_by_a_killed_run_are_quarantined() {
    let (arena, _) = arena();
    let plant = "git init -q new; echo > new/.git/hooks/update; chmod +x new/.git/hooks/update; \
                 mkdir new/.claude; echo > new/.claude/settings.json; touch planted; sleep 30";
    let mut run = arena.run(&[], &["sh", "-c", plant]);
    let mut run =
        run.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(20);
    let (planted, hook) = (arena.path("w/planted"), arena.path("w/new/.git/hooks/update"));
    while !planted.exists() && Instant::now() < until {
        thread::sleep(Duration::from_millis(10));
    }
    let settings = arena.path("w/new/.claude");
    assert!(settings.exists(), "of these only repositories are put aside while it runs");
    run.kill().unwrap();
    run.wait().unwrap();
    while (hook.exists() || settings.exists()) && Instant::now() < until {
        thread::sleep(Duration::from_millis(10));
    }
    assert!(!settings.exists() && arena.path("w/new/.claude.held-by-openoxide").exists());
    assert!(!hook.exists() && hook.with_extension("held-by-openoxide").exists());
}

/// Modes of files mean nothing to root.
#[test]
fn files_in_read_only_directories_are_quarantined() {
    let arena = Place::new("", is_root().then_some(1234));
    let plant = "mkdir a b; echo > a/.envrc; mkdir a/.claude; echo > a/.claude/settings.json; chmod 555 a; \
                 echo > b/.envrc; chmod 444 b; git init -q g; git -C g config core.fsmonitor x; \
                 echo > g/.git/hooks/update; chmod +x g/.git/hooks/update; chmod 555 g/.git/hooks g/.git g .";
    let arguments = ["sandbox", "run", "--", "sh", "-ec", plant];
    let output = arena.command(&arena.path("openoxide"), &arguments).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let mode = |name: &str| fs::metadata(arena.path(name)).unwrap().permissions().mode() & 0o777;
    let modes = ["w", "w/a", "w/b", "w/g", "w/g/.git"].map(mode);
    for name in ["w", "w/a", "w/b", "w/g", "w/g/.git", "w/g/.git/hooks"] {
        fs::set_permissions(arena.path(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let left = names(&arena.path("w"));
    assert_eq!(left, ["w/a", "w/b", "w/g"].map(|name| arena.path(name)), "{output:?}");
    let planted =
        ["w/a/.envrc", "w/a/.claude", "w/b/.envrc", "w/g/.git/config", "w/g/.git/hooks/update"];
    for name in planted {
        assert!(!arena.path(name).exists(), "{name}: {output:?}");
    }
    assert_eq!(modes, [0o555, 0o555, 0o444, 0o555, 0o555], "they are as the program left them");
}

/// Programs of the host can work in the project while a run lasts. Programs inside cannot change the
/// same names.
#[test]
fn placeholders_do_not_hinder_programs_of_the_host() {
    let arena = Arena::new_empty();
    let script = "echo started > started; while test ! -e go; do sleep 0.05; done; \
                  for name in .claude .vscode .idea .codex; do echo x > $name/x; done; \
                  rm -rf .claude .vscode; rmdir .idea; mv .codex .codex2; chmod 0 .agents; true";
    let mut run = arena.run(&[], &["sh", "-c", script]);
    let mut run = run.stderr(std::process::Stdio::null()).spawn().unwrap();
    while !arena.path("w/started").exists() {
        thread::sleep(Duration::from_millis(20));
    }
    let created = [".claude/settings.local.json", ".vscode/settings.json"];
    for name in created {
        fs::write(arena.path("w").join(name), "{\"mine\": 1}").unwrap();
    }
    let git = Command::new("git").args(["init", "-q"]).current_dir(arena.path("w")).status();
    assert!(git.unwrap().success());
    fs::write(arena.path("w/go"), "").unwrap();
    assert!(run.wait().unwrap().success());
    for name in created {
        assert_eq!(fs::read_to_string(arena.path("w").join(name)).unwrap(), "{\"mine\": 1}");
    }
    let git = Command::new("git").args(["status"]).current_dir(arena.path("w")).output();
    assert!(git.unwrap().status.success());
    let left = fs::read_dir(arena.path("w")).unwrap().map(|entry| entry.unwrap().file_name());
    let mut left: Vec<_> = left.map(|name| name.into_string().unwrap()).collect();
    left.sort();
    assert_eq!(left, [".claude", ".git", ".vscode", "go", "started"]);
}
