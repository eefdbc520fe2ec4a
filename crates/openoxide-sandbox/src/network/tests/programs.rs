//! Tests of ordinary programs.

use std::{
    io::{Read as _, Write as _},
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use crate::{
    interface::RuntimeDecision,
    network::tests::harness::{World, refused, server, web},
};

/// Addresses that are assigned to real hosts. The simulated internet of the tests leads them
/// elsewhere.
const V4: &str = "93.184.216.34";
const V6: &str = "2606:2800:220:1::1";

fn is_there(program: &str) -> bool {
    let version = Command::new(program).arg("--version").stdout(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}

/// Returns the command line with which each installed program fetches a page.
fn clients(url: &str) -> Vec<Vec<String>> {
    let python = format!(
        "import urllib.request as u; print(u.urlopen({url:?}, timeout=20).read().decode())"
    );
    let node =
        format!("fetch({url:?}).then(r => r.text()).then(console.log, e => process.exit(7))");
    let all = [
        vec!["curl", "-sS", "--max-time", "20", url],
        vec!["python3", "-c", &python],
        vec!["node", "-e", &node],
    ];
    let words = |argv: Vec<&str>| argv.into_iter().map(str::to_owned).collect::<Vec<_>>();
    all.into_iter().filter(|argv| is_there(argv[0])).map(words).collect()
}

#[test]
fn a_host_that_a_rule_names_is_reached_by_its_name() {
    for notify in [false, true] {
        for client in clients("http://www.example.org/") {
            let (server, asked) = web("the page");
            let world = World::of("*.example.org:80").host("www.example.org", V4, 80, server);
            let argv: Vec<_> = client.iter().map(String::as_str).collect();
            let outcome = World { notify, ..world }.run(&argv);
            assert_eq!(outcome.output.trim(), "the page", "{client:?} {outcome:?}");
            assert_eq!((outcome.status, outcome.denials.len()), (Some(0), 0), "{client:?}");
            assert_eq!(asked.recv().unwrap(), "www.example.org");
        }
    }
}

/// Guards I21.
#[test]
fn a_host_that_no_rule_names_is_refused_and_reported() {
    for notify in [false, true] {
        for client in clients("http://evil.example.com/") {
            let (server, asked) = web("never");
            let world = World::of("*.example.org").host("evil.example.com", V4, 80, server);
            let argv: Vec<_> = client.iter().map(String::as_str).collect();
            let outside = Arc::clone(&world.outside);
            let outcome = World { notify, ..world }.run(&argv);
            // If its only socket is closed before the promise is settled, node has nothing left to
            // do and exits successfully.
            let content = argv.first() == Some(&"node") && outcome.output.is_empty();
            assert!(outcome.status != Some(0) || content, "{client:?} {outcome:?}");
            assert!(!outcome.output.contains("never"), "{client:?} {outcome:?}");
            assert_eq!(outcome.denials, [refused("evil.example.com", 80)], "{client:?}");
            assert!(outside.tried.lock().unwrap().is_empty() && asked.try_recv().is_err());
        }
    }
}

#[test]
fn a_connection_to_an_unknown_host_waits_for_the_answer() {
    for client in clients("http://www.example.org/") {
        let (server, _asked) = web("the page");
        let questions = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&questions);
        let world =
            World::of("").host("www.example.org", V4, 80, server).asking(move |host, port| {
                assert_eq!((host, port), ("www.example.org", 80));
                counted.fetch_add(1, Ordering::SeqCst);
                std::thread::sleep(Duration::from_millis(700));
                RuntimeDecision::Session
            });
        let twice = format!("{0} && {0}", shell(&client));
        let outcome = world.run(&["sh", "-c", &twice]);
        assert_eq!(outcome.output.matches("the page").count(), 2, "{outcome:?}");
        assert_eq!((questions.load(Ordering::SeqCst), outcome.denials.len()), (1, 0), "{client:?}");
    }
}

#[test]
fn a_rejection_is_remembered_and_reported() {
    let world = World::of("").asking(|_, _| RuntimeDecision::Rejected);
    let outcome = world.run(&[
        "sh",
        "-c",
        "curl -sS http://a.example/; curl -sS http://a.example/; curl -sS https://a.example/",
    ]);
    // It depends on the timing whether the program saw a connection that ends or no connection.
    assert!(outcome.output.is_empty() && outcome.status != Some(0), "{outcome:?}");
    assert_eq!(outcome.errors.matches("curl: (").count(), 3, "{outcome:?}");
    assert_eq!(
        outcome.denials,
        [refused("a.example", 80), refused("a.example", 443)],
        "{outcome:?}"
    );
}

fn shell(argv: &[String]) -> String {
    let quoted = argv.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''")));
    quoted.collect::<Vec<_>>().join(" ")
}

#[test]
fn version_6_is_reached_as_version_4_is() {
    let (server, _asked) = web("the page");
    let world = World::of("www.example.org").host("www.example.org", V6, 80, server);
    let outcome = world.run(&["curl", "-sS6", "http://www.example.org/"]);
    assert_eq!(outcome.output, "the page", "{outcome:?}");
}

#[test]
fn each_side_may_end_before_the_other() {
    // The server answers only after it has received everything.
    let (server, heard) = server(|mut stream| {
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        stream.write_all(text.to_uppercase().as_bytes()).unwrap();
        text.len()
    });
    let world = World::of("echo.example:443").host("echo.example", V4, 443, server);
    let outcome = world.python(
        "import socket\n\
         s = socket.create_connection(('echo.example', 443), 20)\n\
         s.sendall(b'a' * 300000); s.shutdown(socket.SHUT_WR)\n\
         data = b''\n\
         while (more := s.recv(65536)): data += more\n\
         print(len(data), set(data) == {ord('A')})",
    );
    assert_eq!(outcome.output.trim(), "300000 True", "{outcome:?}");
    assert_eq!(heard.recv().unwrap(), 300_000);
}

#[test]
fn a_repository_is_listed() {
    let dir = tempfile::tempdir().unwrap();
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.current_dir(dir.path()).args(["-c", "user.name=a", "-c", "user.email=a@b.c"]);
        assert!(
            command
                .args(arguments)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .unwrap()
                .success()
        );
    };
    git(&["init", "-q", "-b", "trunk", "repo"]);
    git(&["-C", "repo", "commit", "-q", "--allow-empty", "-m", "one"]);
    let base = dir.path().to_owned();
    let (server, _served) = server(move |stream| {
        let output: std::os::fd::OwnedFd = stream.try_clone().unwrap().into();
        let mut daemon = Command::new("git");
        daemon
            .args(["daemon", "--inetd", "--export-all"])
            .arg(format!("--base-path={}", base.display()));
        daemon.stdin(std::os::fd::OwnedFd::from(stream)).stdout(output).status().unwrap().success()
    });
    for notify in [false, true] {
        let world = World::of("git.example.org:9418").host("git.example.org", V4, 9418, server);
        let outcome =
            World { notify, ..world }.run(&["git", "ls-remote", "git://git.example.org/repo"]);
        assert!(outcome.output.contains("refs/heads/trunk"), "{outcome:?}");
    }
}

