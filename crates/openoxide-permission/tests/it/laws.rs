//! Laws that hold for every policy.

use std::sync::Arc;

use openoxide_permission::{
    CombiningAlgorithm, EvaluationContext, Layer, LayerKind, PathAnchors, PolicyStack,
    decide_access, default_layer, evaluate, evaluate_effect, parse_rule,
};
use openoxide_protocol::{
    AbsPath, Access, CommandClass, CommandWords, Effect, ExecAccess, Finding, FindingKind,
    OperationFacts, PathAccess, PermissionMode,
};

fn root() -> AbsPath {
    AbsPath::new("/p").unwrap()
}

fn layer(kind: LayerKind, rules: &[(Effect, &str)]) -> Layer {
    let (root, home) = (root(), AbsPath::new("/h").unwrap());
    let anchors = PathAnchors { home: Some(&home), base: &root };
    let rules =
        rules.iter().map(|(effect, text)| parse_rule(text, *effect, anchors).unwrap()).collect();
    Layer {
        kind,
        file: None,
        combining_algorithm: CombiningAlgorithm::Strictest,
        rules,
        mode: None,
    }
}

fn policy(layers: &[Layer]) -> PolicyStack {
    let mut layers = layers.to_vec();
    layers.push(default_layer());
    PolicyStack::compile(&layers).unwrap()
}

fn exec(argv: CommandWords, class: CommandClass) -> Access {
    let text = format!("{argv:?}");
    Access::Exec(ExecAccess {
        argv,
        text,
        class,
        span: Default::default(),
        arity: 0,
        ..ExecAccess::default()
    })
}

fn run(command: &str) -> Access {
    exec(command.split(' ').collect(), CommandClass::Unknown)
}

fn answer(layers: &[Layer], mode: PermissionMode, access: Access) -> Effect {
    let root = root();
    let context = EvaluationContext {
        mode,
        cwd: &root,
        roots: std::slice::from_ref(&root),
        policy_error: None,
        auto_allow: Default::default(),
    };
    let facts = OperationFacts { accesses: vec![access], findings: vec![] };
    let policy = policy(layers);
    let decision = evaluate(&policy, &context, &facts);
    assert_eq!(
        decision.effect,
        evaluate_effect(&policy, &context, &facts),
        "both ways give one answer"
    );
    decision.effect
}

fn read(path: &str) -> Access {
    Access::Read(PathAccess::new(AbsPath::new(path).unwrap()))
}

fn edit(path: &str) -> Access {
    Access::Edit(PathAccess::new(AbsPath::new(path).unwrap()))
}

use Effect::{Allow, Ask, Deny};
use PermissionMode::{AcceptEdits, BypassPermissions, Default as Normal, DontAsk, Plan};

/// Guards I02.
#[test]
fn deny_in_any_layer_outranks_allow_in_every_other() {
    let kinds =
        [LayerKind::Managed, LayerKind::Cli, LayerKind::Local, LayerKind::Project, LayerKind::User];
    for denying in 0..kinds.len() {
        let layers: Vec<_> = kinds
            .iter()
            .enumerate()
            .map(|(i, kind)| {
                layer(*kind, &[(if i == denying { Deny } else { Allow }, "Bash(x *)")])
            })
            .collect();
        assert_eq!(answer(&layers, Normal, run("x y")), Deny);
    }
}

#[test]
fn the_most_precedent_layer_decides_between_ask_and_allow() {
    let allow = layer(LayerKind::Managed, &[(Allow, "Bash(x *)")]);
    let ask = layer(LayerKind::User, &[(Ask, "Bash(x *)")]);
    assert_eq!(answer(&[allow, ask], Normal, run("x y")), Allow);
    let ask = layer(LayerKind::Managed, &[(Ask, "Bash(x *)")]);
    let allow = layer(LayerKind::User, &[(Allow, "Bash(x *)")]);
    assert_eq!(answer(&[ask, allow], Normal, run("x y")), Ask);
}

