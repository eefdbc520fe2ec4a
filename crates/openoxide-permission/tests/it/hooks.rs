//! Effects of hooks on decisions: a table, and properties that hold for every policy and answer.

use openoxide_permission::{
    CombiningAlgorithm, EvaluationContext, Layer, LayerKind, PathAnchors, PolicyStack, Rule,
    default_layer, evaluate, evaluate_with_hooks, parse_rule,
};
use openoxide_protocol::{
    AbsPath, Access, CommandClass, Decision, Effect, ExecAccess, Finding, FindingKind, HookAnswer,
    HookDecision, Obligation, OperationFacts, PathAccess, PermissionMode, RuleRef,
};
use proptest::prelude::*;

use Effect::{Allow, Ask, Deny};

fn root() -> AbsPath {
    AbsPath::new("/p").unwrap()
}

fn rule(effect: Effect, text: &str) -> Rule {
    let root = root();
    parse_rule(text, effect, PathAnchors { home: None, base: &root }).unwrap()
}

fn layer(kind: LayerKind, rules: Vec<Rule>) -> Layer {
    Layer {
        kind,
        file: None,
        combining_algorithm: CombiningAlgorithm::Strictest,
        rules,
        mode: None,
    }
}

fn run(command: &str) -> Access {
    Access::Exec(ExecAccess {
        argv: command.split(' ').collect(),
        text: command.to_owned(),
        class: CommandClass::Unknown,
        span: Default::default(),
        arity: 0,
        ..ExecAccess::default()
    })
}

fn read(path: &str) -> Access {
    Access::Read(PathAccess::new(AbsPath::new(path).unwrap()))
}

/// A link to somewhere else.
fn read_link(path: &str, to: &str) -> Access {
    let resolved = AbsPath::new(to).ok();
    Access::Read(PathAccess { resolved, ..PathAccess::new(AbsPath::new(path).unwrap()) })
}

fn edit(path: &str) -> Access {
    Access::Edit(PathAccess::new(AbsPath::new(path).unwrap()))
}

fn answer(layer: LayerKind, said: HookDecision) -> HookAnswer {
    let hook = RuleRef {
        layer: layer.as_str().to_owned(),
        file: Some("/h/policy.toml".to_owned()),
        line: Some(4),
        text: "hook guard".to_owned(),
        reason: None,
    };
    HookAnswer { hook, decision: said, reason: "so it is".to_owned(), respects_ask_rules: false }
}

fn by_user(said: HookDecision) -> HookAnswer {
    answer(LayerKind::User, said)
}

struct World {
    policy: PolicyStack,
    doubt: Option<&'static str>,
    mode: PermissionMode,
}

impl World {
    fn of(layers: &[Layer]) -> Self {
        let layers = [layers, &[default_layer()]].concat();
        let policy = PolicyStack::compile(&layers).unwrap();
        Self { policy, doubt: None, mode: PermissionMode::Default }
    }

    fn decide(&self, access: Access, answers: &[HookAnswer]) -> Decision {
        self.decide_facts(&OperationFacts { accesses: vec![access], findings: vec![] }, answers)
    }

    fn decide_facts(&self, facts: &OperationFacts, answers: &[HookAnswer]) -> Decision {
        let root = root();
        let roots = std::slice::from_ref(&root);
        let context = EvaluationContext {
            mode: self.mode,
            cwd: &root,
            roots,
            policy_error: self.doubt,
            auto_allow: Default::default(),
        };
        let decision = evaluate_with_hooks(&self.policy, &context, facts, answers);
        if answers.is_empty() {
            assert_eq!(decision, evaluate(&self.policy, &context, facts));
        }
        decision
    }

    fn after(&self, access: Access, said: HookDecision) -> Effect {
        self.decide(access, &[by_user(said)]).effect
    }
}

