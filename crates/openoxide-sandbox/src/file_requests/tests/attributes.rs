//! Tests of links, pipes, modes, times, lengths and directories that are moved.

use super::*;
use crate::interface::PostRunFinding;

fn modified(arena: &Arena, name: &str) -> i64 {
    fs::metadata(arena.path(name)).unwrap().mtime()
}

#[test]
fn approved_changes_take_effect() {
    let arena = Arena::new();
    for name in ["out/there", "out/long", "out/sub/file"] {
        fs::write(arena.path(name), "content").unwrap();
    }
    let outcome = arena.script(
        "ln OUT/there OUT/hard && ln -s there OUT/soft && (umask 077; mkfifo OUT/pipe) && chmod 640 OUT/there &&\n\
         chmod 711 OUT/sub && touch -d '2001-02-03 UTC' OUT/sub && touch -h -d '2002-02-03 UTC' OUT/long &&\n\
         python3 -c 'import os; os.truncate(\"OUT/long\", 2)' && mv OUT/sub OUT/moved && echo done",
        YES,
    );
    assert!(outcome.output.ends_with("done\n"), "{outcome:?}");
    let asked = [
        "Link out/there out/hard",
        "MakeSymlink out/soft out/there",
        "MakePipe out/pipe",
        "SetMode out/there",
        "SetMode out/sub",
        "SetTimes out/sub",
        "SetTimes out/long",
        "Write out/long",
        "Rename out/sub out/moved",
    ];
    let all = arena.asked(&outcome);
    assert!(asked.iter().all(|one| all.contains(&(*one).to_owned())), "{all:#?}");
    assert!(outcome.asked.iter().any(|change| change.mode == Some(0o640)), "{all:#?}");
    let file = |name: &str| fs::symlink_metadata(arena.path(name)).unwrap();
    assert_eq!(file("out/hard").ino(), file("out/there").ino());
    assert_eq!(fs::read_link(arena.path("out/soft")).unwrap(), PathBuf::from("there"));
    assert_eq!(file("out/pipe").mode() & libc::S_IFMT, libc::S_IFIFO);
    let modes = ["out/pipe", "out/there", "out/moved"].map(|name| arena.mode(name));
    assert_eq!(modes, [0o600, 0o640, 0o711]);
    assert_eq!(modified(&arena, "out/moved"), 981_158_400);
    assert_eq!((arena.read("out/long").as_str(), file("out/long").len()), ("co", 2));
    assert_eq!(arena.read("out/moved/file"), "content");
    assert!(!arena.path("out/sub").exists());
}

#[test]
fn rejected_changes_have_no_effect() {
    let arena = Arena::new();
    fs::write(arena.path("out/there"), "content").unwrap();
    let before = (arena.mode("out/there"), modified(&arena, "out/sub"));
    let outcome = arena.script(
        "ln OUT/there OUT/hard; ln -s there OUT/soft; mkfifo OUT/pipe; chmod 600 OUT/there\n\
         touch -d 2001-02-03 OUT/sub; mv OUT/sub OUT/moved; true",
        NO,
    );
    assert_eq!(outcome.output.matches("Read-only file system").count(), 6, "{outcome:?}");
    assert_eq!((arena.mode("out/there"), modified(&arena, "out/sub")), before);
    for name in ["hard", "soft", "pipe", "moved"] {
        assert!(arena.path("out").join(name).symlink_metadata().is_err(), "{name} {outcome:?}");
    }
    let denied = |name: &str| SandboxDenial::Write { path: arena.abs(name) };
    for name in ["out/hard", "out/soft", "out/pipe", "out/there", "out/sub", "out/moved"] {
        assert!(outcome.report.denials.contains(&denied(name)), "{name} {outcome:?}");
    }
}

