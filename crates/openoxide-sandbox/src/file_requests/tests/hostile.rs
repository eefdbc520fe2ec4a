//! Tests of programs that try to change more than was approved.

use super::*;

/// These requests are never reviewed: they are refused as in a run without reviews.
///
/// Guards I23.
#[test]
fn restricted_files_are_never_offered_for_review() {
    let arena = Arena::new();
    for name in ["secret/key", "w/.git/config", "state/x", "out/suid", "out/there", "w/inside"] {
        fs::write(arena.path(name), "before").unwrap();
    }
    fs::set_permissions(arena.path("out/suid"), fs::Permissions::from_mode(0o4755)).unwrap();
    symlink(arena.path("w/.git/config"), arena.path("out/to-git")).unwrap();
    symlink(arena.path("secret/key"), arena.path("out/to-key")).unwrap();
    symlink(arena.path("out/nowhere"), arena.path("out/dangling")).unwrap();
    fs::hard_link(arena.path("w/.git/config"), arena.path("out/other-name")).unwrap();
    let outcome = arena.script(
        "for f in .git/config .git/new ../secret/key ../secret/new ../state/x ../state/registry/x ../state/new OUT/suid OUT/to-git OUT/to-key \
            OUT/dangling /proc/self/comm /proc/sys/kernel/core_pattern /sys/kernel/uevent_seqnum /dev/new OUT/../w/.git/config \
            /proc/self/root/OUT/there /proc/self/cwd/../out/there; do echo after > $f; done\n\
         mkdir .git/d ../secret/d ../state/d /proc/d; rm -f .git/config ../secret/key; mv .git/config OUT/x; mv OUT/there .git/x\n\
         ln OUT/there OUT/l; ln -s a OUT/s; chmod 777 OUT/there; touch -d 2000-01-01 OUT/there; truncate -s 0 OUT/suid; rm -r OUT/../secret\n\
         mv OUT/sub OUT/sub2; mknod OUT/p p; echo a > inside; echo b > /tmp/own; mkdir sub/own; exit 0",
        YES,
    );
    // `touch` opens the file whose times it changes. `mv` between mounts copies the file itself.
    let allowed = [
        "Write out/there",
        "Write out/x",
        "Remove out/there",
        "Link out/there out/l",
        "MakeSymlink out/s out/a",
        "SetMode out/there",
        "SetTimes out/there",
        "Rename out/sub out/sub2",
        "MakePipe out/p",
    ];
    let asked = arena.asked(&outcome);
    assert!(asked.iter().all(|one| allowed.contains(&one.as_str())), "{asked:#?} {outcome:?}");
    for name in ["secret/key", "w/.git/config", "state/x", "out/suid"] {
        assert_eq!(arena.read(name), "before", "{outcome:?}");
    }
    assert_eq!(arena.read("w/inside"), "a\n");
    assert!(arena.path("w/sub/own").is_dir() && !arena.path("out/nowhere").exists());
    for name in ["w/.git/new", "w/.git/d", "secret/new", "secret/d", "state/new", "state/d"] {
        assert!(!arena.path(name).exists(), "{name} {outcome:?}");
    }
}

fn only(name: &'static str) -> impl Fn(&RequestedChange) -> RuntimeDecision {
    move |change| {
        let fine = change.path.as_str().contains(name) && change.target.is_none();
        if fine { RuntimeDecision::AllowedByRule } else { RuntimeDecision::DeniedByRule }
    }
}

/// While one thread opens a path, other threads replace it in memory.
/// Guards I23.
#[test]
fn a_path_that_changes_under_a_call_opens_no_other_file() {
    let arena = Arena::new();
    for name in ["out/yes", "out/not", "w/.git/yes", "w/own", "secret/yes"] {
        fs::write(arena.path(name), "").unwrap();
    }
    let outcome = arena.python(
        r#"
import ctypes, os, threading, time
libc = ctypes.CDLL(None, use_errno=True)
paths = [path.encode() for path in ('OUT/yes', 'OUT/not', os.path.abspath('.git/yes'), os.path.abspath('own'), 'BASE/secret/yes')]
shared = ctypes.create_string_buffer(4096)
def swap():
    while True:
        for path in paths: ctypes.memmove(shared, path + b'\0', len(path) + 1)
threading.Thread(target=swap, daemon=True).start()
end, tries, got = time.time() + 4, 0, 0
while time.time() < end:
    fd = libc.open(shared, os.O_WRONLY | os.O_APPEND)
    tries += 1
    if fd >= 0: os.write(fd, b'x'); os.close(fd); got += 1
print(tries, got)
"#,
        only("/out/yes"),
    );
    let numbers: Vec<u64> =
        outcome.output.split_whitespace().map(|number| number.parse().unwrap()).collect();
    let length = |name: &str| fs::metadata(arena.path(name)).unwrap().len();
    assert_eq!(
        [length("out/not"), length("w/.git/yes"), length("secret/yes")],
        [0; 3],
        "{outcome:?}"
    );
    assert!(
        numbers[0] > 300 && length("out/yes") > 20 && length("w/own") > 20,
        "no race: {outcome:?}"
    );
    assert_eq!(length("out/yes") + length("w/own"), numbers[1], "{outcome:?}");
}

