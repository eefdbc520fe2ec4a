//! Tests of the effects of keys.

use super::*;
use crate::samples::command_request;

const ALL: PromptOptions = PromptOptions {
    session: true,
    always: true,
    all: true,
    skip: true,
    lists_coverage: false,
    directory: false,
};
const FEW: PromptOptions = PromptOptions {
    session: false,
    always: false,
    all: false,
    skip: false,
    lists_coverage: false,
    directory: false,
};

fn key(code: KeyCode) -> KeyEvent {
    KeyEvent::new(code, KeyModifiers::NONE)
}

fn letter(c: char) -> KeyEvent {
    let shift = if c.is_uppercase() { KeyModifiers::SHIFT } else { KeyModifiers::NONE };
    KeyEvent::new(KeyCode::Char(c), shift)
}

fn control(c: char) -> KeyEvent {
    KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL)
}

fn prompt(offers: PromptOptions) -> PromptState {
    PromptState::new(offers, GrantMenu::from_request(&command_request("git push")))
}

fn press(offers: PromptOptions, event: KeyEvent) -> PromptStep {
    prompt(offers).handle_key(event)
}

#[test]
fn each_key_gives_its_answer() {
    let rejected = answer_with(ApprovalResponse::Rejected { message: None });
    let rows = [
        (letter('y'), approve(GrantScope::Once)),
        (letter('Y'), approve(GrantScope::Once)),
        (letter('n'), rejected.clone()),
        (letter('N'), rejected),
        (letter('a'), approve(GrantScope::Session)),
        (letter('p'), PromptStep::GrantMenu),
        (letter('A'), PromptStep::Answer(PromptAnswer::All)),
        (letter('s'), PromptStep::Answer(PromptAnswer::Skip)),
        (letter('m'), PromptStep::Message),
        (letter('v'), PromptStep::ShowAll),
        (key(KeyCode::Enter), PromptStep::RepeatKeys),
        (control('j'), PromptStep::RepeatKeys),
        (key(KeyCode::Esc), answer_with(ApprovalResponse::Cancelled)),
        (control('c'), answer_with(ApprovalResponse::Cancelled)),
        (control('d'), answer_with(ApprovalResponse::Cancelled)),
    ];
    for (event, expected) in rows {
        assert_eq!(press(ALL, event), expected, "{event:?}");
    }
}

#[test]
fn every_other_key_gives_a_hint() {
    let letters = ('!'..='~').filter(|c| !"yYnNaApPmMvVsS".contains(*c)).map(letter);
    let named = [KeyCode::Tab, KeyCode::Up, KeyCode::F(1), KeyCode::Backspace, KeyCode::Delete];
    let controls = ('a'..='z').filter(|c| !"cdj".contains(*c)).map(control);
    let alt = KeyEvent::new(KeyCode::Char('y'), KeyModifiers::ALT);
    for event in letters.chain(named.map(key)).chain(controls).chain([alt, letter(' ')]) {
        assert!(matches!(press(ALL, event), PromptStep::Hint(_)), "{event:?}");
    }
}

#[test]
fn a_key_that_is_not_offered_answers_nothing() {
    for c in ['a', 'A', 'p', 'P', 's', 'S'] {
        assert!(matches!(press(FEW, letter(c)), PromptStep::Hint(_)), "{c}");
    }
}

#[test]
fn a_capital_a_never_approves_for_the_session() {
    assert!(matches!(press(PromptOptions { all: false, ..ALL }, letter('A')), PromptStep::Hint(_)));
}

#[test]
fn letting_go_of_a_key_is_nothing() {
    let up = KeyEvent::new_with_kind(KeyCode::Char('y'), KeyModifiers::NONE, KeyEventKind::Release);
    assert_eq!(press(ALL, up), PromptStep::NoChange);
}

#[test]
fn a_paste_answers_nothing_whatever_it_holds() {
    for text in ["y", "y\n", "", "A", "yes\r"] {
        assert!(matches!(prompt(ALL).handle_paste(text), PromptStep::Hint(_)));
    }
    assert!(matches!(prompt(ALL).reject_burst(), PromptStep::Hint(_)));
}

#[test]
fn a_message_is_written_mended_and_sent() {
    let mut prompt = prompt(ALL);
    prompt.handle_key(letter('m'));
    assert_eq!(
        prompt.handle_key(key(KeyCode::Enter)),
        PromptStep::Message,
        "no message is not sent"
    );
    for c in "uss".chars() {
        prompt.handle_key(letter(c));
    }
    prompt.handle_key(key(KeyCode::Backspace));
    prompt.handle_paste("e\x1b make\n");
    prompt.handle_key(letter('Y'));
    let message = Some("use make Y".to_owned());
    assert_eq!(
        prompt.handle_key(key(KeyCode::Enter)),
        answer_with(ApprovalResponse::Rejected { message })
    );
}

#[test]
fn esc_leaves_the_message_and_a_second_one_stops() {
    let mut prompt = prompt(ALL);
    prompt.handle_key(letter('m'));
    prompt.handle_key(letter('x'));
    assert_eq!(prompt.handle_key(key(KeyCode::Esc)), PromptStep::MessageDiscarded);
    assert_eq!(prompt.editor(), None);
    assert_eq!(prompt.handle_key(key(KeyCode::Esc)), answer_with(ApprovalResponse::Cancelled));
}

#[test]
fn p_once_does_not_approve_and_twice_saves_the_suggested_rules() {
    let mut prompt = prompt(ALL);
    prompt.handle_key(letter('p'));
    for event in [key(KeyCode::Enter), control('j'), letter('y'), letter('a'), letter('A')] {
        assert!(matches!(prompt.handle_key(event), PromptStep::Hint(_)), "{event:?}");
    }
    assert!(matches!(prompt.handle_paste("p"), PromptStep::Hint(_)));
    assert_eq!(prompt.handle_key(letter('p')), approve(GrantScope::Project));
}

#[test]
fn esc_goes_back_to_the_question_and_a_second_one_stops() {
    let mut prompt = prompt(ALL);
    assert_eq!(prompt.handle_key(letter('p')), PromptStep::GrantMenu);
    assert_eq!(prompt.handle_key(key(KeyCode::Esc)), PromptStep::GrantMenuClosed);
    assert_eq!(prompt.handle_key(letter('y')), approve(GrantScope::Once));
    assert_eq!(prompt.handle_key(key(KeyCode::Esc)), answer_with(ApprovalResponse::Cancelled));
    prompt.handle_key(letter('p'));
    assert_eq!(prompt.handle_key(control('c')), answer_with(ApprovalResponse::Cancelled));
}

#[test]
fn control_c_stops_while_a_message_is_written() {
    let mut prompt = prompt(ALL);
    prompt.handle_key(letter('m'));
    assert_eq!(prompt.handle_key(control('c')), answer_with(ApprovalResponse::Cancelled));
}
