//! Ports that a policy publishes, and programs that listen on other ports.

use std::{
    fs,
    io::Read as _,
    net::{Ipv4Addr, TcpListener, TcpStream},
    os::unix::fs::PermissionsExt as _,
    process::{Child, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::{
    prompt::Terminal,
    support::{World, code, stderr},
};

/// Listens on the port of the argument until a connection was answered or some seconds are over.
const SERVER: &str = "#!/usr/bin/env python3\n\
    import socket, sys\n\
    server = socket.create_server(('127.0.0.1', int(sys.argv[1])))\n\
    server.settimeout(float(sys.argv[2]))\n\
    try: server.accept()[0].sendall(b'the server')\n\
    except TimeoutError: pass\n";

/// Returns a project with the server, and the settings of the user's policy.
fn project(settings: &str) -> World {
    let policy = format!("[permissions]\nallow = [\"Bash(./serve *)\"]\n[sandbox]\n{settings}\n");
    let world = World::new().policy(&policy);
    let file = world.file("serve", SERVER);
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
    world
}

/// Writes a policy of the project that publishes a port.
fn publish_by_project(world: &World, port: u16) {
    fs::create_dir(world.project().join(".openoxide")).unwrap();
    world.file(".openoxide/policy.toml", &format!("[sandbox]\npublish = [{port}]\n"));
}

/// Returns a port that no program uses and that the kernel does not assign itself.
fn free_port() -> u16 {
    let mut ports = 20_000 + u16::try_from(std::process::id() % 10_000).unwrap()..;
    ports.find(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok()).unwrap()
}

fn start(world: &World, arguments: &[&str], command: &str) -> Child {
    let words = [&["run", "--no-input"], arguments, &["-c", command]].concat();
    let mut process = world.command(&words);
    process.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    process.spawn().unwrap()
}

/// Connects until a server answers or the time is over.
fn answer_within(port: u16, limit: Duration) -> Option<String> {
    let begun = Instant::now();
    while begun.elapsed() < limit {
        if let Ok(mut stream) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) {
            let mut text = String::new();
            if stream.read_to_string(&mut text).is_ok() && !text.is_empty() {
                return Some(text);
            }
        }
        thread::sleep(Duration::from_millis(50));
    }
    None
}

fn errors(child: Child) -> String {
    String::from_utf8(child.wait_with_output().unwrap().stderr).unwrap()
}

#[test]
fn a_port_of_the_policy_is_published_when_a_program_listens() {
    let (port, host_port) = (free_port(), free_port() + 1);
    let world = project(&format!("publish = [{port}, \"{}:{host_port}\"]", port + 7));
    for (inner, outer) in [(port, port), (port + 7, host_port)] {
        let child = start(&world, &[], &format!("./serve {inner} 30"));
        assert_eq!(answer_within(outer, Duration::from_secs(30)).as_deref(), Some("the server"));
        let text = errors(child);
        assert!(!text.contains("note"), "{text}");
        assert!(TcpListener::bind((Ipv4Addr::LOCALHOST, outer)).is_ok(), "the port is closed");
    }
}

/// A second command of the project runs while the first one uses the port.
#[test]
fn a_port_in_use_does_not_stop_a_command() {
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, free_port() + 2)).unwrap();
    let port = taken.local_addr().unwrap().port();
    let world = project(&format!("publish = [{port}]"));
    let silent = world.run(&["run", "--no-input", "-c", "./serve 2>/dev/null || true"], b"");
    assert!(!stderr(&silent).contains("note"), "{}", stderr(&silent));
    let output = world.run(&["run", "--no-input", "-c", &format!("./serve {port} 2")], b"");
    let text = stderr(&output);
    assert_eq!(code(&output), 0, "{text}");
    let note = format!("port {port} is not published: another program uses port {port} of this");
    assert_eq!(text.matches(&note).count(), 1, "{text}");
    let hint = format!("`--publish {port}:HOSTPORT` uses another port");
    assert!(text.contains(&hint), "{text}");
    let other = free_port() + 3;
    let child =
        start(&world, &["--publish", &format!("{port}:{other}")], &format!("./serve {port} 30"));
    assert_eq!(answer_within(other, Duration::from_secs(30)).as_deref(), Some("the server"));
    assert!(!errors(child).contains("note"));
}

