//! Changes by other processes to a workspace between a run and its commit. The tests create the
//! contents of the upper directory themselves, in the form that an overlay uses.

use std::{
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink},
    path::PathBuf,
};

use openoxide_protocol::{AbsPath, SandboxRestrictions};
use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::staging::{
    change_contents::ChangeContents as _,
    commit_result::CommitResult,
    stage_directory::{self, OverlayLayer, remove_stale},
    staged_change::{SkippedChange, StagedChange, StagedChanges},
    staging_area::StagingArea,
};

struct World {
    directory: tempfile::TempDir,
}

impl World {
    /// Creates a workspace with a few new files.
    fn new() -> Self {
        let world = Self { directory: tempfile::tempdir().unwrap() };
        fs::create_dir_all(world.path("w/d")).unwrap();
        fs::create_dir_all(world.path("outside")).unwrap();
        for name in ["w/a", "w/b", "w/d/c", "outside/c"] {
            fs::write(world.path(name), "old").unwrap();
        }
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }

    fn absolute(&self, name: &str) -> AbsPath {
        AbsPath::new(self.path(name).to_str().unwrap()).unwrap()
    }

    fn profile(&self) -> SandboxRestrictions {
        SandboxRestrictions {
            writable: [self.absolute("w")].into(),
            ..SandboxRestrictions::default()
        }
    }

    /// Stages these files, each with its content. Files without content are staged as removed.
    fn stage(&self, files: &[(&str, Option<&str>)]) -> StagingArea {
        let stage = StagingArea::prepare(&self.absolute("registry"), &self.profile()).unwrap();
        for (name, content) in files {
            let path = upper(&stage).join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            match content {
                Some(text) => fs::write(path, text).unwrap(),
                None => mknodat(CWD, path, FileType::CharacterDevice, Mode::empty(), 0).unwrap(),
            }
        }
        stage
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }
}

fn upper(stage: &StagingArea) -> PathBuf {
    OverlayLayer::new(stage.directory.path(), 0).upper
}

fn paths(changes: &StagedChanges) -> Vec<String> {
    let name = |change: &StagedChange| change.relative_path.to_string_lossy().into_owned();
    changes.changes.iter().map(name).collect()
}

fn left(left_out: &[SkippedChange]) -> Vec<&str> {
    left_out.iter().map(|left| left.path.rsplit('/').next().unwrap()).collect()
}

#[test]
fn committing_creates_changes_and_removes_files() {
    let world = World::new();
    let stage = world.stage(&[("a", Some("new")), ("b", None), ("d/e", Some("made"))]);
    let changes = stage.find_changes().unwrap();
    assert_eq!(paths(&changes), ["a", "b", "d/e"]);
    assert_eq!(stage.find_changes().unwrap(), changes, "a look changes nothing");
    assert_eq!(stage.read_before(&changes.changes[0], 2).unwrap(), b"ol");
    assert_eq!(stage.read_after(&changes.changes[0], 9).unwrap(), b"new");
    assert_eq!(stage.commit(&changes).unwrap(), CommitResult::default());
    assert_eq!((world.read("w/a"), world.read("w/d/e")), ("new".to_owned(), "made".to_owned()));
    assert!(!world.path("w/b").exists());
    assert_eq!(stage.find_changes().unwrap().changes, []);
}

#[test]
fn dropping_it_leaves_nothing() {
    let world = World::new();
    let stage = world.stage(&[("a", Some("new")), ("deep/er/x", Some(""))]);
    fs::set_permissions(upper(&stage).join("deep/er"), fs::Permissions::from_mode(0o000)).unwrap();
    let place = stage.directory.path().to_owned();
    assert_eq!(fs::metadata(&place).unwrap().mode() & 0o777, 0o700);
    drop(stage);
    assert!(!place.exists());
    assert_eq!(world.read("w/a"), "old");
}

#[test]
fn files_changed_by_others_during_the_run_are_left() {
    let world = World::new();
    let stage =
        world.stage(&[("a", Some("new")), ("b", None), ("d/c", Some("new")), ("n", Some("new"))]);
    for name in ["w/a", "w/b", "w/n"] {
        fs::write(world.path(name), "mine").unwrap();
    }
    let changes = stage.find_changes().unwrap();
    assert_eq!(paths(&changes), ["d/c"]);
    assert_eq!(left(&changes.skipped), ["a", "b", "n"]);
    assert_eq!(stage.commit(&changes).unwrap(), CommitResult::default());
    assert_eq!((world.read("w/a"), world.read("w/d/c")), ("mine".to_owned(), "new".to_owned()));
}

