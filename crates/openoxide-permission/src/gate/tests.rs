use openoxide_protocol::{
    Action, CallId, ExecAccess, Finding, FindingKind, Operation, OperationDigest, OperationFacts,
    PathAccess, PresentationKind, Principal, RequestPresentation,
};

use super::*;
use crate::{CombiningAlgorithm, Layer, LayerKind, PathAnchors, Rule, default_layer, parse_rule};

fn path(text: &str) -> AbsPath {
    AbsPath::new(text).unwrap()
}

fn gate(rules: &[(Effect, &str)]) -> PermissionGate {
    let root = path("/p");
    let anchors = PathAnchors { home: None, base: &root };
    let rules =
        rules.iter().map(|(effect, text)| parse_rule(text, *effect, anchors).unwrap()).collect();
    let user = Layer {
        kind: LayerKind::User,
        file: None,
        combining_algorithm: CombiningAlgorithm::Strictest,
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

fn question(of: SessionId, number: u8, access: Access) -> CheckRequest {
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
    CheckRequest {
        operation,
        facts: OperationFacts { accesses: vec![access], findings: vec![] },
        digest: OperationDigest(digest),
        id: id(number),
        presentation: RequestPresentation {
            kind: PresentationKind::Command,
            content: text.clone(),
            summary: None,
            language: None,
            metadata: Default::default(),
        },
        title: text,
        group: None,
        requires_explicit_approval: false,
        hooks: Vec::new(),
        coverage: Default::default(),
        offered_directory: None,
    }
}

fn run(number: u8, command: &str) -> CheckRequest {
    let argv = command.split(' ').collect();
    let text = command.to_owned();
    let exec = ExecAccess {
        argv,
        text,
        class: Default::default(),
        span: Default::default(),
        arity: 2,
        ..ExecAccess::default()
    };
    question(session(1), number, Access::Exec(exec))
}

fn asked(step: GateOutcome) -> ApprovalRequest {
    match step {
        GateOutcome::Ask(request) => *request,
        other => panic!("expected a question, got {other:?}"),
    }
}

fn proceeds(step: &GateOutcome) -> bool {
    matches!(step, GateOutcome::Proceed(_))
}

const ONCE: ApprovalResponse = ApprovalResponse::new_approval(GrantScope::Once);
const SESSION: ApprovalResponse = ApprovalResponse::new_approval(GrantScope::Session);
const PROJECT: ApprovalResponse = ApprovalResponse::new_approval(GrantScope::Project);

#[test]
fn a_rule_lets_pass_or_refuses_without_a_question() {
    let mut gate = gate(&[(Effect::Allow, "Bash(ls *)"), (Effect::Deny, "Bash(rm *)")]);
    assert!(proceeds(&gate.check(run(1, "ls -la"))));
    assert!(matches!(gate.check(run(2, "rm x")), GateOutcome::Refuse(OperationRefusal::Denied(_))));
    assert_eq!(gate.pending_requests().count(), 0);
}

/// Guards I13.
#[test]
fn an_approval_is_valid_once_and_only_for_its_operation() {
    let mut gate = gate(&[]);
    let request = asked(gate.check(run(1, "npm install")));
    let settled = gate.answer(request.id, &ONCE).unwrap();
    let permit = settled.into_iter().next().unwrap().outcome.unwrap();
    assert_eq!(permit.digest(), request.digest);
    assert!(!permit.redeem(OperationDigest([9; 32])), "a permit is bound to its operation");
    asked(gate.check(run(2, "npm install")));
}

/// Guards I13.
#[test]
fn an_answer_is_taken_once() {
    let mut gate = gate(&[]);
    let request = asked(gate.check(run(1, "npm install")));
    assert_eq!(gate.answer(request.id, &ONCE).unwrap().len(), 1);
    assert_eq!(gate.answer(request.id, &ONCE).unwrap_err(), NotPendingError(request.id));
}

#[test]
fn a_session_grant_covers_exactly_the_shown_operation() {
    let mut gate = gate(&[]);
    let request = asked(gate.check(run(1, "npm install")));
    drop(gate.answer(request.id, &SESSION).unwrap());
    assert!(proceeds(&gate.check(run(2, "npm install"))));
    asked(gate.check(run(3, "npm install x")));
    let other = CheckRequest {
        operation: Operation { session: session(2), ..run(4, "npm install").operation },
        ..run(4, "npm install")
    };
    asked(gate.check(other));
}

#[test]
fn a_project_grant_covers_the_prefix_that_was_shown() {
    let mut gate = gate(&[]);
    let request = asked(gate.check(run(1, "npm install x")));
    assert_eq!(request.decision.suggested_rules, ["Bash(npm install *)"]);
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
    assert_eq!(gate.pending_requests().map(|request| request.id).collect::<Vec<_>>(), [id(3)]);
}

#[test]
fn other_answers_do_not_resolve_explicit_approval_requests() {
    let mut gate = gate(&[]);
    let first = asked(gate.check(run(1, "npm install a")));
    asked(gate.check(CheckRequest { requires_explicit_approval: true, ..run(2, "npm install b") }));
    assert_eq!(gate.answer(first.id, &PROJECT).unwrap().len(), 1);
    assert_eq!(gate.pending_requests().count(), 1);
}

#[test]
fn a_rejection_takes_the_other_requests_of_the_session_with_it() {
    let mut gate = gate(&[]);
    let first = asked(gate.check(run(1, "a b")));
    asked(gate.check(run(2, "c d")));
    let other = run(3, "e f");
    let other = CheckRequest {
        operation: Operation { session: session(2), ..other.operation.clone() },
        ..other
    };
    asked(gate.check(other));
    let response = ApprovalResponse::Rejected { message: Some("use x".into()) };
    let settled = gate.answer(first.id, &response).unwrap();
    assert_eq!(settled.len(), 2);
    assert_eq!(settled[0].outcome, Err(OperationRefusal::Corrected { message: "use x".into() }));
    assert_eq!(settled[1].outcome, Err(OperationRefusal::Rejected));
    assert_eq!(settled[1].resolution.kind, ResolutionKind::Cascade);
    assert_eq!(gate.pending_requests().count(), 1, "another session is not touched");
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
    assert!(settled.iter().all(|settled| settled.outcome == Err(OperationRefusal::Cancelled)));
    assert_eq!(gate.pending_requests().count(), 0);
}

#[test]
fn a_grant_lifts_neither_a_deny_nor_the_floor() {
    let mut gate = gate(&[(Effect::Deny, "Bash(npm publish *)")]);
    let request = asked(gate.check(run(1, "npm install")));
    drop(gate.answer(request.id, &PROJECT).unwrap());
    assert!(matches!(gate.check(run(2, "npm publish x")), GateOutcome::Refuse(_)));
    let rc =
        |number| question(session(1), number, Access::Edit(PathAccess::new(path("/h/.bashrc"))));
    let request = asked(gate.check(rc(3)));
    drop(gate.answer(request.id, &PROJECT).unwrap());
    asked(gate.check(rc(4)));
}

#[test]
fn human_only_rules_ask_a_person_each_time() {
    let root = path("/p");
    let anchors = PathAnchors { home: None, base: &root };
    let rule = |effect, text| parse_rule(text, effect, anchors).unwrap();
    let layer = |kind, rules| Layer {
        kind,
        file: None,
        combining_algorithm: CombiningAlgorithm::Strictest,
        rules,
        mode: None,
    };
    let human = Rule { requires_human: true, ..rule(Effect::Ask, "Bash(deploy *)") };
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
        assert!(request.requires_explicit_approval && request.decision.suggested_rules.is_empty());
        for scope in [GrantScope::Session, GrantScope::Project] {
            drop(gate.answer(id(2), &ApprovalResponse::new_approval(scope)));
            asked(gate.check(run(2, "deploy now")));
        }
    }
    let mut gate = PermissionGate::new(policy, PermissionMode::DontAsk, vec![root]);
    assert!(matches!(
        gate.check(run(1, "deploy now")),
        GateOutcome::Refuse(OperationRefusal::Denied(_))
    ));
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
            decision: said,
            reason: String::new(),
            respects_ask_rules: false,
        };
        CheckRequest { hooks: vec![answer], ..question }
    };
    use openoxide_protocol::HookDecision::{Allow, Ask, Deny};
    let mut gate = gate(&[]);
    asked(gate.check(said(1, Ask)));
    let request = asked(gate.check(run(2, "npm install")));
    assert_eq!(gate.answer(request.id, &PROJECT).unwrap().len(), 1, "the hook's question waits on");
    assert!(proceeds(&gate.check(run(3, "npm install"))));
    let request = asked(gate.check(said(4, Ask)));
    assert!(request.requires_explicit_approval && request.decision.suggested_rules.is_empty());
    drop(gate.answer(request.id, &SESSION).unwrap());
    asked(gate.check(said(5, Ask)));
    assert!(matches!(gate.check(said(6, Deny)), GateOutcome::Refuse(OperationRefusal::Denied(_))));
    let mut gate = self::gate(&[]);
    assert!(proceeds(&gate.check(said(1, Allow))));
}

