//! What each key answers.

use super::*;
use crate::samples::command;

const ALL: Offers = Offers { session: true, always: true, all: true, skip: true, listed: false };
const FEW: Offers =
    Offers { session: false, always: false, all: false, skip: false, listed: false };

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

fn prompt(offers: Offers) -> Prompt {
    Prompt::new(offers, Always::of(&command("git push")))
}

fn press(offers: Offers, event: KeyEvent) -> Step {
    prompt(offers).key(event)
}

#[test]
fn each_key_gives_its_answer() {
    let rejected = answer(ApprovalResponse::Rejected { message: None });
    let rows = [
        (letter('y'), approved(GrantScope::Once)),
        (letter('Y'), approved(GrantScope::Once)),
        (letter('n'), rejected.clone()),
        (letter('N'), rejected),
        (letter('a'), approved(GrantScope::Session)),
        (letter('p'), Step::Always),
        (letter('A'), Step::Answer(Choice::All)),
        (letter('s'), Step::Answer(Choice::Skip)),
        (letter('m'), Step::Message),
        (letter('v'), Step::View),
        (key(KeyCode::Enter), Step::Keys),
        (control('j'), Step::Keys),
        (key(KeyCode::Esc), answer(ApprovalResponse::Cancelled)),
        (control('c'), answer(ApprovalResponse::Cancelled)),
        (control('d'), answer(ApprovalResponse::Cancelled)),
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
        assert!(matches!(press(ALL, event), Step::Hint(_)), "{event:?}");
    }
}

#[test]
fn a_key_that_is_not_offered_answers_nothing() {
    for c in ['a', 'A', 'p', 'P', 's', 'S'] {
        assert!(matches!(press(FEW, letter(c)), Step::Hint(_)), "{c}");
    }
}

#[test]
fn a_capital_a_is_never_yes_for_the_session() {
    assert!(matches!(press(Offers { all: false, ..ALL }, letter('A')), Step::Hint(_)));
}

#[test]
fn letting_go_of_a_key_is_nothing() {
    let up = KeyEvent::new_with_kind(KeyCode::Char('y'), KeyModifiers::NONE, KeyEventKind::Release);
    assert_eq!(press(ALL, up), Step::Nothing);
}

#[test]
fn a_paste_answers_nothing_whatever_it_holds() {
    for text in ["y", "y\n", "", "A", "yes\r"] {
        assert!(matches!(prompt(ALL).paste(text), Step::Hint(_)));
    }
    assert!(matches!(prompt(ALL).burst(), Step::Hint(_)));
}

#[test]
fn a_message_is_written_mended_and_sent() {
    let mut prompt = prompt(ALL);
    prompt.key(letter('m'));
    assert_eq!(prompt.key(key(KeyCode::Enter)), Step::Message, "no message is not sent");
    for c in "uss".chars() {
        prompt.key(letter(c));
    }
    prompt.key(key(KeyCode::Backspace));
    prompt.paste("e\x1b make\n");
    prompt.key(letter('Y'));
    let message = Some("use make Y".to_owned());
    assert_eq!(prompt.key(key(KeyCode::Enter)), answer(ApprovalResponse::Rejected { message }));
}

#[test]
fn esc_leaves_the_message_and_a_second_one_stops() {
    let mut prompt = prompt(ALL);
    prompt.key(letter('m'));
    prompt.key(letter('x'));
    assert_eq!(prompt.key(key(KeyCode::Esc)), Step::Back);
    assert_eq!(prompt.editor(), None);
    assert_eq!(prompt.key(key(KeyCode::Esc)), answer(ApprovalResponse::Cancelled));
}

#[test]
fn p_alone_is_no_yes_and_twice_is_what_was_offered_for_good() {
    let mut prompt = prompt(ALL);
    prompt.key(letter('p'));
    for event in [key(KeyCode::Enter), control('j'), letter('y'), letter('a'), letter('A')] {
        assert!(matches!(prompt.key(event), Step::Hint(_)), "{event:?}");
    }
    assert!(matches!(prompt.paste("p"), Step::Hint(_)));
    assert_eq!(prompt.key(letter('p')), approved(GrantScope::Project));
}

#[test]
fn esc_goes_back_to_the_question_and_a_second_one_stops() {
    let mut prompt = prompt(ALL);
    assert_eq!(prompt.key(letter('p')), Step::Always);
    assert_eq!(prompt.key(key(KeyCode::Esc)), Step::Unkept);
    assert_eq!(prompt.key(letter('y')), approved(GrantScope::Once));
    assert_eq!(prompt.key(key(KeyCode::Esc)), answer(ApprovalResponse::Cancelled));
    prompt.key(letter('p'));
    assert_eq!(prompt.key(control('c')), answer(ApprovalResponse::Cancelled));
}

#[test]
fn control_c_stops_while_a_message_is_written() {
    let mut prompt = prompt(ALL);
    prompt.key(letter('m'));
    assert_eq!(prompt.key(control('c')), answer(ApprovalResponse::Cancelled));
}
