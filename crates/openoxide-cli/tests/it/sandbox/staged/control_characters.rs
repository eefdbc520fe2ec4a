//! Files with characters that control a terminal: the text of a command names them, and none
//! reaches the terminal.

use std::{fs, process::Output};

use super::{ASKS, Place};
use crate::support::{code, stderr, stdout};

/// A carriage return, sequences of a terminal (CSI, OSC 52), a backspace, a C1 control, a change of
/// the direction, and a space without width.
const CONTROLS: &str = "evil\r\x1b[2K\x1b]52;c;aGk=\x07\x08\u{9b}31m\x7f\u{202e}\u{200b} harmless";
/// How a person sees them.
const SHOWN: [&str; 8] = [
    "\\r",
    "\\x1b[2K",
    "\\x1b]52;c;aGk=\\x07",
    "\\x08",
    "\\u{9b}31m",
    "\\x7f",
    "\\u{202e}",
    "\\u{200b}",
];

/// Asserts that no control character but the end of a line and a tab was printed.
fn assert_is_plain(what: &str, text: &str) {
    let hidden = |c: &char| {
        c.is_control() && !matches!(c, '\n' | '\t') || matches!(c, '\u{202e}' | '\u{200b}')
    };
    assert_eq!(text.chars().find(hidden), None, "{what}: {}", text.escape_debug());
}

fn said(place: &Place, args: &[&str]) -> (Output, String) {
    let args = [&["--no-input"], args].concat();
    let output = place.command(&place.path("openoxide"), &args).output().unwrap();
    let text = stdout(&output) + &stderr(&output);
    assert_is_plain(&args.join(" "), &text);
    (output, text)
}

#[test]
fn staged_files_are_shown_without_controlling_the_terminal() {
    let place = Place::new(ASKS, None);
    fs::write(place.path("w/controls"), format!("{CONTROLS}\n")).unwrap();
    fs::write(place.path("w/changed"), format!("one\n{CONTROLS}\n")).unwrap();
    let script = "cp controls new; echo two >> changed; ln -s \"$(cat controls)\" link
        touch \"$(cat controls)\"";
    let run = place.run(&["--stage"], script);
    assert_eq!(code(&run), 4, "{}", stderr(&run));
    assert_is_plain("run", &stderr(&run));
    let [stage] = place.staged().try_into().unwrap();
    let id = stage.file_name().unwrap().to_str().unwrap();
    let (output, shown) = said(&place, &["stage", "show", id]);
    assert_eq!(code(&output), 0, "{shown}");
    // The new line of `new` and the unchanged one of `changed`.
    let (_, diffs) = shown.split_once("@@").unwrap();
    for wanted in SHOWN {
        assert!(diffs.matches(wanted).count() >= 2, "{wanted}: {shown}");
    }
    assert!(diffs.contains("\n+two\n"), "{shown}");
    for args in [&["stage", "list"][..], &["stage", "commit", id]] {
        said(&place, args);
    }
}

/// An agent can write the policy of a project. The errors in it are printed with its lines.
#[test]
fn lines_of_a_broken_policy_are_shown_without_controlling_the_terminal() {
    let place = Place::new(ASKS, None);
    fs::create_dir_all(place.path("w/.openoxide")).unwrap();
    let broken = format!("# {CONTROLS}\r\n{CONTROLS} = [[[\r\n\"\u{9b}\u{202e}\" = 1\r\n");
    fs::write(place.path("w/.openoxide/policy.toml"), broken).unwrap();
    for args in
        [&["rules", "lint"][..], &["rules", "list"], &["trust", "--show"], &["check", "-c", "ls"]]
    {
        let (_, text) = said(&place, args);
        if args != ["trust", "--show"] {
            assert!(text.contains("policy.toml:2:"), "{args:?} {text}");
            assert!(SHOWN.iter().all(|wanted| text.contains(wanted)), "{args:?} {text}");
        }
    }
}
