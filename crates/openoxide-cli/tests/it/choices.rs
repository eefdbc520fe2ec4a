//! The preview of what "always" would allow, before it is chosen. The tests use real processes, a
//! real journal and a person's keys.

use std::fs;

use serde_json::{Value, json};

use crate::{
    pending::{answer, ask, asked, end, id},
    prompt::Terminal,
    support::{World, code, stderr, stdout},
};

/// Runs commands where no person can answer. Each of them is a question in the audit journal.
fn asked_before(world: &World, scripts: &[&str]) {
    for script in scripts {
        assert_eq!(code(&world.run(&["run", "-c", script], b"")), 4, "{script}");
    }
}

fn grants(world: &World) -> String {
    stdout(&world.run(&["grants", "list"], b""))
}

/// Presses the keys one after the other in the second step of `p`, and returns the exit code and
/// the final content of the screen.
fn keys(world: &World, script: &str, keys: &[&str]) -> (u32, String) {
    let mut terminal = Terminal::run(world, &["run", "-c", script]);
    terminal.wait_for("[p]");
    terminal.press("p");
    terminal.wait_for("[Esc] back");
    for key in keys {
        std::thread::sleep(std::time::Duration::from_millis(200));
        terminal.press(key);
    }
    terminal.end()
}

#[test]
fn each_choice_shows_which_questions_it_would_have_answered() {
    let world = World::new();
    let before =
        ["npm run lint", "npm run lint", "npm run build -- -w", "npm test", "touch x; make"];
    asked_before(&world, &before);
    let (code, text) = keys(&world, "npm run build", &["\x1b", "n"]);
    assert_eq!(code, 126, "{text}");
    let rows: Vec<_> = text.lines().map(str::trim).collect();
    let wanted = [
        "[1] narrower   Bash(npm run build)",
        "would have answered none of 5 (questions of the last 30 days)",
        "> [2] as offered Bash(npm run build *)",
        "would have answered 1 of 5 (questions of the last 30 days)",
        "else: npm run build -- -w",
        "[3] wider      Bash(npm run *)",
        "would have answered 3 of 5 (questions of the last 30 days)",
        "else: npm run lint",
        "npm run build -- -w",
    ];
    let at = rows.iter().position(|row| *row == wanted[0]).unwrap_or_else(|| panic!("{text}"));
    assert_eq!(rows[at..at + wanted.len()], wanted, "{text}");
    assert_eq!(grants(&world), "", "looking grants nothing");
}

#[test]
fn a_question_is_counted_if_a_choice_answers_all_of_it() {
    let world = World::new();
    asked_before(&world, &["touch a && touch b", "touch c && mkdir d", "touch \"$UNKNOWN\""]);
    let asker = ask(&world, &["-c", "touch z"]);
    let request = asked(&world, "touch z");
    let expected = json!([
        { "breadth": "narrower", "rules": ["Bash(touch z)"], "would_have_answered": 0, "total": 3, "examples": [] },
        { "breadth": "suggested", "rules": ["Bash(touch *)"], "would_have_answered": 1, "total": 3,
          "examples": ["touch a", "touch b"] },
    ]);
    assert_eq!(request["choices"], expected);
    answer(&world, &["deny", id(&request)]);
    end(asker);
}

#[test]
fn the_chosen_rules_are_saved_with_their_limit() {
    let rows: [(&[&str], &str); 4] = [
        (&["1", "f"], "  1  Bash(touch one)\n"),
        (&["5"], "  1  Bash(touch *), 5 times\n"),
        (&["1", "2", "f"], "  1  Bash(touch *)\n"),
        (&["1", "\r", "p", "5"], "  1  Bash(touch one), 5 times\n"),
    ];
    for (pressed, expected) in rows {
        let world = World::new();
        let (code, text) = keys(&world, "touch one", pressed);
        assert_eq!((code, world.project().join("one").exists()), (0, true), "{text}");
        assert_eq!(grants(&world), expected, "{text}");
    }
    let world = World::new();
    let (code, text) = keys(&world, "touch one", &["t"]);
    assert_eq!(code, 0, "{text}");
    assert!(grants(&world).starts_with("  1  Bash(touch *), until 20"), "{text}");
    assert!(text.contains("> yes, for the project, for 30 minutes"), "{text}");
}

#[test]
fn the_grant_menu_alone_runs_nothing() {
    let world = World::new();
    let (code, text) = keys(&world, "touch one", &["\r", "y", "\x03"]);
    assert_eq!((code, world.project().join("one").exists()), (126, false), "{text}");
    assert_eq!(grants(&world), "");
}

fn waiting(world: &World, script: &str) -> (std::process::Child, Value) {
    let asker = ask(world, &["-c", script]);
    let request = asked(world, script);
    (asker, request)
}

#[test]
fn approve_takes_the_terms_that_are_offered_and_no_others() {
    let world = World::new();
    let (asker, request) = waiting(&world, "touch one");
    let approve = |words: &[&str]| answer(&world, &[&["approve", id(&request)], words].concat());
    for wrong in [
        &["--scope", "project", "--rule", "Bash(touch*)"][..],
        &["--scope", "project", "--rule", "Bash"],
        &["--scope", "project", "--rule", "Bash(touch one)", "--rule", "Bash(rm *)"],
        &["--rule", "Bash(touch one)"],
        &["--scope", "session", "--times", "2"],
        &["--scope", "project", "--times", "0"],
        &["--scope", "project", "--for", "soon"],
    ] {
        let (status, why) = approve(wrong);
        assert_eq!(status, 2, "{wrong:?}: {why}");
    }
    assert_eq!(grants(&world), "");
    let (status, said) =
        approve(&["--scope", "project", "--rule", "Bash(touch one)", "--times", "2"]);
    assert_eq!(status, 0, "{said}");
    assert!(said.contains("saved for this project: Bash(touch one), 2 times"), "{said}");
    assert_eq!(code(&end(asker)), 0);
    assert_eq!(grants(&world), "  1  Bash(touch one), 2 times\n");
    for expected in [0, 0, 4] {
        let output = world.run(&["run", "-c", "touch one"], b"");
        assert_eq!(code(&output), expected, "{}", stderr(&output));
    }
}

#[test]
fn an_approval_below_a_directory_applies_there() {
    let world = World::new();
    fs::create_dir(world.project().join("sub")).unwrap();
    let (asker, request) = waiting(&world, "make x");
    let words = ["approve", id(&request), "--scope", "project", "--below", "sub", "--for", "1h"];
    let (status, said) = answer(&world, &words);
    assert_eq!(status, 0, "{said}");
    end(asker);
    let decision = |cwd: &str| {
        let output = world.run(&["check", "--cwd", cwd, "-c", "make x"], b"");
        code(&output)
    };
    assert_eq!((decision("sub"), decision(".")), (0, 4), "{said}");
}
