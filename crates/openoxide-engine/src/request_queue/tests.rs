use openoxide_protocol::{ApprovalResponse, GrantScope, GrantTerms};
use openoxide_store::{PendingRequest, PolicySource, audit::AnswerChannel};

use super::{
    AnswerError, AnswerProblem, AnswerReceipt, GrantOutcome, RequestAnswer, RequestQueue,
    SavedGrant,
};
use crate::{
    CheckOptions, Engine, EngineOptions, PendingApproval, RecordOrigin, WaitOptions,
    test_user::{Host, User, check, pending},
};

const OPTIONS: WaitOptions<'_> =
    WaitOptions { requester: "person", client: None, timeout: None, is_abandoned: None };

fn answer(scope: GrantScope, terms: Option<GrantTerms>, digest: Option<&str>) -> RequestAnswer {
    RequestAnswer {
        response: ApprovalResponse::Approved { scope, terms },
        digest: digest.map(str::to_owned),
        channel: AnswerChannel::Command,
        via: "approve",
        answered_by: "a test".to_owned(),
    }
}

/// Gives the answer from another connection.
fn answer_elsewhere(
    user: &User,
    question: &PendingApproval<'_>,
    new_answer: impl Fn(&PendingRequest) -> RequestAnswer,
) -> Result<AnswerReceipt, AnswerError> {
    let mut queue = RequestQueue::open(user.environment.clone()).unwrap();
    let pending = queue.find(&question.request().id.to_string()).unwrap();
    queue.answer(&pending, &new_answer(&pending))
}

#[test]
fn an_approval_for_the_project_saves_the_offered_rules_with_their_limits() {
    let user = User::new("");
    let (engine, host) = (user.engine(), Host::default());
    let question = pending(check(&engine, &user.operation("touch a"), &host));
    let _queued = question.register(OPTIONS, &host).unwrap();
    let terms = GrantTerms { max_uses: Some(3), ..GrantTerms::default() };
    let receipt = answer_elsewhere(&user, &question, |_| {
        answer(GrantScope::Project, Some(terms.clone()), None)
    });
    let receipt = receipt.unwrap();
    let GrantOutcome::Saved(SavedGrant { rules, session_rules, limits }) = receipt.grant else {
        panic!()
    };
    assert_eq!((rules, limits.max_uses), (vec!["Bash(touch *)".to_owned()], Some(3)));
    assert_eq!(session_rules, Vec::<String>::new());
    assert!(receipt.record.is_ok());
    let entries = engine.grant_file().unwrap().read_entries().unwrap();
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0].limits.max_uses, Some(3));
}

#[test]
fn rules_and_tasks_that_a_request_does_not_offer_are_not_saved() {
    let user = User::new("");
    let (engine, host) = (user.engine(), Host::default());
    let other = GrantTerms { rules: vec!["Bash(*)".to_owned()], ..GrantTerms::default() };
    let task = GrantTerms { until_task_end: true, ..GrantTerms::default() };
    for terms in [other, task] {
        let question = pending(check(&engine, &user.operation("touch a"), &host));
        let _queued = question.register(OPTIONS, &host).unwrap();
        let refused = answer_elsewhere(&user, &question, |_| {
            answer(GrantScope::Project, Some(terms.clone()), None)
        });
        let Err(AnswerError::NotAccepted(problem)) = refused else { panic!("{refused:?}") };
        if terms.until_task_end {
            assert_eq!(problem, AnswerProblem::NoTask);
        } else {
            let AnswerProblem::NotOffered(rules) = problem else { panic!("{problem}") };
            assert!(rules.contains(&"Bash(touch *)".to_owned()), "{rules:?}");
        }
    }
    assert_eq!(engine.grant_file().unwrap().read_entries().unwrap(), []);
}

#[test]
fn an_explicit_approval_names_the_digest_and_applies_once() {
    let user = User::new("");
    let (engine, host) = (user.engine(), Host::default());
    let options = CheckOptions::new(RecordOrigin::RUN, Default::default());
    let options = CheckOptions { requires_explicit_approval: true, ..options };
    let question = engine.check(user.operation("touch a"), options, &host).unwrap();
    let question = pending(question);
    let _queued = question.register(OPTIONS, &host).unwrap();
    let problem = |new_answer: &dyn Fn(&str) -> RequestAnswer| {
        let refused = answer_elsewhere(&user, &question, |pending| {
            new_answer(&pending.shown_digest.to_string())
        });
        match refused {
            Err(AnswerError::NotAccepted(problem)) => problem,
            other => panic!("{other:?}"),
        }
    };
    for scope in [GrantScope::Session, GrantScope::Project] {
        let wide = problem(&|digest| answer(scope, None, Some(digest)));
        assert_eq!(wide, AnswerProblem::ExplicitOnce);
    }
    let none = problem(&|_| answer(GrantScope::Once, None, None));
    assert!(matches!(none, AnswerProblem::DigestRequired(_)), "{none}");
    let short = problem(&|digest| answer(GrantScope::Once, None, digest.get(..7)));
    assert_eq!(short, AnswerProblem::ShortDigest { minimum: 8 });
    let wrong = problem(&|_| answer(GrantScope::Once, None, Some("not a digest")));
    assert_eq!(wrong, AnswerProblem::OtherDigest);
    let accepted = answer_elsewhere(&user, &question, |pending| {
        answer(GrantScope::Once, None, pending.shown_digest.to_string().get(..8))
    });
    assert_eq!(accepted.unwrap().grant, GrantOutcome::NotRequested);
}

/// Where a person named the policy files, no grants apply.
#[test]
fn an_approval_for_the_project_saves_nothing_where_the_policy_was_named() {
    let user = User::new("");
    let path = user.directory.path().join("named.toml");
    std::fs::write(&path, "").unwrap();
    let mut options = EngineOptions::new(user.environment.clone(), user.project());
    options.policy_files = vec![PolicySource::from_command_line(path)];
    let (engine, host) = (Engine::open(options).unwrap(), Host::default());
    let question = pending(check(&engine, &user.operation("touch a"), &host));
    let _queued = question.register(OPTIONS, &host).unwrap();
    let receipt =
        answer_elsewhere(&user, &question, |_| answer(GrantScope::Project, None, None)).unwrap();
    assert_eq!(receipt.grant, GrantOutcome::Unavailable);
    assert_eq!(user.engine().grant_file().unwrap().read_entries().unwrap(), []);
}

/// Of 17 ids, two begin with the same hexadecimal digit.
#[test]
fn names_that_name_no_request_or_several_are_errors() {
    let user = User::new("");
    let unknown = RequestQueue::open(user.environment.clone()).unwrap().find("0");
    assert!(matches!(unknown, Err(AnswerError::NotFound)));
    let (engine, host, touch) = (user.engine(), Host::default(), user.operation("touch a"));
    let questions: Vec<_> = (0..17).map(|_| pending(check(&engine, &touch, &host))).collect();
    let queued: Vec<_> =
        questions.iter().map(|one| one.register(OPTIONS, &host).unwrap()).collect();
    let mut queue = RequestQueue::open(user.environment).unwrap();
    assert_eq!(queue.list().unwrap().len(), 17);
    let named = (0..16).map(|digit| queue.find(&format!("{digit:x}")));
    let several = named.filter(|found| matches!(found, Err(AnswerError::Ambiguous(_))));
    assert!(several.count() > 0);
    drop(queued);
    assert_eq!(queue.list().unwrap().len(), 0);
}
