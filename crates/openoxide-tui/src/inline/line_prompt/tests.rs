//! Tests of answers in lines, in addition to those of Aider.

use super::*;
use crate::samples::{command_request, with_explicit_approval, with_group};

const GROUP: PromptOptions = PromptOptions {
    session: true,
    always: true,
    all: true,
    skip: true,
    lists_coverage: false,
    directory: false,
};
const SINGLE: PromptOptions = PromptOptions {
    session: true,
    always: true,
    all: false,
    skip: false,
    lists_coverage: false,
    directory: false,
};
const EXPLICIT: PromptOptions = PromptOptions {
    session: false,
    always: false,
    all: false,
    skip: false,
    lists_coverage: false,
    directory: false,
};

const CANCELLED: Option<PromptAnswer> = Some(PromptAnswer::Single(ApprovalResponse::Cancelled));
const REJECTED: Option<PromptAnswer> =
    Some(PromptAnswer::Single(ApprovalResponse::Rejected { message: None }));

const fn yes(scope: GrantScope) -> Option<PromptAnswer> {
    Some(PromptAnswer::Single(ApprovalResponse::new_approval(scope)))
}

fn message(text: &str) -> Option<PromptAnswer> {
    Some(PromptAnswer::Single(ApprovalResponse::Rejected { message: Some(text.to_owned()) }))
}

fn choice(line: &str, offers: PromptOptions) -> Option<PromptAnswer> {
    match parse_reply(line, offers)? {
        LineReply::Choice(choice) => Some(choice),
        other => panic!("{line} is {other:?}"),
    }
}

/// Asks about one request with this input.
fn asked(input: &[u8]) -> (Option<PromptAnswer>, String) {
    let mut out = Vec::new();
    let choice = ask_request(
        &command_request("ls"),
        None,
        80,
        (None, None),
        (&mut &*input, PagedLines::new(&mut out, None)),
    )
    .ok();
    (choice, String::from_utf8(out).unwrap())
}

#[test]
fn each_word_gives_its_answer() {
    let rows = [
        ("y", yes(GrantScope::Once)),
        ("YES", yes(GrantScope::Once)),
        ("ye", yes(GrantScope::Once)),
        (" y \r", yes(GrantScope::Once)),
        ("n", REJECTED),
        ("No", REJECTED),
        ("a", yes(GrantScope::Session)),
        ("alw", yes(GrantScope::Session)),
        ("always", yes(GrantScope::Session)),
        ("p", yes(GrantScope::Project)),
        ("prefix", yes(GrantScope::Project)),
        ("s", Some(PromptAnswer::Skip)),
        ("skip", Some(PromptAnswer::Skip)),
        ("all", Some(PromptAnswer::All)),
        ("ALL", Some(PromptAnswer::All)),
        ("m use make", message("use make")),
        ("M  use\tmake ", message("use make")),
        ("m \x1b[31mno\u{202e}", message("[31mno")),
    ];
    for (line, expected) in rows {
        assert_eq!(choice(line, GROUP), expected, "{line:?}");
    }
}

#[test]
fn no_other_line_is_an_answer() {
    let lines =
        ["", " ", "yess", "y y", "yes please", "ok", "1", "true", "j", "\u{feff}y", "ｙ", "y\0"];
    let vague = ["A", "al", "AL", "m", "m ", "message \t", "don't", "d", "q", "\x1b", "y\u{301}"];
    for line in lines.into_iter().chain(vague) {
        assert_eq!(choice(line, GROUP), None, "{line:?}");
    }
}

#[test]
fn answers_that_are_not_offered_are_rejected() {
    for line in ["all", "s", "skip"] {
        assert_eq!(choice(line, SINGLE), None, "{line}");
    }
    for line in ["a", "always", "p", "prefix", "all", "s"] {
        assert_eq!(choice(line, EXPLICIT), None, "{line}");
    }
    assert_eq!(choice("A", SINGLE), yes(GrantScope::Session), "without a batch it is a letter");
}

/// The twelve inputs of Aider's `confirm_ask` (corpus `aider/confirm.json`), with their meaning in
/// Aider, and their meaning here for a single question and for one of a group.
#[test]
fn the_inputs_of_aider() {
    let once = yes(GrantScope::Once);
    // A line that is not an answer asks again. Here it is the only input, so the end of the input
    // cancels.
    let rows = [
        ("", "the default, which may be yes", &CANCELLED, &CANCELLED),
        ("y\n", "yes", &once, &once),
        ("yes\n", "yes", &once, &once),
        ("n\n", "no", &REJECTED, &REJECTED),
        ("N\n", "no", &REJECTED, &REJECTED),
        ("all\n", "yes, and to all of a group", &CANCELLED, &Some(PromptAnswer::All)),
        ("s\n", "no, and to all of a group", &CANCELLED, &Some(PromptAnswer::Skip)),
        ("sk\n", "no, and to all of a group", &CANCELLED, &Some(PromptAnswer::Skip)),
        ("don't\n", "no, never again", &CANCELLED, &CANCELLED),
        ("dont\n", "asks again", &CANCELLED, &CANCELLED),
        ("yess\n", "asks again", &CANCELLED, &CANCELLED),
        ("y \n", "asks again", &once, &once),
    ];
    let group = with_group(vec![command_request("a"), command_request("b")]);
    for (input, aider, single, grouped) in rows {
        assert_eq!(&asked(input.as_bytes()).0, single, "{input:?}; in Aider: {aider}");
        let (batch, mut out) = (BatchPosition::from_requests(&group, 0), Vec::new());
        let answer = ask_request(
            &group[0],
            batch,
            80,
            (None, None),
            (&mut input.as_bytes(), PagedLines::new(&mut out, None)),
        )
        .ok();
        assert_eq!(&answer, grouped, "{input:?} in a group; in Aider: {aider}");
    }
}

