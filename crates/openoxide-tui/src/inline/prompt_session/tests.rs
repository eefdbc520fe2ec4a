//! Dialogs with a scripted terminal.

use std::{collections::VecDeque, time::Duration};

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use openoxide_protocol::GrantScope;

use super::*;
use crate::{inline::screen_pages::ScreenSize, samples::command_request};

/// A height that shows all of a question.
const HEIGHT: u16 = 100;
/// The pace of a person who reads before answering.
const SLOWLY: Duration = Duration::from_secs(1);

/// A terminal that replays events, where `None` is a pause. It hangs up at the end of the script.
struct Script {
    events: VecDeque<Option<Event>>,
    width: u16,
    height: u16,
    screen: String,
    /// The time that passes with each event.
    pace: Duration,
    now: Duration,
}

impl TerminalIo for Script {
    fn size(&self) -> ScreenSize {
        ScreenSize { columns: self.width, rows: self.height }
    }

    fn write(&mut self, text: &str) -> Result<(), AskError> {
        self.screen.push_str(text);
        Ok(())
    }

    fn elapsed(&self) -> Duration {
        self.now
    }

    fn next_event(&mut self, _: Duration) -> Result<Option<Event>, AskError> {
        self.now += self.pace;
        let event = self.events.pop_front().ok_or(AskError::HungUp)?;
        if let Some(Event::Resize(width, height)) = event {
            (self.width, self.height) = (width, height);
        }
        Ok(event)
    }
}

fn key(code: KeyCode) -> Option<Event> {
    Some(Event::Key(KeyEvent::new(code, KeyModifiers::NONE)))
}

fn letter(c: char) -> Option<Event> {
    key(KeyCode::Char(c))
}

fn control(c: char) -> Option<Event> {
    Some(Event::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL)))
}

fn paste(text: &str) -> Option<Event> {
    Some(Event::Paste(text.to_owned()))
}

fn play(
    events: impl IntoIterator<Item = Option<Event>>,
) -> (Result<PromptAnswer, AskError>, String) {
    let events = events.into_iter().collect();
    let mut terminal = Script {
        events,
        width: 80,
        height: HEIGHT,
        screen: String::new(),
        pace: SLOWLY,
        now: Duration::ZERO,
    };
    let request = command_request("git push");
    let outcome = PromptSession::new(&mut terminal, &request, &AskOptions::default(), None).run();
    (outcome, terminal.screen)
}

fn answer(events: impl IntoIterator<Item = Option<Event>>) -> Option<ApprovalResponse> {
    match play(events).0 {
        Ok(PromptAnswer::Single(response)) => Some(response),
        _ => None,
    }
}

const YES: Option<ApprovalResponse> = Some(ApprovalResponse::new_approval(GrantScope::Once));
const NO: Option<ApprovalResponse> = Some(ApprovalResponse::Rejected { message: None });
const STOP: Option<ApprovalResponse> = Some(ApprovalResponse::Cancelled);

#[test]
fn input_typed_before_the_question_is_ignored() {
    let ahead = "yaA\n".chars().map(letter).chain([paste("y\r"), key(KeyCode::Enter)]);
    assert_eq!(answer(ahead.clone().chain([None, letter('n'), None])), NO);
    let (outcome, screen) = play(ahead);
    assert!(matches!(outcome, Err(AskError::HungUp)));
    assert_eq!(screen, "", "as long as somebody types, nothing is asked");
}

#[test]
fn control_c_stops_even_before_the_question() {
    assert_eq!(answer([letter('x'), control('c')]), STOP);
}

#[test]
fn a_single_key_answers_with_or_without_enter() {
    assert_eq!(answer([None, letter('y'), None]), YES);
    assert_eq!(answer([None, letter('y'), key(KeyCode::Enter), None]), YES);
    assert_eq!(answer([None, letter('y'), key(KeyCode::Enter), control('j'), None]), YES);
    assert_eq!(answer([None, key(KeyCode::Enter), None, letter('n'), None]), NO);
}

#[test]
fn several_keys_at_once_answer_nothing() {
    let bursts = ["yy", "yes", "ny", "y\rls", "\ry", "vy", "my"];
    for burst in bursts {
        let keys = burst.chars().map(|c| if c == '\r' { key(KeyCode::Enter) } else { letter(c) });
        let events = std::iter::once(None).chain(keys).chain([None, letter('n'), None]);
        assert_eq!(answer(events), NO, "{burst:?}");
    }
    let (_, screen) = play([None, letter('y'), letter('y'), None]);
    assert!(
        screen
            .contains("> input too fast to be a key press; ignored; press one of: y a p n m v Esc")
    );
}

