//! Tests of `run` in a pseudo-terminal: the person's keys, and their effect on the command.

use std::{
    io::{Read as _, Write},
    num::NonZeroU16,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use serde_json::Value;

use crate::support::{OPENOXIDE, World, code, stderr};

fn size(count: u16) -> NonZeroU16 {
    NonZeroU16::new(count).unwrap()
}

/// A program in a separate terminal.
pub(crate) struct Terminal {
    keys: Box<dyn Write + Send>,
    screen: Arc<Mutex<vt100::Parser>>,
    child: Box<dyn portable_pty::Child + Send + Sync>,
    reader: std::thread::JoinHandle<()>,
}

impl Terminal {
    pub(crate) fn run(world: &World, args: &[&str]) -> Self {
        let path = |name: &str| world.root().join(name).display().to_string();
        let environment = [
            ("PATH", "/usr/bin:/bin".to_owned()),
            ("HOME", world.root().display().to_string()),
            ("XDG_CONFIG_HOME", path("config")),
            ("XDG_CACHE_HOME", path("cache")),
        ];
        Self::start(world, OPENOXIDE, args, &environment)
    }

    /// Runs a program in the project, in a terminal of 40 rows and 100 columns.
    pub(crate) fn start(
        world: &World,
        program: &str,
        args: &[&str],
        environment: &[(&str, String)],
    ) -> Self {
        let window = PtySize { rows: 40, cols: 100, ..PtySize::default() };
        let pair = native_pty_system().openpty(window).unwrap();
        let mut command = CommandBuilder::new(program);
        command.args(args);
        command.cwd(world.project());
        command.env_clear();
        command.env("TERM", "xterm-256color");
        for (name, value) in environment {
            command.env(name, value);
        }
        let child = pair.slave.spawn_command(command).unwrap();
        let screen = Arc::new(Mutex::new(vt100::Parser::new(size(40), size(100), 0)));
        let mut reader = pair.master.try_clone_reader().unwrap();
        let keys = pair.master.take_writer().unwrap();
        let shown = Arc::clone(&screen);
        let reader = std::thread::spawn(move || {
            let _master = pair.master; // It stays open as long as there is something to read.
            let mut bytes = [0; 4096];
            while let Ok(read @ 1..) = reader.read(&mut bytes) {
                shown.lock().unwrap().process(&bytes[..read]);
            }
        });
        Self { keys, screen, child, reader }
    }

    fn text(&self) -> String {
        self.screen.lock().unwrap().screen().contents()
    }

    pub(crate) fn wait_for(&self, wanted: &str) {
        let start = Instant::now();
        while !self.text().contains(wanted) {
            assert!(
                start.elapsed() < Duration::from_secs(30),
                "no `{wanted}` in:\n{}",
                self.text()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Types like a person who reads first: keys are ignored until the question can have been read.
    pub(crate) fn press(&mut self, keys: &str) {
        std::thread::sleep(Duration::from_millis(450));
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    /// Repeats a key until the program has ended: each press shows the next page of a question that
    /// does not fit the screen, and the last one answers it.
    pub(crate) fn press_until_end(&mut self, key: &str) {
        let start = Instant::now();
        while self.child.try_wait().unwrap().is_none() {
            assert!(start.elapsed() < Duration::from_secs(60), "it asks on:\n{}", self.text());
            std::thread::sleep(Duration::from_millis(450));
            // The program may end before it reads the key.
            drop(self.keys.write_all(key.as_bytes()).and_then(|()| self.keys.flush()));
        }
    }

    /// Waits for the end, and returns the exit code and the content of the screen.
    pub(crate) fn end(mut self) -> (u32, String) {
        let start = Instant::now();
        while self.child.try_wait().unwrap().is_none() {
            if start.elapsed() > Duration::from_secs(60) {
                self.child.kill().unwrap();
                panic!("it did not end:\n{}", self.text());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let code = self.child.wait().unwrap().exit_code();
        drop(self.keys);
        self.reader.join().unwrap();
        let text = self.screen.lock().unwrap().screen().contents();
        (code, text)
    }
}

fn touch(keys: &str) -> (u32, String, bool) {
    let world = World::new();
    let mut terminal = Terminal::run(&world, &["run", "-c", "git --version && touch notes.txt"]);
    terminal.wait_for("touch notes.txt");
    terminal.wait_for("[y]");
    terminal.press(keys);
    let (code, text) = terminal.end();
    (code, text, world.project().join("notes.txt").exists())
}

#[test]
fn an_approval_runs_the_command() {
    let (code, text, there) = touch("y");
    assert_eq!((code, there), (0, true), "{text}");
    assert!(text.contains("git version"), "{text}");
    assert!(text.contains("running in the sandbox"), "{text}");
}

#[test]
fn always_and_prefix_run_it_too() {
    let (code, text, there) = touch("a");
    assert_eq!((code, there), (0, true), "{text}");
    let world = World::new();
    let mut terminal = Terminal::run(&world, &["run", "-c", "touch notes.txt"]);
    terminal.wait_for("[p]");
    terminal.press("p");
    terminal.wait_for("[Esc] back");
    terminal.press("p");
    let (code, text) = terminal.end();
    assert_eq!((code, world.project().join("notes.txt").exists()), (0, true), "{text}");
}

/// Guards I26.
#[test]
fn no_escape_and_interrupt_run_nothing() {
    for key in ["n", "\x1b", "\x03"] {
        let (code, text, there) = touch(key);
        assert_eq!((code, there), (126, false), "{key:?}: {text}");
        assert!(text.contains("nothing was run"), "{text}");
    }
}

#[test]
fn at_a_terminal_decisions_by_rules_do_not_wait() {
    let policy = "[permissions]\nallow = [\"Bash(touch *)\"]\ndeny = [\"Bash(touch denied)\"]\n";
    for (script, expected) in [("touch a", 0), ("touch denied", 126)] {
        let world = World::new().policy(policy);
        let (code, text) = Terminal::run(&world, &["run", "-c", script]).end();
        assert_eq!(code, expected, "{text}");
    }
}

#[test]
fn the_answer_of_the_person_is_recorded() {
    let world = World::new();
    for (key, choice) in [
        ("y", r#"approved","scope":"once"#),
        ("n", "abort"),
        ("a", r#"approved_for_session","scope":"session"#),
    ] {
        let mut terminal = Terminal::run(&world, &["run", "-c", "touch notes.txt"]);
        terminal.wait_for("[y]");
        terminal.press(key);
        terminal.end();
        let output = world.run(&["audit", "log", "--json", "--decision", "ask"], b"");
        let records = String::from_utf8(output.stdout).unwrap();
        let decision = records.lines().rfind(|line| line.contains(r#""record":"decision""#));
        let expected = format!(r#"{{"channel":"terminal","decision":"{choice}"}}"#);
        let mut decision: Value = serde_json::from_str(decision.unwrap()).unwrap();
        let answer = decision["answer"].as_object_mut().unwrap();
        let (request, waited) = (answer.remove("request"), answer.remove("waited_ms"));
        assert!(request.is_some_and(|id| id.is_string()), "{key}: {records}");
        assert!(waited.is_some_and(|millis| millis.is_u64()), "{key}: {records}");
        let expected: Value = serde_json::from_str(&expected).unwrap();
        assert_eq!(decision["answer"], expected, "{key}");
        let ended = records.lines().last().unwrap().contains(r#""record":"outcome""#);
        assert_eq!(ended, key != "n", "{records}");
    }
}

#[test]
fn a_message_comes_back() {
    let world = World::new();
    let mut terminal = Terminal::run(&world, &["run", "-c", "touch notes.txt"]);
    terminal.wait_for("[y]");
    terminal.press("m");
    terminal.wait_for("Enter sends");
    terminal.press("use src, please");
    terminal.wait_for("use src, please");
    terminal.press("\r");
    let (code, text) = terminal.end();
    assert_eq!(code, 126, "{text}");
    assert!(text.contains("rejected: use src, please"), "{text}");
}

#[test]
fn an_allowed_command_runs_without_a_question_and_returns_its_status() {
    let world =
        World::new().policy("[permissions]\nallow = [\"Bash(bash -c *)\", \"Bash(exit *)\"]\n");
    let output = world.run(&["run", "-c", "exit 7"], b"");
    assert_eq!(code(&output), 7, "{}", stderr(&output));
    assert!(stderr(&output).contains("running in the sandbox"));
    let output = world.run(&["run", "--sandbox", "off", "-c", "exit 7"], b"");
    assert_eq!(code(&output), 7);
    assert!(stderr(&output).contains("running without a sandbox"));
}

/// Guards I26.
#[test]
fn without_a_terminal_nothing_runs_and_the_command_to_answer_is_shown() {
    let world = World::new();
    let output = world.run(&["run", "-c", "touch notes.txt"], b"y\n");
    assert_eq!(code(&output), 4);
    assert!(stderr(&output).contains("openoxide run -c 'touch notes.txt'"), "{}", stderr(&output));
    assert!(!world.project().join("notes.txt").exists());
}

#[test]
fn a_denied_command_is_refused_with_its_rule() {
    let world = World::new().policy("[permissions]\ndeny = [\"Bash(touch *)\"]\n");
    let output = world.run(&["run", "--", "touch", "notes.txt"], b"");
    assert_eq!(code(&output), 126);
    assert!(stderr(&output).contains("policy.toml:2"), "{}", stderr(&output));
    assert!(!world.project().join("notes.txt").exists());
}

#[test]
fn a_program_is_run_as_it_is_and_may_be_missing() {
    let world = World::new().policy("[permissions]\nallow = [\"Bash\"]\n");
    let output = world.run(&["run", "--", "printf", "%s", "a  b;$(x)"], b"");
    assert_eq!((code(&output), output.stdout.as_slice()), (0, &b"a  b;$(x)"[..]));
    let output = world.run(&["run", "--", "no-such-program-here"], b"");
    assert_eq!(code(&output), 127, "{}", stderr(&output));
}

#[test]
fn exported_functions_and_bash_env_do_not_replace_programs() {
    let world = World::new().policy("[permissions]\nallow = [\"Bash(git *)\"]\n");
    let mut command = world.command(&["run", "-c", "git --version"]);
    command.env("BASH_FUNC_git%%", "() { touch pwned; }").env("BASH_ENV", "/dev/stdin");
    let output = command.output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("git version"), "{}", stderr(&output));
    assert!(!world.project().join("pwned").exists());
}
