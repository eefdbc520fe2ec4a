use openoxide_protocol::{CommandClass, Exec, Finding, FindingKind, PathAccess, Words};

use super::{path::outspeaks, *};
use crate::{Anchors, Combining, Layer, Rule, default_layer, parse};

use Effect::{Allow, Ask, Deny};

fn path(text: &str) -> AbsPath {
    AbsPath::new(text).unwrap()
}

fn rule((effect, text): &(Effect, &str)) -> Rule {
    let root = path("/p");
    parse(text, *effect, Anchors { home: None, base: &root }).unwrap()
}

fn policy(rules: &[(Effect, &str)]) -> PolicyStack {
    let (combining, rules) = (Combining::Strictest, rules.iter().map(rule).collect());
    let user = Layer { kind: LayerKind::User, file: None, combining, rules, mode: None };
    PolicyStack::compile(&[user, default_layer()]).unwrap()
}

struct World {
    policy: PolicyStack,
    mode: PermissionMode,
    doubt: Option<&'static str>,
}

impl World {
    fn of(rules: &[(Effect, &str)]) -> Self {
        Self { policy: policy(rules), mode: PermissionMode::Default, doubt: None }
    }

    fn with<R>(&self, ask: impl FnOnce(&PolicyStack, &Context<'_>) -> R) -> R {
        let root = path("/p");
        let roots = std::slice::from_ref(&root);
        ask(&self.policy, &Context { mode: self.mode, cwd: &root, roots, doubt: self.doubt })
    }

    fn decide(&self, access: &Access) -> Outcome {
        self.with(|policy, context| decide(policy, context, access))
    }

    fn evaluate(&self, accesses: &[Access], findings: &[Finding]) -> Decision {
        let facts = Facts { accesses: accesses.to_vec(), findings: findings.to_vec() };
        self.with(|policy, context| {
            let decision = evaluate(policy, context, &facts);
            assert_eq!(decision.effect, effect(policy, context, &facts));
            decision
        })
    }
}

fn command(argv: Words) -> Access {
    let text = format!("{argv:?}");
    let (class, span) = (CommandClass::Unknown, Default::default());
    Access::Exec(Exec { argv, text, class, span, arity: 1, ..Exec::default() })
}

fn run(text: &str) -> Access {
    command(text.split(' ').collect())
}

/// A command with one word that is not known.
fn unknown(before: &[&str], after: &[&str]) -> Access {
    let mut words: Words = before.iter().collect();
    words.push_unknown();
    after.iter().for_each(|word| words.push(word));
    command(words)
}

fn touched(text: &str, touch: Touch) -> PathAccess {
    PathAccess { touch, ..PathAccess::new(path(text)) }
}

fn finding(kind: FindingKind) -> Finding {
    Finding { code: "OX1".into(), kind, message: "it is odd".into(), span: Default::default() }
}

fn ruling(effect: Effect, layer: LayerKind, human: bool) -> Ruling {
    Ruling { effect, rule: 0, layer, exact: false, bare: false, human }
}

fn ruled(ruling: Ruling) -> Outcome {
    Outcome { effect: ruling.effect, ruling: Some(ruling), why: Why::Rule }
}

#[test]
fn of_two_spellings_that_a_rule_speaks_of_the_stricter_counts() {
    use LayerKind::{Managed, User};
    let unruled = |effect| Outcome { effect, ruling: None, why: Why::NoRule };
    // What was found for the other spelling, what counted so far, and whether the former counts now.
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
        let found = Ruling { rule: 1, ..found };
        let expected = if counts { ruled(found) } else { before };
        assert_eq!(stricter(found, before), expected, "{found:?} {before:?}");
    }
}

#[test]
fn of_two_spellings_that_ask_the_more_binding_one_speaks() {
    use LayerKind::{Default, Managed, User};
    let nothing = Outcome { effect: Ask, ruling: None, why: Why::NoRule };
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
        assert_eq!(outspeaks(&one, &other), expected, "{one:?} {other:?}");
    }
}