fn world() -> World {
    let human = Rule { requires_human: true, ..rule(Ask, "Bash(deploy *)") };
    let rules = vec![
        rule(Allow, "Bash(ls *)"),
        rule(Ask, "Bash(git push *)"),
        rule(Deny, "Bash(rm *)"),
        rule(Ask, "Bash(/opt/bin/make *)"),
        human,
        Rule { requires_human: true, ..rule(Ask, "Bash(/opt/bin/ship *)") },
        rule(Ask, "Bash(ship *)"),
        rule(Ask, "Read(//p/.env)"),
        Rule { requires_human: true, ..rule(Ask, "external_directory(//q/**)") },
    ];
    let managed = layer(LayerKind::Managed, vec![rule(Ask, "Bash(audit *)")]);
    World::of(&[managed, layer(LayerKind::User, rules)])
}

/// Guards I12.
#[test]
fn a_hooks_word_comes_before_the_rules_and_not_above_them() {
    let world = world();
    // The access, and the effects without a hook and after its allow, its ask and its deny.
    let rows = [
        (run("ls x"), [Allow, Allow, Ask, Deny]),
        (run("npm publish"), [Ask, Allow, Ask, Deny]),
        (run("git push x"), [Ask, Allow, Ask, Deny]),
        (run("rm x"), [Deny, Deny, Deny, Deny]),
        (run("/bin/rm x"), [Deny, Deny, Deny, Deny]),
        (run("deploy now"), [Ask, Ask, Ask, Deny]),
        (run("/opt/bin/ship it"), [Ask, Ask, Ask, Deny]),
        (run("audit x"), [Ask, Ask, Ask, Deny]),
        (edit("/p/a.txt"), [Ask, Allow, Ask, Deny]),
        (edit("/h/.bashrc"), [Ask, Ask, Ask, Deny]),
        (edit("/p/.openoxide/policy.toml"), [Ask, Ask, Ask, Deny]),
        (read("/p/a.txt"), [Allow, Allow, Ask, Deny]),
        (read("/etc/hosts"), [Ask, Allow, Ask, Deny]),
        (read("/p/.env"), [Ask, Ask, Ask, Deny]),
        (read("/p/x.env.bak"), [Ask, Ask, Ask, Deny]),
        (read("/q/a.txt"), [Ask, Ask, Ask, Deny]),
        (read_link("/p/link", "/q/a.txt"), [Ask, Ask, Ask, Deny]),
        (read_link("/q/a.txt", "/etc/hosts"), [Ask, Ask, Ask, Deny]),
        (read_link("/p/link", "/etc/hosts"), [Ask, Allow, Ask, Deny]),
        (run("openoxide trust"), [Ask, Ask, Ask, Deny]),
        (Access::Repetition { tool: "Bash".into() }, [Ask, Ask, Ask, Deny]),
        (Access::Opaque { text: "$(".into(), span: Default::default() }, [Ask, Ask, Ask, Deny]),
    ];
    for (access, [plain, allowed, asked, denied]) in rows {
        assert_eq!(world.decide(access.clone(), &[]).effect, plain, "{access:?}");
        assert_eq!(world.after(access.clone(), HookDecision::Pass), plain, "{access:?}");
        assert_eq!(world.after(access.clone(), HookDecision::Allow), allowed, "{access:?}");
        assert_eq!(world.after(access.clone(), HookDecision::Ask), asked, "{access:?}");
        assert_eq!(world.after(access.clone(), HookDecision::Failed), asked, "{access:?}");
        assert_eq!(world.after(access.clone(), HookDecision::Deny), denied, "{access:?}");
    }
}

#[test]
fn only_the_administrators_hook_answers_the_administrators_question() {
    let allows = answer(LayerKind::Managed, HookDecision::Allow);
    let world = world();
    assert_eq!(world.decide(run("audit x"), std::slice::from_ref(&allows)).effect, Allow);
    assert_eq!(world.decide(run("deploy now"), &[allows]).effect, Ask);
}

#[test]
fn a_rule_that_could_match_is_not_passed_by() {
    let world = world();
    let mut partly = run("rm x");
    if let Access::Exec(exec) = &mut partly {
        exec.argv = Default::default();
        exec.argv.push_unknown();
        exec.argv.push("x");
    }
    assert_eq!(world.after(partly, HookDecision::Allow), Ask);
}

