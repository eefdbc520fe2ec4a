//! The real filter, the real kernel, and programs that try to reach more than they may.

use std::{
    io::Write as _,
    os::unix::{ffi::OsStrExt as _, net::UnixListener},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use openoxide_protocol::NetworkAccess;

use crate::{
    interface::{RuntimeDecision, SandboxDenial},
    network::tests::harness::{World, refused, web},
};

const V4: &str = "93.184.216.34";

/// Starts a service of the host that counts its connections.
fn service(at: &Path) -> Arc<AtomicUsize> {
    let listener = UnixListener::bind(at).unwrap();
    let visits = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&visits);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            counted.fetch_add(1, Ordering::SeqCst);
            drop(stream.unwrap().write_all(b"the host"));
        }
    });
    visits
}

#[test]
fn any_port_is_captured_on_the_first_connection() {
    let (server, _asked) = web("the page");
    let world = World::of("good.example").host("good.example", V4, 8765, server).notified();
    let outcome = world.run(&[
        "sh",
        "-c",
        "curl -sS http://good.example:8765/ && ! curl -s http://evil.example:8766/",
    ]);
    assert_eq!((outcome.status, outcome.output.as_str()), (Some(0), "the page"), "{outcome:?}");
    assert_eq!(outcome.denials, [refused("evil.example", 8766)]);
}

/// Guards I22.
#[test]
fn a_socket_of_the_host_is_not_reached_by_any_path() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("host.sock");
    let visits = service(&at);
    std::os::unix::fs::symlink(&at, dir.path().join("link")).unwrap();
    std::fs::hard_link(&at, dir.path().join("hard")).unwrap();
    let program = format!(
        "import socket as s, os\n\
         os.chdir({dir:?})\n\
         fd = os.open('.', os.O_RDONLY)\n\
         for path in ('{at}', 'host.sock', './../' + os.path.basename({dir:?}) + '/host.sock', 'link', 'hard',\n\
         \x20        '/proc/self/cwd/host.sock', '/proc/self/root{at}', f'/proc/self/fd/{{fd}}/host.sock', '{at}' + chr(0) + 'x'):\n\
         \x20   for kind in (s.SOCK_STREAM, s.SOCK_SEQPACKET):\n\
         \x20       one = s.socket(s.AF_UNIX, kind)\n\
         \x20       try: one.connect(path.encode()); print(path, 'reached', one.recv(9))\n\
         \x20       except OSError as e: print(path, e.strerror)\n\
         try: s.socket(s.AF_UNIX, s.SOCK_DGRAM); print('datagrams')\n\
         except OSError as e: print('datagrams', e.strerror)\n",
        dir = dir.path().to_str().unwrap(),
        at = at.display()
    );
    let outcome = World::of("good.example").notified().python(&program);
    assert!(
        !outcome.output.contains("reached") && outcome.output.lines().count() == 19,
        "{outcome:?}"
    );
    let told = outcome.output.matches("Permission denied").count();
    assert!(told >= 10, "{outcome:?}");
    assert!(
        outcome.denials.contains(&SandboxDenial::UnixSocket { path: at.display().to_string() }),
        "{outcome:?}"
    );
    assert_eq!(visits.load(Ordering::SeqCst), 0);
}

#[test]
fn its_own_sockets_are_reached() {
    let dir = tempfile::tempdir().unwrap();
    let program = format!(
        "import socket as s, os, threading\n\
         os.chdir({:?}); os.mkdir('d'); os.symlink('d/own.sock', 'link')\n\
         def serve(kind, name):\n\
         \x20   one = s.socket(s.AF_UNIX, kind); one.bind(name); one.listen()\n\
         \x20   def go():\n\
         \x20       while True: one.accept()[0].sendall(b'own')\n\
         \x20   threading.Thread(target=go, daemon=True).start()\n\
         serve(s.SOCK_STREAM, 'd/own.sock'); serve(s.SOCK_SEQPACKET, 'packets'); serve(s.SOCK_STREAM, chr(0) + 'name')\n\
         for kind, to in ((1, 'd/own.sock'), (1, os.path.abspath('d/own.sock')), (1, 'link'), (1, 'd/../d/own.sock'), (5, 'packets'), (1, chr(0) + 'name')):\n\
         \x20   one = s.socket(s.AF_UNIX, kind); one.connect(to); print(one.recv(9).decode())\n\
         a, b = s.socketpair(); a.send(b'pair'); print(b.recv(9).decode())\n\
         for to in ('none', 'd', chr(0) + 'none', 'x' * 100 + '/y'):\n\
         \x20   try: s.socket(s.AF_UNIX).connect(to)\n\
         \x20   except OSError as e: print(e.strerror)\n",
        dir.path().to_str().unwrap()
    );
    let outcome = World::of("good.example").notified().python(&program);
    let expected = "own\nown\nown\nown\nown\nown\npair\nNo such file or directory\nConnection refused\nConnection refused\n\
        No such file or directory\n";
    assert_eq!(outcome.output, expected, "{outcome:?}");
    assert!(outcome.denials.is_empty());
}

