use std::{
    cell::RefCell,
    fs,
    os::unix::fs::symlink,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use openoxide_protocol::{ApprovalRequest, ApprovalResponse, Effect, GrantScope, GrantTerms};
use openoxide_store::{PendingRequest, UserEnvironment, audit::AnswerChannel};
use serde_json::{Value, json};

use crate::{
    AgentSession, BlockingReviewer, CommandRunError, EngineOptions, EngineWarning,
    FunctionReviewer, NotPermittedError, QueueReviewer, RequestAnswer, RequestQueue, Reviewer as _,
    test_user::User,
};

const ONCE: ApprovalResponse = ApprovalResponse::new_approval(GrantScope::Once);
const FOR_SESSION: ApprovalResponse = ApprovalResponse::new_approval(GrantScope::Session);

fn session(user: &User) -> AgentSession {
    let options = EngineOptions::new(user.environment.clone(), user.project());
    AgentSession::open(options).unwrap()
}

fn command(script: &str) -> Value {
    json!({ "command": script })
}

/// A reviewer that gives one answer to every question, and counts the questions.
fn reviewer(
    answer: ApprovalResponse,
    count: &mut usize,
) -> FunctionReviewer<impl FnMut(&ApprovalRequest) -> ApprovalResponse> {
    FunctionReviewer::new("a test", move |_| {
        *count += 1;
        answer.clone()
    })
}

/// Returns whether a command is permitted, and how many questions were asked.
fn decide(
    session: &mut AgentSession,
    script: &str,
    answer: ApprovalResponse,
) -> (Result<(), NotPermittedError>, usize) {
    let mut count = 0;
    let permit =
        session.request_permit("Bash", &command(script), &mut reviewer(answer, &mut count));
    let decided = permit.map(|permit| {
        let operation = permit.into_operation();
        assert_eq!(operation.input, command(script));
    });
    (decided, count)
}

/// Answers the first pending request of the user in another thread, as another process would.
fn answer_elsewhere(
    environment: &UserEnvironment,
    response: ApprovalResponse,
) -> thread::JoinHandle<PendingRequest> {
    let environment = environment.clone();
    thread::spawn(move || {
        let (mut queue, pending) = wait_for_request(&environment);
        let (via, answered_by) = ("approve", "another terminal".to_owned());
        let channel = AnswerChannel::Command;
        let answer = RequestAnswer { response, digest: None, channel, via, answered_by };
        queue.answer(&pending, &answer).unwrap();
        pending
    })
}

fn wait_for_request(environment: &UserEnvironment) -> (RequestQueue, PendingRequest) {
    for _ in 0..1500 {
        let mut queue = RequestQueue::open(environment.clone()).unwrap();
        if let Some(pending) = queue.list().unwrap().pop() {
            return (queue, pending.unwrap());
        }
        thread::sleep(Duration::from_millis(20));
    }
    panic!("no request was registered");
}

#[test]
fn the_reviewer_is_asked_only_if_the_policy_asks() {
    let user = User::new("[permissions]\ndeny = [\"Bash(rm *)\"]\nallow = [\"Bash(make *)\"]\n");
    let mut session = session(&user);
    assert_eq!(decide(&mut session, "make test", ApprovalResponse::Denied), (Ok(()), 0));
    let (denied, questions) = decide(&mut session, "rm -r src", ONCE);
    assert!(matches!(&denied, Err(NotPermittedError::Denied(error))
        if error.rule().is_some_and(|rule| rule.text == "deny Bash(rm *)")));
    assert_eq!(questions, 0);
    assert_eq!(decide(&mut session, "touch a", ONCE), (Ok(()), 1));
}

#[test]
fn only_an_approval_permits_a_call() {
    let user = User::new("");
    let mut session = session(&user);
    let message = Some("use make".to_owned());
    let answers = [
        (ApprovalResponse::Denied, "rejected", true),
        (ApprovalResponse::Rejected { message }, "use make", false),
        (ApprovalResponse::Cancelled, "stopped the turn", true),
    ];
    for (answer, text, ends_turn) in answers {
        let (decided, questions) = decide(&mut session, "touch a", answer);
        let error = decided.unwrap_err();
        assert!(error.to_string().contains(text), "{error}");
        assert_eq!((error.ends_turn(), questions), (ends_turn, 1), "{error}");
    }
}

#[test]
fn a_tool_of_the_program_is_allowed_by_its_name() {
    let user = User::new("[permissions]\nallow = [\"send_message\"]\n");
    let mut session = session(&user);
    let mut count = 0;
    let input = json!({ "to": "ann", "text": "done" });
    let mut ask = |tool| {
        let mut nobody = reviewer(ApprovalResponse::Denied, &mut count);
        session
            .request_permit(tool, &input, &mut nobody)
            .map(|permit| permit.into_operation().input)
    };
    assert_eq!(ask("send_message").unwrap(), input);
    ask("send_money").unwrap_err();
    assert_eq!(count, 1);
}

#[test]
fn an_approval_for_the_session_covers_identical_calls_with_the_same_accesses() {
    let user = User::new("");
    let mut session = session(&user);
    let file = user.directory.path().join("project/notes.txt");
    fs::write(&file, "").unwrap();
    let script = "truncate -s 0 notes.txt";
    assert_eq!(decide(&mut session, script, FOR_SESSION), (Ok(()), 1));
    assert_eq!(decide(&mut session, script, ApprovalResponse::Denied), (Ok(()), 0));
    assert_eq!(decide(&mut session, "truncate -s 1 notes.txt", ApprovalResponse::Denied).1, 1);
    // The same words now change another file.
    fs::remove_file(&file).unwrap();
    symlink(user.directory.path().join("elsewhere.txt"), &file).unwrap();
    assert_eq!(decide(&mut session, script, ApprovalResponse::Denied).1, 1);
    // Another session was not approved.
    assert_eq!(decide(&mut self::session(&user), script, ApprovalResponse::Denied).1, 1);
}

/// Only rules about commands are saved for the project, as the prompt tells.
#[test]
fn an_approved_rule_about_a_tool_of_the_program_applies_for_the_session() {
    let user = User::new("");
    let for_project = ApprovalResponse::new_approval(GrantScope::Project);
    let ask = |session: &mut AgentSession, tool, answer: &ApprovalResponse, number: u64| {
        let mut count = 0;
        let input = json!({ "number": number });
        let mut reviewer = reviewer(answer.clone(), &mut count);
        let is_permitted = session.request_permit(tool, &input, &mut reviewer).is_ok();
        drop(reviewer);
        (is_permitted, count)
    };
    let mut first = session(&user);
    assert_eq!(ask(&mut first, "publish", &for_project, 1), (true, 1));
    assert_eq!(ask(&mut first, "publish", &ApprovalResponse::Denied, 2), (true, 0));
    assert_eq!(ask(&mut first, "unpublish", &ApprovalResponse::Denied, 2), (false, 1));
    assert_eq!(ask(&mut session(&user), "publish", &ApprovalResponse::Denied, 2), (false, 1));
    let terms = Some(GrantTerms { max_uses: Some(2), ..GrantTerms::default() });
    let limited = ApprovalResponse::Approved { scope: GrantScope::Project, terms };
    let mut second = session(&user);
    assert_eq!(ask(&mut second, "publish", &limited, 1), (true, 1));
    assert_eq!(ask(&mut second, "publish", &ApprovalResponse::Denied, 2), (false, 1));
    user.write_policy("[permissions]\ndeny = [\"publish\"]\n");
    assert_eq!(ask(&mut first, "publish", &for_project, 3), (false, 0));
}

/// Guards I15.
#[test]
fn no_approval_for_the_session_covers_a_call_that_needs_explicit_approval() {
    let user = User::new("");
    let mut session = session(&user);
    let script = "rm -rf /nowhere/../etc";
    assert_eq!(decide(&mut session, script, FOR_SESSION), (Ok(()), 1));
    assert_eq!(decide(&mut session, script, ApprovalResponse::Denied).1, 1);
}

#[test]
fn saved_rules_and_changed_policies_apply_to_the_next_call() {
    let user = User::new("");
    let mut session = session(&user);
    let for_project = ApprovalResponse::new_approval(GrantScope::Project);
    assert_eq!(decide(&mut session, "touch a", for_project), (Ok(()), 1));
    assert_eq!(decide(&mut session, "touch b", ApprovalResponse::Denied), (Ok(()), 0));
    user.write_policy("[permissions]\ndeny = [\"Bash(touch *)\"]\n");
    let (denied, questions) = decide(&mut session, "touch b", ONCE);
    assert!(matches!(denied, Err(NotPermittedError::Denied(_))), "{denied:?}");
    assert_eq!(questions, 0);
}

#[test]
fn an_answer_from_elsewhere_closes_the_question_here() {
    let user = User::new("");
    let mut session = session(&user);
    let closed = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&closed);
    let mut here = BlockingReviewer::new("here", AnswerChannel::Terminal, move |_, withdrawn| {
        while !withdrawn.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(5));
        }
        count.fetch_add(1, Ordering::Relaxed);
        Some(ApprovalResponse::Denied) // Too late: ignored.
    });
    let other = answer_elsewhere(&user.environment, ONCE);
    let permit = session.request_permit("Bash", &command("touch a"), &mut here).unwrap();
    assert_eq!(permit.into_operation().tool, "Bash");
    other.join().unwrap();
    assert_eq!(closed.load(Ordering::Relaxed), 1, "the function has returned");
}

