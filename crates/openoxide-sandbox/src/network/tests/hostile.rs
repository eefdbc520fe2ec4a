//! Tests of malicious programs.

use std::{
    net::{SocketAddr, TcpStream, UdpSocket},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use openoxide_protocol::NetworkAccess;

use crate::{
    interface::RuntimeDecision,
    network::tests::harness::{World, refused, refused_at, server, web},
};

const V4: &str = "93.184.216.34";

/// A name that later resolves to this machine or to its neighbours leads nowhere, in any notation.
///
/// Guards I21.
#[test]
fn a_name_never_leads_to_this_machine_and_its_neighbours() {
    let inner = "127.0.0.1 ::1 ::ffff:127.0.0.1 0.0.0.0 10.1.2.3 192.168.0.1 100.64.0.1 169.254.169.254 fd00:ec2::254 fe80::1 \
        64:ff9b::7f00:1 2002:7f00:1:: 198.18.0.2 203.0.113.7 255.255.255.255 224.0.0.1 8.8.4.4";
    let (server, asked) = web("the inside");
    let world = World::of("evil.example").host("evil.example", inner, 80, server);
    // The last one is the public address of this machine.
    let own = vec!["8.8.4.4".parse().unwrap()];
    let outside = Arc::new(super::harness::Internet {
        own,
        names: world.outside.names.lock().unwrap().clone().into(),
        ..Default::default()
    });
    let world = World { outside: Arc::clone(&outside), ..world };
    let outcome = world.run(&["curl", "-sS", "http://evil.example/"]);
    assert_eq!(outcome.denials, [refused_at("evil.example", 80, "10.1.2.3", true)], "{outcome:?}");
    assert!(outside.tried.lock().unwrap().is_empty());
    assert!(asked.try_recv().is_err());

    let both = format!("127.0.0.1 {V4} 10.0.0.1");
    let world = World::of("evil.example").host("evil.example", &both, 80, server);
    let outside = Arc::clone(&world.outside);
    let outcome = world.run(&["curl", "-sS", "http://evil.example/"]);
    assert_eq!(outcome.output, "the inside", "{outcome:?}");
    assert_eq!(*outside.tried.lock().unwrap(), [SocketAddr::new(V4.parse().unwrap(), 80)]);
}

/// Only an exact name leads to a private network, and never to this machine or to a metadata
/// service, in any notation.
///
/// Guards I21.
#[test]
fn an_exact_name_leads_to_a_private_network_and_nowhere_else() {
    let neighbours = "10.1.2.3 172.16.0.1 192.168.0.1 100.64.0.1 fd12::1";
    for address in neighbours.split_whitespace() {
        for (exact, yes) in [("git.corp.example", true), ("other.corp.example", false)] {
            let (server, _asked) = web("the intranet");
            let world = World::of("*.corp.example").with_private_hosts(exact);
            let world = world.host("git.corp.example", address, 80, server);
            let outcome = world.run(&["curl", "-sS", "http://git.corp.example/"]);
            assert_eq!(outcome.output == "the intranet", yes, "{address} {outcome:?}");
            let refused =
                if yes { vec![] } else { vec![refused_at("git.corp.example", 80, address, true)] };
            assert_eq!(outcome.denials, refused, "{address}");
        }
    }
    // The last one is an address of this machine.
    let never = "127.0.0.1 ::1 ::ffff:127.0.0.1 0.0.0.0 :: 169.254.169.254 fe80::1 fd00:ec2::254 100.100.100.200 224.0.0.1 \
        ::ffff:10.1.2.3 64:ff9b::a01:203 2002:a01:203::1 64:ff9b::7f00:1 198.18.0.2 10.9.9.9";
    let (server, asked) = web("never");
    let world = World::of("git.corp.example").with_private_hosts("git.corp.example");
    let world = world.host("git.corp.example", never, 80, server);
    let outside = Arc::new(super::harness::Internet {
        own: vec!["10.9.9.9".parse().unwrap()],
        names: world.outside.names.lock().unwrap().clone().into(),
        ..Default::default()
    });
    let world = World { outside: Arc::clone(&outside), ..world };
    let outcome = world.run(&["curl", "-sS", "http://git.corp.example/"]);
    assert_eq!(
        outcome.denials,
        [refused_at("git.corp.example", 80, "127.0.0.1", false)],
        "{outcome:?}"
    );
    assert_eq!(*outside.tried.lock().unwrap(), []);
    assert!(asked.try_recv().is_err());
}

/// A name under a wildcard, or one that was allowed without its address, is asked about with its
/// address. The answer applies to that address.
///
/// Guards I21.
#[test]
fn a_name_that_leads_to_a_private_address_is_asked_about_with_it() {
    for (rules, answer) in [
        ("*.corp.example", RuntimeDecision::Once),
        ("*.corp.example", RuntimeDecision::Rejected),
        ("", RuntimeDecision::Session),
    ] {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&asked);
        let (server, _asked) = web("the intranet");
        let world = World::of(rules).host("git.corp.example", "fd12::1 10.1.2.3", 80, server);
        let world = world.asking(move |host, port| {
            noted.lock().unwrap().push((host.to_owned(), port));
            answer
        });
        let outside = Arc::clone(&world.outside);
        let outcome = world.run(&["curl", "-sS", "http://git.corp.example/"]);
        let yes = answer != RuntimeDecision::Rejected;
        assert_eq!(outcome.output == "the intranet", yes, "{outcome:?}");
        let tried = outside.tried.lock().unwrap().clone();
        assert_eq!(tried.len(), usize::from(yes), "only the address that was shown: {tried:?}");
        let mut expected = vec![("git.corp.example at 10.1.2.3".to_owned(), 80)];
        if rules.is_empty() {
            expected.insert(0, ("git.corp.example".to_owned(), 80));
        }
        assert_eq!(*asked.lock().unwrap(), expected);
    }
}

