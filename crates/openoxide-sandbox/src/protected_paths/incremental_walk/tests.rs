use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    thread::sleep,
    time::{Duration, SystemTime},
};

use proptest::prelude::*;
use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::*;
use crate::protected_paths::{
    directory_scan::ScanResult, directory_snapshot::DirectorySnapshot,
    snapshot_cache::SnapshotCache,
};

/// The interval in which the kernel advances the time of a change is at most 10 ms.
const TICK: Duration = Duration::from_millis(12);

/// A change between two traversals. The numbers choose paths.
#[derive(Clone, Copy, Debug)]
enum Change {
    CreateFile(usize, usize),
    CreateDirectory(usize),
    Remove(usize),
    Rename(usize, usize),
    Exchange(usize, usize),
    ReplaceByLink(usize, usize),
    ReplaceByFile(usize),
    /// A file is created, and the time of its directory is set back.
    CreateFileAndResetTime(usize, usize),
    /// A directory is replaced by one with another file and the same time.
    ReplaceBySimilar(usize, usize),
    SetMode(usize),
}

fn change() -> impl Strategy<Value = Change> {
    let (one, other) = (0..1000_usize, 0..1000_usize);
    (0..10_u8, one, other).prop_map(|(kind, one, other)| match kind {
        0 => Change::CreateFile(one, other),
        1 => Change::CreateDirectory(one),
        2 => Change::Remove(one),
        3 => Change::Rename(one, other),
        4 => Change::Exchange(one, other),
        5 => Change::ReplaceByLink(one, other),
        6 => Change::ReplaceByFile(one),
        7 => Change::CreateFileAndResetTime(one, other),
        8 => Change::ReplaceBySimilar(one, other),
        _ => Change::SetMode(one),
    })
}

const NAMES: [&str; 6] = [".git", "HEAD", "hooks", "AGENTS.md", "main.rs", "a.txt"];

fn is_relevant(name: &OsStr) -> bool {
    matches!(name.to_str(), Some(".git" | "HEAD" | "hooks" | "AGENTS.md"))
}

/// The directories below the root, without following links.
fn directories(root: &Path) -> Vec<PathBuf> {
    let mut all = vec![root.to_owned()];
    let mut next = 0;
    while let Some(directory) = all.get(next).cloned() {
        let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
        let mut below: Vec<_> = entries
            .filter(|entry| entry.file_type().unwrap().is_dir())
            .map(|entry| entry.path())
            .collect();
        below.sort();
        all.extend(below);
        next += 1;
    }
    all
}

fn set_time(path: &Path, time: SystemTime) {
    fs::File::open(path).unwrap().set_modified(time).unwrap();
}

fn apply(root: &Path, change: Change) {
    let all = directories(root);
    let choose = |number: usize| all[number % all.len()].clone();
    let file = |number: usize| NAMES[number % NAMES.len()];
    let remove = |path: &Path| {
        if path != root {
            fs::remove_dir_all(path).unwrap();
        }
        path != root
    };
    match change {
        Change::CreateFile(at, name) => drop(fs::write(choose(at).join(file(name)), "")),
        Change::CreateDirectory(at) => {
            drop(fs::create_dir(choose(at).join(["d", "e", ".git", "f"][at % 4])));
        }
        Change::Remove(at) => drop(remove(&choose(at))),
        Change::Rename(from, to) => {
            drop(fs::rename(choose(from), choose(to).join(["moved", "d"][from % 2])));
        }
        Change::Exchange(one, other) => {
            let (one, other) = (choose(one), choose(other));
            _ = renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE);
        }
        Change::ReplaceByLink(at, to) => {
            let (at, to) = (choose(at), choose(to));
            if remove(&at) {
                drop(symlink(to, at));
            }
        }
        Change::ReplaceByFile(at) => {
            if remove(&choose(at)) {
                fs::write(choose(at), "").unwrap();
            }
        }
        Change::CreateFileAndResetTime(at, name) => {
            let time = fs::metadata(choose(at)).unwrap().modified().unwrap();
            drop(fs::write(choose(at).join(file(name)), ""));
            set_time(&choose(at), time);
        }
        Change::ReplaceBySimilar(at, name) => {
            let time = fs::metadata(choose(at)).unwrap().modified().unwrap();
            if remove(&choose(at)) {
                fs::create_dir(choose(at)).unwrap();
                fs::write(choose(at).join(file(name)), "").unwrap();
                set_time(&choose(at), time);
            }
        }
        Change::SetMode(at) => {
            fs::set_permissions(choose(at), fs::Permissions::from_mode(0o700)).unwrap();
        }
    }
}

/// The directories that a traversal finds, with their relevant names, and the next snapshot.
fn walk(
    root: &Path,
    known: DirectorySnapshot,
    newest_stamp: i64,
) -> (BTreeMap<PathBuf, BTreeSet<std::ffi::OsString>>, DirectorySnapshot) {
    let mut found = BTreeMap::new();
    let walk = IncrementalWalk {
        is_relevant: &|entry| is_relevant(entry.name),
        is_leaf: &|_| false,
        skips_objects: true,
        skipped_paths: &BTreeSet::new(),
        make_accessible: &|_| false,
        before_reading: None,
        is_cancelled: &|| false,
        newest_stamp,
    };
    let result = walk.run(root, known.tree(root), &mut |listing| {
        let names = listing.names.iter().cloned().collect();
        assert!(found.insert(listing.path.to_owned(), names).is_none(), "visited once");
    });
    assert_eq!(result.unsearched_directories, Vec::<PathBuf>::new());
    let update = [(root.to_owned(), result.visited)].into();
    (found, known.with_update(update))
}