#[test]
fn modes_only_change_decisions_without_a_rule() {
    let none: &[Layer] = &[];
    let rows = [
        (run("x"), [Ask, Ask, Deny, Deny, Allow]),
        (edit("/p/a"), [Ask, Allow, Deny, Deny, Allow]),
        (edit("/q/a"), [Ask, Ask, Deny, Deny, Allow]),
        (read("/p/a"), [Allow, Allow, Allow, Allow, Allow]),
        (read("/q/a"), [Ask, Ask, Ask, Deny, Allow]),
        (Access::CallTool { tool: "TodoWrite".into() }, [Allow; 5]),
        (Access::CallTool { tool: "mcp__a__b".into() }, [Ask, Ask, Deny, Deny, Allow]),
        (exec(["ls"].iter().collect(), CommandClass::Harmless), [Allow; 5]),
        (
            Access::Opaque { text: "$(".into(), span: Default::default() },
            [Ask, Ask, Deny, Deny, Allow],
        ),
    ];
    for (access, expected) in rows {
        for (mode, expected) in
            [Normal, AcceptEdits, Plan, DontAsk, BypassPermissions].iter().zip(expected)
        {
            assert_eq!(answer(none, *mode, access.clone()), expected, "{access:?} in {mode:?}");
        }
    }
    let rules = [layer(LayerKind::User, &[(Ask, "Bash(x *)"), (Deny, "Bash(y *)"), (Ask, "Edit")])];
    assert_eq!(answer(&rules, BypassPermissions, run("x 1")), Ask);
    assert_eq!(answer(&rules, BypassPermissions, run("y 1")), Deny);
    assert_eq!(answer(&rules, AcceptEdits, edit("/p/a")), Ask);
}

/// Guards I06.
#[test]
fn no_rule_allows_an_opaque_access() {
    let all = [layer(LayerKind::Managed, &[(Allow, "*"), (Allow, "Bash"), (Allow, "Bash(*)")])];
    let opaque = || Access::Opaque { text: "?".into(), span: Default::default() };
    assert_eq!(answer(&all, Normal, opaque()), Ask);
    let denying = [layer(LayerKind::User, &[(Deny, "Bash(rm *)")])];
    assert_eq!(answer(&denying, BypassPermissions, opaque()), Ask, "it could be what is denied");
}

#[test]
fn unknown_words_are_allowed_only_where_a_rule_takes_whatever_they_are() {
    let allow = |text| [layer(LayerKind::User, &[(Allow, text)])];
    let mut one = CommandWords::new();
    one.push("echo");
    one.push_unknown();
    let one = exec(one, CommandClass::Unknown);
    assert_eq!(answer(&allow("Bash(echo *)"), Normal, one.clone()), Allow);
    assert_eq!(answer(&allow("Bash(echo x)"), Normal, one), Ask);
    let mut many = CommandWords::new();
    many.push("git");
    many.push_any_words();
    many.push("main");
    let many = exec(many, CommandClass::Unknown);
    assert_eq!(answer(&allow("Bash(git *)"), Normal, many.clone()), Allow);
    assert_eq!(
        answer(&allow("Bash(git * main)"), Normal, many),
        Ask,
        "no word at all is not matched"
    );
}

#[test]
fn a_rule_that_may_match_unknown_words_restricts() {
    let mut words = CommandWords::new();
    words.push("rm");
    words.push_unknown();
    let command = exec(words, CommandClass::Unknown);
    for held in [Deny, Ask] {
        let rules = [layer(LayerKind::User, &[(Allow, "Bash(rm *)"), (held, "Bash(rm -rf *)")])];
        assert_eq!(answer(&rules, Normal, command.clone()), Ask);
        assert_eq!(answer(&rules, BypassPermissions, command.clone()), Ask);
    }
    let other = [layer(LayerKind::User, &[(Allow, "Bash(rm *)"), (Deny, "Bash(git *)")])];
    assert_eq!(answer(&other, Normal, command), Allow);
}

#[test]
fn both_spellings_of_a_path_are_checked() {
    let link = |path: &str, resolved: &str| {
        let mut access = PathAccess::new(AbsPath::new(path).unwrap());
        access.resolved = Some(AbsPath::new(resolved).unwrap());
        Access::Edit(access)
    };
    let rules = [layer(LayerKind::User, &[(Allow, "Edit(/src/**)"), (Deny, "Edit(//etc/**)")])];
    assert_eq!(answer(&rules, Normal, edit("/p/src/a")), Allow);
    assert_eq!(answer(&rules, Normal, link("/p/src/a", "/etc/passwd")), Deny);
    assert_eq!(answer(&rules, Normal, link("/p/src/a", "/q/x")), Ask);
    assert_eq!(answer(&rules, Normal, link("/etc/x", "/p/src/a")), Deny);
}

#[test]
fn the_floor_holds_under_every_allow() {
    let all = [layer(LayerKind::Managed, &[(Allow, "*")])];
    for mode in [Normal, AcceptEdits, BypassPermissions] {
        assert_eq!(answer(&all, mode, edit("/h/.bashrc")), Ask, "{mode:?}");
        assert_eq!(answer(&all, mode, edit("/p/.openoxide/policy.toml")), Ask, "{mode:?}");
    }
    assert_eq!(answer(&all, Normal, read("/h/.ssh/id_rsa")), Ask);
    let exact = [layer(LayerKind::User, &[(Allow, "Read(~/.ssh/id_rsa)")])];
    assert_eq!(answer(&exact, Normal, read("/h/.ssh/id_rsa")), Allow);
    let wide = [layer(LayerKind::User, &[(Allow, "Read(~/.ssh/*)")])];
    assert_eq!(answer(&wide, Normal, read("/h/.ssh/id_rsa")), Ask);
}