#[test]
fn a_queue_reviewer_waits_for_another_process() {
    let user = User::new("");
    let mut session = session(&user).with_agent("release bot");
    let announced = RefCell::new(Vec::new());
    let mut queue =
        QueueReviewer::new(|request: &ApprovalRequest| announced.borrow_mut().push(request.id));
    let answering = answer_elsewhere(&user.environment, ApprovalResponse::Denied);
    let error = session.request_permit("Bash", &command("touch a"), &mut queue).unwrap_err();
    let pending = answering.join().unwrap();
    assert!(matches!(error, NotPermittedError::Rejected(_)), "{error}");
    assert_eq!(*announced.borrow(), [pending.request.id]);
    assert_eq!(pending.requester, "release bot");
}

/// The state directory is a file: nothing can be registered or recorded there.
#[test]
fn without_a_queue_only_a_reviewer_of_this_process_can_answer() {
    let user = User::new("");
    fs::write(user.directory.path().join("state"), "").unwrap();
    let mut session = session(&user);
    assert_eq!(decide(&mut session, "touch a", ONCE), (Ok(()), 1));
    let warnings = session.host().take_warnings();
    assert!(matches!(warnings.as_slice(), [EngineWarning::NotQueued(_), ..]), "{warnings:?}");
    let mut queue = QueueReviewer::new(|_| panic!("no one can answer"));
    let error = session.request_permit("Bash", &command("touch a"), &mut queue).unwrap_err();
    assert!(matches!(error, NotPermittedError::ReviewFailed(_)), "{error}");
    let mut gone = BlockingReviewer::new("gone", AnswerChannel::Terminal, |_, _| None);
    let error = session.request_permit("Bash", &command("touch a"), &mut gone).unwrap_err();
    assert!(matches!(error, NotPermittedError::Unanswerable(_)), "{error}");
}