#[test]
fn its_own_loopback_works_and_is_its_own() {
    let program = "import socket, threading\n\
         l = socket.create_server(('127.0.0.1', 8000))\n\
         threading.Thread(target=lambda: l.accept()[0].sendall(b'own'), daemon=True).start()\n\
         print(socket.create_connection(('localhost', 8000), 20).recv(9).decode())\n\
         w = socket.create_server(('0.0.0.0', 8080)); print('listens')";
    for notify in [false, true] {
        for rules in ["", "*.example.org"] {
            let outcome = World { notify, ..World::of(rules) }.python(program);
            assert_eq!(outcome.output.trim(), "own\nlistens", "{outcome:?}");
            assert!(outcome.denials.is_empty(), "{outcome:?}");
        }
    }
}

#[test]
fn a_service_of_the_host_is_reached_by_a_rule_that_is_its_address() {
    let (server, _asked) = web("the host's");
    let rule = format!("127.0.0.1:{}", server.port());
    let at = SocketAddrText(server.port());
    let world = World::of(&rule);
    world.outside.servers.lock().unwrap().insert(server, server);
    let outcome = world.run(&["curl", "-sS", &at.url()]);
    assert_eq!(outcome.output, "the host's", "{outcome:?}");
    let outcome = World::of("*.example.org").run(&["curl", "-sS", &at.url()]);
    assert_ne!(outcome.status, Some(0), "{outcome:?}");
}

struct SocketAddrText(u16);

impl SocketAddrText {
    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.0)
    }
}