#[test]
fn where_every_command_is_allowed_what_it_changes_outside_is_no_question() {
    let parts = |rules: &[(Effect, &str)], accesses: &[Access]| {
        let decision = World::of(rules).evaluate(accesses, &[]);
        decision.parts.into_iter().map(|part| part.decision).collect::<Vec<_>>()
    };
    let by_program = Access::Edit(touched("/q/a", Touch::Program));
    let itself = Access::Edit(touched("/q/a", Touch::Itself));
    let copy = || run("cp a /q/a");
    assert_eq!(parts(&[(Allow, "Bash")], &[copy(), by_program.clone()]), [Allow, Allow]);
    assert_eq!(parts(&[(Allow, "Bash")], &[copy(), itself]), [Allow, Ask]);
    assert_eq!(parts(&[(Allow, "Bash(cp *)")], &[copy(), by_program.clone()]), [Allow, Ask]);
    assert_eq!(parts(&[(Ask, "Bash")], &[copy(), by_program.clone()]), [Ask, Ask]);
    assert_eq!(parts(&[], &[copy(), by_program.clone()]), [Ask, Ask]);
    assert_eq!(parts(&[(Allow, "Bash")], &[by_program.clone(), copy()]), [Ask, Allow]);
    let two = [(Allow, "Bash"), (Ask, "Bash(cp *)")];
    assert_eq!(parts(&two, &[run("ls"), copy(), by_program]), [Allow, Ask, Ask]);
    let rc = Access::Edit(touched("/h/.bashrc", Touch::Program));
    assert_eq!(parts(&[(Allow, "Bash")], &[copy(), rc]), [Allow, Ask], "the floor holds");
}

#[test]
fn a_host_that_a_program_reaches_is_asked_of_the_program() {
    let fetch = |touch| Access::Fetch { host: "x.io".into(), url: String::new(), touch };
    let of = |rules: &[(Effect, &str)], touch| World::of(rules).decide(&fetch(touch));
    assert_eq!(of(&[], Touch::Program), CARRIED);
    assert_eq!(of(&[], Touch::Itself).effect, Ask);
    assert_eq!(of(&[(Ask, "WebFetch(domain:x.io)")], Touch::Program).effect, Ask);
    assert_eq!(of(&[(Deny, "WebFetch(domain:x.io)")], Touch::Program).effect, Deny);
}

#[test]
fn a_finding_takes_the_rule_and_its_remembering_away() {
    let world = World::of(&[(Allow, "Bash(ls *)")]);
    let odd = [finding(FindingKind::Escalate)];
    let allowed = world.evaluate(&[run("ls x")], &[]);
    assert_eq!(allowed.rule.unwrap().text, "allow Bash(ls *)");
    let lifted = world.evaluate(&[run("ls x")], &odd);
    assert_eq!((lifted.effect, lifted.reason.as_str()), (Ask, "it is odd (OX1)"));
    assert_eq!((lifted.rule, lifted.always), (None, Vec::new()));
    let asked = world.evaluate(&[run("npm ci")], &[]);
    assert_eq!(asked.always, ["Bash(npm *)"]);
    let both = world.evaluate(&[run("npm ci")], &odd);
    assert_eq!((both.effect, both.reason, both.always), (Ask, asked.reason, Vec::new()));
    let noted = world.evaluate(&[run("npm ci")], &[finding(FindingKind::Note)]);
    assert_eq!(noted.always, ["Bash(npm *)"]);
}

#[test]
fn the_worst_finding_speaks() {
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
    assert_eq!((lifted.rule, lifted.always), (None, Vec::new()));
    let asked = world.evaluate(&[run("npm ci")], &[]);
    let sure = World::of(&[]).evaluate(&[run("npm ci")], &[]);
    assert_eq!(asked.reason, format!("{}; a rule is missing", sure.reason));
    assert_eq!((asked.effect, asked.always), (Ask, Vec::new()));
}