#[test]
fn a_call_is_unanswerable_if_the_reviewer_cannot_be_reached() {
    let user = User::new("");
    let mut gone = BlockingReviewer::new("gone", AnswerChannel::Terminal, |_, _| None);
    let call = command("touch a");
    let error = session(&user).request_permit("Bash", &call, &mut gone).unwrap_err();
    assert!(error.to_string().contains("no one can be asked: no rule matches"), "{error}");
    assert!(error.ends_turn());
}

/// With a queue, and without one.
#[test]
fn a_question_expires_and_is_interrupted() {
    for has_queue in [true, false] {
        let user = User::new("");
        if !has_queue {
            fs::write(user.directory.path().join("state"), "").unwrap();
        }
        let slow = || {
            BlockingReviewer::new("slow", AnswerChannel::Terminal, |_, withdrawn| {
                while !withdrawn.load(Ordering::Relaxed) {
                    thread::sleep(Duration::from_millis(5));
                }
                Some(ONCE)
            })
        };
        let mut session = session(&user).with_timeout(Duration::from_millis(80));
        let error = session.request_permit("Bash", &command("touch a"), &mut slow()).unwrap_err();
        assert!(matches!(error, NotPermittedError::Expired(_)), "{error}");
        let mut session = self::session(&user);
        let host = session.host().clone();
        let interrupt = thread::spawn(move || {
            thread::sleep(Duration::from_millis(80));
            host.interrupt();
        });
        let error = session.request_permit("Bash", &command("touch a"), &mut slow()).unwrap_err();
        assert!(matches!(error, NotPermittedError::Cancelled(_)), "{error}");
        interrupt.join().unwrap();
        // Later calls are interrupted, too, even if a rule allows them or the reviewer approves.
        for script in ["ls", "touch a"] {
            let (interrupted, questions) = decide(&mut session, script, ONCE);
            assert!(matches!(interrupted, Err(NotPermittedError::Cancelled(_))), "{interrupted:?}");
            assert_eq!(questions, 0);
        }
        session.host().resume();
        assert_eq!(decide(&mut session, "touch a", ONCE), (Ok(()), 1));
    }
}