#[test]
fn findings_lift_an_allow_to_an_ask_and_nothing_more() {
    let root = root();
    let all = policy(&[layer(LayerKind::User, &[(Allow, "Bash"), (Deny, "Bash(rm *)")])]);
    let finding = |kind| Finding {
        code: "OX101".into(),
        kind,
        message: "odd".into(),
        span: Default::default(),
    };
    let rows = [
        (FindingKind::Note, Normal, "x", Allow),
        (FindingKind::Escalate, Normal, "x", Ask),
        (FindingKind::Escalate, BypassPermissions, "x", Allow),
        (FindingKind::CircuitBreaker, BypassPermissions, "x", Ask),
        (FindingKind::CircuitBreaker, DontAsk, "x", Deny),
        (FindingKind::CircuitBreaker, Normal, "rm x", Deny),
    ];
    for (kind, mode, command, expected) in rows {
        let facts = OperationFacts { accesses: vec![run(command)], findings: vec![finding(kind)] };
        let context = EvaluationContext {
            mode,
            cwd: &root,
            roots: &[],
            policy_error: None,
            auto_allow: Default::default(),
        };
        let decision = evaluate(&all, &context, &facts);
        assert_eq!(decision.effect, expected, "{kind:?} {mode:?} {command}");
        assert_eq!(evaluate_effect(&all, &context, &facts), expected);
    }
}

#[test]
fn the_strictest_part_decides_and_reports_its_rule() {
    let root = root();
    let rules = policy(&[layer(LayerKind::User, &[(Allow, "Bash(a *)"), (Deny, "Bash(b *)")])]);
    let context = EvaluationContext {
        mode: Normal,
        cwd: &root,
        roots: &[],
        policy_error: None,
        auto_allow: Default::default(),
    };
    let facts =
        OperationFacts { accesses: vec![run("a 1"), run("b 2"), run("c 3")], findings: vec![] };
    let decision = evaluate(&rules, &context, &facts);
    assert_eq!(decision.effect, Deny);
    assert_eq!(decision.rule.unwrap().text, "deny Bash(b *)");
    assert_eq!(
        decision.parts.iter().map(|part| part.decision).collect::<Vec<_>>(),
        [Allow, Deny, Ask]
    );
    assert!(decision.suggested_rules.is_empty(), "a denied operation suggests no rule");
}

#[test]
fn long_paths_are_evaluated_like_short_ones() {
    let long = format!("/p/src/{}/x", "d".repeat(2_000));
    let rules = [layer(LayerKind::User, &[(Allow, "Edit(/src/**)")])];
    assert_eq!(answer(&rules, Normal, edit(&long)), Allow);
}

/// Guards I25.
#[test]
fn a_damaged_policy_is_rejected() {
    let policy = policy(&[layer(LayerKind::User, &[(Deny, "Bash(rm *)")])]);
    let good = policy.as_bytes().to_vec();
    let from = |bytes: Vec<u8>| PolicyStack::from_parts(bytes, Arc::new(policy.details()));
    let back = from(good.clone()).unwrap();
    assert_eq!((&back, back.rule_ref(0)), (&policy, policy.rule_ref(0)));
    assert_eq!(back.rule_ref(0).text, "deny Bash(rm *)");
    for at in [0, 5, 9, 40, good.len() / 2, good.len() - 1] {
        let mut bad = good.clone();
        bad[at] ^= 0x40;
        assert!(from(bad).is_err(), "byte {at}");
    }
    assert!(from(good[..good.len() - 1].to_vec()).is_err());
    assert!(from(Vec::new()).is_err());
}

#[test]
fn details_that_cannot_be_read_change_no_decision() {
    let root = root();
    let policy = policy(&[layer(LayerKind::User, &[(Deny, "Bash(rm *)")])]);
    let blind = PolicyStack::from_parts(policy.as_bytes().to_vec(), Arc::new(Vec::new())).unwrap();
    let context = EvaluationContext {
        mode: Normal,
        cwd: &root,
        roots: &[],
        policy_error: None,
        auto_allow: Default::default(),
    };
    let decision = evaluate(
        &blind,
        &context,
        &OperationFacts { accesses: vec![run("rm x")], findings: vec![] },
    );
    assert_eq!(decision.effect, Deny);
    assert_eq!(decision.rule.unwrap().text, "(it cannot be read)");
}

