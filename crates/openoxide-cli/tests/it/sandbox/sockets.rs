//! Sockets of services outside of the sandbox: who permits a connection, and what is reached.

use std::{
    fs,
    io::Write as _,
    os::unix::{
        fs::{PermissionsExt as _, chown, symlink},
        net::UnixListener,
    },
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use super::is_root;
use crate::{
    prompt::Terminal,
    support::{World, code, stderr, stdout},
};

/// Connects to each argument in turn, and prints the answer of the service.
const DIAL: &str = "#!/usr/bin/env python3\n\
    import socket, sys\n\
    for path in sys.argv[1:]:\n\
    \x20   try:\n\
    \x20       one = socket.socket(socket.AF_UNIX); one.connect(path)\n\
    \x20       print('reached', one.recv(99).decode())\n\
    \x20   except OSError as error: print(error.strerror)\n";

/// A project with a program that connects to sockets, and a directory of services next to it.
struct Services {
    world: World,
    visits: Arc<AtomicUsize>,
}

impl Services {
    /// Creates the project. `allow` and `deny` are rules in quotes.
    fn new(allow: &str, deny: &str) -> Self {
        Self::with_settings("", allow, deny)
    }

    fn with_settings(settings: &str, allow: &str, deny: &str) -> Self {
        let world = World::in_place(Path::new(env!("CARGO_TARGET_TMPDIR")));
        let place = world.root().join("run");
        fs::create_dir(&place).unwrap();
        let rules = format!(
            "{settings}\n[permissions]\nallow = [\"Bash(./dial *)\", {allow}]\ndeny = [{deny}]\n"
        );
        let world = world.policy(&rules.replace("RUN", place.to_str().unwrap()));
        let file = world.file("dial", DIAL);
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
        let services = Self { world, visits: Arc::default() };
        services.start(&services.path("a.sock"));
        services
    }

    /// Starts a service that counts its connections.
    fn start(&self, path: &Path) {
        let listener = UnixListener::bind(path).unwrap();
        let visits = Arc::clone(&self.visits);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                visits.fetch_add(1, Ordering::SeqCst);
                drop(stream.unwrap().write_all(b"the service"));
            }
        });
    }

    fn path(&self, name: &str) -> PathBuf {
        self.world.root().join("run").join(name)
    }

    fn dial(&self, options: &[&str], socket: &Path) -> (String, String) {
        let command = format!("./dial {}", socket.display());
        let words = [&["run", "--no-input"], options, &["-c", &command]].concat();
        let output = self.world.run(&words, b"");
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        (stdout(&output), stderr(&output))
    }

    fn visits(&self) -> usize {
        self.visits.load(Ordering::SeqCst)
    }
}

#[test]
fn a_rule_decides_and_the_printed_rule_works() {
    let services = Services::new("", "");
    let socket = services.path("a.sock");
    let (out, said) = services.dial(&[], &socket);
    assert_eq!((out.as_str(), services.visits()), ("Permission denied\n", 0), "{said}");
    let hint = said.split("a rule `").nth(1).and_then(|rest| rest.split('`').next()).unwrap();
    assert_eq!(hint, format!("Socket({})", socket.display()));
    let allow = services.world.run(&["rules", "add", "allow", hint], b"");
    assert_eq!(code(&allow), 0, "{}", stderr(&allow));
    let (out, said) = services.dial(&[], &socket);
    assert_eq!((out.as_str(), services.visits()), ("reached the service\n", 1), "{said}");
    assert!(!said.contains("refused"), "{said}");
}

/// Another rule would not allow what a rule denies.
#[test]
fn a_denied_socket_is_explained_by_the_rule_that_denies_it() {
    let services = Services::new("\"Socket\"", "\"Socket(RUN/a.sock)\"");
    let (out, said) = services.dial(&[], &services.path("a.sock"));
    assert_eq!((out.as_str(), services.visits()), ("Permission denied\n", 0), "{said}");
    let line = said.lines().find(|line| line.contains("refused: the socket")).unwrap();
    assert!(line.contains("is denied by user policy"), "{line}");
    assert!(!line.contains("would allow"), "{line}");
}

/// Neither rules about everything nor modes permit a connection to a service.
///
/// Guards I22.
#[test]
fn only_a_rule_about_sockets_permits_a_connection() {
    for (settings, allow, deny, reached) in [
        ("mode = \"bypass_permissions\"", "", "", false),
        ("", "\"*\"", "", false),
        ("", "\"Socket(RUN/*)\"", "", true),
        ("", "\"Socket\"", "", true),
        ("", "\"Socket\"", "\"Socket(RUN/A.SOCK)\"", false),
    ] {
        let services = Services::with_settings(settings, allow, deny);
        let (out, said) = services.dial(&[], &services.path("a.sock"));
        assert_eq!(out.starts_with("reached"), reached, "{settings} {allow} {out} {said}");
        assert_eq!(services.visits() > 0, reached, "{settings} {allow}");
    }
}