#[test]
fn a_gate_in_doubt_lets_nothing_pass_without_a_question() {
    let rules = [(Effect::Allow, "Bash(ls *)")];
    let mut sure = gate(&rules).with_policy_error(None);
    assert!(proceeds(&sure.check(run(1, "ls x"))));
    let mut doubting = gate(&rules).with_policy_error(Some("a rule may be missing".to_owned()));
    let request = asked(doubting.check(run(1, "ls x")));
    assert_eq!(request.decision.reason, "a rule may be missing");
}

#[test]
fn a_request_with_a_pending_id_is_denied_with_a_reason() {
    let mut gate = gate(&[(Effect::Ask, "Bash(npm *)")]);
    asked(gate.check(run(1, "npm a")));
    let GateOutcome::Refuse(OperationRefusal::Denied(decision)) = gate.check(run(1, "npm b"))
    else {
        panic!()
    };
    let reason = "another request has the same id, and one answer cannot be for both";
    assert_eq!((decision.effect, decision.reason.as_str()), (Effect::Deny, reason));
    assert_eq!(decision.rule, None);
}

#[test]
fn a_granted_operation_reports_the_grant_and_no_rule() {
    let mut gate = gate(&[(Effect::Ask, "Bash(npm *)")]);
    let request = asked(gate.check(run(1, "npm a")));
    drop(gate.answer(request.id, &SESSION).unwrap());
    let GateOutcome::Proceed(permit) = gate.check(run(2, "npm a")) else { panic!() };
    let decision = permit.decision();
    assert_eq!(decision.reason, "it was granted in this session");
    assert_eq!((decision.effect, &decision.rule), (Effect::Allow, &None));
}

