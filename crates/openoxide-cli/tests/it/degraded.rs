//! Tests of `sandbox status` on machines that lack something. These machines are simulated in
//! separate namespaces and with seccomp filters; the real machine is not changed.

use std::process::{Command, Output};

use serde_json::Value;

use crate::support::{OPENOXIDE, code, stderr, stdout};

/// Runs a script as root in separate namespaces; `$1` is our program.
fn in_namespaces(script: &str) -> Value {
    answer(&run_in_namespaces(script))
}

fn run_in_namespaces(script: &str) -> Output {
    let mut command = Command::new("unshare");
    command.args([
        "--user",
        "--map-root-user",
        "--mount",
        "sh",
        "-e",
        "-c",
        script,
        "sh",
        OPENOXIDE,
    ]);
    command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").output().unwrap()
}

/// Runs `sandbox status` below a filter of system calls that Python makes; it knows `install(flags, instructions)`.
fn under_filter(script: &str) -> Value {
    answer(&run_under_filter(script))
}

fn run_under_filter(script: &str) -> Output {
    const PRELUDE: &str = r"
import ctypes, os, platform, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
SECCOMP = {'x86_64': 317, 'aarch64': 277}[platform.machine()]
def install(flags, instructions):
    code = b''.join(struct.pack('HBBI', *one) for one in instructions)
    memory = ctypes.create_string_buffer(code, len(code))
    program = struct.pack('HxxxxxxP', len(instructions), ctypes.addressof(memory))
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    got = libc.syscall(SECCOMP, 1, flags, program)
    assert got >= 0, ctypes.get_errno()
ALLOW = (0x06, 0, 0, 0x7fff0000)
";
    let mut command = Command::new("python3");
    command.args(["-c", &format!("{PRELUDE}{script}"), OPENOXIDE]).output().unwrap()
}

fn answer(output: &Output) -> Value {
    assert_eq!(code(output), 0, "{}", stderr(output));
    serde_json::from_str(&stdout(output)).unwrap()
}

/// Returns whether something works, and if not why.
fn point<'a>(status: &'a Value, name: &str) -> (bool, &'a str) {
    let points = status["support"].as_array().unwrap();
    let point = points.iter().find(|point| point["point"] == name).unwrap();
    (point["works"].as_bool().unwrap(), point["reason"].as_str().unwrap_or_default())
}

/// Returns the clauses of a backend that are not simply enforced: `name held`.
fn held(status: &Value, name: &str) -> Vec<String> {
    let backends = status["backends"].as_array().unwrap();
    let backend = backends.iter().find(|backend| backend["backend"] == name).unwrap();
    let clauses = backend["clauses"].as_array().unwrap();
    assert_eq!(clauses.len(), 11);
    let text = |clause: &Value, key: &str| clause[key].as_str().unwrap().to_owned();
    let other = clauses.iter().filter(|clause| clause["enforcement"] != "enforced");
    other.map(|clause| text(clause, "clause") + " " + &text(clause, "enforcement")).collect()
}

#[test]
fn a_whole_machine_confines_by_its_own_namespaces() {
    let output = Command::new(OPENOXIDE).args(["sandbox", "status", "--json"]).output().unwrap();
    let status = answer(&output);
    assert_eq!(status["schema"], 1);
    assert_eq!(status["backend"], "namespaces", "{status}");
    assert_eq!(held(&status, "namespaces"), Vec::<String>::new());
    assert_eq!(point(&status, "bubblewrap"), (true, ""));
}

/// Guards I31.
#[test]
fn without_user_namespaces_nothing_confines_and_the_reason_is_the_setting() {
    let status = in_namespaces(
        "echo 0 > /proc/sys/user/max_user_namespaces; exec \"$1\" sandbox status --json",
    );
    let (works, why) = point(&status, "namespaces");
    assert!(!works && why.contains("`user.max_user_namespaces` is 0"), "{why}");
    assert_eq!(status["backend"], Value::Null);
    for backend in ["namespaces", "bubblewrap"] {
        assert_eq!(held(&status, backend).len(), 11, "{backend}");
    }
    assert!(held(&status, "landlock").contains(&"writes-outside unenforced".to_owned()));
}

