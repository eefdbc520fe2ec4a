//! What a commit keeps of files, and what happens to changes that cannot be made.

use std::{
    fs,
    os::unix::fs::{FileTypeExt as _, MetadataExt as _},
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use rustix::fs::{XattrFlags, getxattr, listxattr, setxattr};

use super::{ACCEPTS, Place};
use crate::{
    sandbox::is_root,
    support::{code, stderr},
};

/// The users that a test runs as.
fn users() -> Vec<Option<u32>> {
    if is_root() { vec![None, Some(1234)] } else { vec![None] }
}

fn attribute(path: &Path, name: &str) -> Option<Vec<u8>> {
    let mut value = vec![0; 99];
    let length = getxattr(path, name, value.as_mut_slice()).ok()?;
    value.truncate(length);
    Some(value)
}

/// Python has the system calls for attributes; `setfattr` is not installed everywhere.
fn set_attribute(path: &str, name: &str, value: &str) -> String {
    format!("python3 -c 'import os; os.setxattr(\"{path}\", \"{name}\", b\"{value}\")'\n")
}

#[test]
fn extended_attributes_are_kept() {
    for user in users() {
        let place = Place::new(ACCEPTS, user);
        place.seed();
        setxattr(place.path("w/bin"), "user.old", b"old", XattrFlags::empty()).unwrap();
        setxattr(place.path("w/tool.sh"), "user.gone", b"x", XattrFlags::empty()).unwrap();
        let script = [
            set_attribute("a.txt", "user.only", "1").as_str(),
            &set_attribute("bin", "user.new", "2"),
            "echo more >> bin; echo fresh > fresh; mkdir dir",
            "\n",
            &set_attribute("fresh", "user.fresh", "3"),
            &set_attribute("dir", "user.dir", "4"),
            &set_attribute("src", "user.src", "5"),
            "python3 -c 'import os; os.removexattr(\"tool.sh\", \"user.gone\")'; chmod 444 fresh",
        ]
        .concat();
        let output = place.run(&["--stage"], &script);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        for (file, name, value) in [
            ("w/a.txt", "user.only", "1"),
            ("w/bin", "user.old", "old"),
            ("w/bin", "user.new", "2"),
            ("w/fresh", "user.fresh", "3"),
            ("w/dir", "user.dir", "4"),
            ("w/src", "user.src", "5"),
        ] {
            let found = attribute(&place.path(file), name);
            assert_eq!(found.as_deref(), Some(value.as_bytes()), "{user:?} {file} {name}");
        }
        assert_eq!(attribute(&place.path("w/tool.sh"), "user.gone"), None);
        let mut names = vec![0; 999];
        let length = listxattr(place.path("w/dir"), names.as_mut_slice()).unwrap();
        assert_eq!(&names[..length], b"user.dir\0", "no attribute of the overlay");
    }
}

#[test]
fn holes_and_their_size_are_kept() {
    for user in users() {
        let place = Place::new(ACCEPTS, user);
        let script = "truncate -s 1G hole; printf middle | dd of=hole bs=1 seek=500000000 conv=notrunc \
                      status=none; truncate -s 1G empty; head -c 300000 /dev/urandom > full";
        let output = place.run(&["--stage"], script);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        for name in ["w/hole", "w/empty"] {
            let found = fs::metadata(place.path(name)).unwrap();
            assert_eq!(found.len(), 1 << 30, "{name}");
            assert!(found.blocks() < 1000, "{name} occupies {} blocks", found.blocks());
        }
        use std::os::unix::fs::FileExt as _;
        let mut middle = [0; 8];
        let file = fs::File::open(place.path("w/hole")).unwrap();
        file.read_exact_at(&mut middle, 499_999_999).unwrap();
        assert_eq!(&middle, b"\0middle\0");
        assert_eq!(fs::metadata(place.path("w/full")).unwrap().len(), 300_000);
    }
}

#[test]
fn named_pipes_odd_names_and_times_are_kept() {
    for user in users() {
        let place = Place::new(ACCEPTS, user);
        place.seed();
        let script = "umask 022; mkfifo -m 640 pipe; mkdir -p q; mkfifo q/inner; rm link; mkfifo link
            echo x > $'new\\nline'; echo y > ' '; echo z > -rf; touch -d 2001-02-03T04:05:06Z src/f1.c
            mkdir old; echo in > old/in; touch -d 2002-02-02T00:00:00Z old old/in
            ln -s nowhere dangling; touch -h -d 2003-03-03T00:00:00Z dangling";
        let output = place.run(&["--stage"], script);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        for (name, mode) in [("w/pipe", 0o640), ("w/q/inner", 0o644), ("w/link", 0o644)] {
            let found = place.path(name).symlink_metadata().unwrap();
            assert!(found.file_type().is_fifo(), "{name}");
            assert_eq!(found.mode() & 0o7777, mode, "{name}");
        }
        for (name, content) in [("w/new\nline", "x\n"), ("w/ ", "y\n"), ("w/-rf", "z\n")] {
            assert_eq!(fs::read_to_string(place.path(name)).unwrap(), content);
        }
        for (name, time) in [
            ("w/src/f1.c", 981_173_106),
            ("w/old", 1_012_608_000),
            ("w/old/in", 1_012_608_000),
            ("w/dangling", 1_046_649_600),
        ] {
            assert_eq!(place.path(name).symlink_metadata().unwrap().mtime(), time, "{name}");
        }
    }
}

/// Guards I37.
#[test]
fn changes_that_cannot_be_made_are_named_and_fail() {
    let bind = "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")'";
    for (script, reason) in [
        ("echo x > $'\\xff'", "is not valid UTF-8"),
        ("echo more > good; echo x > $'\\xff'", "is not valid UTF-8"),
        (bind, "is a socket or a device"),
    ] {
        let place = Place::new(ACCEPTS, None);
        let output = place.run(&["--stage"], script);
        let said = stderr(&output);
        assert_eq!(code(&output), 125, "{script}: {said}");
        assert!(said.contains("were not made") && said.contains(reason), "{script}: {said}");
        assert_eq!(place.path("w/good").exists(), script.contains("good"));
    }
}