#[test]
fn explicit_approval_stays_required_when_the_policy_changes() {
    let mut gate = gate(&[]);
    let group = Some("g".to_owned());
    let explicit =
        CheckRequest { group: group.clone(), requires_explicit_approval: true, ..run(1, "npm a") };
    asked(gate.check(explicit));
    asked(gate.check(CheckRequest { group, ..run(2, "npm b") }));
    let same = PolicyStack::compile(&[default_layer()]).unwrap();
    assert!(gate.set_policy(Arc::new(same), None).is_empty());
    let settled = gate.answer_group(session(1), "g", GroupAnswer::All);
    assert_eq!(settled.len(), 1);
    assert_eq!(gate.pending_requests().next().unwrap().id, id(1));
}

#[test]
fn a_permit_is_for_its_operation() {
    let mut gate = gate(&[(Effect::Allow, "Bash(ls *)")]);
    let mut permit = || match gate.check(run(1, "ls x")) {
        GateOutcome::Proceed(permit) => permit,
        other => panic!("{other:?}"),
    };
    let digest = permit().digest();
    assert!(permit().redeem(digest));
    assert!(!permit().redeem(OperationDigest([9; 32])));
    assert_eq!(NotPendingError(id(1)).to_string(), format!("no request {} is pending", id(1)));
}