#[test]
fn a_directory_that_others_use_meanwhile_is_not_removed() {
    let world = World::new();
    let stage = world.stage(&[("d", None)]);
    let changes = stage.find_changes().unwrap();
    assert_eq!(paths(&changes), ["d", "d/c"]);
    fs::write(world.path("w/d/mine"), "mine").unwrap();
    assert_eq!(left(&stage.find_changes().unwrap().skipped), ["d"]);
    assert_eq!(left(&stage.commit(&changes).unwrap().skipped), ["d"]);
    assert_eq!(world.read("w/d/mine"), "mine");
}

/// Programs can set modification times back, but not the time of the last change (`ctime`).
#[test]
fn a_changed_file_with_old_times_is_left() {
    let world = World::new();
    let times = fs::metadata(world.path("w/a")).unwrap().modified().unwrap();
    let stage = world.stage(&[("a", Some("new"))]);
    fs::write(world.path("w/a"), "bad").unwrap();
    fs::File::options().write(true).open(world.path("w/a")).unwrap().set_modified(times).unwrap();
    assert_eq!(left(&stage.find_changes().unwrap().skipped), ["a"]);
}

/// Guards I37.
#[test]
fn files_that_differ_from_the_shown_state_are_left() {
    let world = World::new();
    let all = [("a", Some("new")), ("b", None), ("d/c", Some("new")), ("n", Some("new"))];
    let stage = world.stage(&all);
    let changes = stage.find_changes().unwrap();
    assert_eq!(paths(&changes), ["a", "b", "d/c", "n"]);
    fs::write(world.path("w/a"), "mine").unwrap();
    fs::write(world.path("w/b"), "mine").unwrap();
    fs::remove_file(world.path("w/d/c")).unwrap();
    fs::write(world.path("w/n"), "mine").unwrap();
    let committed = stage.commit(&changes).unwrap();
    let mut names = left(&committed.skipped);
    names.sort_unstable();
    assert_eq!(names, ["a", "b", "c", "n"]);
    let read = ["w/a", "w/b", "w/n"].map(|name| world.read(name));
    assert_eq!(read, ["mine", "mine", "mine"]);
    assert!(!world.path("w/d/c").exists());
    let temporary = fs::read_dir(world.path("w")).unwrap().count();
    assert_eq!(temporary, 4, "nothing of ours is left: a, b, d, n");
}

/// Guards I37.
#[test]
fn no_link_leads_a_commit_elsewhere() {
    let world = World::new();
    let stage = world.stage(&[("d/c", Some("new")), ("d/n", Some("new")), ("a", Some("new"))]);
    let changes = stage.find_changes().unwrap();
    fs::rename(world.path("w/d"), world.path("w/moved")).unwrap();
    symlink(world.path("outside"), world.path("w/d")).unwrap();
    fs::remove_file(world.path("w/a")).unwrap();
    symlink(world.path("outside/c"), world.path("w/a")).unwrap();
    let committed = stage.commit(&changes).unwrap();
    assert_eq!(committed.skipped.len(), 3, "{committed:?}");
    assert_eq!((world.read("outside/c"), world.read("w/moved/c")), ("old".into(), "old".into()));
    assert!(!world.path("outside/n").exists() && world.path("w/a").is_symlink());
}

#[test]
fn the_workspace_is_the_directory_that_it_was() {
    let world = World::new();
    let stage = world.stage(&[("a", Some("new")), ("n", Some("new"))]);
    let changes = stage.find_changes().unwrap();
    fs::rename(world.path("w"), world.path("was")).unwrap();
    symlink(world.path("outside"), world.path("w")).unwrap();
    drop(stage.commit(&changes));
    assert!(!world.path("outside/n").exists() && !world.path("outside/a").exists());
}

#[test]
fn other_hard_links_of_a_changed_file_keep_their_content() {
    let world = World::new();
    fs::hard_link(world.path("outside/c"), world.path("w/h")).unwrap();
    let stage = world.stage(&[("h", Some("new"))]);
    let changes = stage.find_changes().unwrap();
    assert_eq!(stage.commit(&changes).unwrap(), CommitResult::default());
    assert_eq!((world.read("w/h"), world.read("outside/c")), ("new".into(), "old".into()));
}