#[test]
fn a_person_is_asked_while_the_program_waits() {
    let services = Services::new("", "");
    let (socket, command) =
        (services.path("a.sock"), |path: &Path| format!("./dial {0} {0}", path.display()));
    let line = command(&socket);
    let mut terminal = Terminal::run(&services.world, &["run", "-c", &line]);
    terminal.wait_for("[y]");
    terminal.wait_for("Connect to the socket");
    assert_eq!(services.visits(), 0);
    terminal.press("a");
    let (code, text) = terminal.end();
    assert_eq!((code, services.visits()), (0, 2), "one answer for both: {text}");
}

/// A name that leads to a permitted socket and to another one in turn never reaches the other one.
///
/// Guards I22.
#[test]
fn a_name_that_changes_reaches_only_what_was_permitted() {
    let services = Services::new("\"Socket(RUN/a.sock)\"", "");
    let other = Arc::new(AtomicUsize::new(0));
    let listener = UnixListener::bind(services.path("b.sock")).unwrap();
    let counted = Arc::clone(&other);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            counted.fetch_add(1, Ordering::SeqCst);
            drop(stream);
        }
    });
    symlink(services.path("a.sock"), services.world.project().join("link")).unwrap();
    let program = format!(
        "#!/usr/bin/env python3\n\
         import os, socket, threading, time\n\
         a, b, end = '{}', '{}', time.time() + 3\n\
         def swap():\n\
         \x20   while time.time() < end:\n\
         \x20       for to in (a, b): os.symlink(to, 'new'); os.rename('new', 'link')\n\
         threading.Thread(target=swap).start()\n\
         done = 0\n\
         while time.time() < end:\n\
         \x20   try: socket.socket(socket.AF_UNIX).connect('link'); done += 1\n\
         \x20   except OSError: pass\n\
         print(done)\n",
        services.path("a.sock").display(),
        services.path("b.sock").display()
    );
    services.world.file("dial", &program);
    let (out, said) = services.dial(&[], Path::new("x"));
    let done: usize = out.trim().parse().unwrap();
    assert!(done > 10, "{out} {said}");
    assert_eq!(other.load(Ordering::SeqCst), 0, "{done} connections were permitted");
}

/// The directory for temporary files is private to a run, and services have sockets there.
#[test]
fn a_socket_in_a_hidden_directory_is_reached_by_a_rule() {
    let directory = tempfile::tempdir_in("/tmp").unwrap();
    let socket = directory.path().join("X0");
    for (rule, answer) in [("Socket(/nothing)", "No such file"), ("Socket(DIR/X0)", "reached")] {
        let rule = rule.replace("DIR", directory.path().to_str().unwrap());
        let services = Services::new(&format!("\"{rule}\""), "");
        drop(fs::remove_file(&socket));
        services.start(&socket);
        let (out, said) = services.dial(&[], &socket);
        assert_eq!(out.starts_with("reached"), answer == "reached", "{out} {said}");
    }
}

#[test]
fn a_socket_of_another_person_is_not_reached() {
    if !is_root() {
        return;
    }
    let services = Services::new("\"Socket\"", "");
    let socket = services.path("a.sock");
    for (owner, reached) in [(1234, false), (105, true), (0, true)] {
        chown(&socket, Some(owner), None).unwrap();
        let (out, said) = services.dial(&[], &socket);
        assert_eq!(out.starts_with("reached"), reached, "{owner} {out} {said}");
        assert_eq!(said.contains("belongs to another user"), !reached, "{said}");
    }
}

#[test]
fn a_question_about_a_container_service_says_that_it_is_root() {
    let services = Services::new("", "");
    for (socket, expected) in [
        ("/run/docker.sock", "root access without a sandbox"),
        ("/run/user/1000/bus", "start programs and services outside of the sandbox"),
        ("ssh-agent:git.example", "uses your SSH agent to sign in to `git.example`"),
    ] {
        let input = format!("{{\"socket\": \"{socket}\"}}");
        let words = ["check", "--tool", "Socket", "--input", &input];
        let output = services.world.run(&words, b"");
        assert!(stdout(&output).contains(expected), "{}{}", stdout(&output), stderr(&output));
    }
}