#[test]
fn an_empty_message_corrects_nothing() {
    for (message, expected) in [
        (Some("use pnpm"), OperationRefusal::Corrected { message: "use pnpm".to_owned() }),
        (Some(""), OperationRefusal::Rejected),
        (None, OperationRefusal::Rejected),
    ] {
        let mut gate = gate(&[]);
        let request = asked(gate.check(run(1, "npm a")));
        let response = ApprovalResponse::Rejected { message: message.map(str::to_owned) };
        let settled = gate.answer(request.id, &response).unwrap().remove(0);
        assert_eq!(settled.outcome.unwrap_err(), expected);
    }
}

#[test]
fn required_explicit_approval_is_reported_in_the_decision() {
    let mut gate = gate(&[(Effect::Allow, "Bash(ls *)"), (Effect::Ask, "Bash(npm *)")]);
    let explicit =
        |number, command| CheckRequest { requires_explicit_approval: true, ..run(number, command) };
    let allowed = asked(gate.check(explicit(1, "ls x"))).decision;
    assert_eq!(
        (allowed.effect, allowed.reason.as_str()),
        (Effect::Ask, "it requires explicit approval")
    );
    assert_eq!((allowed.rule, allowed.suggested_rules), (None, Vec::new()));
    let other = asked(gate.check(explicit(2, "npm ci"))).decision;
    assert_eq!(
        (other.rule.unwrap().text.as_str(), other.suggested_rules),
        ("ask Bash(npm *)", Vec::new())
    );
    drop(gate.set_mode(session(1), PermissionMode::DontAsk));
    let GateOutcome::Refuse(OperationRefusal::Denied(decision)) = gate.check(explicit(3, "ls x"))
    else {
        panic!()
    };
    assert_eq!(decision.effect, Effect::Deny);
}

#[test]
fn a_circuit_breaker_is_answered_for_this_once_and_a_note_is_none() {
    let with = |number, kind| {
        let (code, message) = ("OX1".into(), "odd".into());
        let finding = Finding { code, kind, message, span: Default::default() };
        let mut question = run(number, "npm a b");
        question.facts.findings.push(finding);
        question
    };
    for (kind, once) in [
        (FindingKind::Note, false),
        (FindingKind::Escalate, false),
        (FindingKind::CircuitBreaker, true),
    ] {
        let mut gate = gate(&[]);
        let request = asked(gate.check(with(1, kind)));
        assert_eq!(request.requires_explicit_approval, once, "{kind:?}");
        drop(gate.answer(request.id, &SESSION).unwrap());
        assert_eq!(proceeds(&gate.check(with(2, kind))), !once, "{kind:?}");
    }
}

#[test]
fn a_subagent_that_has_ended_is_none_any_more() {
    let mut gate = gate(&[]);
    assert!(gate.start_subagent(session(1), session(2), None));
    assert!(gate.start_subagent(session(1), session(3), None));
    drop(gate.end_session(session(2)));
    // The id can be used again. The session is now a subagent of another one, so the end of the
    // first session does not end it.
    assert!(gate.start_subagent(session(4), session(2), None));
    let of = |number, of| CheckRequest {
        operation: Operation { session: session(of), ..run(number, "npm a").operation },
        ..run(number, "npm a")
    };
    asked(gate.check(of(1, 2)));
    asked(gate.check(of(2, 3)));
    let ended: Vec<_> = gate.end_session(session(1)).iter().map(|one| one.resolution.id).collect();
    assert_eq!(ended, [id(2)]);
}