/// Guards I37.
#[test]
fn protected_files_are_never_committed() {
    let world = World::new();
    fs::create_dir_all(world.path("w/sub/.git/hooks")).unwrap();
    fs::create_dir_all(world.path("w/sub/.git/objects")).unwrap();
    fs::create_dir_all(world.path("w/sub/.git/refs")).unwrap();
    for name in ["HEAD", "config"] {
        fs::write(world.path(&format!("w/sub/.git/{name}")), "ref: refs/heads/m\n").unwrap();
    }
    let steering = [".claude/settings.json", "sub/.git/hooks/pre-commit", "sub/.git/config", "x"];
    let stage = StagingArea {
        profile: SandboxRestrictions {
            protected: [world.absolute("w/.claude")].into(),
            ..world.profile()
        },
        ..world.stage(&steering.map(|name| (name, Some("evil"))))
    };
    let changes = stage.find_changes().unwrap();
    // What steers git is shown, and held when it is committed.
    let shown = ["sub/.git/config", "sub/.git/hooks/pre-commit", "x"];
    assert_eq!(paths(&changes), shown, "{:?}", changes.skipped);
    let forged = StagedChanges { changes: world.forged(&steering, &changes), ..changes };
    let committed = stage.commit(&forged).unwrap();
    assert_eq!((committed.skipped.len(), committed.findings.len()), (2, 2), "{committed:?}");
    assert!(!world.path("w/.claude").exists());
    assert!(!world.path("w/sub/.git/hooks/pre-commit").exists());
    let config = fs::read_to_string(world.path("w/sub/.git/config")).unwrap();
    assert_eq!(config, "ref: refs/heads/m\n");
}

impl World {
    /// Returns changes as if the comparison had missed that these paths are protected.
    fn forged(&self, names: &[&str], of: &StagedChanges) -> Vec<StagedChange> {
        let one = |name: &&str| StagedChange {
            path: self.absolute(&format!("w/{name}")),
            relative_path: name.into(),
            ..of.changes[0].clone()
        };
        names.iter().map(one).collect()
    }
}

#[test]
fn set_id_bits_are_not_committed() {
    let world = World::new();
    let stage = world.stage(&[("n", Some("new"))]);
    fs::set_permissions(upper(&stage).join("n"), fs::Permissions::from_mode(0o6755)).unwrap();
    stage.commit(&stage.find_changes().unwrap()).unwrap();
    assert_eq!(fs::metadata(world.path("w/n")).unwrap().mode() & 0o7777, 0o755);
}

#[test]
fn new_hooks_of_a_new_repository_are_quarantined() {
    let world = World::new();
    let files = ["HEAD", "objects/x", "refs/x", "hooks/pre-commit"];
    let files = files.map(|name| format!("new/.git/{name}"));
    let staged: Vec<_> =
        files.iter().map(|name| (name.as_str(), Some("ref: refs/heads/m\n"))).collect();
    let stage = world.stage(&staged);
    let hook = upper(&stage).join("new/.git/hooks/pre-commit");
    fs::set_permissions(hook, fs::Permissions::from_mode(0o755)).unwrap();
    let committed = stage.commit(&stage.find_changes().unwrap()).unwrap();
    assert_eq!(committed.findings.len(), 1, "{committed:?}");
    assert!(world.path("w/new/.git/hooks/pre-commit.held-by-openoxide").exists());
}

#[test]
fn only_directories_are_staged_and_none_that_holds_the_place() {
    let world = World::new();
    let refused = |writable: AbsPath| {
        let profile =
            SandboxRestrictions { writable: [writable].into(), ..SandboxRestrictions::default() };
        StagingArea::prepare(&world.absolute("registry"), &profile).unwrap_err().to_string()
    };
    assert!(refused(world.absolute("w/a")).contains("is not a directory"));
    assert!(refused(world.absolute("")).contains("own state"));
}

#[test]
fn places_of_runs_that_go_on_are_not_swept() {
    let world = World::new();
    let stage = world.stage(&[("a", Some("new"))]);
    let abandoned = stage.directory.path().with_file_name("1-0");
    fs::create_dir_all(abandoned.join("0/upper/x")).unwrap();
    remove_stale(&world.path("registry")).unwrap();
    assert!(stage.directory.path().exists() && !abandoned.exists());
}

/// The example of proc_pid_mountinfo(5), and a name with a space.
#[test]
fn mounts_are_read_as_the_kernel_writes_them() {
    let lines = b"36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue\n\
        37 36 98:1 / /a\\040b\\134c rw - tmpfs none rw\n";
    let points: Vec<_> = stage_directory::parse_mount_points(lines).collect();
    assert_eq!(points, [PathBuf::from("/mnt2"), PathBuf::from("/a b\\c")]);
}