#[test]
fn findings_and_doubt_hold_after_a_hooks_allow() {
    let mut world = world();
    for kind in [FindingKind::Escalate, FindingKind::CircuitBreaker] {
        let finding = Finding { kind, ..finding() };
        let facts = OperationFacts { accesses: vec![run("npm publish")], findings: vec![finding] };
        let decision = world.decide_facts(&facts, &[by_user(HookDecision::Allow)]);
        assert_eq!(decision.effect, Ask, "{kind:?}");
    }
    world.doubt = Some("a rule may be missing");
    assert_eq!(world.after(run("npm publish"), HookDecision::Allow), Ask);
}

fn finding() -> Finding {
    let kind = FindingKind::Note;
    Finding { code: "OX1".into(), kind, message: "it is odd".into(), span: Default::default() }
}

#[test]
fn modes_come_after_hooks() {
    use PermissionMode::{BypassPermissions, DontAsk, Plan};
    let mut world = world();
    // The mode, the access, and the effects after the hook's allow and its ask.
    let rows = [
        (DontAsk, run("npm publish"), [Allow, Deny]),
        (DontAsk, run("ls x"), [Allow, Deny]),
        (DontAsk, edit("/h/.bashrc"), [Deny, Deny]),
        (Plan, run("npm publish"), [Deny, Deny]),
        (BypassPermissions, run("npm publish"), [Allow, Ask]),
        (BypassPermissions, edit("/h/.bashrc"), [Ask, Ask]),
    ];
    for (mode, access, [allowed, asked]) in rows {
        world.mode = mode;
        assert_eq!(
            world.after(access.clone(), HookDecision::Allow),
            allowed,
            "{mode:?} {access:?}"
        );
        assert_eq!(world.after(access.clone(), HookDecision::Ask), asked, "{mode:?} {access:?}");
    }
}

#[test]
fn the_decision_names_the_hook_that_made_it() {
    let world = world();
    for (said, reason) in [
        (HookDecision::Allow, "hook guard allows it: so it is"),
        (HookDecision::Ask, "hook guard asks: so it is"),
        (HookDecision::Failed, "hook guard failed: so it is"),
        (HookDecision::Deny, "hook guard denies it: so it is"),
    ] {
        let decision =
            world.decide(run("npm publish"), &[by_user(HookDecision::Pass), by_user(said)]);
        assert_eq!(decision.reason, reason);
        let rule = decision.rule.unwrap();
        assert_eq!((rule.file.as_deref(), rule.line), (Some("/h/policy.toml"), Some(4)));
        assert_eq!(decision.suggested_rules, Vec::<String>::new());
        let asks = matches!(said, HookDecision::Ask | HookDecision::Failed);
        assert_eq!(decision.obligations.contains(&Obligation::Human), asks);
    }
    let decision = world.decide(run("rm x"), &[by_user(HookDecision::Ask)]);
    assert_eq!(decision.rule.unwrap().text, "deny Bash(rm *)", "the rule decided");
}

fn said() -> impl Strategy<Value = HookDecision> {
    use HookDecision::{Allow, Ask, Deny, Failed, Pass};
    prop_oneof![Just(Pass), Just(Allow), Just(Ask), Just(Deny), Just(Failed)]
}

fn answers() -> impl Strategy<Value = Vec<HookAnswer>> {
    let kind =
        prop_oneof![Just(LayerKind::Managed), Just(LayerKind::Project), Just(LayerKind::User)];
    prop::collection::vec((kind, said()).prop_map(|(kind, said)| answer(kind, said)), 0..5)
}