#[test]
fn the_end_of_the_input_never_approves() {
    for input in ["", "y", "yes", "\ny", "v\nyes", "a", "p", "all"] {
        assert_eq!(asked(input.as_bytes()).0, CANCELLED, "{input:?}");
    }
}

#[test]
fn it_asks_again_three_times() {
    assert_eq!(asked(b"\n\n\ny\n").0, yes(GrantScope::Once));
    assert_eq!(asked(b"\n\n\n\ny\n").0, CANCELLED);
    let (_, text) = asked(b"\n\n\n\n");
    assert_eq!(text.matches("Not a valid answer.").count(), 3);
}

#[test]
fn the_end_of_a_long_line_is_not_an_answer() {
    let long = format!("{}y\n", "x".repeat(8192));
    assert_eq!(asked(long.as_bytes()).0, CANCELLED);
    assert_eq!(asked(format!("{long}n\n").as_bytes()).0, REJECTED);
    assert_eq!(asked(b"\xff\ny\n").0, yes(GrantScope::Once), "no text is no answer either");
}

#[test]
fn v_shows_all_and_asks_on() {
    let long: String = (1..40).map(|n| format!("echo {n}\n")).collect();
    let mut out = Vec::new();
    let choice = ask_request(
        &command_request(&long),
        None,
        80,
        (None, None),
        (&mut &b"v\nn\n"[..], PagedLines::new(&mut out, None)),
    )
    .ok();
    let text = String::from_utf8(out).unwrap();
    assert_eq!(choice, REJECTED);
    assert!(text.contains("… 27 more lines (v to view)"));
    assert!(text.contains("  > echo 39\n"));
}

#[test]
fn no_escape_sequence_is_written() {
    let (_, text) = asked(b"\nv\nm stop\n");
    assert!(!text.contains('\x1b'));
    assert!(text.ends_with("> > no, with a message\n"), "{text}");
}

#[test]
fn a_group_is_answered_by_lines() {
    let requests = with_group(vec![
        command_request("a"),
        with_explicit_approval(command_request("b")),
        command_request("c"),
    ]);
    let answers = ask_lines(&requests, 80, &mut &b"all\ny\n"[..], &mut Vec::new()).unwrap();
    assert_eq!(answers, vec![ApprovalResponse::new_approval(GrantScope::Once); 3]);
    let answers = ask_lines(&requests, 80, &mut &b"all\n"[..], &mut Vec::new()).unwrap();
    assert_eq!(answers[1..], [ApprovalResponse::Cancelled, ApprovalResponse::Cancelled]);
}

#[test]
fn a_line_after_the_question_was_withdrawn_is_not_an_answer() {
    let (withdrawn, mut out) = (AtomicBool::new(true), Vec::new());
    let lines = (&mut &b"y\n"[..] as &mut dyn BufRead, PagedLines::new(&mut out, None));
    let choice = ask_request(&command_request("ls"), None, 80, (Some(&withdrawn), None), lines);
    assert!(matches!(choice, Err(AskError::Withdrawn)));
}

#[test]
fn p_question_mark_shows_the_rules_without_answering() {
    let (choice, out) = asked(b"p?\np 5\n");
    let times = openoxide_protocol::GrantTerms { max_uses: Some(5), ..Default::default() };
    let (scope, terms) = (GrantScope::Project, Some(times));
    assert_eq!(choice, Some(PromptAnswer::Single(ApprovalResponse::Approved { scope, terms })));
    assert!(out.contains("> [2] as offered Bash(git push *)\n"), "{out}");
    assert!(out.ends_with("> yes, for the project, 5 times\n"), "{out}");
    assert_eq!(asked(b"p?\n").0, CANCELLED);
    assert_eq!(asked(b"p 3\np 1\np x\n").0, CANCELLED, "what is not offered is no answer");
}

#[test]
fn an_approval_by_line_first_shows_all_pages() {
    let long = format!("rm {}", "some-file ".repeat(60));
    let size = crate::inline::screen_pages::ScreenSize { columns: 80, rows: 8 };
    let ask = |input: &str| {
        let mut out = Vec::new();
        let screen = PagedLines::new(&mut out, Some(size));
        let lines = (&mut input.as_bytes() as &mut dyn BufRead, screen);
        let answer = ask_request(&command_request(&long), None, 80, (None, None), lines).unwrap();
        (answer, String::from_utf8(out).unwrap())
    };
    let cancelled = PromptAnswer::Single(ApprovalResponse::Cancelled);
    let (answer, screen) = ask("y\ny\n");
    assert_eq!(answer, cancelled, "{screen}");
    assert!(screen.contains("> page 1 of 4; repeat the answer to continue\n> "), "{screen}");
    assert_eq!(ask("n\n").0, PromptAnswer::Single(ApprovalResponse::Rejected { message: None }));
    let once = PromptAnswer::Single(ApprovalResponse::new_approval(GrantScope::Once));
    assert_eq!(ask(&"y\n".repeat(5)).0, once);
}
