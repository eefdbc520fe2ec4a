use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader},
    os::unix::fs::{PermissionsExt as _, symlink},
    process::{Child, Command, Stdio},
};

use super::*;

struct Place {
    directory: tempfile::TempDir,
    registry: PlaceholderRegistry,
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let registry = PlaceholderRegistry::open(
            &directory.path().canonicalize().unwrap().join("state/registry"),
        )
        .unwrap();
        fs::create_dir(directory.path().join("w")).unwrap();
        Self { directory, registry }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }

    fn guarded(&self, names: &[&str]) -> ProtectedPaths {
        let guard = |name: &&str| {
            let commondir = name.ends_with("commondir");
            let placeholder =
                if commondir { PlaceholderKind::File(".\n") } else { PlaceholderKind::Directory };
            let there = self.path(name).symlink_metadata().is_ok();
            (
                self.path(name),
                if there { GuardKind::Present } else { GuardKind::Missing(placeholder) },
            )
        };
        let guards: BTreeMap<_, _> = names.iter().map(guard).collect();
        ProtectedPaths { guards, ..ProtectedPaths::default() }
    }

    fn hold(&self, names: &[&str]) -> PlaceholderLease {
        self.registry.create_placeholders(&self.guarded(names)).unwrap()
    }

    /// Returns all names below the directory, with their types.
    fn all(&self) -> Vec<String> {
        let mut open = vec![self.path("")];
        let mut found = Vec::new();
        while let Some(directory) = open.pop() {
            for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
                if entry.file_type().unwrap().is_dir() {
                    open.push(entry.path());
                }
                found.push(entry.path().strip_prefix(self.path("")).unwrap().display().to_string());
            }
        }
        found.retain(|name| !["w", "state", "state/registry"].contains(&name.as_str()));
        found.sort();
        found
    }

    /// Starts another process that holds these names until it is killed.
    fn other(&self, names: &str) -> Child {
        let mut other = Command::new(std::env::current_exe().unwrap());
        other.args([
            "--exact",
            "protected_paths::placeholder_registry::tests::another_process",
            "--nocapture",
            "--ignored",
        ]);
        other.env("OPENOXIDE_TEST_PLACE", self.path("")).env("OPENOXIDE_TEST_NAMES", names);
        let mut other = other.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(other.stdout.as_mut().unwrap()).lines();
        assert!(lines.map(Result::unwrap).any(|line| line.contains("it holds")), "{names}");
        other
    }
}

fn kill(mut process: Child) {
    process.kill().unwrap();
    process.wait().unwrap();
}

#[test]
#[ignore = "the other process of the tests below"]
fn another_process() {
    let (Some(place), Ok(names)) =
        (std::env::var_os("OPENOXIDE_TEST_PLACE"), std::env::var("OPENOXIDE_TEST_NAMES"))
    else {
        return;
    };
    let place = PathBuf::from(place);
    let registry = PlaceholderRegistry::open(&place.join("state/registry")).unwrap();
    let guard = |name: &str| (place.join(name), GuardKind::Missing(PlaceholderKind::Directory));
    let guards = names.split(' ').map(guard).collect();
    let _held = registry
        .create_placeholders(&ProtectedPaths { guards, ..ProtectedPaths::default() })
        .unwrap();
    println!("it holds");
    std::thread::park();
}

#[test]
fn placeholders_are_there_for_a_run_and_nothing_is_left() {
    let place = Place::new();
    let held = place.hold(&["w/.codex", "w/commondir"]);
    assert_eq!(fs::metadata(place.path("w/.codex")).unwrap().permissions().mode() & 0o7777, 0o755);
    assert_eq!(fs::read_to_string(place.path("w/commondir")).unwrap(), ".\n");
    held.release().unwrap();
    assert_eq!(place.all(), Vec::<String>::new());
}

#[test]
fn without_placeholders_nothing_is_written() {
    let place = Place::new();
    fs::create_dir(place.path("w/.git")).unwrap();
    fs::write(place.path("w/.git/HEAD"), "").unwrap();
    let held = place.hold(&["w/.git"]);
    assert_eq!(place.all(), ["w/.git", "w/.git/HEAD"]);
    held.release().unwrap();
}

#[test]
fn of_two_runs_the_last_takes_them_away() {
    let place = Place::new();
    let first = place.hold(&["w/.codex", "w/.agents"]);
    let second = place.hold(&["w/.codex"]);
    first.release().unwrap();
    assert!(place.path("w/.codex").is_dir());
    assert!(!place.path("w/.agents").exists());
    second.release().unwrap();
    assert_eq!(place.all(), Vec::<String>::new());
}

#[test]
fn a_placeholder_removed_after_the_scan_is_recreated() {
    let place = Place::new();
    let first = place.hold(&["w/.codex"]);
    let guarded = place.guarded(&["w/.codex"]);
    assert_eq!(guarded.guards[&place.path("w/.codex")], GuardKind::Present);
    first.release().unwrap();
    let second = place.registry.create_placeholders(&guarded).unwrap();
    assert!(place.path("w/.codex").is_dir());
    second.release().unwrap();
    assert_eq!(place.all(), Vec::<String>::new());
}

/// Guards I38.
#[test]
fn stale_placeholders_are_removed_unless_another_run_uses_them() {
    let place = Place::new();
    let (killed, alive) = (place.other("w/.codex w/.agents"), place.other("w/.codex"));
    kill(killed);
    place.registry.remove_stale().unwrap();
    assert!(place.path("w/.codex").is_dir());
    assert!(!place.path("w/.agents").exists());
    let joined = place.hold(&["w/.codex"]);
    kill(alive);
    place.registry.remove_stale().unwrap();
    assert!(place.path("w/.codex").is_dir());
    joined.release().unwrap();
    assert_eq!(place.all(), Vec::<String>::new());
}

