//! Runs under the system's `bwrap`, wanted or because own namespaces are refused.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use super::{Arena, processes_with};
use crate::support::{OPENOXIDE, code, stderr, stdout};

const BY_BWRAP: [&str; 2] = ["--backend", "bubblewrap"];

/// Hides clone3(2), as some containers do: our namespaces need it, and `bwrap` does not.
const WITHOUT_CLONE3: &str = r"
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
filter = [(0x20, 0, 0, 0), (0x15, 0, 1, 435), (0x06, 0, 0, 0x00050000 | 38), (0x06, 0, 0, 0x7fff0000)]
code = b''.join(struct.pack('HBBI', *one) for one in filter)
memory = ctypes.create_string_buffer(code, len(code))
program = struct.pack('HxxxxxxP', len(filter), ctypes.addressof(memory))
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, program, 0, 0) == 0, ctypes.get_errno()
os.execv(sys.argv[1], sys.argv[1:])
";

/// Runs a script by `bwrap`, with these options more.
fn run(arena: &Arena, options: &[&str], script: &str) -> Output {
    let options = [&BY_BWRAP[..], options].concat();
    arena.run(&options, &["/bin/sh", "-c", script]).output().unwrap()
}

fn without_clone3(arena: &Arena, words: &[&str]) -> Output {
    let mut command = Command::new("/usr/bin/python3");
    command.args(["-c", WITHOUT_CLONE3, OPENOXIDE]).args(words);
    command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", arena.path("home"));
    command.current_dir(arena.path("w")).output().unwrap()
}

#[test]
fn what_it_ends_with_is_passed_on() {
    let arena = Arena::new();
    for (script, expected) in [("exit 7", 7), ("kill -9 $$", 137), ("true", 0)] {
        assert_eq!(code(&run(&arena, &[], script)), expected, "{script}");
    }
    let start = |name: &str| arena.run(&BY_BWRAP, &[name]).output().unwrap();
    fs::write(arena.path("w/plain"), "").unwrap();
    assert_eq!(code(&start("no-such-program-here")), 127);
    assert_eq!(code(&start("./plain")), 126);
}

#[test]
fn nothing_is_inherited_but_what_was_said() {
    let arena = Arena::new();
    let script = "ls /proc/self/fd | wc -l; ulimit -c; ulimit -v; echo $A$SECRET; echo x > in; echo x > ../outside/x";
    let options = ["--memory", "600", "--env", "A=a b"];
    let options = [&BY_BWRAP[..], &options].concat();
    let mut command = arena.run(&options, &["/bin/sh", "-c", script]);
    let output = command.env("SECRET", "secret").output().unwrap();
    // The fourth descriptor is the directory that `ls` reads.
    assert_eq!(stdout(&output), "4\n0\n614400\na b\n");
    assert!(arena.path("w/in").exists() && !arena.path("outside/x").exists());
    let note = stderr(&output);
    assert!(note.contains("confined by the backend `bubblewrap`"), "{note}");
}

/// A library that the environment names is loaded inside, never into `bwrap`, which is not confined yet.
#[test]
fn its_environment_is_no_way_into_bwrap() {
    let arena = Arena::new();
    let output = run(&arena, &["--env", "LD_DEBUG=libs"], "true");
    let said = stderr(&output);
    assert!(said.contains("initialize program: /bin/sh"), "{said}");
    assert!(!said.contains("initialize program: /usr/bin/bwrap"), "{said}");
}

#[test]
fn everything_ends_with_its_time() {
    let arena = Arena::new();
    let options = ["--time", "1", "--env", "MARK=bwrap-time"];
    assert_eq!(code(&run(&arena, &options, "setsid sleep 60 & sleep 60")), 124);
    assert_eq!(processes_with("MARK=bwrap-time"), Vec::<std::path::PathBuf>::new());
    assert_eq!(arena.registered(), Vec::<std::path::PathBuf>::new());
}

/// What `bwrap` would follow elsewhere is not held by it, and the message says what that is.
#[test]
fn a_protected_link_is_refused_in_words() {
    let arena = Arena::new();
    std::os::unix::fs::symlink("elsewhere", arena.path("w/.claude")).unwrap();
    let output = run(&arena, &[], "touch made");
    assert_eq!(code(&output), 125);
    assert!(stderr(&output).contains(".claude`: it is a symbolic link"), "{}", stderr(&output));
    assert!(!arena.path("w/made").exists());
}

#[test]
fn where_own_namespaces_are_refused_it_is_used_and_that_is_said() {
    let arena = Arena::new();
    let status = without_clone3(&arena, &["sandbox", "status", "--json"]);
    assert!(stdout(&status).contains("\"backend\":\"bubblewrap\",\"backends\""), "{}", stdout(&status));
    let script = "cat; echo x > in; echo x > ../outside/x; exit 7";
    fs::write(arena.path("words"), "all of it\n").unwrap();
    let fed = format!("exec \"$0\" \"$@\" < {}", arena.path("words").display());
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &fed, "/usr/bin/python3", "-c", WITHOUT_CLONE3, OPENOXIDE]);
    command.args(["sandbox", "run", "--net", "example.org", "--", "/bin/sh", "-c", script]);
    command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", arena.path("home"));
    let output = command.current_dir(arena.path("w")).output().unwrap();
    let note = stderr(&output);
    // What the first attempt could have read of a file is not lost.
    assert_eq!((code(&output), stdout(&output)), (7, "all of it\n".to_owned()), "{note}");
    assert!(note.contains("by the backend `bubblewrap`; network: no host is reached"), "{note}");
    assert!(arena.path("w/in").exists() && !arena.path("outside/x").exists());
    let wanted = ["sandbox", "run", "--backend", "namespaces", "--", "true"];
    let refused = without_clone3(&arena, &wanted);
    assert_eq!(code(&refused), 125);
    assert!(stderr(&refused).contains("namespaces: writes-outside: there is no clone3(2)"));
}

#[test]
fn where_nothing_confines_each_backend_says_why() {
    let arena = Arena::new();
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-e", "-c"]);
    command.arg("echo 0 > /proc/sys/user/max_user_namespaces; exec \"$0\" sandbox run -- touch made");
    command.arg(OPENOXIDE).env_clear().env("PATH", "/usr/bin:/bin").env("HOME", arena.path("home"));
    let output = command.current_dir(arena.path("w")).output().unwrap();
    let said = stderr(&output);
    assert_eq!(code(&output), 125, "{said}");
    for line in [
        "nothing was run: nothing on this machine holds this profile",
        "namespaces: writes-outside: `user.max_user_namespaces` is 0",
        "bubblewrap: writes-outside: it cannot confine here, either",
        "landlock: ",
        "to do: `sysctl user.max_user_namespaces=15000` as root",
        "tried: making namespaces: No space left on device",
    ] {
        assert!(said.contains(line), "{line}\n{said}");
    }
    assert!(!Path::new(&arena.path("w/made")).exists());
}
