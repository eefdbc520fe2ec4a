//! A yes with terms: other rules than those that were offered first, and bounds.

use openoxide_protocol::{GrantTerms, RuleBreadth};

use super::*;

fn npm(number: u8, command: &str) -> CheckRequest {
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
        (RuleBreadth::Narrower, vec!["Bash(npm run build)".to_owned()]),
        (RuleBreadth::AsOffered, vec!["Bash(npm run build *)".to_owned()]),
        (RuleBreadth::Wider, vec!["Bash(npm run *)".to_owned()]),
    ];
    assert_eq!(choices.collect::<Vec<_>>(), expected);
}

#[test]
fn the_rules_that_were_chosen_are_remembered() {
    assert_eq!(passing(keeping(&["Bash(npm run build)"])), [true, false, false]);
    assert_eq!(passing(keeping(&[])), [true, true, false]);
    assert_eq!(passing(keeping(&["Bash(npm run *)"])), [true, true, true]);
}

/// Guards I16.
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

/// Says whether a call passes in each of these tasks, one after the other, after a yes for the first of them.
fn in_tasks(tasks: &[Option<&str>]) -> Vec<bool> {
    let mut gate = gate(&[]);
    let set = |gate: &mut PermissionGate, task: Option<&str>| {
        gate.set_task(session(1), task.map(str::to_owned));
    };
    set(&mut gate, tasks[0]);
    let request = asked(gate.check(npm(1, "npm run build")));
    assert_eq!(request.task.as_deref(), tasks[0]);
    let terms = Some(GrantTerms { task: true, ..GrantTerms::default() });
    let yes = ApprovalResponse::Approved { scope: GrantScope::Project, terms };
    assert!(gate.answer(id(1), &yes).unwrap()[0].outcome.is_ok());
    let mut number = 1;
    let mut passes = |task: &Option<&str>| {
        set(&mut gate, *task);
        number += 1;
        proceeds(&gate.check(npm(number, "npm run build x")))
    };
    tasks.iter().map(&mut passes).collect()
}

/// Guards I29.
#[test]
fn a_yes_for_a_task_ends_with_it_and_counts_once_where_no_task_is_known() {
    assert_eq!(in_tasks(&[Some("a"), Some("a"), Some("b"), Some("a")]), [true, true, false, false]);
    assert_eq!(in_tasks(&[Some("a"), None]), [true, false]);
    assert_eq!(in_tasks(&[None, Some("a")]), [false, false]);
}

#[test]
fn an_answer_to_a_question_of_an_earlier_task_is_not_kept_for_the_next() {
    let mut gate = gate(&[]);
    gate.set_task(session(1), Some("a".to_owned()));
    asked(gate.check(npm(1, "npm run build")));
    gate.set_task(session(1), Some("b".to_owned()));
    let terms = Some(GrantTerms { task: true, ..GrantTerms::default() });
    let yes = ApprovalResponse::Approved { scope: GrantScope::Project, terms };
    assert!(gate.answer(id(1), &yes).unwrap()[0].outcome.is_ok());
    asked(gate.check(npm(2, "npm run build")));
    gate.end_session(session(1));
    gate.set_task(session(1), Some("a".to_owned()));
    asked(gate.check(npm(3, "npm run build")));
}

#[test]
fn where_only_an_explicit_yes_counts_there_is_nothing_to_choose() {
    let question = CheckRequest { requires_explicit_approval: true, ..npm(1, "npm run build") };
    assert_eq!(asked(gate(&[]).check(question)).choices(), []);
}
