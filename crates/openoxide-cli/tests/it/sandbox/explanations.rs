//! What a run without a terminal prints about each thing that it refused, and whether the printed
//! hints work.

use std::{
    fs,
    os::unix::{fs::chown, net::UnixListener},
    process::Output,
};

use super::{is_root, staged::Place};
use crate::support::stderr;

const POLICY: &str = "[permissions]\nallow = [\"Bash(./do.sh)\"]\n";

fn users() -> Vec<Option<u32>> {
    if is_root() { vec![None, Some(1234)] } else { vec![None] }
}

/// A place with a directory outside of the project, which the user may change.
fn place(policy: &str, user: Option<u32>) -> Place {
    // Only root may create one that is not below a directory for temporary files.
    let place = Place::new_in(if is_root() { "/srv" } else { "/var/tmp" }, policy, user);
    for name in ["outside", "home/.ssh"] {
        fs::create_dir(place.path(name)).unwrap();
    }
    for name in ["outside/file", "home/.ssh/id_rsa"] {
        fs::write(place.path(name), "text").unwrap();
    }
    for name in ["outside", "outside/file", "home/.ssh", "home/.ssh/id_rsa"] {
        chown(place.path(name), user, user).unwrap();
    }
    place
}

/// Returns the lines of OpenOxide, without the announcement of the decision and with the place
/// left out of paths.
fn explanations(place: &Place, output: &Output) -> Vec<String> {
    let errors = stderr(output).replace(place.path("").to_str().unwrap(), "PLACE/");
    let lines = errors.lines().filter_map(|line| line.strip_prefix("openoxide: "));
    lines.filter(|line| !line.starts_with("`./do.sh` is allowed")).map(str::to_owned).collect()
}

fn run(place: &Place, options: &[&str], script: &str) -> (Option<i32>, Vec<String>) {
    let output = place.run(&[&["--no-input"], options].concat(), script);
    (output.status.code(), explanations(place, &output))
}

const OFF: &str =
    "; no rule allows it in the sandbox (`--sandbox off` runs the command without one)";

/// Python code that the sandbox refuses, and the operation in the explanation.
const CALLS: [(&str, &str); 14] = [
    ("s.socket(s.AF_INET, s.SOCK_RAW, 1)", "creating a raw socket or one of an unusual family"),
    ("s.socket(s.AF_PACKET, s.SOCK_RAW)", "creating a raw socket or one of an unusual family"),
    ("s.socket(s.AF_UNIX, s.SOCK_DGRAM)", "creating a Unix socket for datagrams"),
    ("os.chmod('file', 0o4755)", "setting a set-user-ID or set-group-ID mode"),
    ("os.chmod('file', 0o2755)", "setting a set-user-ID or set-group-ID mode"),
    ("os.mknod('dev', 0o20644, os.makedev(1, 3))", "creating a device node"),
    ("call(c.mount(b'x', b'/mnt', b'tmpfs', 0, None))", "changing mounts or the root directory"),
    ("os.chroot('/')", "changing mounts or the root directory"),
    ("s.sethostname('x')", "changing the clock, name or state of the machine"),
    ("time.clock_settime(0, 0)", "changing the clock, name or state of the machine"),
    ("call(c.klogctl(3, None, 0))", "reading the log of the kernel"),
    ("call(c.syscall(250 if x86 else 219, 0, -4, 0))", "using a keyring of the kernel"),
    (
        "call(c.syscall(321 if x86 else 280, 0, 0, 0))",
        "loading a module or a BPF program into the kernel",
    ),
    (
        "call(c.syscall(298 if x86 else 241, 0, 0, -1, -1, 0))",
        "using performance counters (perf_event_open)",
    ),
];

fn python(code: &str) -> String {
    format!(
        "touch file; exec python3 -c \"
import ctypes, errno, os, platform, socket as s, sys, time
c, x86 = ctypes.CDLL(None, use_errno=True), platform.machine() == 'x86_64'
def call(result):
    if result < 0: raise OSError(ctypes.get_errno(), '')
try: {code}
except PermissionError: sys.exit(9)
\""
    )
}

#[test]
fn refused_system_calls_are_explained_if_the_program_fails() {
    for user in users() {
        let place = place(POLICY, user);
        for (code, operation) in CALLS {
            let expected = vec![format!("refused: {operation}{OFF}")];
            assert_eq!(run(&place, &[], &python(code)), (Some(9), expected), "{user:?} {code}");
        }
        let namespace = "exec unshare -Ur true";
        let (status, lines) = run(&place, &[], namespace);
        assert!(status == Some(1) && lines.len() == 1, "{lines:?}");
        assert!(lines[0].starts_with("refused: creating or entering a namespace"), "{lines:?}");
        // A program that works without it, and calls that programs only try.
        let works = format!("({}); exit 0", python("s.socket(s.AF_UNIX, s.SOCK_DGRAM)"));
        assert_eq!(run(&place, &[], &works), (Some(0), vec![]));
        let tried = python("call(c.syscall(425, 4, 0))").replace("PermissionError", "OSError");
        assert_eq!(run(&place, &[], &tried), (Some(9), vec![]));
        // The hint works.
        let datagrams = python("s.socket(s.AF_UNIX, s.SOCK_DGRAM)");
        assert_eq!(run(&place, &["--sandbox", "off"], &datagrams).0, Some(0));
    }
}

