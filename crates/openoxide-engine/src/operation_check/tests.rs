use std::{cell::RefCell, fs};

use openoxide_permission::OperationRefusal;
use openoxide_protocol::{
    AbsPath, Action, ApprovalResponse, CallId, Effect, GrantScope, Operation, Principal,
};
use openoxide_store::{
    GrantFile, GrantLimits, UserEnvironment,
    audit::{AnswerChannel, RequestedConfinement},
};
use serde_json::json;
use tempfile::TempDir;

use crate::{
    CheckHost, CheckOptions, CheckOutcome, Engine, EngineCall, EngineOptions, EngineWarning,
    InterruptWatch, PendingApproval, RecordOrigin, ReviewOutcome, ReviewRecord, new_session_id,
};

/// A host that collects warnings and is never interrupted.
#[derive(Default)]
struct Host(RefCell<Vec<String>>);

impl CheckHost for Host {
    fn warn(&self, warning: EngineWarning) {
        self.0.borrow_mut().push(warning.to_string());
    }

    fn watch_interrupts(&self) -> Box<dyn InterruptWatch + '_> {
        Box::new(Uninterrupted)
    }
}

struct Uninterrupted;

impl InterruptWatch for Uninterrupted {
    fn is_interrupted(&self) -> bool {
        false
    }

    fn stop(&self) -> bool {
        false
    }
}

/// A user with this policy, and a project of theirs.
struct User {
    directory: TempDir,
    environment: UserEnvironment,
}

impl User {
    fn new(policy: &str) -> Self {
        let directory = TempDir::new().unwrap();
        let below = |name: &str| Some(directory.path().join(name));
        let home = AbsPath::new(directory.path().to_str().unwrap()).unwrap();
        let environment = UserEnvironment {
            home: Some(home),
            config: below("config"),
            state: below("state"),
            data: below("data"),
            ..UserEnvironment::default()
        };
        let config = directory.path().join("config/openoxide");
        fs::create_dir_all(&config).unwrap();
        fs::write(config.join("policy.toml"), policy).unwrap();
        fs::create_dir_all(directory.path().join("project/.git")).unwrap();
        Self { directory, environment }
    }

    fn project(&self) -> AbsPath {
        let path = self.directory.path().join("project");
        AbsPath::new(path.to_str().unwrap()).unwrap()
    }

    fn engine(&self) -> Engine {
        Engine::open(EngineOptions::new(self.environment.clone(), self.project())).unwrap()
    }

    fn operation(&self, script: &str) -> Operation {
        Operation {
            session: new_session_id(),
            call: CallId::default(),
            principal: Principal::Person,
            tool: "Bash".to_owned(),
            action: Action::Command { script: script.to_owned() },
            input: json!({ "command": script }),
            cwd: self.project(),
        }
    }
}

fn check<'e>(engine: &'e Engine, operation: &Operation, host: &Host) -> CheckOutcome<'e> {
    let options = CheckOptions::new(RecordOrigin::RUN, RequestedConfinement::Confined);
    engine.check(operation.clone(), options, host).unwrap()
}

fn pending(outcome: CheckOutcome<'_>) -> Box<PendingApproval<'_>> {
    match outcome {
        CheckOutcome::NeedsApproval(pending) => pending,
        other @ (CheckOutcome::Allowed(_) | CheckOutcome::Denied(_)) => panic!("{other:?}"),
    }
}

fn review(pending: &PendingApproval<'_>, response: ApprovalResponse) -> ReviewRecord {
    let (channel, by) = (AnswerChannel::Terminal, None);
    let end = ReviewOutcome::Answered { response, channel, answered_by: by };
    ReviewRecord { request: pending.request().clone(), outcome: end, can_save_grant: true }
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
    assert_eq!(*host.0.borrow(), Vec::<String>::new());
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
    let warnings = host.0.borrow();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].starts_with("not written down: "), "{warnings:?}");
    drop(permit);
    let without = User::new(rules);
    fs::write(without.directory.path().join("state"), "").unwrap();
    let engine = without.engine();
    let allowed = check(&engine, &without.operation("touch a"), &Host::default());
    assert!(matches!(allowed, CheckOutcome::Allowed(_)), "{allowed:?}");
}