#[test]
fn a_rule_that_is_an_address_lets_a_name_lead_there() {
    let (server, _asked) = web("an own host");
    let world = World::of("git.example:80 10.1.2.3:80").host("git.example", "10.1.2.3", 80, server);
    assert_eq!(world.run(&["curl", "-sS", "http://git.example/"]).output, "an own host");
    let world = World::of("git.example:80 10.1.2.3:81").host("git.example", "10.1.2.3", 80, server);
    assert_eq!(world.run(&["curl", "-sS", "http://git.example/"]).output, "");
}

/// These addresses are not reviewed and lead nowhere, whatever the reviewer would answer.
///
/// Guards I21.
#[test]
fn no_spelling_of_this_machine_or_the_metadata_is_asked_about() {
    let spellings = "127.0.0.1 127.1 2130706433 0x7f000001 0177.0.0.1 0x7f.1 [::ffff:127.0.0.1] [::1] 0.0.0.0 0 [::] localhost \
        LOCALHOST localhost. a.localhost 127.0.0.1. 169.254.169.254 [::ffff:169.254.169.254] 2852039166 [fd00:ec2::254] \
        100.100.100.200 [fe80::1] 224.0.0.1 255.255.255.255 198.18.0.9 [64:ff9b::a9fe:a9fe] [2002:a9fe:a9fe::]";
    let urls = spellings.split_whitespace().map(|host| format!("http://{host}/"));
    for notify in [false, true] {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&asked);
        let world = World::of("*.example").asking(move |host, port| {
            noted.lock().unwrap().push((host.to_owned(), port));
            RuntimeDecision::Session
        });
        let outside = Arc::clone(&world.outside);
        let script =
            urls.clone().map(|url| format!("curl -s -m 9 '{url}' && exit 1; ")).collect::<String>();
        let outcome = World { notify, ..world }.run(&["sh", "-c", &format!("{script} echo done")]);
        assert_eq!(outcome.output.trim(), "done", "{outcome:?}");
        assert_eq!(*asked.lock().unwrap(), []);
        assert_eq!(*outside.tried.lock().unwrap(), []);
    }
}

