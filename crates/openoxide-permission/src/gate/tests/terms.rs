//! A yes with terms: other rules than those that were offered first, and bounds.

use openoxide_protocol::{GrantTerms, Width};

use super::*;

fn npm(number: u8, command: &str) -> Question {
    let mut question = run(number, command);
    if let Some(Access::Exec(exec)) = question.facts.accesses.first_mut() {
        exec.arity = 3;
    }
    question
}

fn keeping(rules: &[&str]) -> GrantTerms {
    GrantTerms { rules: rules.iter().map(ToString::to_string).collect(), ..GrantTerms::default() }
}

/// Says which of three further calls pass after a yes with these terms to `npm run build`.
fn passing(terms: GrantTerms) -> [bool; 3] {
    let mut gate = gate(&[]);
    asked(gate.check(npm(1, "npm run build")));
    let yes = ApprovalResponse::Approved { scope: GrantScope::Project, terms: Some(terms) };
    assert!(gate.answer(id(1), &yes).unwrap()[0].outcome.is_ok());
    let calls = ["npm run build", "npm run build x", "npm run test"];
    [2, 3, 4].map(|number| proceeds(&gate.check(npm(number, calls[usize::from(number) - 2]))))
}

#[test]
fn a_request_says_what_can_be_chosen() {
    let request = asked(gate(&[]).check(npm(1, "npm run build")));
    let choices = request.choices().into_iter().map(|choice| (choice.width, choice.rules));
    let expected = [
        (Width::Narrower, vec!["Bash(npm run build)".to_owned()]),
        (Width::AsOffered, vec!["Bash(npm run build *)".to_owned()]),
        (Width::Wider, vec!["Bash(npm run *)".to_owned()]),
    ];
    assert_eq!(choices.collect::<Vec<_>>(), expected);
}

#[test]
fn the_rules_that_were_chosen_are_remembered() {
    assert_eq!(passing(keeping(&["Bash(npm run build)"])), [true, false, false]);
    assert_eq!(passing(keeping(&[])), [true, true, false]);
    assert_eq!(passing(keeping(&["Bash(npm run *)"])), [true, true, true]);
}

#[test]
fn rules_that_were_not_offered_are_not_remembered() {
    for other in ["Bash", "Bash(npm *)", "Bash(npm run build*)", "Bash(npm run build * )", ""] {
        assert_eq!(passing(keeping(&[other])), [false; 3], "{other}");
        assert_eq!(passing(keeping(&["Bash(npm run build *)", other])), [false; 3], "{other}");
    }
}

#[test]
fn a_bounded_yes_counts_once_where_there_is_no_clock() {
    assert_eq!(passing(GrantTerms { times: Some(5), ..GrantTerms::default() }), [false; 3]);
    assert_eq!(passing(GrantTerms { seconds: Some(60), ..GrantTerms::default() }), [false; 3]);
}

#[test]
fn where_only_an_explicit_yes_counts_there_is_nothing_to_choose() {
    let question = Question { explicit_yes_required: true, ..npm(1, "npm run build") };
    assert_eq!(asked(gate(&[]).check(question)).choices(), []);
}
