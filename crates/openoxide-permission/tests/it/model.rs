//! Model test: the real gate and a naive one run the same random steps and must agree after each.

mod naive;

use std::{collections::HashSet, sync::Arc};

use openoxide_permission::{
    CheckRequest, CombiningAlgorithm, GateOutcome, GrantCoverage, GroupAnswer, Layer, LayerKind,
    OperationRefusal, PathAnchors, PermissionGate, PolicyStack, ResolvedRequest, Rule, parse_rule,
};
use openoxide_protocol::{
    AbsPath, Access, Action, ApprovalId, ApprovalResponse, CallId, Effect, ExecAccess, GrantScope,
    Operation, OperationDigest, OperationFacts, PermissionMode, PresentationKind, Principal,
    RequestPresentation, SessionId,
};

use naive::{Call, Ended, Naive, NaivePolicy, NaiveRule};

/// A small generator (xorshift64*): the same seed gives the same steps everywhere.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % sides
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.roll(from.len())]
    }

    fn one_in(&mut self, sides: usize) -> bool {
        self.roll(sides) == 0
    }
}

fn rule(dice: &mut Dice) -> NaiveRule {
    let effect = dice.pick(&[Effect::Allow, Effect::Ask, Effect::Deny]);
    let human = effect == Effect::Ask && dice.one_in(4);
    let argument = dice.pick(&[None, Some("x"), Some("y")]);
    NaiveRule { effect, human, program: dice.pick(&["a", "b", "c"]), argument }
}

fn policy(dice: &mut Dice) -> NaivePolicy {
    let rules = (0..dice.roll(4)).map(|_| rule(dice)).collect();
    NaivePolicy { rules, bars_bypass: dice.one_in(4) }
}

fn compiled(policy: &NaivePolicy) -> Arc<PolicyStack> {
    let root = AbsPath::root();
    let rule = |rule: &NaiveRule| {
        let text = format!("Bash({} {})", rule.program, rule.argument.unwrap_or("*"));
        let anchors = PathAnchors { home: None, base: &root };
        Rule { requires_human: rule.human, ..parse_rule(&text, rule.effect, anchors).unwrap() }
    };
    let rules = policy.rules.iter().map(rule).collect();
    let (kind, combining) = (LayerKind::User, CombiningAlgorithm::Strictest);
    let stack = PolicyStack::compile(&[Layer {
        kind,
        file: None,
        combining_algorithm: combining,
        rules,
        mode: None,
    }])
    .unwrap();
    Arc::new(if policy.bars_bypass { stack.without_bypass() } else { stack })
}

fn session(number: usize) -> SessionId {
    SessionId::from_parts(number as u64, [0; 10])
}

fn call(dice: &mut Dice, id: ApprovalId) -> Call {
    Call {
        id,
        session: session(dice.roll(5)),
        program: dice.pick(&["a", "b", "c"]),
        argument: dice.pick(&["x", "y", "z"]),
        opaque: dice.one_in(6),
        repeats: dice.one_in(5),
        explicit: dice.one_in(8),
        keys: dice.pick(&[&[] as &[_], &[], &["k1"], &["k2"], &["k1", "k2"]]).to_vec(),
        group: dice.pick(&[None, Some("g"), Some("h")]),
    }
}

fn question(call: &Call) -> CheckRequest {
    let text = format!("{} {}", call.program, call.argument);
    let mut accesses = vec![Access::Exec(ExecAccess {
        argv: [call.program, call.argument].into_iter().collect(),
        text: text.clone(),
        class: Default::default(),
        span: Default::default(),
        arity: 1,
        ..ExecAccess::default()
    })];
    if call.opaque {
        accesses.push(Access::Opaque { text: "?".to_owned(), span: Default::default() });
    }
    if call.repeats {
        accesses.push(Access::Repetition { tool: "Bash".to_owned() });
    }
    let mut digest = [0; 32];
    digest.iter_mut().zip(call.exactly().bytes()).for_each(|(byte, of)| *byte = of);
    CheckRequest {
        operation: Operation {
            session: call.session,
            call: CallId::default(),
            principal: Principal::Agent,
            tool: "Bash".to_owned(),
            action: Action::Command { script: text.clone() },
            input: text.clone().into(),
            cwd: AbsPath::root(),
        },
        facts: OperationFacts { accesses, findings: vec![] },
        digest: OperationDigest(digest),
        id: call.id,
        presentation: RequestPresentation {
            kind: PresentationKind::Command,
            content: text.clone(),
            summary: None,
            language: None,
            metadata: Default::default(),
        },
        title: text,
        group: call.group.map(str::to_owned),
        requires_explicit_approval: call.explicit,
        hooks: Vec::new(),
        offered_directory: None,
        coverage: GrantCoverage {
            keys: call.keys.iter().map(|key| (*key).to_owned()).collect(),
            rules: vec![],
        },
    }
}

