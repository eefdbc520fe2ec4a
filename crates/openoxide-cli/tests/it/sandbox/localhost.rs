//! `localhost` in the sandbox: a program inside if one listens, and otherwise the host.

use std::{
    io::{Read as _, Write as _},
    net::{Ipv4Addr, TcpListener},
    thread,
};

use super::Arena;

/// Functions of the programs: `serve` listens in the background, and `ask` returns the answer at an
/// address, or the error.
const PRELUDE: &str = r"
import errno, socket, sys, threading, time
port = int(sys.argv[1])
def family(address): return socket.AF_INET6 if ':' in address else socket.AF_INET
def serve(address, text=b'inside'):
    listener = socket.create_server((address, port), family=family(address))
    def answer():
        while True:
            one, _ = listener.accept(); one.sendall(text); one.close()
    threading.Thread(target=answer, daemon=True).start()
    return listener
def ask(address):
    one = socket.socket(family(address)); one.settimeout(20)
    try: one.connect((address, port)); return one.recv(99).decode()
    except OSError as e: return errno.errorcode[e.errno]
";

/// Runs a program that may connect to a port of the host, and returns its output.
fn run(program: &str, port: u16) -> String {
    let (arena, net, port) = (Arena::new(), format!("localhost:{port}"), port.to_string());
    let program = format!("{PRELUDE}{program}");
    let output = arena.run(&["--net", &net], &["python3", "-c", &program, &port]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// A service of the host that answers `host`.
fn host_service() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            drop(stream.unwrap().write_all(b"host"));
        }
    });
    port
}

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap().port()
}

/// The host listens on the same port, which has no effect for programs inside.
#[test]
fn a_server_inside_is_reached_before_the_host() {
    let port = host_service();
    for (address, clients) in [
        ("127.0.0.1", ["127.0.0.1", "0.0.0.0", "::ffff:127.0.0.1"].as_slice()),
        ("0.0.0.0", &["127.0.0.1", "127.0.0.2", "0.0.0.0", "198.18.0.1"]),
        ("::1", &["::1", "::"]),
    ] {
        for client in clients {
            let output = run(&format!("serve({address:?})\nprint(ask({client:?}))"), port);
            assert_eq!(output, "inside\n", "{address} {client}");
        }
    }
    // A client that tries `::1` first goes on to the address that has a listener.
    let output = run("serve('127.0.0.1')\nprint(ask('::1'), ask('127.0.0.1'))", port);
    assert_eq!(output, "ECONNREFUSED inside\n");
}

#[test]
fn the_host_is_reached_if_no_program_inside_listens() {
    let port = host_service();
    let program = r"
print(ask('127.0.0.1'), ask('0.0.0.0'), ask('::1'), ask('::ffff:127.0.0.1'))
listener = serve('0.0.0.0')
print(ask('127.0.0.1'))
";
    assert_eq!(run(program, port), "host host host host\ninside\n");
}

#[test]
fn a_server_that_starts_later_is_reached_then() {
    let program = r"
print(ask('127.0.0.1'), ask('::1'), ask('0.0.0.0'))
threading.Timer(0.1, serve, ['127.0.0.1']).start()
answers = []
while 'inside' not in answers: answers.append(ask('127.0.0.1')); time.sleep(0.01)
print(set(answers) <= {'ECONNREFUSED', 'inside'})
";
    assert_eq!(run(program, free_port()), "ECONNREFUSED ECONNREFUSED ECONNREFUSED\nTrue\n");
}

/// No rule allows the host at this port.
#[test]
fn without_a_rule_the_host_is_not_reached() {
    let port = host_service();
    let (arena, other) = (Arena::new(), format!("localhost:{}", free_port()));
    let program = format!("{PRELUDE}print(ask('127.0.0.1'), ask('::1'), ask('127.0.0.2'))");
    let argv = ["python3", "-c", &program, &port.to_string()];
    let output = arena.run(&["--net", &other], &argv).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(text, "ECONNREFUSED ECONNREFUSED ECONNREFUSED\n", "{output:?}");
}

/// A program can listen on a port at which other hosts are reached, and they are reached then, too.
#[test]
fn a_port_of_another_host_can_be_used_inside() {
    let program = r"
def attempt():
    one = socket.socket(); one.settimeout(1)
    try: one.connect(('192.0.2.1', port)); return one.recv(99).decode()
    except OSError as e: return 'no answer'
first = attempt()
serve('0.0.0.0')
print(ask('127.0.0.1'), first, attempt())
";
    assert_eq!(run(program, 8765), "inside no answer no answer\n");
}

#[test]
fn real_servers_and_clients_share_a_command() {
    let arena = Arena::new();
    std::fs::write(arena.path("w/page"), "the page").unwrap();
    let script = "python3 -m http.server 8000 --bind $1 > log 2>&1 & \
        curl -sS --retry 50 --retry-all-errors --retry-delay 1 http://$2:8000/page; kill $!";
    for (bind, host) in [("127.0.0.1", "localhost"), ("::1", "[::1]"), ("::", "localhost")] {
        let argv = ["sh", "-c", script, "sh", bind, host];
        let mut command = arena.run(&["--net", "localhost:8000"], &argv);
        let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
        let mut text = String::new();
        child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        drop(child.wait());
        assert_eq!(text, "the page", "{bind}");
    }
}