/// Services that listen on all interfaces are reached at the machine's own addresses, too.
///
/// Guards I21.
#[test]
fn an_own_address_needs_a_rule_about_it_and_is_not_asked_about() {
    let (server, _asked) = web("an own service");
    for (rules, expected) in [("", ""), ("*.example", ""), ("10.9.8.7:80", "an own service")] {
        let world = World::of(rules);
        let outside = super::harness::Internet {
            own: vec!["10.9.8.7".parse().unwrap()],
            ..Default::default()
        };
        let world = World { outside: Arc::new(outside), ..world };
        let world = world.host("other.example", "10.9.8.7", 80, server);
        let world = world.asking(|_, _| RuntimeDecision::Session);
        assert_eq!(world.run(&["curl", "-s", "-m", "9", "http://10.9.8.7/"]).output, expected);
    }
}

#[test]
fn a_review_of_a_bare_address_names_the_address() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&asked);
    let (server, _asked) = web("a page");
    let world = World::of("").host("other.example", "10.0.0.7 93.184.216.34", 80, server);
    let world = world.asking(move |host, port| {
        noted.lock().unwrap().push((host.to_owned(), port));
        RuntimeDecision::Once
    });
    let outcome =
        world.run(&["sh", "-c", "curl -s http://10.7/; curl -s http://[::ffff:93.184.216.34]/"]);
    assert_eq!(outcome.output, "a pagea page", "{outcome:?}");
    let named = [("10.0.0.7".to_owned(), 80), (V4.to_owned(), 80)];
    assert_eq!(*asked.lock().unwrap(), named);
}

/// The program chooses the name in a request. The name that it looked up decides.
///
/// Guards I21.
#[test]
fn a_name_in_the_request_decides_nothing() {
    let (server, _asked) = web("never");
    let world = World::of("good.example:80").host("evil.example", V4, 80, server);
    let outcome = world.run(&["curl", "-sS", "-H", "Host: good.example", "http://evil.example/"]);
    assert_eq!(outcome.denials, [refused("evil.example", 80)], "{outcome:?}");
    let world = World::of("good.example:80").host("good.example", V4, 80, server);
    let resolved = format!("good.example:80:{V4}");
    let outcome = world.run(&["curl", "-sS", "--resolve", &resolved, "http://good.example/"]);
    assert_eq!(outcome.denials, [refused(V4, 80)], "{outcome:?}");
}

/// Data does not leave by other means than connect(2), nor by protocols other than TCP.
///
/// Guards I21.
#[test]
fn no_other_protocol_leaves_the_sandbox() {
    let host = UdpSocket::bind("127.0.0.1:0").unwrap();
    host.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let port = host.local_addr().unwrap().port();
    let (server, asked) = web("never");
    let at = server.port();
    let program = format!(
        "import socket as s\n\
         def tried(name, work):\n\
         \x20   try: print(name, work())\n\
         \x20   except OSError as e: print(name, 'refused')\n\
         def send(family, kind, to, protocol=0, flags=0):\n\
         \x20   one = s.socket(family, kind, protocol); one.settimeout(0.3 if kind == s.SOCK_DGRAM else 9)\n\
         \x20   one.sendto(b'GET / HTTP/1.0\\r\\n\\r\\n', flags, to)\n\
         \x20   got = one.recv(99)\n\
         \x20   if not got: raise OSError\n\
         \x20   return got\n\
         for port in ({port}, 53, 443):\n\
         \x20   for to in ('127.0.0.1', '{V4}', '8.8.8.8'):\n\
         \x20       if (port, to) != (53, '127.0.0.1'): tried('udp', lambda: send(s.AF_INET, s.SOCK_DGRAM, (to, port)))\n\
         for port in (80, {at}):\n\
         \x20   for to in ('127.0.0.1', '{V4}'):\n\
         \x20       tried('fast open', lambda: send(s.AF_INET, s.SOCK_STREAM, (to, port), 0, 0x20000000))\n\
         \x20       tried('mptcp', lambda: send(s.AF_INET, s.SOCK_STREAM, (to, port), 262, 0x20000000))\n\
         tried('sctp', lambda: s.socket(s.AF_INET, s.SOCK_STREAM, 132).connect(('{V4}', 80)))\n\
         tried('port 0', lambda: s.socket().connect(('{V4}', 0)))\n"
    );
    for notify in [false, true] {
        let world = World::of("good.example").host("good.example", V4, 80, server);
        let outside = Arc::clone(&world.outside);
        let outcome = World { notify, ..world }.python(&program);
        assert_eq!(outcome.status, Some(0), "{outcome:?}");
        assert!(
            outcome.output.lines().count() == 18
                && outcome.output.lines().all(|line| line.ends_with("refused")),
            "{outcome:?}"
        );
        assert_eq!(*outside.tried.lock().unwrap(), []);
        assert!(host.recv(&mut [0; 9]).is_err() && asked.try_recv().is_err());
    }
}