#[test]
fn a_run_that_is_killed_at_any_moment_leaves_nothing_that_is_not_swept() {
    let place = Place::new();
    for round in 0..20 {
        let mut other = Command::new(std::env::current_exe().unwrap());
        other
            .args([
                "--exact",
                "protected_paths::placeholder_registry::tests::another_process",
                "--nocapture",
                "--ignored",
            ])
            .stdout(Stdio::null());
        let names: Vec<_> = (0..200).map(|number| format!("w/{number}")).collect();
        other
            .env("OPENOXIDE_TEST_PLACE", place.path(""))
            .env("OPENOXIDE_TEST_NAMES", names.join(" "));
        let other = other.spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_micros(1500 * (round + 1)));
        kill(other);
        place.registry.remove_stale().unwrap();
        assert_eq!(place.all(), Vec::<String>::new(), "round {round}");
    }
}

/// Guards I38.
#[test]
fn only_unchanged_empty_placeholders_are_removed() {
    let place = Place::new();
    let names = ["w/used", "w/replaced", "w/gone", "w/link/x", "w/file/commondir"];
    fs::create_dir(place.path("w/link")).unwrap();
    fs::create_dir(place.path("w/file")).unwrap();
    let held = place.hold(&names);
    fs::write(place.path("w/used/mine"), "").unwrap();
    fs::remove_dir(place.path("w/replaced")).unwrap();
    fs::create_dir(place.path("w/other")).unwrap();
    fs::rename(place.path("w/other"), place.path("w/replaced")).unwrap();
    fs::remove_dir(place.path("w/gone")).unwrap();
    // The directory above is now a link to the directory to which the placeholder was moved.
    fs::rename(place.path("w/link"), place.path("w/moved")).unwrap();
    symlink("moved", place.path("w/link")).unwrap();
    fs::remove_file(place.path("w/file/commondir")).unwrap();
    fs::write(place.path("w/file/commondir"), "..").unwrap();
    held.release().unwrap();
    let left = [
        "w/file",
        "w/file/commondir",
        "w/link",
        "w/moved",
        "w/moved/x",
        "w/replaced",
        "w/used",
        "w/used/mine",
    ];
    assert_eq!(place.all(), left);
}

#[test]
fn a_placeholder_file_stays_if_another_program_has_written_into_it() {
    let place = Place::new();
    let guard =
        |name: &str, text| (place.path(name), GuardKind::Missing(PlaceholderKind::File(text)));
    let guards = BTreeMap::from([
        guard("w/unused.json", "{}"),
        guard("w/written.json", "{}"),
        guard("w/same.json", "{}"),
        guard("w/mode.json", "{}"),
        guard("w/replaced", ""),
    ]);
    let guarded = ProtectedPaths { guards, ..ProtectedPaths::default() };
    let held = place.registry.create_placeholders(&guarded).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    fs::write(place.path("w/written.json"), "{\"a\": 1}").unwrap();
    fs::write(place.path("w/same.json"), "{}").unwrap();
    fs::set_permissions(place.path("w/mode.json"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(place.path("w/new"), "").unwrap();
    fs::rename(place.path("w/new"), place.path("w/replaced")).unwrap();
    held.release().unwrap();
    assert_eq!(place.all(), ["w/mode.json", "w/replaced", "w/same.json", "w/written.json"]);
}

#[test]
fn an_entry_that_was_tampered_with_removes_nothing_but_empty_directories_of_that_mode() {
    let place = Place::new();
    for name in ["w/empty", "w/full/x"] {
        fs::create_dir_all(place.path(name)).unwrap();
    }
    fs::write(place.path("w/text"), "a").unwrap();
    let lines = ["w/empty", "w/full", "w/text", "w/none"]
        .map(|name| format!("- - - - {}\0", place.path(name).display()));
    let garbage = "1 2 3 4 relative\0\0x\0- - - -\0 / \0- - /old/form\0";
    fs::write(place.path("state/registry/1-0"), format!("{}{garbage}", lines.concat())).unwrap();
    place.registry.remove_stale().unwrap();
    assert_eq!(place.all(), ["w/empty", "w/full", "w/full/x", "w/text"]);
}

#[test]
fn a_registry_that_others_can_write_is_refused() {
    let place = Place::new();
    let path = place.path("state/registry");
    for mode in [0o770, 0o707, 0o750] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(
            PlaceholderRegistry::open(&path).unwrap_err().kind(),
            ErrorKind::PermissionDenied
        );
    }
    symlink(&path, place.path("state/link")).unwrap();
    assert!(PlaceholderRegistry::open(&place.path("state/link")).is_err());
}

#[test]
fn where_a_placeholder_cannot_be_made_nothing_is_left() {
    let place = Place::new();
    let guards = BTreeMap::from([
        (place.path("w/a"), GuardKind::Missing(PlaceholderKind::Directory)),
        (place.path("w/none/b"), GuardKind::Missing(PlaceholderKind::Directory)),
    ]);
    assert!(
        place
            .registry
            .create_placeholders(&ProtectedPaths { guards, ..ProtectedPaths::default() })
            .is_err()
    );
    assert_eq!(place.all(), Vec::<String>::new());
}
