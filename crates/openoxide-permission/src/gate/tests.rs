use openoxide_protocol::{
    Action, CallId, Digest, Exec, Facts, Operation, PathAccess, Presentation, PresentationKind,
    Principal,
};

use super::*;
use crate::{Anchors, Combining, Layer, LayerKind, Rule, default_layer, parse};

fn path(text: &str) -> AbsPath {
    AbsPath::new(text).unwrap()
}

fn gate(rules: &[(Effect, &str)]) -> PermissionGate {
    let root = path("/p");
    let anchors = Anchors { home: None, base: &root };
    let rules = rules.iter().map(|(effect, text)| parse(text, *effect, anchors).unwrap()).collect();
    let user = Layer {
        kind: LayerKind::User,
        file: None,
        combining: Combining::Strictest,
        rules,
        mode: None,
    };
    let policy = PolicyStack::compile(&[user, default_layer()]).unwrap();
    PermissionGate::new(Arc::new(policy), PermissionMode::Default, vec![root])
}

fn id(number: u8) -> ApprovalId {
    ApprovalId::from_parts(1, [number; 10])
}

fn session(number: u8) -> SessionId {
    SessionId::from_parts(1, [number; 10])
}

fn question(of: SessionId, number: u8, access: Access) -> Question {
    let text = access.summary().to_owned();
    let operation = Operation {
        session: of,
        call: CallId::default(),
        principal: Principal::Agent,
        tool: "Bash".into(),
        action: Action::Command { script: text.clone() },
        input: text.clone().into(),
        cwd: path("/p"),
    };
    let mut digest = [0; 32];
    for (byte, of) in digest.iter_mut().zip(text.bytes()) {
        *byte = of;
    }
    Question {
        operation,
        facts: Facts { accesses: vec![access], findings: vec![] },
        digest: Digest(digest),
        id: id(number),
        presentation: Presentation {
            kind: PresentationKind::Command,
            content: text.clone(),
            language: None,
            metadata: Default::default(),
        },
        title: text,
        group: None,
        explicit_yes_required: false,
        hooks: Vec::new(),
        covers: Default::default(),
    }
}

fn run(number: u8, command: &str) -> Question {
    let argv = command.split(' ').collect();
    let text = command.to_owned();
    let exec = Exec {
        argv,
        text,
        class: Default::default(),
        span: Default::default(),
        arity: 2,
        place: None,
        plain: None,
    };
    question(session(1), number, Access::Exec(exec))
}

fn asked(step: Step) -> ApprovalRequest {
    match step {
        Step::Ask(request) => *request,
        other => panic!("expected a question, got {other:?}"),
    }
}

fn proceeds(step: &Step) -> bool {
    matches!(step, Step::Proceed(_))
}

const ONCE: ApprovalResponse = ApprovalResponse::approved(GrantScope::Once);
const SESSION: ApprovalResponse = ApprovalResponse::approved(GrantScope::Session);
const PROJECT: ApprovalResponse = ApprovalResponse::approved(GrantScope::Project);

#[test]
fn a_rule_lets_pass_or_refuses_without_a_question() {
    let mut gate = gate(&[(Effect::Allow, "Bash(ls *)"), (Effect::Deny, "Bash(rm *)")]);
    assert!(proceeds(&gate.check(run(1, "ls -la"))));
    assert!(matches!(gate.check(run(2, "rm x")), Step::Refuse(Refusal::Denied(_))));
    assert_eq!(gate.pending().count(), 0);
}

#[test]
fn a_yes_counts_once_and_for_this_operation_alone() {
    let mut gate = gate(&[]);
    let request = asked(gate.check(run(1, "npm install")));
    let settled = gate.answer(request.id, &ONCE).unwrap();
    let permit = settled.into_iter().next().unwrap().outcome.unwrap();
    assert_eq!(permit.digest(), request.digest);
    assert!(!permit.redeem(Digest([9; 32])), "a permit is bound to its operation");
    asked(gate.check(run(2, "npm install")));
}