/// Key agents and similar programs forbid access by other processes of their user (prctl(2)). Their
/// calls are handled like those of other programs.
#[test]
fn a_process_that_closed_itself_to_others_is_served() {
    let dir = tempfile::tempdir().unwrap();
    let program = format!(
        "import socket as s, ctypes, os\n\
         os.chdir({:?}); l = s.socket(s.AF_UNIX); l.bind('own'); l.listen()\n\
         print(ctypes.CDLL(None).prctl(4, 0), os.stat('/proc/self/mem').st_uid != os.getuid())\n\
         s.socket(s.AF_UNIX).connect('own'); print('reached')",
        dir.path().to_str().unwrap()
    );
    let outcome = World::of("good.example").notified().python(&program);
    assert!(
        outcome.output.ends_with("reached\n") && outcome.output.starts_with("0 "),
        "{outcome:?}"
    );
}

/// While one thread connects, others put another address in its memory and another socket at its number.
/// Guards I22.
#[test]
fn changing_arguments_during_a_call_gains_no_access() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("h");
    let visits = service(&at);
    let source = dir.path().join("race.c");
    std::fs::write(&source, include_str!("tests/race.c")).unwrap();
    let program = dir.path().join("race");
    let built = std::process::Command::new("cc")
        .arg("-O1")
        .arg(&source)
        .arg("-o")
        .arg(&program)
        .arg("-lpthread")
        .status();
    if !built.is_ok_and(|status| status.success()) {
        return; // No compiler here; elsewhere it is tried.
    }
    assert!(at.as_os_str().as_bytes().len() < 100);
    let outcome = World::of("good.example")
        .notified()
        .run(&[program.to_str().unwrap(), at.to_str().unwrap()]);
    let calls: Vec<u64> =
        outcome.output.split_whitespace().map(|number| number.parse().unwrap()).collect();
    assert_eq!(visits.load(Ordering::SeqCst), 0, "{outcome:?}");
    assert!(calls[0] > 500 && calls[1] > 10, "it was no race: {outcome:?}");
}

/// Guards I23.
#[test]
fn calls_end_as_the_kernel_would_end_them() {
    let program = "import socket as s, ctypes, errno, os, signal, time\n\
        libc = ctypes.CDLL(None, use_errno=True)\n\
        def raw(fd, address, length):\n\
        \x20   return errno.errorcode[ctypes.get_errno()] if libc.connect(fd, address, length) else 'ok'\n\
        udp, tcp, unix = s.socket(s.AF_INET, s.SOCK_DGRAM), s.socket(), s.socket(s.AF_UNIX)\n\
        inet = b'\\x02\\x00\\x00\\x09\\x7f\\x00\\x00\\x01' + b'\\0' * 8\n\
        print(raw(udp.fileno(), inet, 16), udp.getpeername(), raw(udp.fileno(), b'\\0' * 16, 16))\n\
        try: udp.getpeername()\n\
        except OSError as e: print(errno.errorcode[e.errno])\n\
        print(raw(tcp.fileno(), inet, 16), raw(999, inet, 16), raw(0, inet, 16), raw(tcp.fileno(), inet, 8))\n\
        print(raw(tcp.fileno(), ctypes.c_void_p(8), 16), raw(tcp.fileno(), inet, 200), raw(unix.fileno(), inet, 16))\n\
        l = s.create_server(('127.0.0.1', 9999)); one = s.socket(); one.setblocking(False)\n\
        print(one.connect_ex(('127.0.0.1', 9999)) in (0, errno.EINPROGRESS), raw(one.fileno(), b'\\x02\\x00\\x27\\x0f\\x7f\\x00\\x00\\x01' + b'\\0' * 8, 16))\n\
        full = s.create_server(('127.0.0.1', 9998), backlog=0)\n\
        queue = []\n\
        for n in range(3):\n\
        \x20   one = s.socket(); one.setblocking(False); one.connect_ex(('127.0.0.1', 9998)); queue.append(one)\n\
        child = os.fork()\n\
        if child == 0: s.socket().connect(('127.0.0.1', 9998)); os._exit(0)\n\
        time.sleep(0.5); os.kill(child, signal.SIGKILL); print(os.waitpid(child, 0)[1])";
    let of_the_kernel = World::of("good.example").python(program);
    let ours = World::of("good.example").notified().python(program);
    assert_eq!(ours.output, of_the_kernel.output, "{ours:?}");
    assert!(ours.output.ends_with("\n9\n") && ours.output.contains("ENOTCONN"), "{ours:?}");
}

