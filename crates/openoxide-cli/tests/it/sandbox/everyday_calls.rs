//! System calls that are safe in one form and not in another: both forms, and the effect on the
//! host.

use std::{
    fs,
    os::unix::{
        fs::{MetadataExt as _, PermissionsExt as _},
        net::UnixDatagram,
    },
};

use super::{is_root, staged::Place};
use crate::support::{stderr, stdout};

fn users() -> Vec<Option<u32>> {
    if is_root() { vec![None, Some(1234)] } else { vec![None] }
}

const MODES: [&[&str]; 2] = [&[], &["--live"]];

fn run(place: &Place, mode: &[&str], program: &[&str]) -> (String, String) {
    let arguments = [&["sandbox", "run", "--no-input"], mode, &["--"], program].concat();
    let output = place.command(&place.path("openoxide"), &arguments).output().unwrap();
    (stdout(&output), stderr(&output))
}

/// Sends datagrams in a pair, and then to a socket of the host.
const DATAGRAMS: &str = r"
import os, socket, sys
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
a.send(b'one'); a.send(b'two')
print(b.recv(100), b.recv(100), os.get_inheritable(a.fileno()))
for attempt in (lambda: a.sendto(b'x', sys.argv[1]), lambda: a.sendmsg([b'x'], [], 0, sys.argv[1]),
                lambda: a.connect(sys.argv[1]), lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)):
    try: attempt()
    except OSError: pass
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
try: a.recv(1)
except BlockingIOError: print('not blocking')
import ctypes
print(ctypes.CDLL(None, use_errno=True).socketpair(1, 2, 0, 8), ctypes.get_errno())
";

/// Guards I22.
#[test]
fn datagrams_pass_in_a_pair_and_reach_nothing_else() {
    for user in users() {
        let place = Place::new("", user);
        let path = place.path("w/outside");
        let host = UnixDatagram::bind(&path).unwrap();
        host.set_nonblocking(true).unwrap();
        let open = fs::Permissions::from_mode(0o777);
        fs::set_permissions(&path, open).unwrap();
        let program = ["python3", "-c", DATAGRAMS, path.to_str().unwrap()];
        for mode in MODES {
            let (output, errors) = run(&place, mode, &program);
            // EFAULT is 14.
            let expected = "b'one' b'two' False\nnot blocking\n-1 14\n";
            assert_eq!(output, expected, "{user:?} {mode:?} {errors}");
            assert!(host.recv(&mut [0; 8]).is_err(), "{user:?} {mode:?}");
        }
    }
}

/// Tries to set modes by each call and spelling. Prints the number of the error.
const MODE_CHANGES: &str = r"
import ctypes, os
c = ctypes.CDLL(None, use_errno=True)
def tried(name, result): print(name, ctypes.get_errno() if result else 0)
at = os.open('.', os.O_RDONLY)
for kind in ('directory', 'file', 'link to outside', 'guarded'):
    name = kind.encode()
    for mode in (0o2755, 0o4755, 0o6755):
        tried(f'{kind} {mode:o} chmod', c.chmod(name, mode))
        tried(f'{kind} {mode:o} fchmodat', c.fchmodat(at, name, mode, 0))
        try: tried(f'{kind} {mode:o} fchmod', c.fchmod(os.open(kind, os.O_RDONLY), mode))
        except OSError as error: print('cannot open', kind)
tried('outside', c.chmod(b'/usr', 0o2755))
tried('missing', c.chmod(b'missing', 0o2755))
tried('fault', c.chmod(ctypes.c_void_p(8), 0o2755))
";

/// Guards I34.
#[test]
fn only_directories_get_a_set_group_id_mode() {
    for user in users() {
        let place = Place::new("", user);
        for mode in MODES {
            let script = "rm -rf directory file 'link to outside' guarded; mkdir directory guarded; \
                          echo x > file; ln -s ../outside 'link to outside'; chmod 755 file directory guarded";
            let mut seed = place.command("/bin/sh".as_ref(), &["-c", script]);
            assert!(seed.status().unwrap().success());
            fs::create_dir_all(place.path("outside")).unwrap();
            std::os::unix::fs::chown(place.path("outside"), user, user).unwrap();
            let mode = [mode, &["--protect", "guarded"]].concat();
            let (output, errors) = run(&place, &mode, &["python3", "-c", MODE_CHANGES]);
            let lines: Vec<_> = output.lines().filter(|line| line.ends_with(" 0")).collect();
            let done =
                ["directory 2755 chmod 0", "directory 2755 fchmodat 0", "directory 2755 fchmod 0"];
            assert_eq!(lines, done, "{user:?} {mode:?} {output} {errors}");
            assert!(output.contains("\nmissing 2\nfault 14\n"), "{output}");
            let bits = |name: &str| fs::metadata(place.path(name)).unwrap().mode() & 0o6000;
            assert_eq!(bits("w/directory"), 0o2000);
            for name in ["w/file", "outside", "w/guarded", "/usr"] {
                assert_eq!(bits(name), 0, "{name}");
            }
        }
    }
}

#[test]
fn a_shared_repository_and_a_program_in_shared_memory() {
    for user in users() {
        let place = Place::new("", user);
        let script =
            "git init -q --shared new && cp /bin/true /dev/shm/x && /dev/shm/x && echo done";
        let (output, errors) = run(&place, &[], &["sh", "-c", script]);
        assert_eq!(output, "done\n", "{user:?} {errors}");
        assert_eq!(errors, "");
        assert_eq!(fs::metadata(place.path("w/new/.git/objects")).unwrap().mode() & 0o2020, 0o2020);
    }
}