/// While one process opens, creates and removes files through links in a writable directory,
/// another process changes the links.
/// Guards I23.
#[test]
fn links_that_are_turned_under_a_call_lead_to_no_other_file() {
    let arena = Arena::new();
    for name in ["out/yes", "out/not"] {
        fs::create_dir_all(arena.path(name)).unwrap();
        fs::write(arena.path(name).join("f"), "").unwrap();
    }
    fs::write(arena.path("out/not/d"), "").unwrap();
    fs::write(arena.path("w/.git/f"), "").unwrap();
    fs::write(arena.path("secret/f"), "").unwrap();
    let outcome = arena.python(
        r#"
import os, time
places = ['OUT/yes', 'OUT/not', os.path.abspath('.git'), 'BASE/secret']
end = time.time() + 4
if os.fork() == 0:
    while time.time() < end:
        for place in places: os.symlink(place, 'new'); os.rename('new', 'link'); os.symlink(place + '/f', 'new'); os.rename('new', 'file')
    os._exit(0)
done = [0] * 4
def of(at, call, *rest):
    global done
    try: call(*rest); done[at] += 1
    except OSError: pass
def put(path):
    with open(path, 'a') as f: f.write('x')
while time.time() < end: of(0, put, 'file'); of(1, put, 'link/f'); of(2, put, 'link/d'); of(3, os.unlink, 'link/d')
print(*done)
"#,
        only("/out/yes/"),
    );
    for name in ["out/not/f", "out/not/d", "w/.git/f", "secret/f"] {
        assert_eq!(fs::metadata(arena.path(name)).unwrap().len(), 0, "{name} {outcome:?}");
    }
    assert!(!arena.path("w/.git/d").exists() && !arena.path("secret/d").exists(), "{outcome:?}");
    let done: Vec<u64> =
        outcome.output.split_whitespace().map(|one| one.parse().unwrap()).collect();
    assert!(done.iter().all(|done| *done > 5), "no race: {outcome:?}");
}

/// Guards I23.
#[test]
fn a_change_is_dropped_if_its_program_was_killed() {
    let arena = Arena::new();
    let outcome =
        arena.script("sh -c 'echo x > OUT/late' & sleep 0.5; kill -9 $!; wait; echo go on", |_| {
            std::thread::sleep(std::time::Duration::from_millis(1200));
            RuntimeDecision::Session
        });
    assert!(outcome.output.ends_with("go on\n") && arena.gone.get(), "{outcome:?}");
    assert!(!arena.path("out/late").exists(), "{outcome:?}");
}

#[test]
fn requests_count_the_other_links_of_a_file() {
    let arena = Arena::new();
    fs::write(arena.path("out/one"), "").unwrap();
    fs::hard_link(arena.path("out/one"), arena.path("out/two")).unwrap();
    let outcome = arena.script("echo x > OUT/one; echo y > OUT/new", YES);
    let names: Vec<_> = outcome.asked.iter().map(|change| change.other_links).collect();
    assert_eq!(names, [1, 0], "{outcome:?}");
}

/// A path of the profile is not offered for review, neither by its own name nor by another one
/// through a bind mount of the host.
///
/// Guards I23.
#[test]
fn a_path_of_the_profile_is_not_offered_through_a_bind_mount() {
    if !rustix::process::geteuid().is_root() {
        return; // Only root can mount.
    }
    // In a private mount namespace, which other processes do not see.
    let test = "file_requests::tests::hostile::another_name";
    let mut command = Command::new("unshare");
    command.args(["-m", "--propagation", "private"]).arg(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--ignored"]).env(OWN_MOUNTS, "");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

const OWN_MOUNTS: &str = "OPENOXIDE_TEST_OWN_MOUNTS";

#[test]
#[ignore = "mounts, started by another test"]
fn another_name() {
    if std::env::var_os(OWN_MOUNTS).is_none() {
        return;
    }
    let arena = Arena::new();
    fs::create_dir(arena.path("alias")).unwrap();
    fs::write(arena.path("w/.git/f"), "before").unwrap();
    let mut mount = Command::new("mount");
    mount.arg("--bind").arg(arena.path("w")).arg(arena.path("alias"));
    assert!(mount.status().unwrap().success());
    let script = "echo x > BASE/alias/.git/f; echo x > BASE/alias/new; echo x > OUT/new; true";
    let outcome = arena.script(script, YES);
    assert_eq!(arena.asked(&outcome), ["Write out/new"], "{outcome:?}");
    assert_eq!(arena.read("w/.git/f"), "before");
    assert!(!arena.path("w/new").exists());
    assert!(Command::new("umount").arg(arena.path("alias")).status().unwrap().success());
}

/// Files of other users are not offered for review, even if root could write them.
#[test]
fn files_of_other_users_are_not_offered() {
    let arena = Arena::new();
    fs::write(arena.path("out/theirs"), "").unwrap();
    fs::create_dir(arena.path("out/their")).unwrap();
    for name in ["out/theirs", "out/their"] {
        fs::set_permissions(arena.path(name), fs::Permissions::from_mode(0o777)).unwrap();
        if std::os::unix::fs::chown(arena.path(name), Some(1234), None).is_err() {
            return; // Only root can.
        }
    }
    let outcome = arena.script(
        "echo x > OUT/theirs; echo x > OUT/their/new; mkdir OUT/their/d; mv OUT/theirs OUT/mine; rm -f OUT/theirs; true",
        YES,
    );
    assert_eq!(arena.asked(&outcome), Vec::<String>::new(), "{outcome:?}");
    assert_eq!(arena.read("out/theirs"), "");
}