/// Guards I25.
#[test]
fn an_empty_policy_asks() {
    let root = root();
    let policy = PolicyStack::compile(&[]).unwrap();
    let context = EvaluationContext {
        mode: Normal,
        cwd: &root,
        roots: &[],
        policy_error: None,
        auto_allow: Default::default(),
    };
    assert_eq!(decide_access(&policy, &context, &run("x")).effect, Ask);
    assert_eq!(decide_access(&policy, &context, &read("/x")).effect, Ask);
}

#[test]
fn a_program_is_restricted_in_any_directory() {
    let rules =
        [layer(LayerKind::User, &[(Allow, "Bash"), (Deny, "Bash(rm *)"), (Ask, "Bash(mv *)")])];
    for (command, expected) in [
        ("/bin/rm x", Deny),
        ("./rm x", Deny),
        ("a/mv x", Ask),
        ("/bin/rmx y", Allow),
        ("/bin/ls x", Allow),
    ] {
        assert_eq!(answer(&rules, Normal, run(command)), expected, "{command}");
    }
    let ls = [layer(LayerKind::User, &[(Allow, "Bash(ls *)")])];
    assert_eq!(answer(&ls, Normal, run("./ls x")), Ask, "`./ls` is not `ls`");
    let mut unknown = CommandWords::new();
    unknown.push("/bin/rm");
    unknown.push_unknown();
    let rf = [layer(LayerKind::User, &[(Allow, "Bash"), (Deny, "Bash(rm -rf *)")])];
    assert_eq!(answer(&rf, Normal, exec(unknown, CommandClass::Unknown)), Ask);
}

#[test]
fn a_link_lifts_neither_an_ask_nor_the_floor() {
    let link = |path: &str, resolved: &str| {
        let mut access = PathAccess::new(AbsPath::new(path).unwrap());
        access.resolved = Some(AbsPath::new(resolved).unwrap());
        access
    };
    let rules = [layer(LayerKind::User, &[(Ask, "Edit(/held/**)"), (Allow, "Read(/notes)")])];
    let held = || Access::Edit(link("/p/a", "/p/held/a"));
    assert_eq!(answer(&rules, AcceptEdits, held()), Ask);
    assert_eq!(answer(&rules, BypassPermissions, held()), Ask);
    let secret = Access::Read(link("/p/notes", "/p/server.key"));
    assert_eq!(answer(&rules, Normal, secret), Ask, "the rule names the link, not the secret");
}

#[test]
fn a_rule_for_every_path_ends_where_the_project_ends() {
    for rule in ["Edit", "Edit(*)", "*"] {
        let rules = [layer(LayerKind::User, &[(Allow, rule)])];
        assert_eq!(answer(&rules, Normal, edit("/p/a")), Allow, "{rule}");
        assert_eq!(answer(&rules, Normal, edit("/q/a")), Ask, "{rule}");
    }
    for rule in ["Edit(//**)", "Edit(//q/**)"] {
        let rules = [layer(LayerKind::User, &[(Allow, rule)])];
        assert_eq!(answer(&rules, Normal, edit("/q/a")), Allow, "{rule}");
    }
    let denies = [layer(LayerKind::User, &[(Deny, "Edit")])];
    assert_eq!(answer(&denies, Normal, edit("/q/a")), Deny);
}

/// Guards I05.
#[test]
fn only_the_denies_of_the_last_good_version_apply() {
    let root = root();
    let old = [(Allow, "Bash"), (Deny, "Bash(rm *)"), (Ask, "Bash(mv *)")];
    let before = Layer { mode: Some(BypassPermissions), ..layer(LayerKind::User, &old) };
    let now = [layer(LayerKind::Project, &[(Allow, "Bash(rm *)"), (Allow, "Bash(ls *)")])];
    let held = policy(&now).with_fallback_denies(policy(&[before]));
    for mode in PermissionMode::ALL {
        for doubt in [None, Some("a rule may be missing")] {
            let context = EvaluationContext {
                mode,
                cwd: &root,
                roots: &[],
                policy_error: doubt,
                auto_allow: Default::default(),
            };
            for command in ["rm x", "/bin/rm x", "mv x y", "ls x", "make"] {
                let facts = OperationFacts { accesses: vec![run(command)], findings: vec![] };
                let decision = evaluate(&held, &context, &facts);
                assert_eq!(decision.effect, evaluate_effect(&held, &context, &facts));
                if command.contains("rm") {
                    assert_eq!(decision.effect, Deny, "{mode:?} {command}");
                    assert!(decision.reason.contains("by user policy in its last good version"));
                    assert_eq!(decision.rule.unwrap().text, "deny Bash(rm *)");
                } else {
                    let alone = evaluate(&policy(&now), &context, &facts);
                    assert_eq!(decision, alone, "{mode:?} {command}");
                }
            }
        }
    }
    assert_eq!(held.mode(), None);
    assert_ne!(held, policy(&now), "they do not decide the same");
}
