//! Published ports: programs of the host connect to programs in the sandbox.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use super::{Arena, is_root};

/// A server that answers every line with the number of its bytes, and whose other behaviour its
/// first byte selects.
const SERVER: &str = r"
import socket, sys, threading, time
port, address = int(sys.argv[1]), sys.argv[2]
family = socket.AF_INET6 if ':' in address else socket.AF_INET
listener = socket.create_server((address, port), family=family, backlog=256)
def serve(one):
    kind = one.recv(1)
    if kind == b'e':                        # echo until the client ends its half, then say how much it was
        total = 0
        while data := one.recv(65536):
            total += len(data); one.sendall(data)
        one.sendall(b' ' + str(total).encode()); one.close()
    elif kind == b'f':                      # the server ends first, after everything
        one.sendall(b'x' * (8 << 20)); one.close()
    elif kind == b'q':                      # the program ends at once after its answer
        one.sendall(b'y' * (1 << 20)); one.close()
        import os; os._exit(0)
    elif kind == b'w':                      # how much can be sent to a client that does not read
        one.settimeout(2); sent = 0
        try:
            while True: sent += one.send(b'z' * 65536)
        except OSError: open('sent', 'w').write(str(sent))
open('ready', 'w').write('x')
while True: threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
";

/// A confined program with published ports, which is ended when this is dropped.
struct Server {
    arena: Arena,
    child: Child,
}

impl Server {
    /// Starts the server at a port inside, with these arguments of `sandbox run`.
    fn start(arguments: &[&str], port: u16, address: &str) -> Self {
        let arena = Arena::new();
        let port = port.to_string();
        let program = ["python3", "-c", SERVER, &port, address];
        let mut command = arena.run(arguments, &program);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        let server = Self { arena, child };
        server.wait_for("w/ready");
        server
    }

