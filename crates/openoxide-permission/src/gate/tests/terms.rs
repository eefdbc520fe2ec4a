//! Tests of approvals with terms: rules other than the suggested ones, and limits.

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

/// Returns which of three further calls are allowed after `npm run build` was approved with these
/// terms.
fn passing(terms: GrantTerms) -> [bool; 3] {
    let mut gate = gate(&[]);
    asked(gate.check(npm(1, "npm run build")));
    let yes = ApprovalResponse::Approved { scope: GrantScope::Project, terms: Some(terms) };
    assert!(gate.answer(id(1), &yes).unwrap()[0].outcome.is_ok());
    let calls = ["npm run build", "npm run build x", "npm run test"];
    [2, 3, 4].map(|number| proceeds(&gate.check(npm(number, calls[usize::from(number) - 2]))))
}

#[test]
fn a_request_lists_the_rule_choices() {
    let request = asked(gate(&[]).check(npm(1, "npm run build")));
    let choices = request.choices().into_iter().map(|choice| (choice.breadth, choice.rules));
    let expected = [
        (RuleBreadth::Narrower, vec!["Bash(npm run build)".to_owned()]),
        (RuleBreadth::Suggested, vec!["Bash(npm run build *)".to_owned()]),
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
fn an_approval_with_limits_is_valid_once_without_a_clock() {
    assert_eq!(passing(GrantTerms { max_uses: Some(5), ..GrantTerms::default() }), [false; 3]);
    assert_eq!(
        passing(GrantTerms { expires_in_seconds: Some(60), ..GrantTerms::default() }),
        [false; 3]
    );
}

/// Returns whether a call is allowed in each of these tasks in turn, after an approval in the first
/// one.
fn in_tasks(tasks: &[Option<&str>]) -> Vec<bool> {
    let mut gate = gate(&[]);
    let set = |gate: &mut PermissionGate, task: Option<&str>| {
        gate.set_task(session(1), task.map(str::to_owned));
    };
    set(&mut gate, tasks[0]);
    let request = asked(gate.check(npm(1, "npm run build")));
    assert_eq!(request.task.as_deref(), tasks[0]);
    let terms = Some(GrantTerms { until_task_end: true, ..GrantTerms::default() });
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
fn a_task_grant_ends_with_its_task_and_is_valid_once_without_one() {
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
    let terms = Some(GrantTerms { until_task_end: true, ..GrantTerms::default() });
    let yes = ApprovalResponse::Approved { scope: GrantScope::Project, terms };
    assert!(gate.answer(id(1), &yes).unwrap()[0].outcome.is_ok());
    asked(gate.check(npm(2, "npm run build")));
    gate.end_session(session(1));
    gate.set_task(session(1), Some("a".to_owned()));
    asked(gate.check(npm(3, "npm run build")));
}

#[test]
fn explicit_approval_requests_offer_no_rule_choices() {
    let question = CheckRequest { requires_explicit_approval: true, ..npm(1, "npm run build") };
    assert_eq!(asked(gate(&[]).check(question)).choices(), []);
}
