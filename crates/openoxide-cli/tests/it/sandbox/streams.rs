//! Data that passes between a confined program and its caller.

use std::{
    fs::{self, File},
    io::Write as _,
    os::unix::{fs::PermissionsExt as _, process::ExitStatusExt as _},
    process::{Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::Arena;
use crate::support::workspace;

fn sh(arena: &Arena, script: &str) -> Command {
    arena.run(&[], &["sh", "-c", script])
}

fn status(arena: &Arena, program: &[&str]) -> Option<i32> {
    arena.run(&[], program).stdin(Stdio::null()).output().unwrap().status.code()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn the_programs_own_status_passes() {
    let arena = Arena::new();
    fs::write(arena.path("w/no-program"), "").unwrap();
    assert_eq!(status(&arena, &["sh", "-c", "exit 7"]), Some(7));
    assert_eq!(status(&arena, &["sh", "-c", "kill -TERM $$"]), Some(143));
    assert_eq!(status(&arena, &["there-is-no-such-program"]), Some(127));
    assert_eq!(status(&arena, &["./no-program"]), Some(126));
}

#[test]
fn input_and_output_pass_whole_as_pipes_and_as_files() {
    let arena = Arena::new();
    let much: Vec<u8> = (0..3_000_000_u32).flat_map(|number| number.to_le_bytes()).collect();
    let (input, output) = (arena.path("outside/in"), arena.path("outside/out"));
    fs::write(&input, &much).unwrap();
    let mut cat = sh(&arena, "cat");
    cat.stdin(File::open(&input).unwrap()).stdout(File::create(&output).unwrap());
    assert!(cat.status().unwrap().success());
    assert!(fs::read(&output).unwrap() == much);
    let mut cat = sh(&arena, "cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = cat.stdin.take().unwrap();
    let copy = much.clone();
    let writer = thread::spawn(move || stdin.write_all(&copy).unwrap());
    assert!(cat.wait_with_output().unwrap().stdout == much);
    writer.join().unwrap();
}

/// A program ends even if it does not read its input, or if its output is not read.
#[test]
fn unread_streams_do_not_block_the_end() {
    let arena = Arena::new();
    let much = arena.path("outside/much");
    fs::write(&much, vec![b'x'; 1 << 20]).unwrap();
    assert!(sh(&arena, "true").stdin(File::open(&much).unwrap()).status().unwrap().success());
    let mut yes = sh(&arena, "yes").stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    drop(yes.stdout.take());
    let since = Instant::now();
    yes.wait().unwrap();
    assert!(since.elapsed() < Duration::from_secs(20));
}

#[test]
fn output_and_errors_in_one_file_keep_their_order() {
    let arena = Arena::new();
    let path = arena.path("outside/log");
    let file = File::create(&path).unwrap();
    let script = "for i in 1 2 3 4 5 6 7 8 9; do echo $i; echo e$i >&2; done";
    let mut run = sh(&arena, script);
    run.stdin(Stdio::null()).stdout(file.try_clone().unwrap()).stderr(file);
    assert!(run.status().unwrap().success());
    let expected: String = (1..=9).map(|number| format!("{number}\ne{number}\n")).collect();
    assert_eq!(fs::read_to_string(path).unwrap(), expected);
}

/// The mode of an open file can be changed by any process that has it open, whatever the mounts say.
#[test]
fn the_files_of_the_streams_are_not_in_the_programs_hands() {
    let arena = Arena::new();
    let (input, output) = (arena.path("outside/in"), arena.path("outside/out"));
    fs::write(&input, "").unwrap();
    let script = "import os\nfor fd in (0, 1):\n  try: os.fchmod(fd, 0o777)\n  except OSError: pass\nprint('done')";
    let mut run = arena.run(&[], &["python3", "-c", script]);
    run.stdin(File::open(&input).unwrap()).stdout(File::create(&output).unwrap());
    assert!(run.status().unwrap().success());
    assert_eq!(fs::read_to_string(&output).unwrap(), "done\n");
    for path in [input, output] {
        assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o111, 0);
    }
}

#[test]
fn only_harmless_and_named_variables_are_passed_on() {
    let arena = Arena::new();
    let mut run = arena.run(&["--env", "NAMED", "--env", "GIVEN=b"], &["env"]);
    run.env("NAMED", "a")
        .env("AWS_SECRET_ACCESS_KEY", "s")
        .env("LD_PRELOAD", "/x")
        .stdin(Stdio::null());
    let said = text(&run.output().unwrap());
    assert!(said.contains("NAMED=a\n") && said.contains("GIVEN=b\n"), "{said}");
    assert!(!said.contains("AWS_SECRET") && !said.contains("LD_PRELOAD"), "{said}");
}

/// Restores the default signal handling. Tests that were started in the background may ignore
/// Ctrl-C, and so would all processes that they start.
fn with_signals(run: &Command) -> Command {
    let mut command = Command::new("env");
    command.arg("--default-signal=INT,TERM").arg(run.get_program()).args(run.get_args());
    command.env_clear().envs(run.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(run.get_current_dir().unwrap());
    command
}

#[test]
fn signals_reach_the_program_and_everything_ends() {
    let arena = Arena::new();
    for (signal, status) in [("INT", 130), ("TERM", 143)] {
        let mark = format!("sleep-{signal}-{}", std::process::id());
        let run = arena.run(&["--env", &format!("MARK={mark}")], &["sleep", "30"]);
        let mut run = with_signals(&run).stdin(Stdio::null()).spawn().unwrap();
        let program = || super::processes_with(&format!("MARK={mark}"));
        let until = Instant::now() + Duration::from_secs(20);
        while program().is_empty() && Instant::now() < until {
            thread::sleep(Duration::from_millis(10));
        }
        let kill =
            Command::new("kill").args([&format!("-{signal}"), &run.id().to_string()]).status();
        assert!(kill.unwrap().success());
        let ended = run.wait().unwrap();
        assert_eq!(ended.code().or(ended.signal().map(|signal| 128 + signal)), Some(status));
        assert!(program().is_empty());
    }
}

/// Runs a script whose streams of these names are a terminal at which this is typed.
fn with_terminal(arena: &Arena, streams: &str, typed: &str, script: &str) -> Value {
    let harness = workspace().join("crates/openoxide-cli/tests/it/sandbox/terminal.py");
    let program = sh(arena, script);
    let mut command = Command::new("python3");
    command.arg("-B").arg(harness).args([streams, typed]).arg(program.get_program());
    command.args(program.get_args()).current_dir(arena.path("w"));
    command.env("HOME", arena.path("home"));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A process that has a terminal open can change its mode (tty(4)) or prevent others from opening
/// it (`TIOCEXCL`, ioctl_tty(2)).
#[test]
fn a_terminal_that_is_one_of_the_streams_is_not_in_the_programs_hands() {
    let arena = Arena::new();
    let seize = "python3 -c 'import os\nfor fd in (0, 1, 2):\n  try: os.fchmod(fd, 0o666)\n  except OSError: pass'; ";
    let seize = seize.replace("\\n", "\n");
    for streams in ["i", "o", "e", "ie", "oe"] {
        let script =
            format!("{seize}for fd in 0 1 2; do test ! -t $fd || echo has $fd; done; exit 3");
        let got = with_terminal(&arena, streams, "", &script);
        assert_eq!((&got["mode"], &got["status"]), (&json!(0o620), &json!(3)), "{streams}: {got}");
        assert!(!format!("{got}").contains("has "), "{streams}: {got}");
    }
}

#[test]
fn terminal_input_and_output_pass_if_one_stream_is_a_terminal() {
    let arena = Arena::new();
    let got = with_terminal(&arena, "i", "one\ntwo\n", "cat; echo end");
    assert_eq!(got["o"], "one\ntwo\nend\n", "{got}");
    let got = with_terminal(&arena, "o", "", "echo out; echo err >&2");
    assert_eq!((&got["shown"], &got["e"]), (&json!("out\r\n"), &json!("err\n")), "{got}");
    let got = with_terminal(&arena, "oe", "", "for i in 1 2 3; do echo $i; echo e$i >&2; done");
    assert_eq!(got["shown"], "1\r\ne1\r\n2\r\ne2\r\n3\r\ne3\r\n", "{got}");
    let got = with_terminal(&arena, "o", "", "seq 100000");
    let all: String = (1..=100_000).map(|number| format!("{number}\r\n")).collect();
    assert!(got["shown"] == all.as_str());
    // A program ends even if it does not read the typed input.
    assert_eq!(with_terminal(&arena, "i", "one\n", "exit 4")["status"], 4);
}
