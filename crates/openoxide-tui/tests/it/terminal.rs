//! The terminal itself: its size, its absence, its end.

use std::{
    fs,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use portable_pty::{CommandBuilder, PtySize, native_pty_system};

use crate::{
    pty::{Pty, example, file, wait},
    samples::command_request,
};

#[test]
fn a_resize_draws_the_question_anew() {
    let mut pty = Pty::ask(&[command_request("git push --force origin HEAD:refs/heads/release")]);
    pty.wait_for("stop the agent");
    pty.resize(40);
    pty.wait_for("  \\ HEAD:refs/heads/release");
    pty.resize(30);
    pty.after("  \\ HEAD:refs/heads/release\n  in /work/project\n\n  ask    `git push` is", "y");
    assert_eq!(pty.end().answers, r#"[{"response":"approved","scope":"once"}]"#);
}

#[test]
fn a_resize_keeps_the_message() {
    let mut pty = Pty::ask(&[command_request("git push")]);
    pty.answer("m");
    pty.after("message (", "use make");
    pty.wait_for("use make");
    pty.resize(50);
    pty.after("message: use make", "\r");
    assert_eq!(pty.end().answers, r#"[{"response":"rejected","message":"use make"}]"#);
}

#[test]
fn the_terminal_is_restored_and_shows_the_answer() {
    let script = "\"$0\" \"$1\" > \"$2\"; stty -a";
    let mut pty = Pty::run(&[command_request("git push")], script, "xterm");
    pty.answer("a");
    pty.wait_for("> yes, for the session");
    pty.wait_for("isig icanon iexten echo ");
    for off in ["-isig", "-icanon", "-echo ", "-opost", "-icrnl"] {
        assert!(!pty.screen().contains(off), "{off}");
    }
    assert!(pty.end().success);
}

#[test]
fn a_withdrawn_question_ends_and_restores_the_terminal() {
    let pty = Pty::run(&[command_request("git push")], "exec \"$0\" \"$1\" 1 > \"$2\"", "xterm");
    pty.wait_for("> the question was withdrawn");
    let end = pty.end();
    assert!(!end.success && end.answers.is_empty());
}

#[test]
fn without_a_terminal_no_question_is_asked() {
    let requests = file("json");
    fs::write(&requests, serde_json::to_vec(&[command_request("git push")]).unwrap()).unwrap();
    let output = Command::new(example()).arg(requests).stdin(Stdio::null()).output().unwrap();
    assert!(!output.status.success() && output.stdout.is_empty());
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(message, "error: no terminal is available to ask on\n");
}

#[test]
fn a_terminal_that_hangs_up_gives_no_answer() {
    let pair = native_pty_system().openpty(PtySize::default()).unwrap();
    let (requests, answers) = (file("json"), file("out"));
    fs::write(&requests, serde_json::to_vec(&[command_request("git push")]).unwrap()).unwrap();
    let mut builder = CommandBuilder::new("/bin/sh");
    // A program that ignores the signal must still notice.
    builder.args(["-c", "trap '' HUP; exec \"$0\" \"$1\" > \"$2\""]);
    builder.args([example(), requests, answers.clone()]);
    builder.env("TERM", "xterm");
    let mut child = pair.slave.spawn_command(builder).unwrap();
    thread::sleep(Duration::from_millis(700));
    assert!(child.try_wait().unwrap().is_none(), "it asks");
    drop(pair);
    assert!(!wait(&mut *child, String::new));
    assert_eq!(fs::read_to_string(answers).unwrap(), "");
}
