//! The files of `/proc`: an ordinary user changes those of its own processes, and nothing else.

use std::fs;

use super::{is_root, staged::Place};
use crate::support::{stderr, stdout};

/// The files that a process can open for writing in its own directory (proc(5)).
/// - `attr`: security modules check the writer. They write only for the process itself.
/// - `mem`, `clear_refs`: a process can trace itself.
/// - `uid_map`, `gid_map`, `projid_map`, `timens_offsets`: opening is permitted, writing is not.
/// - `oom_score_adj`: lowering it needs a capability of the host, as a negative `autogroup` does.
const OWN_FILES: &[&str] = &[
    "attr",
    "autogroup",
    "clear_refs",
    "comm",
    "coredump_filter",
    "fail-nth",
    "gid_map",
    "latency",
    "loginuid",
    "make-it-fail",
    "mem",
    "oom_adj",
    "oom_score_adj",
    "projid_map",
    "sched",
    "timens_offsets",
    "timerslack_ns",
    "uid_map",
];

/// The files that can be opened in the directory of the first process inside: they are open to
/// all, and the kernel checks the writer.
const OPEN_TO_ALL: &[&str] = &["attr", "timerslack_ns"];

fn is_expected(path: &str) -> bool {
    let below = |directory: &str| {
        let rest = path.strip_prefix(directory)?;
        rest.split('/').next().map(str::to_owned)
    };
    let is_in = |directories: &[&str], names: &[&str]| {
        directories.iter().filter_map(|one| below(one)).any(|name| names.contains(&&*name))
    };
    is_in(&["/proc/self/task/self/", "/proc/self/"], OWN_FILES)
        || is_in(&["/proc/1/task/self/", "/proc/1/"], OPEN_TO_ALL)
}

/// Guards I34.
#[test]
fn only_the_own_processes_are_writable() {
    for mode in [&[][..], &["--live"], &["--stage"], &["--read-only"]] {
        let output = sweep(is_root().then_some(1234), mode);
        let parts: Vec<_> = output.split("--\n").collect();
        let unexpected: Vec<_> = parts[0].lines().filter(|path| !is_expected(path)).collect();
        assert!(unexpected.is_empty(), "{mode:?}: {unexpected:?}");
        assert_eq!(parts[1], "comm written named\noom_score_adj written 300\n", "{mode:?}");
        assert_eq!(parts[2], "", "{mode:?}");
    }
}

/// For root, the kernel gives the files of the first process inside to the program's user.
#[test]
fn nothing_is_writable_for_root() {
    if is_root() {
        let output = sweep(None, &[]);
        let expected = "\n--\ncomm OSError python3\noom_score_adj OSError 0\n--\n";
        assert_eq!(output, expected);
    }
}

fn sweep(user: Option<u32>, mode: &[&str]) -> String {
    let place = Place::new("", user);
    fs::write(place.path("w/proc_files.py"), include_str!("proc_files.py")).unwrap();
    let head = ["sandbox", "run", "--no-input"];
    let arguments = [&head, mode, &["--", "python3", "proc_files.py"]].concat();
    let output = place.command(&place.path("openoxide"), &arguments).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    stdout(&output)
}