fn accesses() -> impl Strategy<Value = Vec<Access>> {
    let one = prop_oneof![
        prop::sample::select(vec![
            "ls x",
            "npm publish",
            "git push x",
            "rm x",
            "/bin/rm x",
            "deploy now",
            "audit x",
            "openoxide approve 7",
        ])
        .prop_map(run),
        prop::sample::select(vec!["/p/a", "/q/a", "/p/.env", "/etc/hosts"]).prop_map(read),
        prop::sample::select(vec!["/p/a", "/q/a", "/h/.bashrc"]).prop_map(edit),
        Just(Access::Opaque { text: "$(".into(), span: Default::default() }),
    ];
    prop::collection::vec(one, 0..4)
}

proptest! {
    /// Guards I12.
    #[test]
    fn no_hook_allows_beyond_its_scope(
        accesses in accesses(),
        before in answers(),
        extra in said(),
        breaks in any::<bool>(),
        mode in prop::sample::select(PermissionMode::ALL.to_vec()),
    ) {
        let world = World { mode, ..world() };
        let finding = Finding { kind: FindingKind::CircuitBreaker, ..finding() };
        let facts = OperationFacts { accesses, findings: breaks.then_some(finding).into_iter().collect() };
        let decide = |answers: &[HookAnswer]| world.decide_facts(&facts, answers);
        let (plain, decision) = (decide(&[]), decide(&before));
        let after = decide(&[before.clone(), vec![by_user(extra)]].concat());
        match extra {
            HookDecision::Pass => prop_assert_eq!(&after, &decision),
            HookDecision::Deny => prop_assert_eq!(after.effect, Deny),
            HookDecision::Ask | HookDecision::Failed => {
                prop_assert!(after.effect >= decision.effect);
                prop_assert!(after.effect >= Ask);
            }
            HookDecision::Allow => {}
        }
        // In any order, the same is decided.
        let turned: Vec<_> = before.iter().rev().cloned().collect();
        prop_assert_eq!(decide(&turned).effect, decision.effect);
        // A denied access stays denied, except in mode `dont_ask`, where a deny may replace a
        // question.
        if plain.effect == Deny && mode != PermissionMode::DontAsk {
            prop_assert_eq!(decision.effect, Deny);
        }
        let person = plain.obligations.contains(&Obligation::Human);
        if plain.effect > Allow && (person || breaks) {
            prop_assert!(decision.effect > Allow, "{decision:?}");
        }
        if decision.effect < plain.effect {
            prop_assert!(before.iter().any(|answer| answer.decision == HookDecision::Allow));
            prop_assert!(decision.rule.is_some_and(|rule| rule.text == "hook guard"));
        }
    }
}

#[test]
fn an_allow_below_the_rules_leaves_their_questions_alone() {
    let below = |said| HookAnswer { respects_ask_rules: true, ..by_user(said) };
    let after =
        |command: &str, answers: &[HookAnswer]| world().decide(run(command), answers).effect;
    assert_eq!(after("npm publish", &[below(HookDecision::Allow)]), Allow);
    for (command, expected) in [("git push x", Ask), ("rm x", Deny), ("deploy x", Ask)] {
        assert_eq!(after(command, &[below(HookDecision::Allow)]), expected, "{command}");
    }
    // Combined with a hook that may answer rules, it removes nothing.
    let both = [below(HookDecision::Allow), by_user(HookDecision::Allow)];
    assert_eq!(after("git push x", &both), Allow);
    // An administrator's hook that is below the rules does not make another one the administrator's.
    let managed =
        HookAnswer { respects_ask_rules: true, ..answer(LayerKind::Managed, HookDecision::Allow) };
    let asks = layer(LayerKind::Managed, vec![rule(Ask, "Bash(ship *)")]);
    let administered = World::of(&[asks]);
    let said = [managed, by_user(HookDecision::Allow)];
    assert_eq!(administered.decide(run("ship x"), &said).effect, Ask);
}

#[test]
fn an_allow_that_saves_no_question_leaves_the_decision_to_the_rule() {
    let allowed = world().decide(run("ls x"), &[by_user(HookDecision::Allow)]);
    assert_eq!(allowed.rule.unwrap().text, "allow Bash(ls *)");
    assert!(allowed.reason.contains("by user policy"), "{}", allowed.reason);
}
