//! Tests of events other than answers that resolve requests, and of the coverage of grants.

use super::*;

fn policy(rules: &[(Effect, &str)]) -> Arc<PolicyStack> {
    gate(rules).policy
}

fn explicit(question: CheckRequest) -> CheckRequest {
    CheckRequest { requires_explicit_approval: true, ..question }
}

fn repeated(mut question: CheckRequest) -> CheckRequest {
    question.facts.accesses.push(Access::Repetition { tool: "Bash".to_owned() });
    question
}

fn keyed(question: CheckRequest, keys: &[&str]) -> CheckRequest {
    let keys = keys.iter().map(|key| (*key).to_owned()).collect();
    CheckRequest { coverage: GrantCoverage { keys, rules: vec![] }, ..question }
}

fn below(session: SessionId, question: CheckRequest) -> CheckRequest {
    CheckRequest { operation: Operation { session, ..question.operation.clone() }, ..question }
}

fn kinds(settled: &[ResolvedRequest]) -> Vec<(ApprovalId, ResolutionKind, bool)> {
    let of = |one: &ResolvedRequest| (one.resolution.id, one.resolution.kind, one.outcome.is_ok());
    settled.iter().map(of).collect()
}

/// Guards I14.
#[test]
fn a_mode_change_resolves_newly_allowed_and_denied_requests() {
    let mut gate = gate(&[(Effect::Ask, "Bash(cargo *)")]);
    asked(gate.check(run(1, "npm install")));
    asked(gate.check(run(2, "cargo publish")));
    asked(gate.check(below(session(2), run(3, "npm install"))));
    let settled = gate.set_mode(session(1), PermissionMode::BypassPermissions);
    assert_eq!(kinds(&settled), [(id(1), ResolutionKind::Retroactive, true)]);
    let settled = gate.set_mode(session(1), PermissionMode::DontAsk);
    assert_eq!(kinds(&settled), [(id(2), ResolutionKind::Retroactive, false)]);
    assert!(
        matches!(&settled[0].outcome, Err(OperationRefusal::Denied(of)) if of.effect == Effect::Deny)
    );
    assert_eq!(gate.pending_requests().count(), 1, "another session is not touched");
}

#[test]
fn a_mode_that_was_taken_away_is_not_set() {
    let mut gate = gate(&[]);
    let barred = (*gate.policy).clone().without_bypass();
    drop(gate.set_policy(Arc::new(barred), None));
    drop(gate.set_mode(session(1), PermissionMode::BypassPermissions));
    assert_eq!(gate.mode(session(1)), PermissionMode::Default);
    asked(gate.check(run(1, "npm install")));
}

#[test]
fn a_policy_change_resolves_newly_allowed_and_denied_requests() {
    let mut gate = gate(&[]);
    for (number, command) in [(1, "npm install"), (2, "cargo publish"), (3, "make all")] {
        asked(gate.check(run(number, command)));
    }
    let rules = [(Effect::Allow, "Bash(npm *)"), (Effect::Deny, "Bash(cargo *)")];
    let settled = gate.set_policy(policy(&rules), None);
    let expected =
        [(id(1), ResolutionKind::Retroactive, true), (id(2), ResolutionKind::Retroactive, false)];
    assert_eq!(kinds(&settled), expected);
    let doubtful =
        gate.set_policy(policy(&[(Effect::Allow, "Bash")]), Some("a file is broken".into()));
    assert!(doubtful.is_empty(), "a policy in doubt allows nothing");
}

#[test]
fn the_end_of_a_session_cancels_its_requests_and_forgets_its_grants() {
    let mut gate = gate(&[]);
    asked(gate.check(run(1, "npm install")));
    drop(gate.answer(id(1), &SESSION).unwrap());
    assert!(proceeds(&gate.check(run(2, "npm install"))));
    asked(gate.check(run(3, "make all")));
    let settled = gate.end_session(session(1));
    assert_eq!(kinds(&settled), [(id(3), ResolutionKind::Withdrawn, false)]);
    assert_eq!(settled[0].outcome, Err(OperationRefusal::Cancelled));
    asked(gate.check(run(4, "npm install")));
}

/// Guards I17.
#[test]
fn a_subagent_inherits_the_mode_and_ends_with_its_parent() {
    let mut gate = gate(&[]);
    assert!(gate.start_subagent(session(1), session(2), Some(PermissionMode::Plan)));
    assert!(gate.start_subagent(session(2), session(3), None));
    assert!(!gate.start_subagent(session(3), session(1), None), "no session leaves its place");
    assert_eq!(gate.mode(session(3)), PermissionMode::Plan);
    drop(gate.set_mode(session(1), PermissionMode::BypassPermissions));
    assert_eq!(gate.mode(session(3)), PermissionMode::BypassPermissions);
    drop(gate.set_mode(session(1), PermissionMode::Default));
    drop(gate.set_mode(session(2), PermissionMode::BypassPermissions));
    assert_eq!(gate.mode(session(3)), PermissionMode::Default, "a subagent does not rise above it");
    asked(gate.check(below(session(3), run(1, "npm install"))));
    assert_eq!(gate.end_session(session(1)).len(), 1);
    assert!(gate.start_subagent(session(1), session(3), None), "nothing of it is known any more");
}

