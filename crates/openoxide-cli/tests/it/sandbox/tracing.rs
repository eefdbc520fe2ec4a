//! Tracing of processes (ptrace(2)): a program traces its own children, and nothing else.

use std::{
    fs,
    io::Read as _,
    os::unix::{fs::PermissionsExt as _, net::UnixListener},
    process::{Command, Stdio},
};

use super::{Arena, is_root, staged::Place};
use crate::support::{stderr, stdout};

/// The users that run the tests: this one, and an ordinary one.
fn users() -> Vec<Option<u32>> {
    if is_root() { vec![None, Some(1234)] } else { vec![None] }
}

const MODES: [&[&str]; 3] = [&[], &["--live"], &["--stage"]];

/// Guards I34.
#[test]
fn own_children_are_traced_and_nothing_outside() {
    for user in users() {
        let place = Place::new("", user);
        fs::write(place.path("w/tracing.py"), include_str!("tracing.py")).unwrap();
        let socket = place.path("w/outside");
        let listener = UnixListener::bind(&socket).unwrap();
        listener.set_nonblocking(true).unwrap();
        let open = fs::Permissions::from_mode(0o777);
        fs::set_permissions(&socket, open).unwrap();
        let mut sibling = place.command("/bin/sleep".as_ref(), &["600"]).spawn().unwrap();
        let program = place.path("openoxide");
        let run = |mode: &[&str], command: &[&str]| {
            let head = ["sandbox", "run", "--no-input"];
            place.command(&program, &[&head, mode, &["--"], command].concat())
        };
        let mut other = run(&[], &["sh", "-c", "echo; exec sleep 600"]);
        let mut other = other.stdout(Stdio::piped()).spawn().unwrap();
        other.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        let processes = [sibling.id(), other.id()].map(|id| id.to_string());
        for mode in MODES {
            let [sibling, other] = &processes;
            let arguments =
                ["python3", "tracing.py", socket.to_str().unwrap(), sibling.as_str(), other];
            let output = run(mode, &arguments).output().unwrap();
            let rewritten = if cfg!(target_arch = "x86_64") { "rewritten: 7\n" } else { "" };
            let expected = format!("own child: traced\n{rewritten}raced: True\n");
            assert_eq!(stdout(&output), expected, "{user:?} {mode:?} {}", stderr(&output));
            assert!(listener.accept().is_err(), "{user:?} {mode:?}: the host's socket was reached");
        }
        for one in [&mut sibling, &mut other] {
            one.kill().unwrap();
            one.wait().unwrap();
        }
    }
}

/// The parent of the program is the first process inside, which does not trace it.
#[test]
fn a_program_that_asks_its_parent_to_trace_it_runs_on() {
    let arena = Arena::new();
    let code = |last: &str| {
        let script = format!(
            "import ctypes, os, signal\nprint(ctypes.CDLL(None).ptrace(0, 0, 0, 0), flush=True)\n{last}"
        );
        let mut run = arena.run(&[], &["python3", "-c", &script]);
        let output = run.stdin(Stdio::null()).output().unwrap();
        assert_eq!(stdout(&output), "0\n", "{}", stderr(&output));
        output.status.code()
    };
    assert_eq!(code("os.execv('/bin/sh', ['sh', '-c', 'exit 7'])"), Some(7));
    assert_eq!(code("os.kill(os.getpid(), signal.SIGTERM)"), Some(143));
    let handled = "signal.signal(signal.SIGUSR1, lambda *_: os._exit(9))\nos.kill(os.getpid(), signal.SIGUSR1)";
    assert_eq!(code(handled), Some(9));
}

/// The leak check of AddressSanitizer stops the program with ptrace(2).
#[test]
fn a_leak_checker_finds_a_leak() {
    let arena = Arena::new();
    let program =
        "#include <stdlib.h>\nint main() { volatile char *p = malloc(100); p = 0; return !!p; }\n";
    fs::write(arena.path("w/leak.c"), program).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-fsanitize=address", "leak.c", "-o", "leak"]).current_dir(arena.path("w"));
    assert!(compiler.status().unwrap().success());
    let output = arena.run(&[], &["./leak"]).stdin(Stdio::null()).output().unwrap();
    assert!(stderr(&output).contains("100 byte(s) leaked"), "{}", stderr(&output));
}
