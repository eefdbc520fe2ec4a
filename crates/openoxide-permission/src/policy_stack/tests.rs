use openoxide_protocol::AbsPath;

use super::*;
use crate::{PathAnchors, default_layer, parse_rule};

fn rule(effect: Effect, text: &str) -> Rule {
    let base = AbsPath::root();
    parse_rule(text, effect, PathAnchors { home: None, base: &base }).unwrap()
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

fn policy(rules: Vec<Rule>) -> PolicyStack {
    PolicyStack::compile(&[layer(LayerKind::User, rules), default_layer()]).unwrap()
}

#[test]
fn a_policy_limits_its_layers_and_rules() {
    assert_eq!((MAX_LAYERS, MAX_RULES), (16, 16_777_216));
    for (layers, rules, expected) in [
        (0, 0, true),
        (16, 16_777_216, true),
        (17, 0, false),
        (17, 16_777_216, false),
        (0, 16_777_217, false),
        (16, 16_777_217, false),
        (17, 16_777_217, false),
    ] {
        assert_eq!(is_within_limits(layers, rules), expected, "{layers} layers, {rules} rules");
    }
    let layers =
        |count| vec![layer(LayerKind::User, vec![rule(Effect::Deny, "Bash(rm *)")]); count];
    assert_eq!(PolicyStack::compile(&layers(16)).unwrap().rule_count(), 16);
    assert_eq!(PolicyStack::compile(&layers(17)), Err(PolicyLimitError));
    assert_eq!(
        PolicyLimitError.to_string(),
        "a policy can have at most 15 files and 16777216 rules"
    );
}

#[test]
fn the_last_of_the_most_layers_decides_too() {
    let mut layers = vec![layer(LayerKind::User, Vec::new()); MAX_LAYERS];
    layers[MAX_LAYERS - 1].rules = vec![rule(Effect::Deny, "Bash(rm *)")];
    let policy = PolicyStack::compile(&layers).unwrap();
    let mut ranks = [0; MAX_LAYERS];
    policy.collect_ranks(
        MatchSubject { kind: SubjectKind::Exec, bytes: b"rm\0x\0", is_variadic: false },
        &mut ranks,
    );
    assert_eq!(policy.combine_ranks(&ranks).unwrap().effect, Effect::Deny);
}

#[test]
fn the_rules_of_all_layers_are_counted() {
    let none = PolicyStack::compile(&[]).unwrap();
    assert_eq!(none.rule_count(), 0);
    let two = policy(vec![rule(Effect::Deny, "Bash(a)"), rule(Effect::Ask, "Bash(b)")]);
    assert_eq!(two.rule_count(), 2 + default_layer().rules.len());
}

#[test]
fn two_policies_are_the_same_when_they_decide_the_same() {
    let one = || policy(vec![rule(Effect::Deny, "Bash(a)")]);
    let other = || policy(vec![rule(Effect::Deny, "Bash(b)")]);
    assert_eq!(one(), one());
    assert_ne!(one(), other());
    assert_ne!(one(), one().with_fallback_denies(other()));
    assert_eq!(one().with_fallback_denies(other()), one().with_fallback_denies(other()));
    assert_ne!(one().with_fallback_denies(other()), one().with_fallback_denies(one()));
    assert_ne!(one().with_fallback_denies(other()), other().with_fallback_denies(other()));
}

#[test]
fn other_formats_and_damaged_bytes_have_different_errors() {
    let policy = policy(vec![rule(Effect::Deny, "Bash(a)")]);
    let with = |at: usize| {
        let mut bytes = policy.as_bytes().to_vec();
        bytes[at] ^= 1;
        PolicyStack::from_parts(bytes, Arc::new(policy.details()))
    };
    assert_eq!(with(header_layout::MAGIC), Err(CompiledPolicyError::OtherFormat));
    assert_eq!(with(header_layout::FORMAT), Err(CompiledPolicyError::OtherFormat));
    for at in header_layout::CHECKSUM..policy.as_bytes().len() {
        assert_eq!(with(at), Err(CompiledPolicyError::Damaged), "byte {at}");
    }
    assert_eq!(
        CompiledPolicyError::OtherFormat.to_string(),
        "another version wrote the compiled policy"
    );
    assert_eq!(CompiledPolicyError::Damaged.to_string(), "the compiled policy is corrupt");
}

#[test]
fn each_mode_is_preserved_with_each_flag() {
    for mode in PermissionMode::ALL {
        let with = || {
            let first = layer(LayerKind::Cli, Vec::new());
            let second = Layer { mode: Some(mode), ..first.clone() };
            let third = Layer { mode: Some(PermissionMode::Plan), ..first.clone() };
            PolicyStack::compile(&[first, second, third]).unwrap()
        };
        assert_eq!(with().mode(), Some(mode), "the most precedent one that sets any");
        assert_eq!(with().without_bypass().mode(), Some(mode));
        assert_eq!(with().with_audit().mode(), Some(mode));
        assert_eq!(with().with_audit().without_bypass().mode(), Some(mode));
    }
    let none = PolicyStack::compile(&[]).unwrap().with_audit().without_bypass();
    assert_eq!(none.mode(), None);
}

#[test]
fn a_mark_holds_for_itself_alone_and_twice_is_once() {
    let plain = || policy(Vec::new());
    assert!(!plain().requires_audit());
    assert!(plain().with_audit().requires_audit());
    assert!(plain().with_audit().with_audit().requires_audit());
    assert!(!plain().without_bypass().requires_audit());
    for mode in PermissionMode::ALL {
        let barred = match mode {
            PermissionMode::BypassPermissions => PermissionMode::Default,
            other => other,
        };
        assert_eq!(plain().effective_mode(mode), mode);
        assert_eq!(plain().with_audit().effective_mode(mode), mode);
        assert_eq!(plain().without_bypass().effective_mode(mode), barred);
        assert_eq!(plain().without_bypass().without_bypass().effective_mode(mode), barred);
    }
    let both = plain().with_audit().without_bypass();
    let back = PolicyStack::from_parts(both.as_bytes().to_vec(), Arc::new(both.details()));
    assert!(back.unwrap().requires_audit(), "the checksum is right again");
}

#[test]
fn built_in_rules_are_not_restrictive_command_rules() {
    for (rules, expected) in [
        (vec![], false),
        (vec![rule(Effect::Allow, "Bash(ls *)")], false),
        (vec![rule(Effect::Deny, "Read(//a)")], false),
        (vec![rule(Effect::Ask, "Bash(ls *)")], true),
        (vec![rule(Effect::Deny, "Bash(ls *)")], true),
    ] {
        let built_in = layer(LayerKind::Default, rules.clone());
        assert!(
            !PolicyStack::compile(&[built_in]).unwrap().has_restrictive_command_rules(),
            "{rules:?}"
        );
        assert_eq!(policy(rules.clone()).has_restrictive_command_rules(), expected, "{rules:?}");
    }
}

#[test]
fn a_rule_about_repetition_is_noticed_in_the_last_good_version_too() {
    let watching = || policy(vec![rule(Effect::Deny, "DoomLoop(Bash)")]);
    let two = policy(vec![rule(Effect::Ask, "DoomLoop(Bash)"), rule(Effect::Deny, "DoomLoop(x)")]);
    let blind = || policy(vec![rule(Effect::Allow, "DoomLoop(Bash)")]);
    assert!(watching().has_repetition_rules());
    assert!(two.has_repetition_rules());
    assert!(!blind().has_repetition_rules());
    assert!(blind().with_fallback_denies(watching()).has_repetition_rules());
    assert!(watching().with_fallback_denies(blind()).has_repetition_rules());
    assert!(!blind().with_fallback_denies(blind()).has_repetition_rules());
}

#[test]
fn a_rule_reference_has_the_file_and_line() {
    let first = Layer {
        file: Some("/etc/policy.toml".to_owned()),
        ..layer(LayerKind::Managed, vec![Rule { line: 7, ..rule(Effect::Deny, "Bash(a)") }])
    };
    let because = Some("it is slow".to_owned());
    let second = layer(
        LayerKind::Project,
        vec![Rule { reason: because.clone(), ..rule(Effect::Ask, "Bash(b)") }],
    );
    let policy = PolicyStack::compile(&[first, second]).unwrap();
    let expected = RuleRef {
        layer: "managed".to_owned(),
        file: Some("/etc/policy.toml".to_owned()),
        line: Some(7),
        text: "deny Bash(a)".to_owned(),
        reason: None,
    };
    assert_eq!(policy.rule_ref(0), expected);
    let (layer, text) = ("project".to_owned(), "ask Bash(b)".to_owned());
    assert_eq!(
        policy.rule_ref(1),
        RuleRef { layer, file: None, line: None, text, reason: because }
    );
    assert_eq!(policy.rule_ref(2).text, "(it cannot be read)");
}

#[test]
fn each_kind_of_layer_comes_back_from_the_compiled_policy() {
    use LayerKind::{Cli, Default, Local, Managed, Project, User};
    let kinds = [Managed, Cli, Local, Project, User, Default];
    let layers: Vec<_> = kinds.iter().map(|kind| layer(*kind, Vec::new())).collect();
    let policy = PolicyStack::compile(&layers).unwrap();
    assert_eq!(policy.layer_count(), kinds.len());
    for (number, kind) in kinds.into_iter().enumerate() {
        let one = Layer { rules: vec![rule(Effect::Deny, "Bash(a)")], ..layers[number].clone() };
        let mut layers = layers.clone();
        layers[number] = one;
        assert_eq!(PolicyStack::compile(&layers).unwrap().rule_ref(0).layer, kind.as_str());
        assert_eq!(LayerKind::from_code(kind as u32), kind);
    }
    let names: Vec<_> = kinds.iter().map(|kind| kind.as_str()).collect();
    assert_eq!(names, ["managed", "cli", "local", "project", "user", "default"]);
}

#[test]
fn a_rule_match_has_the_effect_and_flags_of_its_rule() {
    for bits in 0..8 {
        let [exact, bare, human] = [bits & 1 != 0, bits & 2 != 0, bits & 4 != 0];
        for effect in [Effect::Allow, Effect::Ask, Effect::Deny] {
            let one = Rule {
                is_literal: exact,
                matches_everything: bare,
                requires_human: human,
                ..rule(effect, "Bash(a)")
            };
            let policy = PolicyStack::compile(&[layer(LayerKind::Cli, vec![one])]).unwrap();
            let mut ranks = [0; MAX_LAYERS];
            let subject =
                MatchSubject { kind: SubjectKind::Exec, bytes: b"a\0", is_variadic: false };
            policy.collect_ranks(subject, &mut ranks);
            let expected = RuleMatch {
                effect,
                rule: 0,
                layer: LayerKind::Cli,
                is_literal: exact,
                matches_everything: bare,
                requires_human: human,
            };
            assert_eq!(policy.combine_ranks(&ranks), Some(expected));
        }
    }
}

#[test]
fn details_are_read_back_from_a_details_reader() {
    let policy = policy(vec![rule(Effect::Deny, "Bash(a)")]);
    let details = policy.details();
    let back =
        PolicyStack::from_parts(policy.as_bytes().to_vec(), Arc::new(details.clone())).unwrap();
    assert_eq!(back.details(), details);
    assert_eq!(back.rule_ref(0).text, "deny Bash(a)");
    // Bytes after the details are not part of them.
    let longer = [details.clone(), vec![7; 9]].concat();
    let back = PolicyStack::from_parts(policy.as_bytes().to_vec(), Arc::new(longer)).unwrap();
    assert_eq!(back.details(), details);
}

#[test]
fn policies_before_the_last_good_version_have_no_effect() {
    let oldest = policy(vec![rule(Effect::Deny, "Bash(a)")]);
    let older = policy(vec![rule(Effect::Deny, "Bash(b)")]);
    let held = policy(Vec::new()).with_fallback_denies(older.clone().with_fallback_denies(oldest));
    assert_eq!(held.last_good(), Some(&older));
}