#[test]
fn control_c_stops_from_within_a_burst() {
    assert_eq!(answer([None, letter('y'), letter('y'), control('c')]), STOP);
}

#[test]
fn a_paste_is_ignored_with_a_hint() {
    let (outcome, screen) = play([None, paste("y\n"), letter('n'), None]);
    assert!(matches!(
        outcome,
        Ok(PromptAnswer::Single(ApprovalResponse::Rejected { message: None }))
    ));
    assert!(screen.contains("> pasted input is ignored; press one of: y a p n m v Esc"));
}

#[test]
fn enter_repeats_the_keys() {
    let (_, screen) = play([None, key(KeyCode::Enter), None]);
    assert!(screen.contains("\r\x1b[KEnter does not select an answer. Press one of:\n[y] yes"));
    assert_eq!(screen.matches("[y] yes, once").count(), 2);
}

#[test]
fn a_message_takes_keys_at_any_speed_and_pastes() {
    let events =
        [None, letter('m'), None, letter('u'), letter('s'), paste("e\nit"), key(KeyCode::Enter)];
    let message = Some("use it".to_owned());
    assert_eq!(answer(events), Some(ApprovalResponse::Rejected { message }));
}

#[test]
fn a_new_width_draws_again_and_a_new_height_does_not() {
    let resize = |width| Some(Event::Resize(width, 24));
    let (_, screen) = play([None, resize(60), resize(40), None]);
    assert_eq!(screen.matches("OpenOxide asks").count(), 2);
    let (_, screen) = play([None, resize(80), None]);
    assert_eq!(screen.matches("OpenOxide asks").count(), 1);
}

#[test]
fn a_resize_between_two_keys_loses_neither() {
    let resize = Some(Event::Resize(40, 24));
    assert_eq!(answer([None, resize.clone(), letter('y'), None]), YES);
    assert_eq!(answer([None, letter('y'), resize, None]), YES);
}

#[test]
fn the_screen_keeps_the_answer() {
    let (_, screen) = play([None, letter('a'), None]);
    assert!(screen.ends_with("\r\x1b[K> yes, for the session\n"), "{screen}");
    let (_, screen) = play([None]);
    assert!(screen.ends_with("> the terminal was closed before you answered\n"), "{screen}");
}

#[test]
fn always_is_recalled_only_when_it_is_looked_at() {
    let calls = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = std::sync::Arc::clone(&calls);
    let recall = HistoryLookup::new(move |_| {
        count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        vec![ChoiceHistory {
            would_have_answered: 3,
            total: 9,
            examples: vec!["git push x".to_owned()],
        }]
    });
    let options = AskOptions { history_lookup: Some(recall), ..AskOptions::default() };
    let request = command_request("git push");
    let run = |events: Vec<Option<Event>>| {
        let mut terminal = Script {
            events: events.into(),
            width: 80,
            height: HEIGHT,
            screen: String::new(),
            pace: SLOWLY,
            now: Duration::ZERO,
        };
        let outcome = PromptSession::new(&mut terminal, &request, &options, None).run();
        (outcome.ok(), terminal.screen)
    };
    run(vec![None, letter('y'), None]);
    assert_eq!(calls.load(std::sync::atomic::Ordering::Relaxed), 0);
    let esc = key(KeyCode::Esc);
    let (choice, screen) =
        run(vec![None, letter('p'), None, esc, None, letter('p'), None, letter('t'), None]);
    assert_eq!(calls.load(std::sync::atomic::Ordering::Relaxed), 1, "once");
    assert!(screen.contains("would have answered 3 of 9 (questions"), "{screen}");
    assert!(screen.contains("No rule saved. Press one of:\n[y] yes"), "{screen}");
    let terms =
        openoxide_protocol::GrantTerms { expires_in_seconds: Some(1800), ..Default::default() };
    let (scope, terms) = (GrantScope::Project, Some(terms));
    assert_eq!(choice, Some(PromptAnswer::Single(ApprovalResponse::Approved { scope, terms })));
}

