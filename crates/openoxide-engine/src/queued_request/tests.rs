use std::{fs, time::Duration};

use openoxide_permission::OperationRefusal;
use openoxide_protocol::{ApprovalResponse, Effect, GrantScope, GrantTerms};
use openoxide_store::{
    GrantFile, GrantLimits, RequestResolutionKind, UserEnvironment, audit::AnswerChannel,
};

use crate::{
    AnswerError, CheckOptions, CheckOutcome, EngineCall, PendingApproval, QueuedRequest,
    RecordOrigin, RequestAnswer, RequestQueue, ReviewOutcome, ReviewRecord, ReviewStatus, Reviewer,
    WaitError, WaitOptions,
    test_user::{Host, User, check, pending},
};
use openoxide_store::audit::RequestedConfinement;

const ONCE: ApprovalResponse = ApprovalResponse::new_approval(GrantScope::Once);
const OPTIONS: WaitOptions<'_> =
    WaitOptions { requester: "person", client: None, timeout: None, is_abandoned: None };

fn register<'p>(question: &'p PendingApproval<'_>, host: &'p Host) -> QueuedRequest<'p> {
    question.register(OPTIONS, host).unwrap()
}

/// Answers a request as another process would: by a connection of its own.
fn answer_elsewhere(
    environment: &UserEnvironment,
    question: &PendingApproval<'_>,
    response: ApprovalResponse,
) -> Result<(), AnswerError> {
    let mut queue = RequestQueue::open(environment.clone())?;
    let pending = queue.find(&question.request().id.to_string())?;
    queue.answer(&pending, &elsewhere(response)).map(|receipt| assert!(receipt.record.is_ok()))
}

fn elsewhere(response: ApprovalResponse) -> RequestAnswer {
    let (via, answered_by) = ("approve", "another terminal".to_owned());
    RequestAnswer { response, digest: None, channel: AnswerChannel::Command, via, answered_by }
}

/// Returns how the request ended, as other processes see it.
fn resolution(user: &User, question: &PendingApproval<'_>) -> Option<RequestResolutionKind> {
    let mut queue = RequestQueue::open(user.environment.clone()).unwrap();
    match queue.find(&question.request().id.to_string()) {
        Err(AnswerError::AlreadyResolved(_, ended)) => Some(ended.kind),
        Ok(_) => None,
        Err(other) => panic!("{other}"),
    }
}

/// Writes to the store, so that every waiting process checks its request again.
fn change_store(user: &User, host: &Host) {
    let engine = user.engine();
    drop(register(&pending(check(&engine, &user.operation("mkdir other"), host)), host));
}

fn answer_of(review: &ReviewRecord) -> (&ApprovalResponse, AnswerChannel, Option<&str>) {
    match review.outcome() {
        ReviewOutcome::Answered { response, channel, answered_by } => {
            (response, *channel, answered_by.as_deref())
        }
        other @ (ReviewOutcome::Denied(_)
        | ReviewOutcome::Expired
        | ReviewOutcome::Interrupted
        | ReviewOutcome::Failed(_)) => panic!("{other:?}"),
    }
}

/// A reviewer that answers at once, or never.
struct Script {
    answer: ReviewStatus,
    is_closed: bool,
}

impl Script {
    const fn new(answer: ReviewStatus) -> Self {
        Self { answer, is_closed: false }
    }
}

impl Reviewer for Script {
    fn channel(&self) -> AnswerChannel {
        AnswerChannel::Terminal
    }

    fn name(&self) -> &str {
        "a script"
    }

    fn poll_answer(&mut self, timeout: Duration) -> ReviewStatus {
        if self.answer == ReviewStatus::Pending {
            std::thread::sleep(timeout);
        }
        self.answer.clone()
    }

    fn close(&mut self, _: &ReviewOutcome) {
        self.is_closed = true;
    }
}

#[test]
fn an_answer_from_elsewhere_ends_the_wait_and_permits_the_operation_once() {
    let user = User::new("");
    let (engine, host, touch) = (user.engine(), Host::default(), user.operation("touch a"));
    let question = pending(check(&engine, &touch, &host));
    let queued = register(&question, &host);
    let (environment, id) = (user.environment, question.request().id.to_string());
    let other = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(120));
        let mut queue = RequestQueue::open(environment).unwrap();
        let pending = queue.find(&id).unwrap();
        queue.answer(&pending, &elsewhere(ONCE)).unwrap();
        // The second answer comes too late.
        queue.answer(&pending, &elsewhere(ApprovalResponse::Denied)).unwrap_err()
    });
    let review = queued.wait();
    let late = other.join().unwrap();
    assert!(matches!(late, AnswerError::AlreadyResolved(..)), "{late}");
    let expected = (&ONCE, AnswerChannel::Command, Some("another terminal"));
    assert_eq!(answer_of(&review), expected);
    let CheckOutcome::Allowed(permit) = question.answer(&review, &host) else { panic!() };
    assert!(permit.redeem_for(&touch));
    assert_eq!(host.warnings(), Vec::<String>::new());
}

