//! Choices at a scripted terminal.

use std::{collections::VecDeque, time::Duration};

use crossterm::event::Event;

use super::*;
use crate::samples::command_request;

/// The pace of a person who reads before answering.
const SLOWLY: Duration = Duration::from_secs(1);

/// A terminal that replays events, where `None` is a pause. It hangs up at the end of the script.
struct Script {
    events: VecDeque<Option<Event>>,
    screen: String,
    /// The time that passes with each event.
    pace: Duration,
    now: Duration,
}

impl TerminalIo for Script {
    fn size(&self) -> ScreenSize {
        ScreenSize { columns: 80, rows: 100 }
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
        self.events.pop_front().ok_or(AskError::HungUp)
    }
}

fn offer(keys: &[char], meaning: &str) -> AnswerOption {
    AnswerOption { keys: keys.to_vec(), meaning: meaning.to_owned(), is_risky: false }
}

fn offers() -> Vec<AnswerOption> {
    vec![
        offer(&['y'], "yes, this once"),
        offer(&['p'], "yes, and what begins with `git \u{1b}[2J`"),
        offer(&['n', AnswerOption::ESCAPE], "no, and it stops"),
    ]
}

fn key(code: KeyCode, modifiers: KeyModifiers) -> Option<Event> {
    Some(Event::Key(KeyEvent::new(code, modifiers)))
}

fn letters(text: &str) -> Vec<Option<Event>> {
    let pressed = |c| [None, key(KeyCode::Char(c), KeyModifiers::NONE), None];
    text.chars().flat_map(pressed).collect()
}

fn play(events: Vec<Option<Event>>) -> (Result<Option<usize>, AskError>, String) {
    let mut terminal =
        Script { events: events.into(), screen: String::new(), pace: SLOWLY, now: Duration::ZERO };
    let (request, offers) = (command_request("git push"), offers());
    let chosen = ChoicePrompt::new(&mut terminal, &request, &offers, TextStyle::Plain).run();
    (chosen, terminal.screen)
}

fn chosen(events: Vec<Option<Event>>) -> Result<Option<usize>, String> {
    play(events).0.map_err(|error| error.to_string())
}

#[test]
fn each_key_that_is_offered_chooses_and_no_other_does() {
    for (typed, expected) in [("y", 0), ("p", 1), ("n", 2), ("asdYAPm1n", 2), ("vy", 0)] {
        assert_eq!(chosen(letters(typed)), Ok(Some(expected)), "{typed}");
    }
    let escape = vec![None, key(KeyCode::Esc, KeyModifiers::NONE), None];
    assert_eq!(chosen(escape), Ok(Some(2)));
    let enter = vec![None, key(KeyCode::Enter, KeyModifiers::NONE), None];
    assert!(chosen(enter).is_err(), "Enter alone answers nothing");
}

#[test]
fn the_end_of_the_input_chooses_nothing() {
    for c in ['c', 'd'] {
        let end = vec![None, key(KeyCode::Char(c), KeyModifiers::CONTROL)];
        let (chosen, screen) = play(end);
        assert_eq!(chosen.ok(), Some(None));
        assert!(screen.ends_with("> not answered here\n"), "{screen}");
    }
    assert!(matches!(play(letters("x")).0, Err(AskError::HungUp)));
}

#[test]
fn typed_ahead_or_pasted_input_chooses_nothing() {
    let ahead = [key(KeyCode::Char('y'), KeyModifiers::NONE)];
    let events = ahead.into_iter().chain([None]).chain(letters("n")).collect();
    assert_eq!(chosen(events), Ok(Some(2)));
    let pasted = [None, Some(Event::Paste("y".to_owned()))];
    let (chosen, screen) = play(pasted.into_iter().chain(letters("n")).collect());
    assert_eq!(chosen.ok(), Some(Some(2)));
    assert!(screen.contains("pasted input is ignored; press one of: y p n Esc v"), "{screen}");
}

#[test]
fn the_answers_that_are_offered_are_listed_and_ours_are_not() {
    let (_, screen) = play(letters("p"));
    let expected = r"  [y]     yes, this once
  [p]     yes, and what begins with `git \x1b[2J`
  [n Esc] no, and it stops
[v] view all  [Ctrl-C] leave it unanswered
> ";
    assert!(screen.contains(expected), "{screen}");
    assert!(!screen.contains("[a]") && !screen.contains("session"), "{screen}");
    assert!(screen.ends_with("\r\x1b[K> yes, and what begins with `git \\x1b[2J`\n"), "{screen}");
}

#[test]
fn lines_choose_by_the_same_names() {
    let (request, offers) = (command_request("git push"), offers());
    let ask = |typed: &str, withdrawn: Option<&AtomicBool>| {
        let (mut reader, mut writer) = (typed.as_bytes(), Vec::new());
        let lines = (&mut reader as &mut dyn BufRead, &mut writer as &mut dyn Write);
        let chosen = choose_by_line(
            &request,
            &offers,
            (ScreenSize { columns: 80, rows: 100 }, withdrawn),
            lines,
        );
        (chosen.ok(), String::from_utf8(writer).unwrap())
    };
    let rows = [("y\n", Some(0)), ("ESC\n", Some(2)), ("v\np\n", Some(1)), ("yes\n", None)];
    for (typed, expected) in rows {
        assert_eq!(ask(typed, None).0, Some(expected), "{typed:?}");
    }
    assert_eq!(ask("x\n\n?\nq\ny\n", None).0, Some(None), "too many lines are no answer");
    assert_eq!(ask("y", None).0, Some(None), "half a line is none");
    let (chosen, screen) = ask("y\n", Some(&AtomicBool::new(true)));
    assert_eq!(chosen, None, "{screen}");
    assert!(screen.contains("[Ctrl-D] leave it unanswered"), "{screen}");
}
