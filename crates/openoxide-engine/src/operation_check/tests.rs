use std::fs;

use openoxide_permission::OperationRefusal;
use openoxide_protocol::{ApprovalResponse, Effect, GrantScope};
use openoxide_store::{GrantFile, GrantLimits, audit::AnswerChannel};

use crate::{
    CheckOutcome, EngineCall, PendingApproval, ReviewRecord,
    test_user::{Host, User, check, pending},
};

fn review(pending: &PendingApproval<'_>, response: ApprovalResponse) -> ReviewRecord {
    pending.review(response, AnswerChannel::Terminal, &Host::default())
}

const YES: ApprovalResponse = ApprovalResponse::new_approval(GrantScope::Once);

#[test]
fn an_evaluation_uses_no_grant_up_and_a_check_does() {
    let user = User::new("");
    let bound = GrantLimits { max_uses: Some(1), ..GrantLimits::default() };
    let grants = GrantFile::for_project(&user.environment, &user.project());
    grants.add_limited(&["Bash(touch *)".to_owned()], &bound).unwrap();
    let (engine, host, touch) = (user.engine(), Host::default(), user.operation("touch a"));
    for _ in 0..3 {
        let evaluation = engine.evaluate(&EngineCall::from_operation(&touch));
        assert_eq!(evaluation.decision.effect, Effect::Allow);
    }
    assert!(matches!(check(&engine, &touch, &host), CheckOutcome::Allowed(_)));
    let again = user.engine();
    assert!(matches!(check(&again, &touch, &host), CheckOutcome::NeedsApproval(_)));
    assert_eq!(host.warnings(), Vec::<String>::new());
}

#[test]
fn a_permit_is_for_its_operation_alone() {
    let user = User::new("[permissions]\nallow = [\"Bash(touch *)\"]\n");
    let (engine, host, touch) = (user.engine(), Host::default(), user.operation("touch a"));
    for (operation, is_redeemed) in [(touch.clone(), true), (user.operation("touch b"), false)] {
        let CheckOutcome::Allowed(permit) = check(&engine, &touch, &host) else { panic!() };
        assert!(permit.record_seq().is_some());
        assert_eq!(permit.redeem_for(&operation), is_redeemed);
    }
}

#[test]
fn a_question_ends_with_its_answer() {
    let user = User::new("");
    let (engine, host, touch) = (user.engine(), Host::default(), user.operation("touch a"));
    let question = pending(check(&engine, &touch, &host));
    let answer = review(&question, YES);
    assert!(matches!(question.answer(&answer, &host), CheckOutcome::Allowed(_)));
    let question = pending(check(&engine, &touch, &host));
    let answer = review(&question, ApprovalResponse::Denied);
    let denied = question.answer(&answer, &host);
    assert!(matches!(denied, CheckOutcome::Denied(OperationRefusal::Rejected)), "{denied:?}");
    let (question, other) = (check(&engine, &touch, &host), check(&engine, &touch, &host));
    let (question, answer) = (pending(question), review(&pending(other), YES));
    let denied = question.answer(&answer, &host);
    assert!(
        matches!(denied, CheckOutcome::Denied(_)),
        "the answer to another question: {denied:?}"
    );
    let question = pending(check(&engine, &touch, &host));
    let id = question.request().id;
    assert_eq!(question.abandon(&host).id, id);
}

/// The state directory is a file: no journal can be made there.
#[test]
fn a_required_record_that_cannot_be_written_needs_explicit_approval() {
    let rules = "[permissions]\nallow = [\"Bash(touch *)\"]\n";
    let user = User::new(&format!("[audit]\nrequired = true\n{rules}"));
    fs::write(user.directory.path().join("state"), "").unwrap();
    let (engine, host, touch) = (user.engine(), Host::default(), user.operation("touch a"));
    let question = pending(check(&engine, &touch, &host));
    assert!(question.request().requires_explicit_approval);
    let reason = &question.request().decision.reason;
    assert!(reason.contains("the policy requires an audit record"), "{reason}");
    let answer = review(&question, YES);
    let CheckOutcome::Allowed(permit) = question.answer(&answer, &host) else { panic!() };
    assert_eq!(permit.record_seq(), None);
    let warnings = host.warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].starts_with("no audit record: "), "{warnings:?}");
    drop(permit);
    let without = User::new(rules);
    fs::write(without.directory.path().join("state"), "").unwrap();
    let engine = without.engine();
    let allowed = check(&engine, &without.operation("touch a"), &Host::default());
    assert!(matches!(allowed, CheckOutcome::Allowed(_)), "{allowed:?}");
}
