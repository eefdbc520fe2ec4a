use openoxide_protocol::{
    AbsPath, CommandClass, CommandWords, ExecAccess, Finding, FindingKind, PathAccess,
    PermissionMode,
};

mod auto_allow;

use super::{path::takes_precedence, rule_outcome::stricter_outcome, *};
use crate::{
    CombiningAlgorithm, Layer, LayerKind, PathAnchors, Rule, RuleMatch, default_layer, parse_rule,
};

use Effect::{Allow, Ask, Deny};

fn path(text: &str) -> AbsPath {
    AbsPath::new(text).unwrap()
}

fn rule((effect, text): &(Effect, &str)) -> Rule {
    let root = path("/p");
    parse_rule(text, *effect, PathAnchors { home: None, base: &root }).unwrap()
}

fn policy(rules: &[(Effect, &str)]) -> PolicyStack {
    let (combining, rules) = (CombiningAlgorithm::Strictest, rules.iter().map(rule).collect());
    let user = Layer {
        kind: LayerKind::User,
        file: None,
        combining_algorithm: combining,
        rules,
        mode: None,
    };
    PolicyStack::compile(&[user, default_layer()]).unwrap()
}

struct World {
    policy: PolicyStack,
    mode: PermissionMode,
    doubt: Option<&'static str>,
    auto_allow: SandboxAutoAllow,
}

impl World {
    fn of(rules: &[(Effect, &str)]) -> Self {
        let (mode, auto_allow) = (PermissionMode::Default, SandboxAutoAllow::Off);
        Self { policy: policy(rules), mode, doubt: None, auto_allow }
    }