#[test]
fn a_rejection_from_elsewhere_refuses_the_operation_with_its_message() {
    let user = User::new("");
    let (engine, host) = (user.engine(), Host::default());
    let question = pending(check(&engine, &user.operation("touch a"), &host));
    let queued = register(&question, &host);
    let message = Some("use a temporary file".to_owned());
    let rejected = ApprovalResponse::Rejected { message: message.clone() };
    answer_elsewhere(&user.environment, &question, rejected).unwrap();
    let review = queued.wait();
    let CheckOutcome::Denied(OperationRefusal::Corrected { message: said }) =
        question.answer(&review, &host)
    else {
        panic!()
    };
    assert_eq!(Some(said), message);
}

#[test]
fn a_request_that_is_no_longer_needed_is_withdrawn() {
    let user = User::new("");
    let (engine, host, touch) = (user.engine(), Host::default(), user.operation("touch a"));
    let dropped = pending(check(&engine, &touch, &host));
    drop(register(&dropped, &host));
    assert_eq!(resolution(&user, &dropped), Some(RequestResolutionKind::Withdrawn));

    let abandoned = pending(check(&engine, &touch, &host));
    let options = WaitOptions { is_abandoned: Some(&|| true), ..OPTIONS };
    let review = abandoned.register(options, &host).unwrap().wait();
    let failed = ReviewOutcome::Failed(WaitError::Abandoned);
    assert_eq!(format!("{:?}", review.outcome()), format!("{failed:?}"));
    assert_eq!(resolution(&user, &abandoned), Some(RequestResolutionKind::Withdrawn));
    assert!(matches!(abandoned.answer(&review, &host), CheckOutcome::Denied(_)));

    let unreachable = pending(check(&engine, &touch, &host));
    let mut lost = Script::new(ReviewStatus::Unreachable);
    let review = register(&unreachable, &host).wait_with(&mut lost);
    assert_eq!(answer_of(&review).0, &ApprovalResponse::Cancelled);
    assert_eq!(resolution(&user, &unreachable), Some(RequestResolutionKind::Withdrawn));
    let denied = unreachable.answer(&review, &host);
    assert!(matches!(denied, CheckOutcome::Denied(OperationRefusal::Cancelled)), "{denied:?}");
}

/// The approval and the interrupt arrive between two checks: the interrupt wins.
#[test]
fn an_interrupt_withdraws_the_request_and_wins_over_an_approval() {
    let user = User::new("");
    let (engine, host, touch) = (user.engine(), Host::default(), user.operation("touch a"));
    let question = pending(check(&engine, &touch, &host));
    let queued = register(&question, &host);
    host.is_interrupted.set(true);
    let review = queued.wait();
    assert!(matches!(review.outcome(), ReviewOutcome::Interrupted));
    assert_eq!(resolution(&user, &question), Some(RequestResolutionKind::Withdrawn));

    host.is_interrupted.set(false);
    let question = pending(check(&engine, &touch, &host));
    let queued = register(&question, &host);
    host.is_interrupted.set(true);
    let review = queued.answer(ONCE, AnswerChannel::Terminal, "a script");
    assert!(matches!(review.outcome(), ReviewOutcome::Interrupted));
    assert!(matches!(question.answer(&review, &host), CheckOutcome::Denied(_)));
}

#[test]
fn an_expired_request_has_no_answer() {
    let user = User::new("");
    let (engine, host) = (user.engine(), Host::default());
    let question = pending(check(&engine, &user.operation("touch a"), &host));
    let options = WaitOptions { timeout: Some(Duration::ZERO), ..OPTIONS };
    let review = question.register(options, &host).unwrap().wait();
    assert!(matches!(review.outcome(), ReviewOutcome::Expired));
    assert_eq!(resolution(&user, &question), Some(RequestResolutionKind::Expired));
    assert!(matches!(question.answer(&review, &host), CheckOutcome::Denied(_)));
}