fn ended(settled: impl IntoIterator<Item = ResolvedRequest>) -> Vec<Ended> {
    let one = |settled: ResolvedRequest| Ended {
        id: settled.resolution.id,
        kind: format!("{:?}", settled.resolution.kind),
        outcome: match settled.outcome {
            Ok(_) => "granted",
            Err(OperationRefusal::Denied(_)) => "denied",
            Err(OperationRefusal::Rejected) => "rejected",
            Err(OperationRefusal::Corrected { .. }) => "corrected",
            Err(OperationRefusal::Cancelled) => "cancelled",
        }
        .to_owned(),
    };
    let mut ended: Vec<_> = settled.into_iter().map(one).collect();
    ended.sort();
    ended
}

struct Both {
    dice: Dice,
    gate: PermissionGate,
    naive: Naive,
    next: u64,
    /// Every request that was asked and has not ended.
    open: HashSet<ApprovalId>,
    /// The number of times that each kind of end occurred. Every kind must occur.
    seen: std::collections::BTreeMap<(String, String), u64>,
}

impl Both {
    fn new(seed: u64) -> Self {
        let gate = PermissionGate::new(
            compiled(&NaivePolicy::default()),
            PermissionMode::Default,
            vec![AbsPath::root()],
        );
        let (naive, open, seen) = (Naive::default(), HashSet::new(), Default::default());
        Self { dice: Dice(seed), gate, naive, next: 0, open, seen }
    }

    fn step(&mut self) {
        let (session, roll) = (session(self.dice.roll(5)), self.dice.roll(100));
        let (found, expected) = match roll {
            0..50 => return self.ask(),
            50..75 => self.answer(),
            75..80 => {
                let id = self.some_id();
                (
                    self.gate.withdraw(id).map(|one| vec![one]).unwrap_or_default(),
                    self.naive.withdraw(id),
                )
            }
            80..86 => {
                let mode = self.dice.pick(&PermissionMode::ALL);
                (self.gate.set_mode(session, mode), self.naive.set_mode(session, mode))
            }
            86..90 => self.reload(),
            90..94 => {
                let group = self.dice.pick(&["g", "h"]);
                let answer = self.dice.pick(&[GroupAnswer::All, GroupAnswer::Skip]);
                (
                    self.gate.answer_group(session, group, answer),
                    self.naive.answer_group(session, group, answer),
                )
            }
            94..97 => {
                let (below, mode) =
                    (self::session(self.dice.roll(5)), self.dice.pick(&PermissionMode::ALL));
                let mode = Some(mode).filter(|_| self.dice.one_in(2));
                let started = self.gate.start_subagent(session, below, mode);
                assert_eq!(started, self.naive.start(session, below, mode));
                (Vec::new(), Vec::new())
            }
            _ => (self.gate.end_session(session), self.naive.end_session(session)),
        };
        self.compare(found, expected);
    }

    fn ask(&mut self) {
        let id = if self.dice.one_in(50) { self.some_id() } else { self.new_id() };
        let call = call(&mut self.dice, id);
        let said = self.naive.check(&call);
        let effect = match self.gate.check(question(&call)) {
            GateOutcome::Proceed(_) => Effect::Allow,
            GateOutcome::Refuse(_) => Effect::Deny,
            GateOutcome::Ask(request) => {
                assert_eq!(request.decision.suggested_rules, said.always, "{call:?}");
                assert!(self.open.insert(id), "asked twice under one id");
                Effect::Ask
            }
        };
        assert_eq!(
            effect,
            said.effect,
            "{call:?} {:?} {:?}",
            self.naive.mode(call.session),
            self.naive.policy
        );
    }