    fn with<R>(&self, ask: impl FnOnce(&PolicyStack, &EvaluationContext<'_>) -> R) -> R {
        let root = path("/p");
        let roots = std::slice::from_ref(&root);
        ask(
            &self.policy,
            &EvaluationContext {
                mode: self.mode,
                cwd: &root,
                roots,
                policy_error: self.doubt,
                auto_allow: self.auto_allow,
            },
        )
    }

    fn decide(&self, access: &Access) -> AccessOutcome {
        self.with(|policy, context| decide_access(policy, context, access))
    }

    fn evaluate(&self, accesses: &[Access], findings: &[Finding]) -> Decision {
        let facts = OperationFacts { accesses: accesses.to_vec(), findings: findings.to_vec() };
        self.with(|policy, context| {
            let decision = evaluate(policy, context, &facts);
            assert_eq!(decision.effect, evaluate_effect(policy, context, &facts));
            decision
        })
    }
}

fn command(argv: CommandWords) -> Access {
    let text = format!("{argv:?}");
    let (class, span) = (CommandClass::Unknown, Default::default());
    Access::Exec(ExecAccess { argv, text, class, span, arity: 1, ..ExecAccess::default() })
}

fn run(text: &str) -> Access {
    command(text.split(' ').collect())
}

/// Returns a command with one unknown word.
fn unknown(before: &[&str], after: &[&str]) -> Access {
    let mut words: CommandWords = before.iter().collect();
    words.push_unknown();
    after.iter().for_each(|word| words.push(word));
    command(words)
}

fn touched(text: &str, touch: AccessRoute) -> PathAccess {
    PathAccess { route: touch, ..PathAccess::new(path(text)) }
}

fn finding(kind: FindingKind) -> Finding {
    Finding { code: "OX1".into(), kind, message: "it is odd".into(), span: Default::default() }
}

fn ruling(effect: Effect, layer: LayerKind, human: bool) -> RuleMatch {
    RuleMatch {
        effect,
        rule: 0,
        layer,
        is_literal: false,
        matches_everything: false,
        requires_human: human,
    }
}

fn ruled(ruling: RuleMatch) -> AccessOutcome {
    AccessOutcome { effect: ruling.effect, rule_match: Some(ruling), reason: ReasonCode::Rule }
}

#[test]
fn the_stricter_outcome_of_two_spellings_applies() {
    use LayerKind::{Managed, User};
    let unruled = |effect| AccessOutcome { effect, rule_match: None, reason: ReasonCode::NoRule };
    // The rule match of the other form, the outcome so far, and whether the match replaces it.
    let rows = [
        (ruling(Allow, Managed, false), unruled(Allow), false),
        (ruling(Allow, Managed, false), unruled(Ask), false),
        (ruling(Ask, User, false), unruled(Allow), true),
        (ruling(Ask, User, false), unruled(Ask), true),
        (ruling(Ask, User, false), unruled(Deny), false),
        (ruling(Deny, User, false), unruled(Ask), true),
        (ruling(Ask, User, false), ruled(ruling(Ask, User, false)), true),
        (ruling(Ask, User, false), ruled(ruling(Ask, Managed, false)), false),
        (ruling(Ask, Managed, false), ruled(ruling(Ask, User, false)), true),
        (ruling(Ask, Managed, false), ruled(ruling(Ask, User, true)), false),
        (ruling(Ask, User, true), ruled(ruling(Ask, Managed, false)), true),
        (ruling(Ask, User, true), ruled(ruling(Ask, Managed, true)), false),
        (ruling(Ask, Managed, true), ruled(ruling(Ask, User, true)), true),
        (ruling(Deny, User, false), ruled(ruling(Ask, Managed, true)), true),
        (ruling(Deny, User, false), ruled(ruling(Deny, Managed, false)), false),
    ];
    for (found, before, counts) in rows {
        let found = RuleMatch { rule: 1, ..found };
        let expected = if counts { ruled(found) } else { before };
        assert_eq!(stricter_outcome(found, before), expected, "{found:?} {before:?}");
    }
}

#[test]
fn the_more_binding_of_two_spellings_that_ask_decides() {
    use LayerKind::{Default, Managed, User};
    let nothing = AccessOutcome { effect: Ask, rule_match: None, reason: ReasonCode::NoRule };
    let by = |layer, human| ruled(ruling(Ask, layer, human));
    let (built_in, user, managed) = (by(Default, false), by(User, false), by(Managed, false));
    let (person, built_in_person) = (by(User, true), by(Default, true));
    let rows = [
        (nothing, nothing, false),
        (built_in, nothing, false),
        (nothing, user, false),
        (user, nothing, true),
        (user, built_in, true),
        (user, user, true),
        (user, managed, false),
        (user, person, false),
        (managed, user, true),
        (managed, nothing, true),
        (managed, person, false),
        (person, managed, true),
        (person, person, true),
        (built_in_person, user, true),
        (built_in_person, managed, true),
        (nothing, managed, false),
    ];
    for (one, other, expected) in rows {
        assert_eq!(takes_precedence(&one, &other), expected, "{one:?} {other:?}");
    }
}

#[test]
fn allowing_every_command_allows_its_edits_outside_the_project() {
    let parts = |rules: &[(Effect, &str)], accesses: &[Access]| {
        let decision = World::of(rules).evaluate(accesses, &[]);
        decision.parts.into_iter().map(|part| part.decision).collect::<Vec<_>>()
    };
    let by_program = Access::Edit(touched("/q/a", AccessRoute::Program));
    let itself = Access::Edit(touched("/q/a", AccessRoute::Direct));
    let copy = || run("cp a /q/a");
    assert_eq!(parts(&[(Allow, "Bash")], &[copy(), by_program.clone()]), [Allow, Allow]);
    assert_eq!(parts(&[(Allow, "Bash")], &[copy(), itself]), [Allow, Ask]);
    assert_eq!(parts(&[(Allow, "Bash(cp *)")], &[copy(), by_program.clone()]), [Allow, Ask]);
    assert_eq!(parts(&[(Ask, "Bash")], &[copy(), by_program.clone()]), [Ask, Ask]);
    assert_eq!(parts(&[], &[copy(), by_program.clone()]), [Ask, Ask]);
    assert_eq!(parts(&[(Allow, "Bash")], &[by_program.clone(), copy()]), [Ask, Allow]);
    let two = [(Allow, "Bash"), (Ask, "Bash(cp *)")];
    assert_eq!(parts(&two, &[run("ls"), copy(), by_program]), [Allow, Ask, Ask]);
    let rc = Access::Edit(touched("/h/.bashrc", AccessRoute::Program));
    assert_eq!(parts(&[(Allow, "Bash")], &[copy(), rc]), [Allow, Ask], "the floor holds");
}

#[test]
fn a_host_that_a_program_reaches_is_asked_of_the_program() {
    let fetch = |touch| Access::Fetch { host: "x.io".into(), url: String::new(), route: touch };
    let of = |rules: &[(Effect, &str)], touch| World::of(rules).decide(&fetch(touch));
    assert_eq!(of(&[], AccessRoute::Program), CHECKED_SEPARATELY);
    assert_eq!(of(&[], AccessRoute::Direct).effect, Ask);
    assert_eq!(of(&[(Ask, "WebFetch(domain:x.io)")], AccessRoute::Program).effect, Ask);
    assert_eq!(of(&[(Deny, "WebFetch(domain:x.io)")], AccessRoute::Program).effect, Deny);
}

#[test]
fn a_finding_takes_the_rule_and_its_remembering_away() {
    let world = World::of(&[(Allow, "Bash(ls *)")]);
    let odd = [finding(FindingKind::Escalate)];
    let allowed = world.evaluate(&[run("ls x")], &[]);
    assert_eq!(allowed.rule.unwrap().text, "allow Bash(ls *)");
    let lifted = world.evaluate(&[run("ls x")], &odd);
    assert_eq!((lifted.effect, lifted.reason.as_str()), (Ask, "it is odd (OX1)"));
    assert_eq!((lifted.rule, lifted.suggested_rules), (None, Vec::new()));
    let asked = world.evaluate(&[run("npm ci")], &[]);
    assert_eq!(asked.suggested_rules, ["Bash(npm *)"]);
    let both = world.evaluate(&[run("npm ci")], &odd);
    assert_eq!((both.effect, both.reason, both.suggested_rules), (Ask, asked.reason, Vec::new()));
    let noted = world.evaluate(&[run("npm ci")], &[finding(FindingKind::Note)]);
    assert_eq!(noted.suggested_rules, ["Bash(npm *)"]);
}

#[test]
fn the_worst_finding_gives_the_reason() {
    let world = World::of(&[(Allow, "Bash")]);
    let worse = Finding { message: "it is worse".into(), ..finding(FindingKind::CircuitBreaker) };
    let decision = world.evaluate(&[run("ls")], &[finding(FindingKind::Escalate), worse]);
    assert_eq!(decision.reason, "it is worse (OX1)");
}

#[test]
fn a_doubt_takes_the_rule_and_its_remembering_away() {
    let world = World { doubt: Some("a rule is missing"), ..World::of(&[(Allow, "Bash(ls *)")]) };
    let lifted = world.evaluate(&[run("ls x")], &[]);
    assert_eq!((lifted.effect, lifted.reason.as_str()), (Ask, "a rule is missing"));
    assert_eq!((lifted.rule, lifted.suggested_rules), (None, Vec::new()));
    let asked = world.evaluate(&[run("npm ci")], &[]);
    let sure = World::of(&[]).evaluate(&[run("npm ci")], &[]);
    assert_eq!(asked.reason, format!("{}; a rule is missing", sure.reason));
    assert_eq!((asked.effect, asked.suggested_rules), (Ask, Vec::new()));
}

#[test]
fn the_safety_floor_reports_its_reason() {
    let world = World::of(&[(Allow, "*"), (Allow, "Edit(//**)")]);
    let why = |access: &Access| {
        let outcome = world.decide(access);
        (outcome.effect, outcome.reason)
    };
    assert_eq!(
        why(&Access::Edit(touched("/p/.bashrc", AccessRoute::Direct))),
        (Ask, ReasonCode::SteeringFile)
    );
    assert_eq!(
        why(&Access::Read(touched("/p/id_rsa", AccessRoute::Direct))),
        (Ask, ReasonCode::SecretFile)
    );
    assert_eq!(why(&run("openoxide approve 7")), (Ask, ReasonCode::SelfApproval));
    assert_eq!(why(&run("ls")), (Allow, ReasonCode::Rule));
}

#[test]
fn a_mode_that_decides_is_the_reason() {
    use PermissionMode::{AcceptEdits, BypassPermissions, DontAsk, Plan};
    let edits = |class| match run("sed -i x /p/a") {
        Access::Exec(exec) => Access::Exec(ExecAccess { class, ..exec }),
        other => other,
    };
    let why = |mode, rules: &[(Effect, &str)], access: &Access| {
        let outcome = World { mode, ..World::of(rules) }.decide(access);
        (outcome.effect, outcome.reason)
    };
    let ask: &[(Effect, &str)] = &[(Ask, "Bash(sed *)")];
    let (known, any) = (edits(CommandClass::Edits), edits(CommandClass::Unknown));
    assert_eq!(why(AcceptEdits, &[], &known), (Allow, ReasonCode::Mode(AcceptEdits)));
    assert_eq!(why(AcceptEdits, &[], &any), (Ask, ReasonCode::NoRule));
    assert_eq!(why(AcceptEdits, ask, &known), (Ask, ReasonCode::Rule));
    assert_eq!(why(Plan, &[], &known), (Deny, ReasonCode::Mode(Plan)));
    assert_eq!(why(Plan, &[(Deny, "Bash(sed *)")], &known), (Deny, ReasonCode::Rule));
    assert_eq!(why(DontAsk, &[], &any), (Deny, ReasonCode::Mode(DontAsk)));
    assert_eq!(why(DontAsk, &[(Deny, "Bash(sed *)")], &any), (Deny, ReasonCode::Rule));
    assert_eq!(why(BypassPermissions, &[], &any), (Allow, ReasonCode::Mode(BypassPermissions)));
    assert_eq!(why(BypassPermissions, ask, &any), (Ask, ReasonCode::Rule));
    let edit = Access::Edit(touched("/p/a", AccessRoute::Direct));
    assert_eq!(why(AcceptEdits, &[], &edit), (Allow, ReasonCode::Mode(AcceptEdits)));
    let outside = Access::Edit(touched("/q/a", AccessRoute::Direct));
    assert_eq!(why(AcceptEdits, &[], &outside), (Ask, ReasonCode::OutsideProject));
}

#[test]
fn built_in_rules_about_secrets_concern_contents_not_names() {
    let names = Access::Read(touched("/p/.env", AccessRoute::Metadata));
    let reads = Access::Read(touched("/p/.env", AccessRoute::Program));
    let none = World::of(&[]);
    assert_eq!((none.decide(&names).effect, none.decide(&reads).effect), (Allow, Ask));
    let denied = World::of(&[(Deny, "Read(.env)")]);
    assert_eq!((denied.decide(&names).effect, denied.decide(&reads).effect), (Deny, Deny));
}

#[test]
fn external_directory_rules_decide_reads_outside_the_project() {
    let read = Access::Read(touched("/q/a", AccessRoute::Direct));
    let of = |rules: &[(Effect, &str)]| World::of(rules).decide(&read);
    let free =
        AccessOutcome { effect: Allow, rule_match: None, reason: ReasonCode::OutsideProject };
    assert_eq!(of(&[]), AccessOutcome { effect: Ask, ..free });
    assert_eq!(of(&[(Allow, "ExternalDirectory(//q/**)")]), free);
    let denied = of(&[(Deny, "ExternalDirectory(//q/**)")]);
    assert_eq!((denied.effect, denied.reason), (Deny, ReasonCode::Rule));
    let asked = of(&[(Ask, "ExternalDirectory(//q/**)")]);
    assert_eq!(
        (asked.effect, asked.reason, asked.rule_match.is_some()),
        (Ask, ReasonCode::Rule, true)
    );
}

#[test]
fn relative_restrictive_rules_apply_from_the_project_and_the_cwd() {
    let (root, below) = (path("/p"), path("/p/lib"));
    let roots = [root.clone(), path("/added")];
    let world = World::of(&[
        (Deny, "Read(src/**)"),
        (Ask, "Edit(conf/*.toml)"),
        (Deny, "Read(**/*.pem)"),
        (Allow, "Edit(docs/**)"),
    ]);
    let effect = |cwd: &AbsPath, access: &Access| {
        let mode = PermissionMode::AcceptEdits;
        let context = EvaluationContext {
            mode,
            cwd,
            roots: &roots,
            policy_error: None,
            auto_allow: Default::default(),
        };
        decide_access(&world.policy, &context, access).effect
    };
    let read = |text| Access::Read(touched(text, AccessRoute::Direct));
    let edit = |text| Access::Edit(touched(text, AccessRoute::Direct));
    for cwd in [&root, &below] {
        assert_eq!(effect(cwd, &read("/p/src/a")), Deny);
        assert_eq!(effect(cwd, &read("/p/x/a.pem")), Deny);
        assert_eq!(effect(cwd, &edit("/p/conf/a.toml")), Ask);
        assert_eq!(effect(cwd, &read("/p/lib/a")), Allow);
        assert_eq!(effect(cwd, &edit("/p/docs/a")), Allow);
    }
    // A `cd` does not change which edits are allowed, even if it leaves the project.
    for cwd in [&below, &path("/q"), &path("/added")] {
        assert_eq!(effect(cwd, &edit("/q/docs/a")), Ask);
        assert_eq!(effect(cwd, &edit("/p/docs/a")), Allow);
    }
    let mode = PermissionMode::Default;
    let here = EvaluationContext {
        mode,
        cwd: &below,
        roots: &roots,
        policy_error: None,
        auto_allow: Default::default(),
    };
    let decided = |text| decide_access(&world.policy, &here, &edit(text)).effect;
    assert_eq!((decided("/p/docs/a"), decided("/p/lib/docs/a")), (Allow, Ask));
    // The rule also applies from the working directory.
    assert_eq!(effect(&below, &read("/p/lib/src/a")), Deny);
    assert_eq!(effect(&root, &read("/p/lib/src/a")), Allow);
}

#[test]
fn one_unknown_word_is_one_word() {
    let between = World::of(&[(Allow, "Bash(git * main)")]);
    assert_eq!(between.decide(&unknown(&["git"], &["main"])).effect, Allow);
    assert_eq!(between.decide(&run("git push main")).effect, Allow);
    assert_eq!(between.decide(&unknown(&["git"], &[])).effect, Ask);
}

#[test]
fn a_rule_that_could_match_makes_a_question_of_an_allow_and_of_nothing_else() {
    let of = |rules: &[(Effect, &str)]| {
        let outcome = World::of(rules).decide(&unknown(&["rm"], &[]));
        (outcome.effect, outcome.reason)
    };
    let could = (Deny, "Bash(rm -rf)");
    assert_eq!(of(&[(Allow, "Bash(rm *)"), could]), (Ask, ReasonCode::PartialMatch(Deny)));
    assert_eq!(of(&[could]), (Ask, ReasonCode::NoRule));
    assert_eq!(of(&[(Ask, "Bash(rm *)"), could]), (Ask, ReasonCode::Rule));
    assert_eq!(of(&[(Deny, "Bash(rm *)"), could]), (Deny, ReasonCode::Rule));
    assert_eq!(of(&[(Allow, "Bash(rm *)"), (Deny, "Bash(mv *)")]), (Allow, ReasonCode::Rule));
}

#[test]
fn opaque_accesses_are_denied_if_every_command_is_denied() {
    let opaque = Access::Opaque { text: "$(".into(), span: Default::default() };
    let of = |rules: &[(Effect, &str)]| {
        let outcome = World::of(rules).decide(&opaque);
        (outcome.effect, outcome.reason)
    };
    assert_eq!(of(&[(Deny, "Bash")]), (Deny, ReasonCode::Rule));
    assert_eq!(of(&[(Deny, "Bash(rm *)")]), (Ask, ReasonCode::Opaque));
    assert_eq!(of(&[(Ask, "Bash")]), (Ask, ReasonCode::Opaque));
    assert_eq!(of(&[(Allow, "Bash")]), (Ask, ReasonCode::Opaque));
}

/// Returns a harmless command. `unproved` is true if its program was never run to verify that.
fn harmless(text: &str, unproved: bool) -> Access {
    let (argv, class) = (text.split(' ').collect(), CommandClass::Harmless);
    Access::Exec(ExecAccess {
        argv,
        text: text.to_owned(),
        class,
        arity: 1,
        unproved,
        ..ExecAccess::default()
    })
}

#[test]
fn an_unproved_program_asks_where_the_policy_wants_that_and_passes_where_it_does_not() {
    let mut world = World::of(&[(Allow, "Bash(known *)"), (Deny, "Bash(bad *)")]);
    let effects = |world: &World| {
        let accesses = [
            harmless("tool x", true),
            harmless("tool x", false),
            harmless("known x", true),
            harmless("bad x", true),
        ];
        accesses.map(|access| world.decide(&access).effect)
    };
    assert_eq!(effects(&world), [Allow, Allow, Allow, Deny]);
    world.policy = world.policy.with_unproved_asks();
    assert!(world.policy.asks_about_unproved());
    assert_eq!(effects(&world), [Ask, Allow, Allow, Deny]);
    assert_eq!(world.policy.mode(), None);
    let decision = world.evaluate(&[harmless("tool x", true)], &[]);
    let reason = "`tool x` has not been verified as read-only by running it";
    assert_eq!(decision.parts[0].reason, reason);
    // A mode that answers every question also answers this one.
    world.mode = PermissionMode::BypassPermissions;
    assert_eq!(effects(&world), [Allow, Allow, Allow, Deny]);
    world.mode = PermissionMode::Plan;
    assert_eq!(effects(&world), [Ask, Allow, Allow, Deny]);
}