/// A connection that begins with data and without connect(2) is checked like any other.
#[test]
fn fast_open_reaches_hosts_that_a_rule_names() {
    let (server, _asked) = web("the page");
    let program = "import socket as s\n\
        for protocol in (0, 262):\n\
        \x20   one = s.socket(s.AF_INET, s.SOCK_STREAM, protocol)\n\
        \x20   one.sendto(b'GET / HTTP/1.0\\r\\nHost: a\\r\\n\\r\\n', 0x20000000, (s.gethostbyname('good.example'), 80))\n\
        \x20   print(one.recv(9999).decode().split()[-1])";
    let outcome =
        World::of("good.example").host("good.example", V4, 80, server).notified().python(program);
    assert_eq!(outcome.output, "page\npage\n", "{outcome:?}");
}

#[test]
fn with_the_network_off_nothing_is_reached() {
    for notify in [false, true] {
        let world = World { network: NetworkAccess::Off, notify, ..World::of("") };
        let outside = Arc::clone(&world.outside);
        let outcome = world.run(&["sh", "-c", "curl -s http://example.org/; curl -s http://93.184.216.34/; curl -s http://127.0.0.1/; exit 5"]);
        assert_eq!((outcome.status, outcome.output.as_str()), (Some(5), ""), "{outcome:?}");
        assert_eq!(*outside.tried.lock().unwrap(), []);
        assert_eq!(outcome.denials, if notify { vec![refused(V4, 80)] } else { vec![] });
    }
}

#[test]
fn the_host_does_not_reach_listeners_inside() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let trying = std::thread::spawn(move || {
        let end = Instant::now() + Duration::from_secs(4);
        let all = ["127.0.0.1", "::1"].map(|to| SocketAddr::new(to.parse().unwrap(), free.port()));
        while Instant::now() < end {
            assert!(all.iter().all(|to| TcpStream::connect(to).is_err()));
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let program = format!(
        "import socket, time\n\
         one = socket.create_server(('', {}), family=socket.AF_INET6, dualstack_ipv6=True)\n\
         print('listens', flush=True); time.sleep(2.5)",
        free.port()
    );
    assert_eq!(World::of("good.example").python(&program).output, "listens\n");
    trying.join().unwrap();
}

#[test]
fn allowed_connections_survive_a_flood() {
    let (server, _asked) = server(|stream| {
        std::thread::spawn(move || std::io::copy(&mut &stream, &mut &stream));
    });
    let program = "import socket as s, os\n\
        flood = s.socket(s.AF_INET, s.SOCK_DGRAM)\n\
        for n in range(20000):\n\
        \x20   try: flood.sendto(os.urandom(n % 70), ('127.0.0.53', 53))\n\
        \x20   except OSError: pass\n\
        to = s.gethostbyname('good.example')\n\
        for wave in range(2):\n\
        \x20   many = []\n\
        \x20   for n in range(400):\n\
        \x20       one = s.socket(); one.setblocking(False); one.connect_ex((to if n % 2 else '93.184.216.34', 443)); many.append(one)\n\
        \x20   for one in many: one.close()\n\
        names = s.create_connection(('127.0.0.53', 53), 9); names.sendall(b'\\xff\\xff'); names.close()\n\
        one = s.create_connection((s.gethostbyname('good.example'), 443), 60)\n\
        one.sendall(b'still there'); print(one.recv(99).decode())";
    for notify in [false, true] {
        let world = World::of("good.example:443").host("good.example", V4, 443, server);
        let outcome = World { notify, ..world }.python(program);
        assert_eq!(outcome.output, "still there\n", "{outcome:?}");
        assert_eq!(outcome.denials, [refused(V4, 443)]);
    }
}