#[test]
fn a_reviewer_that_panics_permits_nothing() {
    let user = User::new("");
    let mut broken = BlockingReviewer::new("broken", AnswerChannel::Terminal, |_, _| panic!("no"));
    let call = command("touch a");
    let error = session(&user).request_permit("Bash", &call, &mut broken).unwrap_err();
    assert!(matches!(error, NotPermittedError::Cancelled(_)), "{error}");
}

#[test]
fn a_reviewer_that_was_not_opened_has_no_answer() {
    let mut count = 0;
    let mut function = reviewer(ONCE, &mut count);
    assert_eq!(function.poll_answer(Duration::ZERO), crate::ReviewStatus::Closed);
    drop(function);
    assert_eq!(count, 0);
}

/// Guards I24.
#[test]
fn a_managed_policy_with_errors_denies_every_call() {
    let user = User::new("[permissions]\nallow = [\"Bash(touch *)\"]\n");
    let mut engine = user.engine();
    engine.loaded_policy.managed_policy_error = Some("line 3 is not valid".to_owned());
    let host = crate::BasicHost::default();
    let session = session(&user);
    let options = session.check_options(openoxide_store::audit::RequestedConfinement::Confined);
    let operation = session.new_operation("Bash", &command("touch a"));
    let outcome = engine.check(operation, options, &host).unwrap();
    let crate::CheckOutcome::Denied(refusal) = outcome else { panic!("{outcome:?}") };
    let error = NotPermittedError::from(refusal);
    assert_eq!(error.to_string(), "This tool call is not permitted: line 3 is not valid");
    let evaluated =
        engine.evaluate(&crate::EngineCall::from_tool("Bash", &command("touch a"), user.project()));
    assert_ne!(evaluated.decision.effect, Effect::Allow);
    assert!(host.take_warnings().is_empty(), "the refusal is recorded");
}

/// The test program starts no supervisor: a second one would run the tests again.
#[test]
fn a_command_is_not_run_without_a_supervisor() {
    let user = User::new("");
    let mut count = 0;
    let ran = session(&user).run_command("touch a", &mut reviewer(ONCE, &mut count));
    assert!(matches!(ran, Err(CommandRunError::NoSupervisor)), "{ran:?}");
    assert_eq!(count, 0);
}

#[test]
fn a_session_can_be_sent_to_another_thread() {
    let user = User::new("");
    let mut session = session(&user);
    let decided = thread::spawn(move || decide(&mut session, "touch a", ONCE)).join().unwrap();
    assert_eq!(decided, (Ok(()), 1));
}