/// Guards I18.
#[test]
fn a_deny_that_is_added_while_it_waits_wins_over_an_approval_from_elsewhere() {
    let user = User::new("");
    let (engine, host) = (user.engine(), Host::default());
    let question = pending(check(&engine, &user.operation("touch a"), &host));
    let queued = register(&question, &host);
    user.write_policy("[permissions]\ndeny = [\"Bash(touch *)\"]\n");
    answer_elsewhere(&user.environment, &question, ONCE).unwrap();
    let review = queued.wait();
    let ReviewOutcome::Denied(decision) = review.outcome() else { panic!("{review:?}") };
    assert_eq!(decision.rule.as_ref().unwrap().text, "deny Bash(touch *)");
    assert!(matches!(question.answer(&review, &host), CheckOutcome::Denied(_)));
}

/// A grant for one use is added: it approves the request, and is used up by that.
#[test]
fn a_grant_that_is_added_while_it_waits_approves_it_and_is_used() {
    let user = User::new("");
    let (engine, host, touch) = (user.engine(), Host::default(), user.operation("touch a"));
    let question = pending(check(&engine, &touch, &host));
    let mut queued = register(&question, &host);
    change_store(&user, &host);
    assert!(queued.poll().is_none(), "nothing decides it yet");
    let limits = GrantLimits { max_uses: Some(1), ..GrantLimits::default() };
    let grants = GrantFile::for_project(&user.environment, &user.project());
    grants.add_limited(&["Bash(touch *)".to_owned()], &limits).unwrap();
    change_store(&user, &host);
    let review = queued.poll().unwrap();
    drop(queued);
    assert_eq!(answer_of(&review).0, &ONCE);
    assert!(matches!(question.answer(&review, &host), CheckOutcome::Allowed(_)));
    let again = user.engine().evaluate(&EngineCall::from_operation(&touch)).decision;
    assert_eq!(again.effect, Effect::Ask);
}

/// Guards I15.
#[test]
fn no_grant_approves_a_request_that_needs_explicit_approval() {
    let user = User::new("");
    let (engine, host, touch) = (user.engine(), Host::default(), user.operation("touch a"));
    let options = CheckOptions::new(RecordOrigin::RUN, RequestedConfinement::Confined);
    let options = CheckOptions { requires_explicit_approval: true, ..options };
    let question = pending(engine.check(touch.clone(), options, &host).unwrap());
    let mut queued = register(&question, &host);
    user.write_policy("[permissions]\nallow = [\"Bash(touch *)\"]\n");
    let now = user.engine().evaluate(&EngineCall::from_operation(&touch)).decision;
    assert_eq!(now.effect, Effect::Allow);
    change_store(&user, &host);
    assert!(queued.poll().is_none());
    assert_eq!(resolution(&user, &question), None);
}

#[test]
fn an_answer_here_is_seen_elsewhere_and_saves_its_grant_with_its_limit() {
    let user = User::new("");
    let (engine, host) = (user.engine(), Host::default());
    let question = pending(check(&engine, &user.operation("touch a"), &host));
    let terms = Some(GrantTerms { max_uses: Some(2), ..GrantTerms::default() });
    let response = ApprovalResponse::Approved { scope: GrantScope::Project, terms };
    let mut script = Script::new(ReviewStatus::Answered(response));
    let review = register(&question, &host).wait_with(&mut script);
    assert_eq!(answer_of(&review).1, AnswerChannel::Terminal);
    assert!(!script.is_closed);
    let resolved = resolution(&user, &question);
    assert!(matches!(resolved, Some(RequestResolutionKind::Resolved { .. })), "{resolved:?}");
    let entries = engine.grant_file().unwrap().read_entries().unwrap();
    let saved: Vec<_> =
        entries.iter().map(|entry| (entry.rule.as_str(), entry.limits.max_uses)).collect();
    assert_eq!(saved, [("Bash(touch *)", Some(2))]);
    assert!(matches!(question.answer(&review, &host), CheckOutcome::Allowed(_)));
}

#[test]
fn an_answer_from_elsewhere_closes_the_question_here() {
    let user = User::new("");
    let (engine, host) = (user.engine(), Host::default());
    let question = pending(check(&engine, &user.operation("touch a"), &host));
    let queued = register(&question, &host);
    answer_elsewhere(&user.environment, &question, ApprovalResponse::Denied).unwrap();
    let mut script = Script::new(ReviewStatus::Pending);
    let review = queued.wait_with(&mut script);
    assert!(script.is_closed);
    assert_eq!(answer_of(&review).0, &ApprovalResponse::Denied);
}

