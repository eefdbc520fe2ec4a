//! Tests of the answers that a person can give.

use crate::{
    pty::{End, Pty},
    samples::{command_request, with_explicit_approval, with_group},
};

const YES: &str = r#"{"response":"approved","scope":"once"}"#;
const NO: &str = r#"{"response":"rejected"}"#;
const DENIED: &str = r#"{"response":"denied"}"#;
const STOP: &str = r#"[{"response":"cancelled"}]"#;

fn push() -> Pty {
    Pty::ask(&[command_request("git push")])
}

fn three() -> Pty {
    Pty::ask(&with_group(vec![
        command_request("a"),
        with_explicit_approval(command_request("b")),
        command_request("c"),
    ]))
}

#[test]
fn each_key_gives_its_answer() {
    let rows = [
        ("y", r#"[{"response":"approved","scope":"once"}]"#),
        ("Y", r#"[{"response":"approved","scope":"once"}]"#),
        ("y\r", r#"[{"response":"approved","scope":"once"}]"#),
        ("y\n", r#"[{"response":"approved","scope":"once"}]"#),
        ("n", r#"[{"response":"rejected"}]"#),
        ("a", r#"[{"response":"approved","scope":"session"}]"#),
        ("\x1b", STOP),
        ("\x03", STOP),
        ("\x04", STOP),
    ];
    for (key, expected) in rows {
        let mut pty = push();
        pty.answer(key);
        let End { answers, success, .. } = pty.end();
        assert!(success && answers == expected, "{key:?}: {answers}");
    }
}

#[test]
fn p_shows_the_grant_menu_and_the_next_key_answers() {
    let rows = [
        ("p", r#"{"response":"approved","scope":"project"}"#),
        ("f", r#"{"response":"approved","scope":"project"}"#),
        ("t", r#"{"response":"approved","scope":"project","terms":{"expires_in_seconds":1800}}"#),
        ("5", r#"{"response":"approved","scope":"project","terms":{"max_uses":5}}"#),
        ("\x03", r#"{"response":"cancelled"}"#),
    ];
    for (key, expected) in rows {
        let mut pty = push();
        pty.answer("p");
        pty.after("[Esc] back", key);
        assert_eq!(pty.end().answers, format!("[{expected}]"), "{key:?}");
    }
    let mut pty = push();
    pty.answer("p");
    pty.after("[Esc] back", "\r");
    pty.after("unknown key; press one of: f t 5 p Esc", "\x1b");
    pty.after("No rule saved. Press one of:", "n");
    assert_eq!(pty.end().answers, format!("[{NO}]"));
}

#[test]
fn an_unknown_key_shows_a_hint() {
    let mut pty = push();
    pty.answer("\r");
    pty.after("Enter does not select an answer. Press one of:", "q");
    pty.after("unknown key; press one of: y a p n m v Esc", "s");
    pty.after("s is not an answer here", "\x1b[A");
    pty.after("unknown key", "A");
    pty.after("A is not an answer here", "n");
    assert_eq!(pty.end().answers, format!("[{NO}]"));
}

#[test]
fn a_message_is_written_and_sent() {
    let mut pty = push();
    pty.answer("m");
    pty.after(
        "message (Enter sends, Esc goes back):",
        "use mat\x7fke\x1b[200~ \x1b[31mnow\r\n\x1b[201~",
    );
    pty.after("goes back): use make [31mnow", "\r");
    let expected = r#"[{"response":"rejected","message":"use make [31mnow"}]"#;
    assert_eq!(pty.end().answers, expected);
}

#[test]
fn esc_goes_back_from_the_message() {
    let mut pty = push();
    pty.answer("m");
    pty.after("message (", "never mind");
    pty.after("never mind", "\x1b");
    pty.after("No message. Press one of:", "y");
    assert_eq!(pty.end().answers, format!("[{YES}]"));
}

#[test]
fn control_c_stops_while_a_message_is_written() {
    let mut pty = push();
    pty.answer("m");
    pty.after("message (", "x\x03");
    assert_eq!(pty.end().answers, STOP);
}

#[test]
fn v_shows_all_and_asks_again() {
    let script: String = (1..=40).map(|n| format!("echo {n}\n")).collect();
    let mut pty = Pty::ask(&[command_request(&script)]);
    pty.answer("v");
    pty.after("> echo 40", "n");
    assert_eq!(pty.end().answers, format!("[{NO}]"));
}

#[test]
fn all_still_asks_about_explicit_approval_requests() {
    let mut pty = three();
    pty.answer("A");
    pty.after("OpenOxide asks (2 of 3)", "A");
    pty.after("A is not an answer here", "y");
    assert_eq!(pty.end().answers, format!("[{YES},{YES},{YES}]"));
}

#[test]
fn skip_denies_the_rest() {
    let mut pty = three();
    pty.answer("y");
    pty.after("OpenOxide asks (2 of 3)", "s");
    assert_eq!(pty.end().answers, format!("[{YES},{DENIED},{DENIED}]"));
}

#[test]
fn a_no_falls_on_the_rest() {
    let mut pty = three();
    pty.answer("n");
    assert_eq!(pty.end().answers, format!("[{NO},{NO},{NO}]"));
}

#[test]
fn a_dumb_terminal_is_answered_by_lines() {
    let dumb = |lines: &str| {
        let requests = [command_request("git push")];
        let mut pty = Pty::run(&requests, "exec \"$0\" \"$1\" > \"$2\"", "dumb");
        pty.answer(lines);
        let end = pty.end();
        assert!(!end.bytes.contains(&0x1b), "{}", String::from_utf8_lossy(&end.bytes));
        end.answers
    };
    assert_eq!(dumb("yes\n"), format!("[{YES}]"));
    assert_eq!(dumb("\nok\nn\n"), format!("[{NO}]"));
    assert_eq!(dumb("m use make\n"), r#"[{"response":"rejected","message":"use make"}]"#);
    assert_eq!(dumb("\x04"), STOP);
    assert_eq!(dumb("\n\n\n\n"), STOP);
}