#[test]
fn an_answer_is_taken_once() {
    let mut gate = gate(&[]);
    let request = asked(gate.check(run(1, "npm install")));
    assert_eq!(gate.answer(request.id, &ONCE).unwrap().len(), 1);
    assert_eq!(gate.answer(request.id, &ONCE).unwrap_err(), NotPending(request.id));
}

#[test]
fn a_session_grant_covers_exactly_what_was_shown() {
    let mut gate = gate(&[]);
    let request = asked(gate.check(run(1, "npm install")));
    drop(gate.answer(request.id, &SESSION).unwrap());
    assert!(proceeds(&gate.check(run(2, "npm install"))));
    asked(gate.check(run(3, "npm install x")));
    let other = Question {
        operation: Operation { session: session(2), ..run(4, "npm install").operation },
        ..run(4, "npm install")
    };
    asked(gate.check(other));
}

#[test]
fn a_project_grant_covers_the_prefix_that_was_shown() {
    let mut gate = gate(&[]);
    let request = asked(gate.check(run(1, "npm install x")));
    assert_eq!(request.decision.always, ["Bash(npm install *)"]);
    drop(gate.answer(request.id, &PROJECT).unwrap());
    assert!(proceeds(&gate.check(run(2, "npm install y"))));
    asked(gate.check(run(3, "npm publish")));
}

#[test]
fn a_grant_resolves_pending_requests_of_its_session_that_it_covers() {
    let mut gate = gate(&[]);
    let first = asked(gate.check(run(1, "npm install a")));
    let second = asked(gate.check(run(2, "npm install b")));
    asked(gate.check(run(3, "cargo publish now")));
    let settled = gate.answer(first.id, &PROJECT).unwrap();
    let kinds: Vec<_> = settled.iter().map(|s| (s.resolution.id, s.resolution.kind)).collect();
    assert_eq!(
        kinds,
        [(first.id, ResolutionKind::Answered), (second.id, ResolutionKind::Retroactive)]
    );
    assert!(settled.iter().all(|settled| settled.outcome.is_ok()));
    assert_eq!(gate.pending().map(|request| request.id).collect::<Vec<_>>(), [id(3)]);
}

#[test]
fn what_demands_an_explicit_yes_is_not_resolved_by_another_answer() {
    let mut gate = gate(&[]);
    let first = asked(gate.check(run(1, "npm install a")));
    asked(gate.check(Question { explicit_yes_required: true, ..run(2, "npm install b") }));
    assert_eq!(gate.answer(first.id, &PROJECT).unwrap().len(), 1);
    assert_eq!(gate.pending().count(), 1);
}

#[test]
fn a_rejection_takes_the_other_requests_of_the_session_with_it() {
    let mut gate = gate(&[]);
    let first = asked(gate.check(run(1, "a b")));
    asked(gate.check(run(2, "c d")));
    let other = run(3, "e f");
    let other = Question {
        operation: Operation { session: session(2), ..other.operation.clone() },
        ..other
    };
    asked(gate.check(other));
    let response = ApprovalResponse::Rejected { message: Some("use x".into()) };
    let settled = gate.answer(first.id, &response).unwrap();
    assert_eq!(settled.len(), 2);
    assert_eq!(settled[0].outcome, Err(Refusal::Corrected { message: "use x".into() }));
    assert_eq!(settled[1].outcome, Err(Refusal::Rejected));
    assert_eq!(settled[1].resolution.kind, ResolutionKind::Cascade);
    assert_eq!(gate.pending().count(), 1, "another session is not touched");
}

#[test]
fn denied_stays_with_its_request_and_cancelled_ends_them_all() {
    let mut gate = gate(&[]);
    let first = asked(gate.check(run(1, "a b")));
    let second = asked(gate.check(run(2, "c d")));
    asked(gate.check(run(3, "e f")));
    assert_eq!(gate.answer(first.id, &ApprovalResponse::Denied).unwrap().len(), 1);
    let settled = gate.answer(second.id, &ApprovalResponse::Cancelled).unwrap();
    assert_eq!(settled.len(), 2);
    assert!(settled.iter().all(|settled| settled.outcome == Err(Refusal::Cancelled)));
    assert_eq!(gate.pending().count(), 0);
}