/// What is restricted gets no other name and no other mode, and does not move with its directory.
///
/// Guards I23.
#[test]
fn restricted_files_are_not_reached_by_links_modes_and_directories() {
    let arena = Arena::new();
    for name in ["out/repo/.git/hooks", "out/tool/.vscode", "out/links", "out/many/deep/er"] {
        fs::create_dir_all(arena.path(name)).unwrap();
    }
    symlink("/etc", arena.path("out/links/etc")).unwrap();
    for name in ["secret/key", "w/.git/config", "w/own", "out/suid", "out/many/deep/er/.envrc"] {
        fs::write(arena.path(name), "before").unwrap();
    }
    let before = fs::metadata(arena.path("")).unwrap().mode();
    fs::set_permissions(arena.path("out/suid"), fs::Permissions::from_mode(0o4755)).unwrap();
    let outcome = arena.script(
        "ln ../secret/key OUT/a; ln .git/config OUT/b; ln own OUT/c; ln OUT/suid OUT/d\n\
         ln -s ../secret/key OUT/e; ln -s BASE/secret OUT/f; ln -s BASE/w/.git OUT/g; ln -s BASE/w OUT/h\n\
         ln -s BASE/w/own OUT/i; ln -s /proc/self/environ OUT/j; ln -s BASE/state/registry OUT/k\n\
         chmod 755 ../secret ../secret/key .git/config BASE OUT/suid /proc/self /dev/null\n\
         chmod 4755 OUT; chmod 2755 OUT; touch -h -d 2001-02-03 ../secret .git/config BASE/state\n\
         mv OUT/repo OUT/r; mv OUT/tool OUT/t; mv OUT/links OUT/l; mv OUT/many OUT/m; mv BASE BASE2; mv OUT/links OUT/repo/\n\
         mknod OUT/disk b 8 0; mkfifo .git/pipe ../secret/pipe; true",
        YES,
    );
    let asked = arena.asked(&outcome);
    assert!(asked.iter().all(|one| one == "SetMode out"), "{asked:#?} {outcome:?}");
    for name in ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "r", "t", "l", "m"] {
        assert!(arena.path("out").join(name).symlink_metadata().is_err(), "{name} {outcome:?}");
    }
    assert_eq!(fs::metadata(arena.path("")).unwrap().mode(), before);
    assert_eq!(arena.mode("out/suid"), 0o4755);
    assert_eq!(arena.mode("out") & 0o6000, 0, "{outcome:?}");
    for name in ["secret/key", "w/.git/config", "w/own"] {
        assert_eq!(fs::metadata(arena.path(name)).unwrap().nlink(), 1, "{name} {outcome:?}");
    }
}

/// While one thread changes the mode of a path and links it, other threads replace it in memory.
///
/// Guards I23.
#[test]
fn a_path_that_changes_under_a_call_gives_no_other_file_a_mode_or_a_name() {
    let arena = Arena::new();
    for name in ["out/yes", "out/not", "w/.git/yes", "w/own", "secret/yes"] {
        fs::write(arena.path(name), "").unwrap();
    }
    fs::create_dir(arena.path("out/new")).unwrap();
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
end, modes, links, n = time.time() + 4, 0, 0, 0
while time.time() < end:
    n += 1
    modes += libc.chmod(shared, 0o601) == 0
    links += libc.link(shared, f'OUT/new/{n}'.encode()) == 0
print(n, modes, links)
"#,
        |change| {
            let from = change.path.as_str().ends_with("/out/yes");
            let to = change.target.as_ref().is_none_or(|to| to.as_str().contains("/out/new/"));
            if from && to { RuntimeDecision::AllowedByRule } else { RuntimeDecision::DeniedByRule }
        },
    );
    for name in ["out/not", "w/.git/yes", "secret/yes"] {
        let found = fs::metadata(arena.path(name)).unwrap();
        assert_eq!(found.nlink(), 1, "{name} {outcome:?}");
        assert_ne!(arena.mode(name), 0o601, "{name} {outcome:?}");
    }
    assert!(fs::metadata(arena.path("out/yes")).unwrap().nlink() > 5, "no race: {outcome:?}");
    assert_eq!(arena.mode("out/yes"), 0o601, "{outcome:?}");
}

#[test]
fn a_limit_of_questions_is_reported() {
    let arena = Arena::new();
    let script = "for n in $(seq 40); do mkdir OUT/$n; done; true";
    let outcome = arena.script(script, YES);
    assert_eq!(outcome.asked.len(), 30, "{outcome:?}");
    let limit = PostRunFinding::TooManyQuestions { count: 10, per_minute: 30 };
    assert!(outcome.report.findings.contains(&limit), "{outcome:?}");
    let outcome = arena.script(script, RULE);
    assert!(!outcome.report.findings.contains(&limit), "{outcome:?}");
}