#[test]
fn unneeded_socket_families_and_types_are_refused() {
    let program = "import socket as s\n\
        for family, kind, protocol in ((40, 1, 0), (s.AF_PACKET, s.SOCK_RAW, 3), (s.AF_INET, s.SOCK_RAW, 1), (s.AF_INET6, s.SOCK_RAW, 58),\n\
        \x20       (38, 5, 0), (s.AF_NETLINK, s.SOCK_RAW, 4), (31, 1, 0), (44, 3, 0)):\n\
        \x20   try: s.socket(family, kind, protocol); print('made')\n\
        \x20   except OSError as e: print(e.strerror)";
    let outcome = World::of("good.example").notified().python(program);
    assert_eq!(outcome.output, "Operation not permitted\n".repeat(8), "{outcome:?}");
}

/// In the host's network, the sandbox's own sockets cannot be distinguished from the host's.
///
/// Guards I22.
#[test]
fn with_the_network_on_hosts_are_reached_and_services_are_not() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("host.sock");
    let visits = service(&at);
    let (server, _asked) = web("the page");
    let program = format!(
        "import socket as s, urllib.request as u\n\
         print(u.urlopen('http://{server}/', timeout=20).read().decode())\n\
         for to in ({at:?}, chr(0) + 'a name', {at:?} + '.not', '/run/systemd/userdb/x'):\n\
         \x20   try: s.socket(s.AF_UNIX).connect(to)\n\
         \x20   except OSError as e: print(e.strerror)",
    );
    let world = World { network: NetworkAccess::On, ..World::of("") }.notified();
    let outcome = world.python(&program);
    assert_eq!(
        outcome.output,
        "the page\nPermission denied\nOperation not permitted\nNo such file or directory\nNo such file or directory\n",
        "{outcome:?}"
    );
    let told = [
        SandboxDenial::UnixSocket { path: at.display().to_string() },
        SandboxDenial::UnreachableSocket {
            socket: "@a name".to_owned(),
            reason: "it is an abstract socket".to_owned(),
        },
    ];
    assert_eq!(outcome.denials, told);
    assert_eq!(visits.load(Ordering::SeqCst), 0);
}

/// A socket that came from outside would connect outside.
/// Guards I22.
#[test]
fn a_socket_of_the_hosts_network_is_not_connected() {
    let (server, _asked) = web("the host's");
    let own = web("another").0;
    let connected = std::net::TcpStream::connect(own).unwrap();
    let new = rustix::net::socket(
        rustix::net::AddressFamily::INET,
        rustix::net::SocketType::STREAM,
        None,
    )
    .unwrap();
    let program = format!(
        "import socket as s, ctypes, errno\n\
         libc = ctypes.CDLL(None, use_errno=True)\n\
         print(libc.connect(0, b'\\0' * 16, 16), errno.errorcode[ctypes.get_errno()])\n\
         try: s.socket(fileno=0).connect(('127.0.0.1', {})); print('reached')\n\
         except OSError as e: print(e.strerror)",
        server.port()
    );
    for input in [connected.into(), new] {
        let world = World { input: Some(input), ..World::of("good.example").notified() };
        assert_eq!(world.python(&program).output, "-1 EACCES\nPermission denied\n");
    }
}

/// A chain of seccomp filters can have only one listener. If there is another one already, sockets
/// of the host are still out of reach, and the ports that rules name are captured.
#[test]
fn without_a_listener_less_is_reached_and_not_more() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("host.sock");
    let visits = service(&at);
    let (server, _asked) = web("the page");
    let program = format!(
        "import socket as s, urllib.request as u\n\
         print(u.urlopen('http://good.example:8765/', timeout=20).read().decode())\n\
         try: u.urlopen('http://good.example:8766/', timeout=20)\n\
         except OSError as e: print(e.reason.strerror)\n\
         try: s.socket(s.AF_UNIX).connect({at:?})\n\
         except OSError as e: print(e.strerror)\n\
         a, b = s.socketpair(); a.send(b'pair'); print(b.recv(9).decode())",
    );
    let world = World { deaf: true, ..World::of("good.example:8765") };
    let outcome = world.host("good.example", V4, 8765, server).python(&program);
    assert_eq!(
        outcome.output, "the page\nConnection refused\nOperation not permitted\npair\n",
        "{outcome:?}"
    );
    assert_eq!(visits.load(Ordering::SeqCst), 0);
}

#[test]
fn a_held_connection_at_any_port_becomes_a_question() {
    let (server, _asked) = web("the page");
    let world = World::of("").host("good.example", V4, 8443, server).notified();
    let world = world.asking(|host, port| {
        assert_eq!((host, port), ("good.example", 8443));
        std::thread::sleep(std::time::Duration::from_millis(300));
        RuntimeDecision::Once
    });
    assert_eq!(world.run(&["curl", "-sS", "http://good.example:8443/"]).output, "the page");
}