#[test]
fn a_grant_lifts_neither_a_deny_nor_the_floor() {
    let mut gate = gate(&[(Effect::Deny, "Bash(npm publish *)")]);
    let request = asked(gate.check(run(1, "npm install")));
    drop(gate.answer(request.id, &PROJECT).unwrap());
    assert!(matches!(gate.check(run(2, "npm publish x")), Step::Refuse(_)));
    let rc =
        |number| question(session(1), number, Access::Edit(PathAccess::new(path("/h/.bashrc"))));
    let request = asked(gate.check(rc(3)));
    drop(gate.answer(request.id, &PROJECT).unwrap());
    asked(gate.check(rc(4)));
}

#[test]
fn what_only_a_person_answers_is_answered_by_a_person_each_time() {
    let root = path("/p");
    let anchors = Anchors { home: None, base: &root };
    let rule = |effect, text| parse(text, effect, anchors).unwrap();
    let layer = |kind, rules| Layer {
        kind,
        file: None,
        combining: Combining::Strictest,
        rules,
        mode: None,
    };
    let human = Rule { human: true, ..rule(Effect::Ask, "Bash(deploy *)") };
    let layers = [
        layer(LayerKind::Cli, vec![rule(Effect::Allow, "Bash")]),
        layer(LayerKind::User, vec![rule(Effect::Ask, "Bash(deploy now)"), human]),
        default_layer(),
    ];
    let policy = Arc::new(PolicyStack::compile(&layers).unwrap());
    for mode in
        [PermissionMode::Default, PermissionMode::AcceptEdits, PermissionMode::BypassPermissions]
    {
        let mut gate = PermissionGate::new(policy.clone(), mode, vec![root.clone()]);
        assert!(proceeds(&gate.check(run(1, "other"))), "{mode:?}");
        let request = asked(gate.check(run(2, "deploy now")));
        assert!(request.explicit_yes_required && request.decision.always.is_empty());
        for scope in [GrantScope::Session, GrantScope::Project] {
            drop(gate.answer(id(2), &ApprovalResponse::approved(scope)));
            asked(gate.check(run(2, "deploy now")));
        }
    }
    let mut gate = PermissionGate::new(policy, PermissionMode::DontAsk, vec![root]);
    assert!(matches!(gate.check(run(1, "deploy now")), Step::Refuse(Refusal::Denied(_))));
}

mod changes;
mod terms;

#[test]
fn a_hooks_question_is_answered_by_no_grant_and_its_allow_needs_none() {
    let said = |number, said| {
        let question = run(number, "npm install");
        let hook = openoxide_protocol::RuleRef {
            layer: "user".into(),
            file: None,
            line: None,
            text: "hook guard".into(),
            reason: None,
        };
        let answer = openoxide_protocol::HookAnswer {
            hook,
            said,
            reason: String::new(),
            below_rules: false,
        };
        Question { hooks: vec![answer], ..question }
    };
    use openoxide_protocol::HookSaid::{Allow, Ask, Deny};
    let mut gate = gate(&[]);
    asked(gate.check(said(1, Ask)));
    let request = asked(gate.check(run(2, "npm install")));
    assert_eq!(gate.answer(request.id, &PROJECT).unwrap().len(), 1, "the hook's question waits on");
    assert!(proceeds(&gate.check(run(3, "npm install"))));
    let request = asked(gate.check(said(4, Ask)));
    assert!(request.explicit_yes_required && request.decision.always.is_empty());
    drop(gate.answer(request.id, &SESSION).unwrap());
    asked(gate.check(said(5, Ask)));
    assert!(matches!(gate.check(said(6, Deny)), Step::Refuse(Refusal::Denied(_))));
    let mut gate = self::gate(&[]);
    assert!(proceeds(&gate.check(said(1, Allow))));
}