fn root() -> (tempfile::TempDir, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().canonicalize().unwrap().join("root");
    for directory in ["a/b/c", "a/d", "e/f/g/h", "node_modules/x/y"] {
        fs::create_dir_all(root.join(directory)).unwrap();
    }
    (place, root)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// After any changes, a traversal that starts from a snapshot finds the same as one that lists
    /// everything.
    #[test]
    fn changes_are_found(steps in prop::collection::vec(prop::collection::vec(change(), 1..6), 1..6)) {
        let (_place, root) = root();
        let (_, mut snapshot) = walk(&root, DirectorySnapshot::default(), i64::MAX);
        for changes in steps {
            sleep(TICK);
            changes.iter().for_each(|change| apply(&root, *change));
            let (everything, _) = walk(&root, DirectorySnapshot::default(), i64::MAX);
            let (found, next) = walk(&root, snapshot, i64::MAX);
            prop_assert_eq!(found, everything);
            snapshot = next;
        }
    }
}

#[test]
fn unchanged_directories_are_not_listed_again() {
    let (_place, root) = root();
    let (_, first) = walk(&root, DirectorySnapshot::default(), i64::MAX);
    let count = first.directory_count();
    assert_eq!((count, first.new_stamps), (directories(&root).len(), count));
    sleep(TICK);
    fs::write(root.join("a/d/HEAD"), "").unwrap();
    let (found, second) = walk(&root, first, i64::MAX);
    assert_eq!((found.len(), second.new_stamps), (1, count + 1), "one was listed again");
}

/// A directory that changes in the same tick of the clock has the same times.
#[test]
fn directories_that_were_changed_recently_are_listed_again() {
    let (_place, root) = root();
    let mut known = DirectorySnapshot::default();
    for number in 0..40 {
        let first =
            ScanResult::scan(std::slice::from_ref(&root), [].into_iter(), &known, &|_| false);
        known = known.with_update(first.snapshot_update);
        fs::create_dir_all(root.join(format!("a/{number}/.git"))).unwrap();
        let second =
            ScanResult::scan(std::slice::from_ref(&root), [].into_iter(), &known, &|_| false);
        assert_eq!(second.dot_git_entries.len(), number + 1);
    }
}

#[test]
fn directories_that_were_left_out_are_searched_later() {
    let (_place, root) = root();
    fs::create_dir_all(root.join("a/b/c/.git")).unwrap();
    let all = |known: &DirectorySnapshot, left_out: &[PathBuf]| {
        ScanResult::scan(std::slice::from_ref(&root), left_out.iter(), known, &|_| false)
    };
    for left_out in [root.join("a"), root.join("a/b"), root.join("a/b/c/.git")] {
        let first = all(&DirectorySnapshot::default(), &[left_out]);
        let known = DirectorySnapshot::default().with_update(first.snapshot_update);
        assert_eq!(all(&known, &[]).dot_git_entries, [root.join("a/b/c/.git")]);
    }
}

/// Nothing hides a repository: neither many files and directories nor depth.
#[test]
fn repositories_are_found_beside_many_directories() {
    let (place, root) = root();
    (0..1_200).for_each(|number| fs::create_dir_all(root.join(format!("many/{number}"))).unwrap());
    let deep = root.join("many/1199").join("x/".repeat(60));
    fs::create_dir_all(deep.join(".git")).unwrap();
    let (found, snapshot) = walk(&root, DirectorySnapshot::default(), i64::MAX);
    assert_eq!(found.len(), 1);
    let cache = SnapshotCache::open(&place.path().join("registry")).unwrap();
    cache.store(&snapshot).unwrap();
    let loaded = cache.load(std::slice::from_ref(&root));
    assert_eq!(loaded.trees, snapshot.trees);
    sleep(TICK);
    fs::create_dir_all(root.join("many/700/new/.git")).unwrap();
    let (found, next) = walk(&root, loaded, i64::MAX);
    assert_eq!(found.len(), 2);
    assert_eq!(next.new_stamps, 3, "many/700, new, .git");
}

#[test]
fn damaged_snapshots_are_ignored() {
    let (place, root) = root();
    (0..100).for_each(|number| fs::create_dir_all(root.join(format!("many/{number}"))).unwrap());
    let (_, snapshot) = walk(&root, DirectorySnapshot::default(), i64::MAX);
    let registry = place.path().join("registry");
    let cache = SnapshotCache::open(&registry).unwrap();
    cache.store(&snapshot).unwrap();
    let directory = place.path().join("registry-directories");
    let file = fs::read_dir(&directory).unwrap().next().unwrap().unwrap().path();
    let whole = fs::read(&file).unwrap();
    let load = || cache.load(std::slice::from_ref(&root)).directory_count();
    assert_eq!(load(), snapshot.directory_count());
    for length in [0, 7, 8, 9, whole.len() - 1] {
        fs::write(&file, &whole[..length]).unwrap();
        assert_eq!(load(), 0, "{length}");
    }
    let mut changed = whole.clone();
    changed[whole.len() / 2] ^= 1;
    fs::write(&file, changed).unwrap();
    assert_eq!(load(), 0);
    fs::write(&file, &whole).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(load(), 0, "other users could have opened it");
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(SnapshotCache::open(&registry).is_none());
}
