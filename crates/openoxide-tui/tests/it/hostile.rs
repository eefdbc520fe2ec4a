//! Input that was not meant as an answer, and output that was meant to deceive.

use std::{thread, time::Duration};

use crate::{
    pty::Pty,
    samples::{command_request, with_finding},
};

const NO: &str = r#"[{"response":"rejected"}]"#;
/// The program starts late, so that there is time to type ahead.
const LATE: &str = "echo ready; sleep 0.3; exec \"$0\" \"$1\" > \"$2\"";

#[test]
fn typed_ahead_keys_are_ignored() {
    typed_ahead("xterm-256color", "n");
}

#[test]
fn typed_ahead_lines_are_ignored() {
    typed_ahead("dumb", "n\n");
}

fn typed_ahead(term: &str, answer: &str) {
    let lines = "y\n".repeat(1000);
    for ahead in ["y", "y\n", "y\ny\na\np\n", "yyyyyy", &lines, "\x1b[200~y\r\x1b[201~"] {
        let mut pty = Pty::run(&[command_request("git push")], LATE, term);
        pty.wait_for("ready");
        pty.send(ahead);
        pty.answer(answer);
        assert_eq!(pty.end().answers, NO, "{ahead:.20?}");
    }
}

#[test]
fn a_person_who_keeps_typing_is_not_interrupted() {
    let mut pty = Pty::ask(&[command_request("git push")]);
    for _ in 0..10 {
        pty.send("y");
        thread::sleep(Duration::from_millis(100));
    }
    assert!(!pty.screen().contains("OpenOxide"), "{}", pty.screen());
    pty.answer("n");
    assert_eq!(pty.end().answers, NO);
}

#[test]
fn a_paste_answers_nothing() {
    let mut pty = Pty::ask(&[command_request("git push")]);
    pty.answer("\x1b[200~y\r\x1b[201~");
    pty.after("pasted input is ignored", "yes\ry\r");
    pty.after("input too fast to be a key press; ignored", "n");
    assert_eq!(pty.end().answers, NO);
}

#[test]
fn a_long_paste_answers_nothing() {
    let mut pty = Pty::ask(&[command_request("git push")]);
    pty.answer(&"y\r".repeat(2000));
    pty.after("input too fast to be a key press; ignored", "n");
    assert_eq!(pty.end().answers, NO);
}

#[test]
fn a_hostile_command_is_shown_and_not_obeyed() {
    let script = "ls \x1b[2J\x1b[H\x1b]0;pwned\x07\u{9b}31m\u{202e}\r\n\u{200b}rm -rf ~";
    let mut request = with_finding(command_request(script), (3, 10), "OX301", "hides\x1b[8m text");
    request.title = "run \x1b[1;1H a command\u{2028}".to_owned();
    request.decision.reason = "because\x1b[0m\u{2066}".to_owned();
    let mut pty = Pty::ask(&[request]);
    pty.wait_for(r"run \x1b[1;1H a command\u{2028} (Bash)");
    pty.wait_for(r"$ ls \x1b[2J\x1b[H\x1b]0;pwned\x07\u{9b}31m\u{202e}\r");
    pty.wait_for(r"> \u{200b}rm -rf ~");
    pty.wait_for(r"^^^^^^^^^^^^^ OX301 hides\x1b[8m text");
    pty.after(r"because\x1b[0m\u{2066}", "n");
    let end = pty.end();
    assert_eq!(end.answers, NO);
    assert_only_our_sequences(&String::from_utf8(end.bytes).unwrap());
}

/// Fails if anything but our own colours, the clearing of a row and bracketed paste drives the terminal.
fn assert_only_our_sequences(text: &str) {
    let mut rest = text.to_owned();
    for code in ["0m", "1m", "2m", "7m", "31m", "32m", "33m", "K", "?2004h", "?2004l"] {
        rest = rest.replace(&format!("\x1b[{code}"), "");
    }
    let allowed = |c: char| matches!(c, '\r' | '\n' | ' '..='~' | '…');
    assert!(rest.chars().all(allowed), "{:?}", rest.chars().find(|c| !allowed(*c)));
}