/// Another program writes the same file during the run. Its content stays, and the run fails.
///
/// Guards I37.
#[test]
fn a_conflict_with_another_program_fails_and_is_named() {
    for (script, left) in [
        ("echo mine > a.txt; sleep 1; echo mine > b.txt", "a.txt"),
        ("rm a.txt; sleep 1", "a.txt"),
        ("mkdir a.txt.d; mv a.txt a.txt.d; sleep 1", "a.txt"),
        ("echo mine > a.txt; sleep 1", "a.txt"),
    ] {
        let place = Place::new(ACCEPTS, None);
        fs::write(place.path("w/a.txt"), "old\n").unwrap();
        let (done, file) = (AtomicBool::new(false), place.path("w/a.txt"));
        let output = thread::scope(|scope| {
            scope.spawn(|| {
                for number in 0.. {
                    if done.load(Ordering::Relaxed) {
                        break;
                    }
                    fs::write(&file, format!("theirs {number}\n")).unwrap();
                    thread::sleep(Duration::from_millis(5));
                }
            });
            let output = place.run(&["--stage"], script);
            done.store(true, Ordering::Relaxed);
            output
        });
        let said = stderr(&output);
        assert_eq!(code(&output), 125, "{script}: {said}");
        let line = said.lines().find(|line| line.contains(&format!("{left}` was changed by")));
        assert!(line.is_some(), "{script}: {said}");
        assert!(fs::read_to_string(&file).unwrap().starts_with("theirs"), "{script}");
        assert_eq!(place.path("w/b.txt").exists(), script.contains("b.txt"), "{script}");
    }
}

/// A change that another program has made in the same way needs nothing.
#[test]
fn the_same_change_by_another_program_is_no_conflict() {
    let place = Place::new(ACCEPTS, None);
    fs::write(place.path("w/a.txt"), "old\n").unwrap();
    let output = thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(700));
            fs::remove_file(place.path("w/a.txt")).unwrap();
        });
        place.run(&["--stage"], "rm a.txt; sleep 1.5")
    });
    assert_eq!(code(&output), 0, "{}", stderr(&output));
}