/// Guards I31.
#[test]
fn where_a_new_proc_is_refused_other_processes_would_be_seen_and_nothing_is_used() {
    let status = in_namespaces("mount -t tmpfs none /proc/tty; exec \"$1\" sandbox status --json");
    let (works, why) = point(&status, "fresh-proc");
    assert!(!works && why.contains("masked"), "{why}");
    assert_eq!(point(&status, "namespaces"), (true, ""));
    assert_eq!(held(&status, "namespaces"), ["processes unenforced"]);
    assert!(!point(&status, "bubblewrap").0);
    assert_eq!(status["backend"], Value::Null);
}

/// The only seccomp listener is taken as long as a process has its descriptor open; here the parent
/// has.
#[test]
fn an_existing_seccomp_listener_makes_enforcement_stricter() {
    let status = under_filter(
        r"
install(8, [ALLOW])
child = os.fork()
if child == 0:
    os.execv(sys.argv[1], ['openoxide', 'sandbox', 'status', '--json'])
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
",
    );
    let (works, why) = point(&status, "notification");
    assert!(!works && why.contains("already installed a seccomp listener"), "{why}");
    assert_eq!(held(&status, "namespaces"), ["network stricter", "unix-sockets stricter"]);
    assert_eq!(status["backend"], "namespaces");
}

#[test]
fn a_missing_landlock_is_reported_as_a_missing_second_lock() {
    let status = under_filter(
        r"
install(0, [(0x20, 0, 0, 0), (0x15, 0, 1, 444), (0x06, 0, 0, 0x00050000 | 38), ALLOW])
os.execv(sys.argv[1], ['openoxide', 'sandbox', 'status', '--json'])
",
    );
    let (works, why) = point(&status, "landlock");
    assert!(!works && why.contains("does not support Landlock"), "{why}");
    assert_eq!(held(&status, "namespaces"), Vec::<String>::new());
    let clauses = status["backends"][0]["clauses"].as_array().unwrap();
    let outside = clauses.iter().find(|clause| clause["clause"] == "writes-outside").unwrap();
    assert!(outside["reason"].as_str().unwrap().contains("Landlock is not available"), "{outside}");
    assert_eq!(held(&status, "landlock").len(), 11);
}

#[test]
fn the_text_output_explains_the_reasons_and_the_fixes() {
    let script = "mount -t tmpfs none /proc/tty; exec \"$1\" --color never sandbox status";
    let mut command = Command::new("unshare");
    command.args([
        "--user",
        "--map-root-user",
        "--mount",
        "sh",
        "-e",
        "-c",
        script,
        "sh",
        OPENOXIDE,
    ]);
    let text = stdout(&command.output().unwrap());
    for line in [
        "No backend can fully enforce the profile; confined commands will be refused.",
        "  no  fresh-proc    cannot mount a new /proc, because parts of the existing one are masked, as in containers",
        "to do: Docker: `--security-opt systempaths=unconfined`; Kubernetes: `procMount: Unmasked`",
        "  namespaces: does not enforce all of it; not used",
        "    processes          unenforced  cannot mount a new /proc",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert!(!text.contains('\x1b'));
}

/// A live run is refused where the changes that it has to ask about cannot be intercepted.
///
/// Guards I23.
#[test]
fn where_calls_cannot_be_heard_of_nothing_runs_live() {
    let taken = run_under_filter(
        r"
install(8, [ALLOW])
child = os.fork()
if child == 0:
    os.execv(sys.argv[1], ['openoxide', 'sandbox', 'run', '--live', '--', 'echo', 'it runs'])
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
",
    );
    let without = run_in_namespaces(
        "echo 0 > /proc/sys/user/max_user_namespaces; exec \"$1\" sandbox run --live -- echo 'it runs'",
    );
    for output in [taken, without] {
        assert_eq!((code(&output), stdout(&output).as_str()), (125, ""), "{}", stderr(&output));
        assert!(stderr(&output).contains("--live"), "{}", stderr(&output));
    }
}