    /// Waits until the program has written this file.
    fn wait_for(&self, name: &str) -> String {
        let begun = Instant::now();
        loop {
            match fs::read_to_string(self.arena.path(name)) {
                Ok(text) if !text.is_empty() => return text,
                _ => assert!(begun.elapsed() < Duration::from_secs(60), "`{name}` is missing"),
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn end(mut self) -> String {
        let mut text = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
        self.child.wait().unwrap();
        text
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Returns a port of this machine that no program uses.
fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap().port()
}

fn connect(port: u16) -> TcpStream {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream
}

fn read_all(mut stream: &TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    bytes
}

/// Sends a text, ends this direction, and returns what comes back.
fn echo(port: u16, text: &[u8]) -> Vec<u8> {
    let mut stream = connect(port);
    stream.write_all(b"e").unwrap();
    stream.write_all(text).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    read_all(&stream)
}

#[test]
fn a_published_port_leads_to_the_program_at_any_of_its_addresses() {
    for address in ["127.0.0.1", "0.0.0.0", "::1", "::"] {
        let port = free_port();
        let server = Server::start(&["--publish", &format!("3000:{port}")], 3000, address);
        assert_eq!(echo(port, b"hello"), b"hello 5", "{address}");
        if let Ok(mut stream) = TcpStream::connect((Ipv6Addr::LOCALHOST, port)) {
            stream.write_all(b"e").unwrap();
            stream.shutdown(Shutdown::Write).unwrap();
            assert_eq!(read_all(&stream), b" 0", "{address}");
        }
        drop(server);
    }
}

#[test]
fn real_servers_and_clients_work() {
    let port = free_port();
    let arena = Arena::new();
    fs::write(arena.path("w/page.html"), "the page").unwrap();
    let mut command = arena
        .run(&["--publish", &format!("8000:{port}")], &["python3", "-m", "http.server", "8000"]);
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let server = Server { arena, child };
    let url = format!("http://localhost:{port}/page.html");
    let mut curl = Command::new("curl");
    curl.args(["-sS", "--retry", "50", "--retry-all-errors", "--retry-delay", "1"]);
    // Twice over one connection.
    let output = curl.args([&url, &url]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "the pagethe page", "{output:?}");
    drop(server);
}

#[test]
fn many_connections_at_once_are_served() {
    let port = free_port();
    let server = Server::start(&["--publish", &format!("3000:{port}")], 3000, "127.0.0.1");
    let clients: Vec<_> = (0..200)
        .map(|number: usize| {
            thread::spawn(move || {
                let text = vec![b'a' + u8::try_from(number % 26).unwrap(); 20_000 + number];
                let mut expected = text.clone();
                expected.extend(format!(" {}", text.len()).bytes());
                echo(port, &text) == expected
            })
        })
        .collect();
    assert!(clients.into_iter().all(|client| client.join().unwrap()));
    drop(server);
}

#[test]
fn a_server_that_ends_first_is_read_to_the_end() {
    let port = free_port();
    let server = Server::start(&["--publish", &format!("3000:{port}")], 3000, "127.0.0.1");
    let mut stream = connect(port);
    stream.write_all(b"f").unwrap();
    // Nothing is lost for a slow reader.
    thread::sleep(Duration::from_millis(300));
    assert_eq!(read_all(&stream).len(), 8 << 20);
    // The answer arrives even if the whole run ends.
    let mut stream = connect(port);
    stream.write_all(b"q").unwrap();
    assert_eq!(read_all(&stream).len(), 1 << 20);
    server.end();
}

#[test]
fn a_client_that_does_not_read_stops_the_server_and_no_memory_is_used() {
    let port = free_port();
    let server = Server::start(&["--publish", &format!("3000:{port}")], 3000, "127.0.0.1");
    let before = resident_kilobytes(server.child.id());
    let mut streams: Vec<_> = (0..32).map(|_| connect(port)).collect();
    for stream in &mut streams {
        stream.write_all(b"w").unwrap();
    }
    let sent: u64 = server.wait_for("w/sent").parse().unwrap();
    let used = resident_kilobytes(server.child.id()) - before;
    // The kernel's own buffers are at most some MiB for each socket.
    assert!(sent < 64 << 20, "{sent} bytes were accepted");
    assert!(used < 16 << 10, "the supervisor uses {used} KiB more");
    // Others are served meanwhile.
    assert_eq!(echo(port, b"x"), b"x 1");
    drop(server);
}

fn resident_kilobytes(process: u32) -> i64 {
    let text = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = text.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_port_without_a_listener_is_reset_and_costs_no_time() {
    let (port, other) = (free_port(), free_port());
    let ports = [&format!("3000:{port}"), "--publish", &format!("3001:{other}")];
    let server = Server::start(&["--publish", ports[0], ports[1], ports[2]], 3000, "127.0.0.1");
    let begun = Instant::now();
    for _ in 0..300 {
        let mut stream = connect(other);
        let ended = stream.read(&mut [0; 1]);
        assert!(matches!(&ended, Err(error) if error.raw_os_error() == Some(104)), "{ended:?}");
    }
    assert!(begun.elapsed() < Duration::from_secs(30));
    let idle = processor_ticks(server.child.id());
    thread::sleep(Duration::from_secs(1));
    assert!(processor_ticks(server.child.id()) - idle < 20, "the supervisor does not wait");
    assert_eq!(echo(port, b"x"), b"x 1");
    drop(server);
}

/// Returns the processor time that a process has used, in units of 1/100 s (proc_pid_stat(5)).
fn processor_ticks(process: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let fields = text.rsplit(')').next().unwrap().split_whitespace();
    fields.skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap()).sum()
}

/// Idle connections do not use up the machine, and one that ends makes room for the next.
#[test]
fn idle_connections_are_bounded() {
    let port = free_port();
    let server = Server::start(&["--publish", &format!("3000:{port}")], 3000, "127.0.0.1");
    // More than are accepted, and fewer than wait in the queue of the kernel.
    let mut idle: Vec<_> = (0..350).map(|_| connect(port)).collect();
    thread::sleep(Duration::from_millis(500));
    let open = fs::read_dir(format!("/proc/{}/fd", server.child.id())).unwrap().count();
    assert!(open < 600, "{open} descriptors are open");
    idle.clear();
    assert_eq!(echo(port, b"x"), b"x 1");
    drop(server);
}

#[test]
fn the_port_is_free_when_the_run_has_ended() {
    let port = free_port();
    for signal in ["KILL", "TERM"] {
        let server = Server::start(&["--publish", &format!("3000:{port}")], 3000, "127.0.0.1");
        let mut open = connect(port);
        open.write_all(b"e").unwrap();
        let id = server.child.id().to_string();
        assert!(
            Command::new("kill").args([&format!("-{signal}"), &id]).status().unwrap().success()
        );
        server.end();
        let begun = Instant::now();
        while TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_err() {
            assert!(
                begun.elapsed() < Duration::from_secs(2),
                "the port is still in use ({signal})"
            );
            thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn a_port_of_the_host_that_is_in_use_is_an_error_before_the_program_starts() {
    let arena = Arena::new();
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = taken.local_addr().unwrap().port();
    let output =
        arena.run(&["--publish", &format!("3000:{port}")], &["touch", "ran"]).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    let message = format!(
        "nothing was run: cannot publish port 3000: another program uses port {port} of this \
         machine; `--publish 3000:HOSTPORT` uses another port"
    );
    assert!(errors.contains(&message), "{errors}");
    assert_eq!(output.status.code(), Some(125));
    assert!(!arena.path("w/ran").exists());
}

#[test]
fn wrong_ports_are_errors_of_the_command_line() {
    let arena = Arena::new();
    for (value, reason) in [
        ("0", "expected PORT or PORT:HOSTPORT, each from 1 to 65535"),
        ("x", "expected PORT or PORT:HOSTPORT, each from 1 to 65535"),
        ("3000-3005", "ranges are not supported: name each port"),
        ("0.0.0.0:8080:80", "ports are published on the loopback interface only"),
        ("80", "the port of the host comes second, as in `8080:80`"),
    ] {
        let output = arena.run(&["--publish", value], &["touch", "ran"]).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.contains(reason) && errors.contains("--publish"), "{errors}");
        assert_eq!(output.status.code(), Some(2), "{value}");
    }
    for (arguments, reason) in [
        (["--publish", "3000", "--publish", "4000:3000"].as_slice(), "names port 3000 of this"),
        (&["--publish", "3000", "--net", "host"], "has no effect with `--net host`"),
    ] {
        let output = arena.run(arguments, &["touch", "ran"]).output().unwrap();
        assert!(String::from_utf8_lossy(&output.stderr).contains(reason), "{output:?}");
        assert_eq!(output.status.code(), Some(2));
    }
    assert!(!arena.path("w/ran").exists());
}

/// Only the loopback interface is used, and a program inside has no part in which port it is.
#[test]
fn only_the_named_port_of_the_loopback_is_open() {
    let port = free_port();
    let program = r"
import os, socket, threading
links = [f'/proc/self/fd/{fd}' for fd in os.listdir('/proc/self/fd')]
open('inherited', 'w').write(str([os.readlink(link) for link in links if os.path.exists(link) and 'socket' in os.readlink(link)]))
for other in range(4000, 4010): threading.Thread(target=socket.create_server(('', other)).accept, daemon=True).start()
def reach(port):
    try: socket.create_connection(('127.0.0.1', port), 2); return 'reached'
    except OSError: return 'refused'
open('host', 'w').write(reach(int(open('port').read())))
open('ready', 'w').write('x')
import time; time.sleep(60)
";
    let arena = Arena::new();
    fs::write(arena.path("w/port"), port.to_string()).unwrap();
    let argument = format!("3000:{port}");
    let mut command = arena.run(&["--publish", &argument], &["python3", "-c", program]);
    let child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let server = Server { arena, child };
    server.wait_for("w/ready");
    assert_eq!(fs::read_to_string(server.arena.path("w/host")).unwrap(), "refused");
    assert_eq!(fs::read_to_string(server.arena.path("w/inherited")).unwrap(), "[]");
    for other in 4000..4010 {
        let at = SocketAddr::from((Ipv4Addr::LOCALHOST, other));
        assert!(TcpStream::connect_timeout(&at, Duration::from_secs(2)).is_err());
    }
    let hexadecimal = format!(":{port:04X} ");
    for (file, loopback) in
        [("/proc/net/tcp", "0100007F"), ("/proc/net/tcp6", "00000000000000000000000001000000")]
    {
        let text = fs::read_to_string(file).unwrap_or_default();
        let listening = text.lines().filter(|line| line.contains(" 0A "));
        for line in listening.filter(|line| line.contains(&hexadecimal)) {
            assert!(line.contains(&format!("{loopback}{hexadecimal}")), "{line}");
        }
    }
    drop(server);
}

/// The supervisor's own listeners inside are no way from the host into its network, even if a rule
/// lets programs inside connect to the host at the same port.
#[test]
fn a_published_port_does_not_lead_to_the_broker() {
    let port = free_port();
    let target = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    target.set_nonblocking(true).unwrap();
    let inner = target.local_addr().unwrap().port();
    let net = format!("localhost:{inner}");
    let publish = format!("{inner}:{port}");
    let arena = Arena::new();
    let program = ["sh", "-c", "echo x > ready; sleep 60"];
    let mut command = arena.run(&["--net", &net, "--publish", &publish], &program);
    let child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let server = Server { arena, child };
    server.wait_for("w/ready");
    let mut stream = connect(port);
    assert!(stream.read(&mut [0; 1]).is_err(), "no program listens");
    assert!(target.accept().is_err(), "the host was reached");
    drop(server);
}

#[test]
fn another_user_may_publish_and_not_at_privileged_ports() {
    if !is_root() {
        return; // The other tests are this user's.
    }
    let port = free_port();
    let script = r#"
        PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
        mount -t tmpfs -o mode=755 none /mnt
        cp "$0" /mnt/openoxide
        mkdir /mnt/w /mnt/home
        chown -R 1234:1234 /mnt/w /mnt/home
        cd /mnt/w
        as() { HOME=/mnt/home setpriv --reuid=1234 --regid=1234 --clear-groups "$@"; }
        serve='import http.server as h; h.HTTPServer(("", 3000), h.SimpleHTTPRequestHandler).handle_request()'
        as /mnt/openoxide sandbox run --publish "3000:$1" -- python3 -c "$serve" > /dev/null 2>&1 &
        as curl -sS --retry 50 --retry-all-errors --retry-delay 1 "http://127.0.0.1:$1/" | grep -c '<title>'
        wait
        as /mnt/openoxide sandbox run --publish 3000:81 -- touch ran 2>&1; ls
    "#;
    let output = Command::new("unshare")
        .args(["-m", "--propagation", "private", "sh", "-c", script, crate::support::OPENOXIDE])
        .arg(port.to_string())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let message = "1\nopenoxide: error: nothing was run: cannot publish port 3000: you are not \
                   permitted to listen on port 81 of this machine; `--publish 3000` uses port 3000\n";
    assert_eq!(text.trim_start(), message, "{output:?}");
}