#[test]
fn p_and_enter_do_not_approve() {
    assert_eq!(answer([None, letter('p'), key(KeyCode::Enter), None, letter('n'), None]), None);
    let events = [None, letter('p'), None, key(KeyCode::Enter), None, key(KeyCode::Esc), None];
    assert_eq!(answer(events.into_iter().chain([letter('n'), None])), NO);
}

/// Returns a request with seven parts that require approval. The question shows six of them.
fn long_request() -> ApprovalRequest {
    let mut request = command_request("make");
    let parts = (0..7).map(|number| {
        let access = openoxide_protocol::Access::CallTool { tool: format!("tool-{number}") };
        let (rule, reason) = (None, String::new());
        openoxide_protocol::AccessDecision {
            access,
            decision: openoxide_protocol::Effect::Ask,
            rule,
            reason,
            cause: None,
            overridden: vec![],
        }
    });
    request.decision.parts = parts.collect();
    request
}

fn play_long(events: impl IntoIterator<Item = Option<Event>>) -> (Option<PromptAnswer>, String) {
    let events = events.into_iter().collect();
    let mut terminal = Script {
        events,
        width: 80,
        height: HEIGHT,
        screen: String::new(),
        pace: SLOWLY,
        now: Duration::ZERO,
    };
    let request = long_request();
    let outcome = PromptSession::new(&mut terminal, &request, &AskOptions::default(), None).run();
    (outcome.ok(), terminal.screen)
}

#[test]
fn an_approving_key_first_shows_hidden_content() {
    for approving in ['y', 'a', 'p'] {
        let (choice, screen) = play_long([None, letter(approving), None]);
        assert_eq!(choice, None, "{approving}");
        assert!(screen.contains("tool-6") && screen.contains("press the key again"), "{screen}");
    }
    let (choice, _) = play_long([None, letter('y'), None, letter('y'), None]);
    assert_eq!(
        choice,
        Some(PromptAnswer::Single(ApprovalResponse::new_approval(GrantScope::Once)))
    );
    let (choice, screen) = play_long([None, letter('n'), None]);
    assert_eq!(choice, Some(PromptAnswer::Single(ApprovalResponse::Rejected { message: None })));
    assert!(!screen.contains("tool-6"), "{screen}");
    let (choice, _) = play_long([None, letter('v'), None, letter('y'), None]);
    assert_eq!(
        choice,
        Some(PromptAnswer::Single(ApprovalResponse::new_approval(GrantScope::Once)))
    );
}

#[test]
fn an_approving_key_first_shows_the_whole_command_if_it_is_the_part_that_asks() {
    let files: String = (0..300).map(|n| format!(" keep{n}")).collect();
    let mut request = command_request(&format!("git push{files}"));
    if let openoxide_protocol::Access::Exec(exec) = &mut request.decision.parts[0].access {
        exec.text.clone_from(&request.presentation.content);
    }
    let (answer, screen) = play_on(&request, (80, 100), "y");
    assert_eq!(answer, None, "{screen}");
    assert!(!screen.split("press the key again").next().unwrap().is_empty());
    assert!(screen.contains("keep299"), "{screen}");
    let once = PromptAnswer::Single(ApprovalResponse::new_approval(GrantScope::Once));
    assert_eq!(play_on(&request, (80, 100), "yy").0, Some(once));
}

/// Plays `keys`, each a second after the one before, on a screen of this size.
fn play_on(
    request: &ApprovalRequest,
    (width, height): (u16, u16),
    keys: &str,
) -> (Option<PromptAnswer>, String) {
    let pressed = keys.chars().flat_map(|c| [letter(c), None]);
    let events = std::iter::once(None).chain(pressed).collect();
    let mut terminal =
        Script { events, width, height, screen: String::new(), pace: SLOWLY, now: Duration::ZERO };
    let outcome = PromptSession::new(&mut terminal, request, &AskOptions::default(), None).run();
    (outcome.ok(), terminal.screen)
}