#[test]
fn withdrawing_a_request_does_not_affect_others() {
    let mut gate = gate(&[]);
    asked(gate.check(run(1, "a b")));
    asked(gate.check(run(2, "c d")));
    let settled = gate.withdraw(id(1)).unwrap();
    assert_eq!(settled.resolution.kind, ResolutionKind::Withdrawn);
    assert_eq!(settled.outcome, Err(OperationRefusal::Cancelled));
    assert_eq!(gate.withdraw(id(1)).unwrap_err(), NotPendingError(id(1)));
    assert_eq!(gate.pending_requests().count(), 1);
}

#[test]
fn two_requests_never_share_an_id() {
    let mut gate = gate(&[]);
    asked(gate.check(run(1, "a b")));
    assert!(matches!(gate.check(run(1, "c d")), GateOutcome::Refuse(OperationRefusal::Denied(_))));
    assert_eq!(gate.pending_requests().count(), 1);
}

/// Guards I16.
#[test]
fn all_keys_are_required_and_each_is_remembered_separately() {
    let mut gate = gate(&[]);
    let request = asked(gate.check(keyed(run(1, "edit ab"), &["a", "b"])));
    assert_eq!(request.presentation.metadata["covers"].to_string(), r#"["a","b"]"#);
    asked(gate.check(keyed(run(2, "edit ba"), &["b"])));
    asked(gate.check(keyed(run(3, "edit bc"), &["b", "c"])));
    let settled = gate.answer(id(1), &SESSION).unwrap();
    let expected =
        [(id(1), ResolutionKind::Answered, true), (id(2), ResolutionKind::Retroactive, true)];
    assert_eq!(kinds(&settled), expected);
    assert!(proceeds(&gate.check(keyed(run(4, "edit x"), &["a"]))));
    asked(gate.check(keyed(run(5, "edit y"), &["a", "c"])));
    asked(gate.check(run(6, "edit z")));
}

#[test]
fn a_key_covers_nothing_that_cannot_be_remembered() {
    let opaque = |number, command, keys: &[&str]| {
        let mut question = keyed(run(number, command), keys);
        let opaque = Access::Opaque { text: "?".into(), span: Default::default() };
        question.facts.accesses.push(opaque);
        question
    };
    let mut gate = gate(&[]);
    asked(gate.check(keyed(run(1, "edit a"), &["k"])));
    drop(gate.answer(id(1), &SESSION).unwrap());
    let request = asked(gate.check(opaque(2, "edit b", &["k", "never shown"])));
    assert!(!request.presentation.metadata.contains_key("covers"));
    drop(gate.answer(id(2), &SESSION).unwrap());
    asked(gate.check(keyed(run(3, "edit c"), &["never shown"])));
}

/// Guards I16.
#[test]
fn a_tool_offers_its_own_rules_but_none_about_commands() {
    let mut gate = gate(&[]);
    let offer = |number, rules: &[&str]| {
        let rules = rules.iter().map(|rule| (*rule).to_owned()).collect();
        CheckRequest {
            coverage: GrantCoverage { keys: vec![], rules },
            ..run(number, "npm install x")
        }
    };
    let always = |step| asked(step).decision.suggested_rules;
    let own = ["Edit(/docs/**)", "Bash(npm *)", "*", "Edit("];
    assert_eq!(always(gate.check(offer(1, &own))), ["Edit(/docs/**)"]);
    assert_eq!(always(gate.check(offer(2, &["Bash"]))), ["Bash(npm install *)"]);
}

/// An approval of a directory answers questions about changes in it, but neither a deny nor an ask of
/// a rule, and no question about a protected file.
#[test]
fn an_approved_directory_covers_changes_that_no_rule_asks_about() {
    let edit = |number, path: &str| {
        let access = Access::Edit(PathAccess::new(AbsPath::new(path).unwrap()));
        let offered_directory = Some(AbsPath::new("/out").unwrap());
        CheckRequest { offered_directory, ..question(session(1), number, access) }
    };
    let rules = [(Effect::Deny, "Edit(//out/denied)"), (Effect::Ask, "Edit(//out/asked)")];
    let directory = ApprovalResponse::new_approval(GrantScope::Directory);
    let mut gate = gate(&rules);
    let request = asked(gate.check(edit(1, "/out/a")));
    assert_eq!(request.directory, Some(AbsPath::new("/out").unwrap()));
    asked(gate.check(edit(2, "/out/sub/b")));
    asked(gate.check(edit(3, "/other/c")));
    let settled = gate.answer(id(1), &directory).unwrap();
    let settled: Vec<_> = settled.iter().map(|one| one.resolution.id).collect();
    assert_eq!(settled, [id(1), id(2)], "the other one waits");
    assert!(matches!(gate.check(edit(4, "/out/x/y")), GateOutcome::Proceed(_)));
    for (number, path) in [(5, "/outer/x"), (6, "/out/asked"), (7, "/out/.git/config")] {
        assert!(matches!(gate.check(edit(number, path)), GateOutcome::Ask(_)), "{path}");
    }
    assert!(matches!(gate.check(edit(8, "/out/denied")), GateOutcome::Refuse(_)));
    // Without an offer, the answer applies once.
    let mut gate = self::gate(&rules);
    asked(gate.check(CheckRequest { offered_directory: None, ..edit(1, "/out/a") }));
    drop(gate.answer(id(1), &directory).unwrap());
    asked(gate.check(edit(2, "/out/b")));
}

#[test]
fn a_grant_does_not_cover_repetitions() {
    let mut gate = gate(&[(Effect::Allow, "Bash(make *)")]);
    asked(gate.check(run(1, "npm test")));
    drop(gate.answer(id(1), &SESSION).unwrap());
    let request = asked(gate.check(repeated(run(2, "npm test"))));
    assert_eq!(request.decision.suggested_rules, ["Bash(npm test *)", "DoomLoop(Bash)"]);
    asked(gate.check(repeated(run(3, "make all"))));
    let settled = gate.answer(id(2), &SESSION).unwrap();
    assert_eq!(settled.len(), 2, "always is that tool, for the session");
    assert!(proceeds(&gate.check(repeated(run(4, "make all")))));
    asked(gate.check(repeated(run(5, "cargo publish"))));
}

/// Guards I15.
#[test]
fn only_a_direct_answer_is_an_explicit_approval() {
    let mut gate = gate(&[(Effect::Allow, "Bash(make *)")]);
    let request = asked(gate.check(explicit(run(1, "make all"))));
    assert!(request.requires_explicit_approval && request.decision.suggested_rules.is_empty());
    assert!(gate.set_mode(session(1), PermissionMode::BypassPermissions).is_empty());
    asked(gate.check(explicit(run(2, "npm install"))));
    drop(gate.answer(id(2), &SESSION).unwrap());
    drop(gate.set_mode(session(1), PermissionMode::Default));
    asked(gate.check(run(3, "npm install")));
    assert_eq!(gate.set_mode(session(1), PermissionMode::DontAsk).len(), 2);
}

/// Guards I15.
#[test]
fn a_group_is_answered_together_but_for_explicit_yeses() {
    let mut gate = gate(&[]);
    let grouped = |question| CheckRequest { group: Some("g".into()), ..question };
    let fill = |gate: &mut PermissionGate| {
        asked(gate.check(grouped(run(1, "a b"))));
        asked(gate.check(grouped(explicit(run(2, "c d")))));
        asked(gate.check(run(3, "e f")));
        asked(gate.check(grouped(below(session(2), run(4, "a b")))));
    };
    fill(&mut gate);
    let settled = gate.answer_group(session(1), "g", GroupAnswer::All);
    assert_eq!(kinds(&settled), [(id(1), ResolutionKind::Answered, true)]);
    assert_eq!(gate.pending_requests().count(), 3);
    drop((gate.end_session(session(1)), gate.end_session(session(2))));
    fill(&mut gate);
    let settled = gate.answer_group(session(1), "g", GroupAnswer::Skip);
    let answered = ResolutionKind::Answered;
    assert_eq!(kinds(&settled), [(id(1), answered, false), (id(2), answered, false)]);
    assert_eq!(gate.pending_requests().count(), 2);
}

/// Creates ten thousand requests of one session.
fn crowd(gate: &mut PermissionGate) -> Vec<ApprovalId> {
    let number = |number: u64| ApprovalId::from_parts(number, [0; 10]);
    for each in 0..10_000 {
        let question = CheckRequest { id: number(each), ..run(1, &format!("npm install p{each}")) };
        asked(gate.check(question));
    }
    (0..10_000).map(number).collect()
}

#[test]
#[expect(clippy::disallowed_methods, reason = "it prints how long it takes")]
fn a_crowd_is_answered_one_by_one_and_at_once() {
    let mut gate = gate(&[]);
    for id in crowd(&mut gate) {
        assert_eq!(gate.answer(id, &SESSION).unwrap().len(), 1);
    }
    drop(gate.end_session(session(1)));
    let ids = crowd(&mut gate);
    let start = std::time::Instant::now();
    assert_eq!(gate.answer(ids[5_000], &PROJECT).unwrap().len(), 10_000);
    eprintln!("one yes that covers 10,000 requests, in {:?}", start.elapsed());
    drop(gate.end_session(session(1)));
    let ids = crowd(&mut gate);
    assert_eq!(gate.answer(ids[9_999], &REJECTED).unwrap().len(), 10_000);
    assert_eq!(gate.pending_requests().count(), 0);
}