/// Of two answers, an approval here does not replace a denial elsewhere. A denial here applies,
/// because nothing has run yet.
/// Guards I18.
#[test]
fn the_stricter_of_two_answers_applies() {
    let user = User::new("");
    let (engine, host, touch) = (user.engine(), Host::default(), user.operation("touch a"));
    for (there, here) in [(ApprovalResponse::Denied, ONCE), (ONCE, ApprovalResponse::Denied)] {
        let question = pending(check(&engine, &touch, &host));
        let queued = register(&question, &host);
        answer_elsewhere(&user.environment, &question, there).unwrap();
        let review = queued.answer(here, AnswerChannel::Terminal, "a script");
        assert_eq!(answer_of(&review).0, &ApprovalResponse::Denied);
        assert!(matches!(question.answer(&review, &host), CheckOutcome::Denied(_)));
    }
    assert_eq!(host.warnings(), vec!["already answered by another terminal"; 2]);
}

/// The state directory is a file: no store can be made there, and no key for a grant.
#[test]
fn a_request_that_cannot_be_registered_is_answered_here_and_a_failed_grant_applies_once() {
    let user = User::new("");
    fs::write(user.directory.path().join("state"), "").unwrap();
    let (engine, host) = (user.engine(), Host::default());
    let question = pending(check(&engine, &user.operation("touch a"), &host));
    let error = question.register(OPTIONS, &host).map(drop).unwrap_err();
    let failed = question.failed_review_record(WaitError::Store(error));
    assert_eq!(failed.response(), ApprovalResponse::Denied);
    let response = ApprovalResponse::new_approval(GrantScope::Project);
    let review = question.review(response, AnswerChannel::Terminal, &host);
    let warnings = host.warnings();
    assert!(warnings[0].starts_with("the grant was not saved: "), "{warnings:?}");
    assert!(matches!(question.answer(&review, &host), CheckOutcome::Allowed(_)));
}

/// A question may wait for an hour. An approval applies to what was shown.
#[test]
fn an_approval_does_not_apply_to_an_operation_that_has_changed() {
    let user = User::new("");
    let (engine, host, touch) = (user.engine(), Host::default(), user.operation("touch link/a"));
    let project = std::path::PathBuf::from(touch.cwd.as_str());
    let link = project.join("link");
    let lead_to = |name: &str| {
        fs::create_dir_all(project.join(name)).unwrap();
        drop(fs::remove_file(&link));
        std::os::unix::fs::symlink(name, &link).unwrap();
    };
    for is_elsewhere in [true, false] {
        lead_to("one");
        let question = pending(check(&engine, &touch, &host));
        let queued = register(&question, &host);
        lead_to("two");
        let review = match is_elsewhere {
            true => {
                answer_elsewhere(&user.environment, &question, ONCE).unwrap();
                queued.wait()
            }
            false => queued.wait_with(&mut Script::new(ReviewStatus::Answered(ONCE))),
        };
        let ReviewOutcome::Failed(error @ WaitError::OperationChanged(_)) = review.outcome() else {
            panic!("{review:?}")
        };
        assert!(error.to_string().contains("two/a"), "{error}");
        assert!(matches!(question.answer(&review, &host), CheckOutcome::Denied(_)));
    }
    // A denial applies in any case.
    let question = pending(check(&engine, &touch, &host));
    let queued = register(&question, &host);
    lead_to("one");
    let denied = ReviewStatus::Answered(ApprovalResponse::Denied);
    let review = queued.wait_with(&mut Script::new(denied));
    assert_eq!(answer_of(&review).0, &ApprovalResponse::Denied);
}

/// The policy file may change without a change of the store.
#[test]
fn an_approval_in_this_process_is_checked_against_the_current_policy() {
    let user = User::new("");
    let (engine, host, touch) = (user.engine(), Host::default(), user.operation("touch a"));
    let question = pending(check(&engine, &touch, &host));
    let queued = register(&question, &host);
    let policy = user.environment.config.as_ref().unwrap().join("openoxide/policy.toml");
    fs::create_dir_all(policy.parent().unwrap()).unwrap();
    fs::write(policy, "[permissions]\ndeny = [\"Bash(touch *)\"]\n").unwrap();
    let review = queued.wait_with(&mut Script::new(ReviewStatus::Answered(ONCE)));
    assert!(matches!(review.outcome(), ReviewOutcome::Denied(_)), "{review:?}");
}