#[test]
fn an_approving_key_first_shows_all_pages_of_a_question_that_does_not_fit() {
    let once = PromptAnswer::Single(ApprovalResponse::new_approval(GrantScope::Once));
    let no = PromptAnswer::Single(ApprovalResponse::Rejected { message: None });
    let files: String = (0..50).map(|n| format!(" keep{n}")).collect();
    let request = command_request(&format!("git push{files}"));
    for size in [(80, 24), (80, 10), (40, 10), (10, 3)] {
        let shown = |presses: usize| play_on(&request, size, &"y".repeat(presses));
        let presses = (1..100).find(|count| shown(*count).0.is_some()).unwrap();
        assert_eq!(shown(presses).0, Some(once.clone()));
        if size == (80, 24) {
            assert_eq!(presses, 1, "it fits");
            continue;
        }
        let (_, screen) = shown(presses - 1);
        let pages = screen.split_once("view all").unwrap().1;
        let text = |screen: &str| screen.replace([' ', '\n', '\\'], "");
        assert!((0..50).all(|n| text(pages).contains(&format!("keep{n}"))), "{size:?}: {pages}");
        assert!(presses > 2 && text(pages).contains("[y]yes"), "{size:?}: {pages}");
        assert_eq!(play_on(&request, size, "yn").0, Some(no.clone()));
        assert_eq!(play_on(&request, size, "n").0, Some(no.clone()));
    }
    let (_, screen) = play_on(&request, (80, 10), "y");
    let page = screen.rsplit("\n> ").nth(1).unwrap();
    assert!(page.contains("  $ git push keep0 keep1") && !page.contains("[y] yes"), "{screen}");
}

#[test]
fn a_long_part_that_is_allowed_leaves_the_asking_part_on_the_screen() {
    let long = format!("echo {}", "all fine ".repeat(400));
    let mut request = command_request(&format!("rm keep1; {long}"));
    let part = |text: &str, decision| openoxide_protocol::AccessDecision {
        access: openoxide_protocol::Access::CallTool { tool: text.to_owned() },
        decision,
        rule: None,
        reason: format!("`{text}` is read"),
        cause: None,
        overridden: vec![],
    };
    use openoxide_protocol::Effect;
    request.decision.parts = vec![part(&long, Effect::Allow), part("rm keep1", Effect::Ask)];
    let (_, screen) = play_on(&request, (80, 24), "");
    let rows: Vec<_> = screen.lines().collect();
    let asking = rows.iter().rposition(|row| row.contains("ask    call rm keep1")).unwrap();
    assert!(rows.len() - asking <= 12, "{screen}");
    assert!(screen.contains("… (v to view)"), "{screen}");
}

#[test]
fn a_lower_screen_draws_again_only_while_pages_are_unread() {
    let request = command_request(&format!("rm {}", "keep ".repeat(60)));
    let play = |events: Vec<Option<Event>>| {
        let (events, screen, now) = (events.into(), String::new(), Duration::ZERO);
        let mut terminal = Script { events, width: 80, height: 10, screen, pace: SLOWLY, now };
        let options = AskOptions::default();
        let outcome = PromptSession::new(&mut terminal, &request, &options, None).run();
        (outcome.ok(), terminal.screen)
    };
    let resize = Some(Event::Resize(80, 4));
    let (answer, screen) = play(vec![None, letter('y'), None, resize, None, letter('y'), None]);
    assert_eq!(answer, None, "{screen}");
    assert!(screen.contains("page 1 of 2;") && screen.contains("> page 1 of 6;"), "{screen}");
}

/// The script sets the clock: each event takes 80 ms.
#[test]
fn keys_are_ignored_until_the_question_can_have_been_read() {
    let play = |events: Vec<Option<Event>>| {
        let pace = Duration::from_millis(80);
        let mut terminal = Script {
            events: events.into(),
            width: 80,
            height: HEIGHT,
            screen: String::new(),
            pace,
            now: Duration::ZERO,
        };
        let request = command_request("git push");
        let asked = PromptSession::new(&mut terminal, &request, &AskOptions::default(), None);
        (asked.run().ok(), terminal.screen)
    };
    let (choice, screen) = play(vec![None, letter('y'), None]);
    assert_eq!(choice, None);
    assert!(screen.contains("before the question was shown"), "{screen}");
    // The pause after the first key and four more pauses take 400 ms.
    let late = vec![None, None, None, None, None, None, letter('y'), None];
    assert_eq!(
        play(late).0,
        Some(PromptAnswer::Single(ApprovalResponse::new_approval(GrantScope::Once)))
    );
    assert_eq!(
        play(vec![None, control('c')]).0,
        Some(PromptAnswer::Single(ApprovalResponse::Cancelled))
    );
}