    fn answer(&mut self) -> (Vec<ResolvedRequest>, Vec<Ended>) {
        let approved = |scope| ApprovalResponse::new_approval(scope);
        let response = match self.dice.roll(10) {
            0 | 1 => approved(GrantScope::Once),
            2..=4 => approved(GrantScope::Session),
            5 | 6 => approved(GrantScope::Project),
            7 => ApprovalResponse::Denied,
            8 => ApprovalResponse::Rejected {
                message: Some("no".to_owned()).filter(|_| self.dice.one_in(2)),
            },
            _ => ApprovalResponse::Cancelled,
        };
        let id = self.some_id();
        let (found, expected) = (self.gate.answer(id, &response), self.naive.answer(id, &response));
        assert_eq!(found.is_err(), expected.is_none(), "an answer is taken once");
        (found.unwrap_or_default(), expected.unwrap_or_default())
    }

    /// Another policy, or one rule more: this never turns a deny of the rules into anything else.
    fn reload(&mut self) -> (Vec<ResolvedRequest>, Vec<Ended>) {
        let mut policy = policy(&mut self.dice);
        if self.dice.one_in(2) {
            policy = self.naive.policy.clone();
            let call = call(&mut self.dice, ApprovalId::from_parts(0, [9; 10]));
            let effect = |policy: &NaivePolicy| {
                let mut gate =
                    PermissionGate::new(compiled(policy), PermissionMode::Default, vec![]);
                matches!(gate.check(question(&call)), GateOutcome::Refuse(_))
            };
            let denied = effect(&policy);
            policy.rules.push(rule(&mut self.dice));
            assert!(!denied || effect(&policy), "{call:?} {policy:?}");
        }
        (self.gate.set_policy(compiled(&policy), None), self.naive.set_policy(policy))
    }

    fn compare(&mut self, found: Vec<ResolvedRequest>, mut expected: Vec<Ended>) {
        let found = ended(found);
        expected.sort();
        assert_eq!(found, expected);
        for one in found {
            assert!(self.open.remove(&one.id), "{one:?} ended twice, or was never asked");
            *self.seen.entry((one.kind, one.outcome)).or_default() += 1;
        }
        let pending: Vec<_> = self.gate.pending_requests().map(|request| request.id).collect();
        assert_eq!(pending, self.naive.pending());
        assert_eq!(pending.len(), self.open.len(), "a request was lost");
    }

    fn new_id(&mut self) -> ApprovalId {
        self.next += 1;
        ApprovalId::from_parts(self.next, [0; 10])
    }

    /// One that waits, mostly; now and then one that has ended or never was.
    fn some_id(&mut self) -> ApprovalId {
        let pending = self.naive.pending();
        if pending.is_empty() || self.dice.one_in(10) {
            return ApprovalId::from_parts(self.dice.roll(self.next as usize + 2) as u64, [0; 10]);
        }
        self.dice.pick(&pending)
    }
}

/// Runs fifty thousand steps. `OPENOXIDE_MODEL_STEPS` and `OPENOXIDE_MODEL_SEED` change the number
/// and the seed.
///
/// Guards I14.
#[test]
#[expect(clippy::disallowed_methods, reason = "a test may be told how long to run")]
fn the_gate_agrees_with_the_naive_one() {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let steps = number("OPENOXIDE_MODEL_STEPS").unwrap_or(50_000);
    let mut both = Both::new(number("OPENOXIDE_MODEL_SEED").unwrap_or(0x0BAD_5EED_0BAD_5EED));
    for _ in 0..steps {
        both.step();
    }
    assert!(both.seen.len() == 9, "some kind of end was never seen: {:?}", both.seen);
    println!("{steps} steps, {} requests: {:?}", both.next, both.seen);
}
