//! Runs under the system's `bwrap`, wanted or because own namespaces are refused. They are an ordinary user's, because root is
//! refused there.

use std::process::{Command, Output};

use super::{Arena, is_root};
use crate::support::{OPENOXIDE, code, stderr, stdout};

/// Runs a script as another user, where the tests run as root, in a private mount.
const AS_ANOTHER: &str = r#"
mount -t tmpfs -o mode=755 none /mnt
cp "$0" /mnt/openoxide
mkdir /mnt/w /mnt/home /mnt/outside
chown -R 1234:1234 /mnt/w /mnt/home /mnt/outside
cd /mnt/w
HOME=/mnt/home exec setpriv --reuid=1234 --regid=1234 --clear-groups sh -c "$1" /mnt/openoxide "$2"
"#;

/// Hides clone3(2), as some containers do: our namespaces need it, and `bwrap` does not.
const WITHOUT_CLONE3: &str = r"
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
filter = [(0x20, 0, 0, 0), (0x15, 0, 1, 435), (0x06, 0, 0, 0x00050000 | 38), (0x06, 0, 0, 0x7fff0000)]
code = b''.join(struct.pack('HBBI', *one) for one in filter)
memory = ctypes.create_string_buffer(code, len(code))
program = ctypes.create_string_buffer(struct.pack('HxxxxxxP', len(filter), ctypes.addressof(memory)))
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, program, 0, 0) == 0, ctypes.get_errno()
os.execv(sys.argv[1], sys.argv[1:])
";

/// Runs a script in a workspace; `$0` is our program there, `$1` hides a system call from what it starts.
fn scene(script: &str) -> Output {
    let arena = Arena::new();
    let mut command = Command::new(if is_root() { "unshare" } else { "sh" });
    if is_root() {
        command.args(["-m", "--propagation", "private", "sh", "-e", "-c", AS_ANOTHER, OPENOXIDE]);
        command.arg(script);
    } else {
        command.args(["-c", script, OPENOXIDE]).env("HOME", arena.path("home"));
    }
    command.arg(WITHOUT_CLONE3).current_dir(arena.path("w"));
    command.env("SECRET", "secret").output().unwrap()
}

#[test]
fn the_exit_status_is_passed_on() {
    let output = scene(
        r#"
        by() { "$0" sandbox run --backend bubblewrap "$@" 2>/dev/null; echo $?; }
        : > plain
        by sh -c 'exit 7'; by sh -c 'kill -9 $$'; by true; by no-such-program-here; by ./plain
        "#,
    );
    assert_eq!(stdout(&output), "7\n137\n0\n127\n126\n", "{}", stderr(&output));
}

#[test]
fn only_the_named_environment_and_streams_are_inherited() {
    let output = scene(
        r#"
        "$0" sandbox run --backend bubblewrap --memory 600 --env A='a b' -- sh -c '
            ls /proc/self/fd | wc -l; ulimit -c; ulimit -v; echo $A$SECRET; echo x > in; echo x > ../outside/x' 9< /etc/passwd
        cat in; ls ../outside
        "#,
    );
    // The fourth descriptor is the directory that `ls` reads.
    assert_eq!(stdout(&output), "4\n0\n614400\na b\nx\n", "{}", stderr(&output));
    assert!(stderr(&output).contains("confined by the backend `bubblewrap`"));
}

/// Messages of the loader come from the program inside, never from `bwrap`, which is not confined
/// yet.
#[test]
fn the_environment_of_the_program_does_not_affect_bwrap() {
    let output = scene(r#""$0" sandbox run --backend bubblewrap --env LD_DEBUG=libs -- /bin/true"#);
    let said = stderr(&output);
    assert!(said.contains("/bin/true") && !said.contains("program: /usr/bin/bwrap"), "{said}");
}

#[test]
fn everything_ends_with_its_time() {
    let output = scene(
        r#"
        "$0" sandbox run --backend bubblewrap --time 1 -- sh -c 'setsid sleep 6123 & sleep 6123'; echo $?
        ps -eo args | grep -c '^sleep 6123'
        ls "$HOME/.local/state/openoxide/sandbox"; ls -A
        "#,
    );
    assert_eq!(stdout(&output), "124\n0\n", "{}", stderr(&output));
}

/// The sandbox refuses a protected path that `bwrap` would follow to another place, and the message
/// gives the reason.
#[test]
fn a_protected_link_is_refused_in_words() {
    let output = scene(
        r#"
        ln -s elsewhere .claude
        "$0" sandbox run --backend bubblewrap -- touch made; echo $?; ls
        "#,
    );
    assert_eq!(stdout(&output), "125\n");
    assert!(stderr(&output).contains(".claude`: it is a symbolic link"), "{}", stderr(&output));
}

/// Guards I31.
#[test]
fn bwrap_is_the_reported_fallback_if_namespaces_are_refused() {
    let output = scene(
        r#"
        here() { python3 -c "$1" "$OX" sandbox "$2" "$3" "$4" -- sh -c 'cat; echo x > in; echo x > ../outside/x; exit 7'; }
        OX=$0
        python3 -c "$1" "$0" sandbox status --json | grep -o '"backend":"[a-z]*","backends"'
        echo 'all of it' > words
        here "$1" run --net example.org < words; echo $?
        cat in; ls ../outside
        here "$1" run --backend namespaces; echo $?
        "#,
    );
    // What the first attempt could have read of a file is not lost.
    let expected = "\"backend\":\"bubblewrap\",\"backends\"\nall of it\n7\nx\n125\n";
    let said = stderr(&output);
    assert_eq!(stdout(&output), expected, "{said}");
    assert!(said.contains("by the backend `bubblewrap`; network: no host is reachable"), "{said}");
    assert!(said.contains("namespaces: writes-outside: clone3(2) is not available"), "{said}");
}

/// Guards I31.
#[test]
fn without_a_usable_backend_each_one_reports_its_reason() {
    let output = scene(
        r#"
        unshare --user --map-root-user sh -c 'echo 0 > /proc/sys/user/max_user_namespaces; exec "$0" sandbox run touch made' "$0"
        echo $?; ls
        "#,
    );
    assert_eq!(stdout(&output), "125\n");
    for line in [
        "nothing was run: no backend on this machine can fully enforce this profile",
        "namespaces: writes-outside: `user.max_user_namespaces` is 0",
        "bubblewrap: writes-outside: ",
        "landlock: ",
        "to do: `sysctl user.max_user_namespaces=15000` as root",
        "tried: making namespaces: No space left on device",
    ] {
        assert!(stderr(&output).contains(line), "{line}\n{}", stderr(&output));
    }
}

#[test]
fn root_is_refused() {
    if is_root() {
        let output = Arena::new().run(&["--backend", "bubblewrap"], &["true"]).output().unwrap();
        assert_eq!(code(&output), 125);
        assert!(stderr(&output).contains("bubblewrap: kernel: as root"), "{}", stderr(&output));
    }
}

#[test]
fn ports_are_not_published() {
    let output = scene(
        r#"
        "$0" sandbox run --backend bubblewrap --publish 3000 -- touch ran; echo $?
        python3 -c "$1" "$0" sandbox run --publish 3000 -- touch ran; echo $?
        ls
        "#,
    );
    assert_eq!(stdout(&output), "125\n125\n", "{}", stderr(&output));
    let refusal = "`--publish` requires the backend `namespaces`";
    assert_eq!(stderr(&output).matches(refusal).count(), 2, "{}", stderr(&output));
}