#[test]
fn refused_files_and_sockets_are_explained_and_the_hints_work() {
    if !is_root() {
        return; // A place outside is private to a run if it is below /var/tmp.
    }
    for user in users() {
        let place = place(POLICY, user);
        let _listener = UnixListener::bind(place.path("outside/socket")).unwrap();
        chown(place.path("outside/socket"), user, user).unwrap();
        let outside = |name: &str, target: &str| {
            vec![
                format!("refused: changing `PLACE/outside/{name}`"),
                format!(
                    "note: in a terminal you would be asked to allow changes to `PLACE/outside{target}`; \
                     `--add-dir PLACE/outside` allows them"
                ),
            ]
        };
        for (script, name, target) in [
            ("echo x > ../outside/new || exit 1", "new", ""),
            ("mkdir ../outside/made", "made", ""),
            ("touch ../outside/file", "file", "/file"),
            ("chmod 600 ../outside/file", "file", "/file"),
            ("ln -s x ../outside/link", "link", ""),
            ("python3 -c 'open(\"../outside/file\", \"w\")'", "file", "/file"),
            ("rm ../outside/file", "file", "/file"),
        ] {
            let (status, lines) = run(&place, &[], script);
            assert_eq!((status, lines), (Some(1), outside(name, target)), "{user:?} {script}");
            let directory = place.path("outside");
            let hint = ["--add-dir", directory.to_str().unwrap()];
            assert_eq!(run(&place, &hint, script), (Some(0), vec![]), "{user:?} {script}");
        }
        assert!(!place.path("outside/file").exists() && place.path("outside/made").is_dir());
        let connect =
            "python3 -c 'import socket as s; s.socket(s.AF_UNIX).connect(\"../outside/socket\")'";
        let (status, lines) = run(&place, &[], connect);
        assert_eq!(status, Some(1));
        // `sandbox::sockets` applies this hint.
        assert_eq!(
            lines[0],
            "refused: the socket of a service outside, `PLACE/outside/socket`; a rule \
             `Socket(PLACE/outside/socket)` would allow it"
        );
        let (status, lines) = run(&place, &[], "cat ~/.ssh/id_rsa");
        assert_eq!(status, Some(1));
        assert_eq!(lines[0], "refused: reading `PLACE/home/.ssh/id_rsa`");
    }
}

#[test]
fn sandbox_run_names_its_own_options() {
    for user in users() {
        let place = place("", user);
        let sandbox = |options: &[&str], script: &str| {
            let head = ["sandbox", "run", "--no-input"];
            let arguments = [&head, options, &["--", "sh", "-c", script]].concat();
            let output = place.command(&place.path("openoxide"), &arguments).output().unwrap();
            (output.status.code(), explanations(&place, &output))
        };
        let (status, lines) = sandbox(&[], "cat ~/.ssh/id_rsa");
        let hint = "refused: reading `PLACE/home/.ssh/id_rsa`; `--allow-read PLACE/home/.ssh/id_rsa` would allow it";
        assert_eq!((status, lines), (Some(1), vec![hint.to_owned()]));
        let key = place.path("home/.ssh/id_rsa");
        let read = sandbox(&["--allow-read", key.to_str().unwrap()], "cat ~/.ssh/id_rsa");
        assert_eq!(read, (Some(0), vec![]));
        let connect =
            "exec python3 -c 'import socket; socket.create_connection((\"192.0.2.1\", 80))'";
        let hint = "refused: a connection to 192.0.2.1:80; `--net 192.0.2.1:80` would allow it";
        assert_eq!(sandbox(&[], connect), (Some(1), vec![hint.to_owned()]));
        let named = sandbox(&["--net", "192.0.2.1"], &connect.replace("80", "80, 1"));
        assert!(named.1.is_empty(), "{named:?}");
        let (status, lines) = sandbox(&["--time", "1"], "sleep 20");
        let over = "killed after 1 s, its time limit; a higher `--time` allows more";
        assert_eq!((status, lines), (Some(124), vec![over.to_owned()]));
    }
}

/// A program that was killed because its time was over has been started.
#[test]
fn the_time_limit_of_a_policy_is_explained() {
    let limits = format!("{POLICY}[sandbox.limits]\nseconds = 1\n");
    for user in users() {
        let place = place(&limits, user);
        let over = "killed after 1 s, its time limit; a higher `seconds` in a policy allows more";
        let expected = (Some(124), vec![over.to_owned()]);
        assert_eq!(run(&place, &[], "touch started; sleep 20"), expected);
        assert!(place.path("w/started").exists());
    }
}