/// The note comes while the program runs, and both of its hints work.
#[test]
fn a_program_that_listens_is_reported_while_it_runs() {
    let port = free_port() + 4;
    let world = project("");
    let mut child = start(&world, &[], &format!("./serve {port} 60"));
    let mut text = Vec::new();
    let mut stream = child.stderr.take().unwrap();
    let note = format!(
        "a program listens on port {port}, reachable only inside the sandbox; `--publish {port}` \
         or `publish = [{port}]` in `[sandbox]` of your policy publishes a port on this machine"
    );
    while !String::from_utf8_lossy(&text).contains(&note) {
        let mut bytes = [0; 1024];
        let count = stream.read(&mut bytes).unwrap();
        assert!(count > 0, "{}", String::from_utf8_lossy(&text));
        text.extend(&bytes[..count]);
    }
    assert!(child.try_wait().unwrap().is_none(), "the program has ended");
    assert_eq!(answer_within(port, Duration::from_millis(300)), None);
    std::process::Command::new("kill").arg(child.id().to_string()).status().unwrap();
    let mut rest = String::new();
    stream.read_to_string(&mut rest).unwrap();
    assert!(!rest.contains("listen"), "it is reported once: {rest}");
    child.wait().unwrap();
    let named = project(&format!("publish = [{port}]"));
    for (world, options) in [(&world, &["--publish", &port.to_string()][..]), (&named, &[])] {
        let child = start(world, options, &format!("./serve {port} 30"));
        assert_eq!(answer_within(port, Duration::from_secs(30)).as_deref(), Some("the server"));
        assert!(!errors(child).contains("note"));
    }
}

/// A test that listens for a moment is not reported while it runs.
#[test]
fn a_short_lived_server_is_reported_at_the_end() {
    let port = free_port() + 5;
    let output = project("").run(&["run", "--no-input", "-c", &format!("./serve {port} 0.1")], b"");
    let text = stderr(&output);
    assert!(text.contains(&format!("a program listened on port {port}, ")), "{text}");
    assert!(!text.contains("listens"), "{text}");
}

#[test]
fn a_person_publishes_a_port_once() {
    let world = project("");
    for (key, reached, port) in [("y", true, free_port() + 6), ("n", false, free_port() + 8)] {
        let line = format!("./serve {port} 4; exit 0");
        let mut terminal = Terminal::run(&world, &["run", "-c", &line]);
        terminal.wait_for(&format!("publish port {port} at http://localhost:{port}"));
        terminal.wait_for("[y]");
        assert_eq!(answer_within(port, Duration::from_millis(200)), None);
        terminal.press(key);
        assert_eq!(answer_within(port, Duration::from_secs(3)).is_some(), reached, "{key}");
        let (code, text) = terminal.end();
        assert_eq!(code, 0, "{text}");
        assert_eq!(text.matches("publish port").count(), 1, "{text}");
    }
}

#[test]
fn a_policy_forbids_to_publish() {
    let port = free_port() + 9;
    let world = project("publish = \"off\"");
    publish_by_project(&world, port);
    let command = format!("./serve {port} 2");
    let publish = port.to_string();
    let output = world.run(&["run", "--no-input", "--publish", &publish, "-c", &command], b"");
    assert_eq!(code(&output), 2, "{}", stderr(&output));
    assert!(stderr(&output).contains("the policy forbids to publish ports"), "{output:?}");
    let child = start(&world, &[], &command);
    assert_eq!(answer_within(port, Duration::from_secs(2)), None);
    let text = errors(child);
    assert!(text.contains("the policy forbids to publish ports"), "{text}");
    assert!(!text.contains("--publish"), "{text}");
}

/// A project publishes nothing until it is trusted.
#[test]
fn a_project_that_is_not_trusted_publishes_nothing() {
    let port = free_port() + 10;
    let world = project("");
    publish_by_project(&world, port);
    let command = format!("./serve {port} 3");
    let child = start(&world, &[], &command);
    assert_eq!(answer_within(port, Duration::from_secs(2)), None);
    assert!(errors(child).contains("listens on port"));
    let project = world.project().display().to_string();
    let mut terminal = Terminal::run(&world, &["trust", &project]);
    terminal.wait_for(&format!("sandbox publish {port}"));
    terminal.wait_for("[y]");
    terminal.press("y");
    assert_eq!(terminal.end().0, 0);
    let child = start(&world, &[], &format!("./serve {port} 30"));
    assert_eq!(answer_within(port, Duration::from_secs(30)).as_deref(), Some("the server"));
    errors(child);
}