#[test]
fn the_floor_says_why() {
    let world = World::of(&[(Allow, "*"), (Allow, "Edit(//**)")]);
    let why = |access: &Access| {
        let outcome = world.decide(access);
        (outcome.effect, outcome.why)
    };
    assert_eq!(why(&Access::Edit(touched("/p/.bashrc", Touch::Itself))), (Ask, Why::Protected));
    assert_eq!(why(&Access::Read(touched("/p/id_rsa", Touch::Itself))), (Ask, Why::Secret));
    assert_eq!(why(&run("openoxide approve 7")), (Ask, Why::ForAPerson));
    assert_eq!(why(&run("ls")), (Allow, Why::Rule));
}

#[test]
fn a_mode_says_that_it_decided() {
    use PermissionMode::{AcceptEdits, BypassPermissions, DontAsk, Plan};
    let edits = |class| match run("sed -i x /p/a") {
        Access::Exec(exec) => Access::Exec(Exec { class, ..exec }),
        other => other,
    };
    let why = |mode, rules: &[(Effect, &str)], access: &Access| {
        let outcome = World { mode, ..World::of(rules) }.decide(access);
        (outcome.effect, outcome.why)
    };
    let ask: &[(Effect, &str)] = &[(Ask, "Bash(sed *)")];
    let (known, any) = (edits(CommandClass::Edits), edits(CommandClass::Unknown));
    assert_eq!(why(AcceptEdits, &[], &known), (Allow, Why::Mode(AcceptEdits)));
    assert_eq!(why(AcceptEdits, &[], &any), (Ask, Why::NoRule));
    assert_eq!(why(AcceptEdits, ask, &known), (Ask, Why::Rule));
    assert_eq!(why(Plan, &[], &known), (Deny, Why::Mode(Plan)));
    assert_eq!(why(Plan, &[(Deny, "Bash(sed *)")], &known), (Deny, Why::Rule));
    assert_eq!(why(DontAsk, &[], &any), (Deny, Why::Mode(DontAsk)));
    assert_eq!(why(DontAsk, &[(Deny, "Bash(sed *)")], &any), (Deny, Why::Rule));
    assert_eq!(why(BypassPermissions, &[], &any), (Allow, Why::Mode(BypassPermissions)));
    assert_eq!(why(BypassPermissions, ask, &any), (Ask, Why::Rule));
    let edit = Access::Edit(touched("/p/a", Touch::Itself));
    assert_eq!(why(AcceptEdits, &[], &edit), (Allow, Why::Mode(AcceptEdits)));
    let outside = Access::Edit(touched("/q/a", Touch::Itself));
    assert_eq!(why(AcceptEdits, &[], &outside), (Ask, Why::Outside));
}

#[test]
fn what_the_built_in_rules_say_of_secrets_is_about_what_is_in_them() {
    let names = Access::Read(touched("/p/.env", Touch::Names));
    let reads = Access::Read(touched("/p/.env", Touch::Program));
    let none = World::of(&[]);
    assert_eq!((none.decide(&names).effect, none.decide(&reads).effect), (Allow, Ask));
    let denied = World::of(&[(Deny, "Read(.env)")]);
    assert_eq!((denied.decide(&names).effect, denied.decide(&reads).effect), (Deny, Deny));
}

#[test]
fn a_read_outside_is_as_free_as_the_rules_about_outside_say() {
    let read = Access::Read(touched("/q/a", Touch::Itself));
    let of = |rules: &[(Effect, &str)]| World::of(rules).decide(&read);
    let free = Outcome { effect: Allow, ruling: None, why: Why::Outside };
    assert_eq!(of(&[]), Outcome { effect: Ask, ..free });
    assert_eq!(of(&[(Allow, "ExternalDirectory(//q/**)")]), free);
    let denied = of(&[(Deny, "ExternalDirectory(//q/**)")]);
    assert_eq!((denied.effect, denied.why), (Deny, Why::Rule));
    let asked = of(&[(Ask, "ExternalDirectory(//q/**)")]);
    assert_eq!((asked.effect, asked.why, asked.ruling.is_some()), (Ask, Why::Rule, true));
}

