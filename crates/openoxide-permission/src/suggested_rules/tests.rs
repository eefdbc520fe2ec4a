use openoxide_protocol::{AbsPath, AccessRoute, CommandClass, PathAccess, PermissionMode};

use super::*;
use crate::layer::{LayerKind, RuleMatch};

fn exec(words: CommandWords, arity: u8) -> ExecAccess {
    ExecAccess {
        argv: words,
        text: String::new(),
        class: CommandClass::Unknown,
        span: Default::default(),
        arity,
        ..ExecAccess::default()
    }
}

fn run(command: &str, arity: u8) -> Access {
    Access::Exec(exec(command.split(' ').collect(), arity))
}

fn place(path: &str) -> PathAccess {
    PathAccess::new(AbsPath::new(path).unwrap())
}

/// Returns a symbolic link from one path to another.
fn link(path: &str, to: &str) -> PathAccess {
    PathAccess { resolved: AbsPath::new(to).ok(), ..place(path) }
}

fn outcome(effect: Effect, why: ReasonCode) -> AccessOutcome {
    AccessOutcome { effect, rule_match: None, reason: why }
}

fn asked() -> AccessOutcome {
    outcome(Effect::Ask, ReasonCode::NoRule)
}

fn ruled(human: bool) -> AccessOutcome {
    let (effect, layer) = (Effect::Ask, LayerKind::User);
    let ruling = RuleMatch {
        effect,
        rule: 0,
        layer,
        is_literal: false,
        matches_everything: false,
        requires_human: human,
    };
    AccessOutcome { effect, rule_match: Some(ruling), reason: ReasonCode::Rule }
}

#[test]
fn each_access_has_its_rule() {
    let rows = [
        (run("git push origin", 2), Some("Bash(git push *)")),
        (Access::Read(place("/p/a b")), Some("Read(//p/a b)")),
        (Access::Read(place("/h/.ssh/id_rsa")), None),
        (Access::Read(link("/p/a", "/h/.ssh/id_rsa")), None),
        (Access::Read(link("/h/.ssh/id_rsa", "/p/a")), None),
        (Access::Edit(place("/p/*")), Some(r"Edit(//p/\*)")),
        (Access::Edit(place("/h/.bashrc")), None),
        (Access::Edit(link("/p/a", "/h/.bashrc")), None),
        (Access::Read(place("/h/.bashrc")), Some("Read(//h/.bashrc)")),
        (Access::ExternalDirectory(place("/q/a")), Some("ExternalDirectory(//q/a)")),
        (
            Access::Fetch {
                host: "x.io".into(),
                url: "https://x.io/a".into(),
                route: AccessRoute::Direct,
            },
            Some("WebFetch(domain:x.io)"),
        ),
        (Access::CallTool { tool: "mcp__a__b".into() }, Some("mcp__a__b")),
        (Access::Delegate { agent: "explore".into() }, Some("Task(explore)")),
        (Access::Repetition { tool: "Bash".into() }, Some("DoomLoop(Bash)")),
        (Access::Opaque { text: "$(".into(), span: Default::default() }, None),
    ];
    for (access, expected) in rows {
        for why in [ReasonCode::Rule, ReasonCode::NoRule, ReasonCode::OutsideProject] {
            let found = suggest_rules(std::slice::from_ref(&access), &[outcome(Effect::Ask, why)]);
            let expected: Vec<_> = expected.into_iter().map(str::to_owned).collect();
            assert_eq!(found, expected, "{access:?} {why:?}");
        }
    }
}

#[test]
fn questions_that_no_rule_answers_have_no_suggestion() {
    for why in [
        ReasonCode::LastGoodDeny,
        ReasonCode::PartialMatch(Effect::Deny),
        ReasonCode::Opaque,
        ReasonCode::SecretFile,
        ReasonCode::SteeringFile,
        ReasonCode::SelfApproval,
        ReasonCode::CheckedSeparately,
        ReasonCode::Harmless,
        ReasonCode::InsideProject,
        ReasonCode::Hook,
        ReasonCode::Mode(PermissionMode::Plan),
    ] {
        assert!(
            suggest_rules(&[run("npm test", 1)], &[outcome(Effect::Ask, why)]).is_empty(),
            "{why:?}"
        );
    }
}

#[test]
fn one_that_cannot_be_remembered_takes_the_others_along() {
    let accesses = [run("npm test", 1), run("git push", 2), run("npm ci", 1)];
    let of = |second| suggest_rules(&accesses, &[asked(), second, asked()]);
    assert_eq!(of(asked()), ["Bash(npm *)", "Bash(git push *)"], "each stands there once");
    assert_eq!(of(outcome(Effect::Allow, ReasonCode::Rule)), ["Bash(npm *)"]);
    assert_eq!(of(ruled(false)), ["Bash(npm *)", "Bash(git push *)"]);
    assert!(of(ruled(true)).is_empty(), "only a person answers it");
    assert!(of(outcome(Effect::Deny, ReasonCode::Rule)).is_empty());
    assert!(of(outcome(Effect::Ask, ReasonCode::Opaque)).is_empty());
}

#[test]
fn the_length_of_a_prefix_is_its_arity() {
    let of = |arity| prefix_rule(&exec(["git", "push", "a b"].iter().collect(), arity));
    assert_eq!(of(0), None);
    assert_eq!(of(1).unwrap(), "Bash(git *)");
    assert_eq!(of(2).unwrap(), "Bash(git push *)");
    assert_eq!(of(3).unwrap(), "Bash(git push 'a b' *)");
    assert_eq!(of(4), None);
    let mut unknown = CommandWords::new();
    unknown.push("git");
    unknown.push_unknown();
    assert_eq!(prefix_rule(&exec(unknown.clone(), 1)).unwrap(), "Bash(git *)");
    assert_eq!(prefix_rule(&exec(unknown.clone(), 2)), None);
    assert_eq!(exact_command_rule(&unknown), None);
    assert_eq!(
        exact_command_rule(&["git", "a b", ""].iter().collect()).unwrap(),
        "Bash(git 'a b' '')"
    );
}