#[test]
fn a_relative_rule_that_holds_back_counts_from_the_project_wherever_an_agent_went() {
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
        let context = Context { mode, cwd, roots: &roots, doubt: None };
        decide(&world.policy, &context, access).effect
    };
    let read = |text| Access::Read(touched(text, Touch::Itself));
    let edit = |text| Access::Edit(touched(text, Touch::Itself));
    for cwd in [&root, &below] {
        assert_eq!(effect(cwd, &read("/p/src/a")), Deny);
        assert_eq!(effect(cwd, &read("/p/x/a.pem")), Deny);
        assert_eq!(effect(cwd, &edit("/p/conf/a.toml")), Ask);
        assert_eq!(effect(cwd, &read("/p/lib/a")), Allow);
        assert_eq!(effect(cwd, &edit("/p/docs/a")), Allow);
    }
    // What an agent may edit does not follow its `cd`, nor where it leaves the project.
    for cwd in [&below, &path("/q"), &path("/added")] {
        assert_eq!(effect(cwd, &edit("/q/docs/a")), Ask);
        assert_eq!(effect(cwd, &edit("/p/docs/a")), Allow);
    }
    let mode = PermissionMode::Default;
    let here = Context { mode, cwd: &below, roots: &roots, doubt: None };
    let decided = |text| decide(&world.policy, &here, &edit(text)).effect;
    assert_eq!((decided("/p/docs/a"), decided("/p/lib/docs/a")), (Allow, Ask));
    // It counts from the working directory, too.
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
        (outcome.effect, outcome.why)
    };
    let could = (Deny, "Bash(rm -rf)");
    assert_eq!(of(&[(Allow, "Bash(rm *)"), could]), (Ask, Why::Possible(Deny)));
    assert_eq!(of(&[could]), (Ask, Why::NoRule));
    assert_eq!(of(&[(Ask, "Bash(rm *)"), could]), (Ask, Why::Rule));
    assert_eq!(of(&[(Deny, "Bash(rm *)"), could]), (Deny, Why::Rule));
    assert_eq!(of(&[(Allow, "Bash(rm *)"), (Deny, "Bash(mv *)")]), (Allow, Why::Rule));
}

#[test]
fn what_was_not_understood_is_denied_where_every_command_is() {
    let opaque = Access::Opaque { text: "$(".into(), span: Default::default() };
    let of = |rules: &[(Effect, &str)]| {
        let outcome = World::of(rules).decide(&opaque);
        (outcome.effect, outcome.why)
    };
    assert_eq!(of(&[(Deny, "Bash")]), (Deny, Why::Rule));
    assert_eq!(of(&[(Deny, "Bash(rm *)")]), (Ask, Why::Opaque));
    assert_eq!(of(&[(Ask, "Bash")]), (Ask, Why::Opaque));
    assert_eq!(of(&[(Allow, "Bash")]), (Ask, Why::Opaque));
}

/// A harmless command of a program that was run to check that, or was not.
fn harmless(text: &str, unproved: bool) -> Access {
    let (argv, class) = (text.split(' ').collect(), CommandClass::Harmless);
    Access::Exec(Exec { argv, text: text.to_owned(), class, arity: 1, unproved, ..Exec::default() })
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
    assert!(world.policy.asks_unproved());
    assert_eq!(effects(&world), [Ask, Allow, Allow, Deny]);
    assert_eq!(world.policy.mode(), None);
    let decision = world.evaluate(&[harmless("tool x", true)], &[]);
    let reason = "`tool x` has not been verified as read-only by running it";
    assert_eq!(decision.parts[0].reason, reason);
    // What is chosen for everything that would be asked holds for this, too.
    world.mode = PermissionMode::BypassPermissions;
    assert_eq!(effects(&world), [Allow, Allow, Allow, Deny]);
    world.mode = PermissionMode::Plan;
    assert_eq!(effects(&world), [Ask, Allow, Allow, Deny]);
}
