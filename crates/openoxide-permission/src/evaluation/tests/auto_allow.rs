//! Commands that need no approval because the sandbox confines them.

use openoxide_protocol::{Cause, CauseCode, CommandCause, Span};

use super::*;
use SandboxAutoAllow::{All, Off, Project};

fn with_cause(command: Access, cause: Option<CommandCause>) -> Access {
    match command {
        Access::Exec(exec) => {
            let words: Vec<_> = (0..).map_while(|index| exec.argv.known_word(index)).collect();
            let text = words.join(" ");
            Access::Exec(ExecAccess { cause, text, ..exec })
        }
        other => other,
    }
}

fn effectful(text: &str, code: CauseCode) -> Access {
    let cause = Some(CommandCause::Stated { code, phrase: "does something" });
    with_cause(run(text), cause)
}

fn derived(text: &str) -> Access {
    with_cause(run(text), Some(CommandCause::Derived))
}

fn contact(host: &str) -> Access {
    let (route, url) = (AccessRoute::Program, format!("https://{host}/"));
    Access::Fetch { host: host.to_owned(), url, route }
}

fn decide(
    rules: &[(Effect, &str)],
    auto_allow: SandboxAutoAllow,
    accesses: &[Access],
) -> (Effect, bool) {
    let world = World { auto_allow, ..World::of(rules) };
    let decision = world.evaluate(accesses, &[]);
    (decision.effect, decision.obligations.contains(&Obligation::Sandboxed))
}

/// Accesses, and the effect with each setting.
type Row<'a> = (&'a [Access], [(Effect, bool); 3]);

const SANDBOXED: (Effect, bool) = (Allow, true);
const ASK: (Effect, bool) = (Ask, false);

/// Guards I39.
#[test]
fn the_setting_decides_which_commands_need_no_approval() {
    let edit = |file: &str| Access::Edit(touched(file, AccessRoute::Program));
    let read = |file: &str| Access::Read(touched(file, AccessRoute::Program));
    let unknown_program = Some(CommandCause::UnknownProgram);
    let starting = |text| with_cause(run(text), Some(CommandCause::StartsPrograms));
    let build = || effectful("make", CauseCode::RunsProjectCode);
    let opaque = || Access::Opaque { text: "$(".into(), span: Span::new(1, 2) };
    let rows: &[Row<'_>] = &[
        (&[build()], [ASK, SANDBOXED, SANDBOXED]),
        (&[effectful("rm a", CauseCode::RemovesFiles)], [ASK, ASK, SANDBOXED]),
        (&[effectful("git reset", CauseCode::DiscardsChanges)], [ASK, ASK, SANDBOXED]),
        (&[effectful("git push", CauseCode::ContactsHost)], [ASK, ASK, SANDBOXED]),
        (&[derived("x a"), edit("/p/a")], [ASK, SANDBOXED, SANDBOXED]),
        (&[derived("npm pub")], [ASK, ASK, SANDBOXED]),
        (&[starting("git p")], [ASK, ASK, SANDBOXED]),
        (&[starting("env x"), with_cause(run("x"), unknown_program)], [ASK, SANDBOXED, SANDBOXED]),
        (&[derived("x a"), edit("/q/a")], [ASK, ASK, ASK]),
        (&[derived("x a"), read("/q/a")], [ASK, ASK, SANDBOXED]),
        (&[derived("curl"), contact("h.test")], [ASK, ASK, ASK]),
        (&[build(), contact("h.test")], [ASK, ASK, ASK]),
        (&[build(), opaque()], [ASK, ASK, SANDBOXED]),
        (&[run("x")], [ASK, ASK, SANDBOXED]),
        (&[Access::CallTool { tool: "mcp__a__b".into() }], [ASK, ASK, ASK]),
        (&[build(), Access::CallTool { tool: "mcp__a__b".into() }], [ASK, ASK, ASK]),
        // A change that no command makes is not confined.
        (&[Access::Edit(touched("/p/a", AccessRoute::Direct))], [ASK, ASK, ASK]),
        (
            &[build(), Access::Edit(touched("/p/a", AccessRoute::Direct))],
            [ASK, SANDBOXED, SANDBOXED],
        ),
    ];
    for (accesses, expected) in rows {
        for (setting, expected) in [Off, Project, All].into_iter().zip(expected) {
            assert_eq!(decide(&[], setting, accesses), *expected, "{setting:?} {accesses:?}");
        }
    }
}

/// Guards I39.
#[test]
fn rules_take_precedence() {
    let make = || effectful("make all", CauseCode::RunsProjectCode);
    let rows = [
        (Ask, "Bash(make *)", ASK),
        (Deny, "Bash(make *)", (Deny, false)),
        (Allow, "Bash(make *)", (Allow, false)),
        (Deny, "Bash(make other *)", SANDBOXED),
    ];
    for (effect, rule, expected) in rows {
        for setting in [Project, All] {
            assert_eq!(decide(&[(effect, rule)], setting, &[make()]), expected, "{rule}");
        }
    }
    // The rule could match the unknown word.
    let cause = Some(CommandCause::Stated { code: CauseCode::RunsCode, phrase: "builds" });
    let partly = [with_cause(unknown(&["make"], &[]), cause)];
    assert_eq!(decide(&[], Project, &partly), SANDBOXED);
    assert_eq!(decide(&[(Ask, "Bash(make all)")], All, &partly), ASK);
    // Text that was not understood could be a command that a rule restricts.
    let opaque = [make(), Access::Opaque { text: "$(".into(), span: Span::new(1, 2) }];
    assert_eq!(decide(&[(Ask, "Bash(other)")], All, &opaque), ASK);
}

#[test]
fn a_host_that_a_rule_allows_needs_no_approval() {
    let accesses = [effectful("make", CauseCode::RunsProjectCode), contact("h.test")];
    let rule = (Allow, "WebFetch(domain:h.test)");
    assert_eq!(decide(&[rule], Project, &accesses), SANDBOXED);
    assert_eq!(decide(&[(Ask, "WebFetch(domain:h.test)")], All, &accesses), ASK);
}

/// Guards I39.
#[test]
fn the_safety_floor_and_the_modes_take_precedence() {
    let make = || effectful("make", CauseCode::RunsProjectCode);
    let evaluate = |mode, accesses: &[Access], findings: &[Finding]| {
        let world = World { auto_allow: All, mode, ..World::of(&[]) };
        let decision = world.evaluate(accesses, findings);
        (decision.effect, decision.obligations.contains(&Obligation::Sandboxed))
    };
    let normal = PermissionMode::Default;
    for kind in [FindingKind::Escalate, FindingKind::CircuitBreaker] {
        assert_eq!(evaluate(normal, &[make()], &[finding(kind)]), ASK);
    }
    assert_eq!(evaluate(normal, &[make()], &[finding(FindingKind::Note)]), SANDBOXED);
    let steering = Access::Edit(touched("/p/.git/hooks/pre-commit", AccessRoute::Program));
    assert_eq!(evaluate(normal, &[make(), steering], &[]), ASK);
    let secret = Access::Read(touched("/p/.env", AccessRoute::Program));
    assert_eq!(evaluate(normal, &[make(), secret], &[]), ASK);
    for (mode, expected) in [
        (PermissionMode::Sandboxed, SANDBOXED),
        (PermissionMode::AcceptEdits, SANDBOXED),
        (PermissionMode::DontAsk, SANDBOXED),
        (PermissionMode::Plan, (Deny, false)),
        (PermissionMode::BypassPermissions, (Allow, false)),
    ] {
        assert_eq!(evaluate(mode, &[make()], &[]), expected, "{mode:?}");
    }
    let doubtful = World { auto_allow: All, doubt: Some("line 3"), ..World::of(&[]) };
    assert_eq!(doubtful.evaluate(&[make()], &[]).effect, Ask);
}

/// A question shows the whole operation, because its answer is not limited to the sandbox.
#[test]
fn a_question_contains_all_parts() {
    let make = effectful("make", CauseCode::RunsProjectCode);
    let world = World { auto_allow: Project, ..World::of(&[]) };
    let asked = world.evaluate(&[make.clone(), effectful("rm a", CauseCode::RemovesFiles)], &[]);
    assert_eq!(asked.parts.iter().map(|part| part.decision).collect::<Vec<_>>(), [Ask, Ask]);
    assert_eq!(asked.obligations, []);
    let allowed = world.evaluate(&[make], &[]);
    assert_eq!(allowed.reason, "sandboxed: `make` does something");
    let (code, detail) = (CauseCode::RunsProjectCode, "does something".to_owned());
    assert_eq!(allowed.parts[0].cause, Some(Cause { code, detail }));
}

/// The words of a command that installs packages.
fn install(command: &str) -> Access {
    effectful(command, CauseCode::InstallsPackages)
}

#[test]
fn a_command_that_installs_packages_needs_a_rule_about_its_registry() {
    let registry = (Allow, "WebFetch(registry:npm)");
    let host = (Allow, "WebFetch(domain:registry.npmjs.org)");
    let denied = [registry, (Deny, "WebFetch(domain:registry.npmjs.org)")];
    type Row<'a> = (&'a [(Effect, &'a str)], &'a str, (Effect, bool));
    let rows: [Row<'_>; 10] = [
        (&[registry], "npm install https://h.example/a.tgz", ASK),
        (&[registry], "npm install user/repository", ASK),
        (&[], "npm install a", ASK),
        (&[registry], "npm install a", SANDBOXED),
        (&[host], "npm ci", SANDBOXED),
        (&[registry], "npm install -g a", ASK),
        (&[registry], "npm publish", ASK),
        (&[registry], "yarn add a", ASK),
        (&[registry, (Ask, "Bash(npm ci)")], "npm ci", ASK),
        (&denied, "npm ci", ASK),
    ];
    for (rules, command, expected) in rows {
        assert_eq!(decide(rules, Project, &[install(command)]), expected, "{rules:?} {command}");
        assert_ne!(decide(rules, Off, &[install(command)]), SANDBOXED, "{command}");
    }
}

#[test]
fn a_question_about_a_registry_offers_the_rule_that_answers_it() {
    let world = World { auto_allow: Project, ..World::of(&[]) };
    let make = effectful("make", CauseCode::RunsProjectCode);
    let asked = world.evaluate(&[install("npm ci"), make.clone()], &[]);
    assert_eq!(asked.suggested_rules, ["WebFetch(registry:npm)"]);
    assert!(asked.parts[0].reason.ends_with("; contacts `registry.npmjs.org`"), "{asked:?}");
    // The rule would not answer the other part.
    let remove = effectful("rm a", CauseCode::RemovesFiles);
    let asked = world.evaluate(&[install("npm ci"), remove], &[]);
    assert!(!asked.suggested_rules.contains(&"WebFetch(registry:npm)".to_owned()), "{asked:?}");
    let plain = World::of(&[]).evaluate(&[install("npm ci"), make], &[]);
    assert!(!plain.suggested_rules.contains(&"WebFetch(registry:npm)".to_owned()), "{plain:?}");
}

fn at(start: usize, access: Access) -> Access {
    let span = Span::new(start, start + 1);
    match access {
        Access::Exec(exec) => Access::Exec(ExecAccess { span, ..exec }),
        Access::Opaque { text, .. } => Access::Opaque { text, span },
        other => other,
    }
}

fn code_finding(code: &'static str, start: usize) -> Finding {
    Finding {
        code: code.into(),
        span: Span::new(start, start + 1),
        ..finding(FindingKind::Escalate)
    }
}

/// Guards I39.
#[test]
fn findings_about_the_code_of_a_confined_command_need_no_approval() {
    let script = || at(1, effectful("sh check.sh", CauseCode::RunsCode));
    let opaque =
        |start| at(start, Access::Opaque { text: "sh check.sh".into(), span: Span::default() });
    let partly = || {
        let cause = Some(CommandCause::Stated { code: CauseCode::RunsCode, phrase: "runs code" });
        at(1, with_cause(unknown(&["sh"], &[]), cause))
    };
    let redirection = at(1, Access::Opaque { text: "> $X".into(), span: Span::default() });
    let pushes = || at(1, effectful("git push", CauseCode::ContactsHost));
    let commits = || at(1, effectful("git commit", CauseCode::ChangesHistory));
    let code = |code| [code_finding(code, 1)];
    type Rules = &'static [(Effect, &'static str)];
    type Row<'a> = (Rules, &'a [Access], &'a [Finding], (Effect, bool));
    const DENY: Rules = &[(Deny, "Bash(other *)")];
    const PUSH: Rules = &[(Allow, "Bash(git push)")];
    const ALLOW: Rules = &[(Allow, "Bash(sh *)")];
    let rows: &[Row<'_>] = &[
        (&[], &[script(), opaque(1)], &code("OX106"), SANDBOXED),
        (DENY, &[script(), opaque(1)], &code("OX106"), SANDBOXED),
        (&[], &[script()], &code("OX103"), SANDBOXED),
        (&[], &[script()], &code("OX104"), SANDBOXED),
        // The text of another part of the script.
        (&[], &[script(), opaque(5)], &[], ASK),
        (&[], &[script()], &[code_finding("OX104", 5)], ASK),
        (&[], &[script(), commits(), opaque(1)], &[], ASK),
        // Other findings, and a finding with two meanings.
        (&[], &[script()], &code("OX102"), ASK),
        (&[], &[script()], &code("OX105"), ASK),
        (&[], &[script()], &code("OX301"), ASK),
        (&[], &[script()], &[code_finding("OX103", 1), code_finding("OX105", 1)], ASK),
        (
            &[],
            &[script()],
            &[Finding { kind: FindingKind::CircuitBreaker, ..code_finding("OX106", 1) }],
            ASK,
        ),
        // Commands that do not run any code.
        (&[], &[commits()], &code("OX106"), ASK),
        (&[], &[pushes()], &code("OX103"), ASK),
        // A word that is not known could be a command.
        (&[], &[partly(), opaque(1)], &[], ASK),
        (&[], &[partly()], &code("OX106"), ASK),
        (&[], &[partly()], &code("OX103"), SANDBOXED),
        (DENY, &[partly()], &code("OX103"), ASK),
        // A rule allows the command outside of the sandbox.
        (ALLOW, &[script()], &code("OX103"), ASK),
        (ALLOW, &[script(), opaque(1)], &[], ASK),
        (PUSH, &[script(), pushes()], &code("OX103"), ASK),
        (PUSH, &[at(5, script()), pushes()], &[code_finding("OX103", 5)], ASK),
        // The target of a redirection of the same command.
        (&[], &[script(), redirection], &code("OX106"), ASK),
    ];
    for (rules, accesses, findings, expected) in rows {
        let world = World { auto_allow: Project, ..World::of(rules) };
        let decision = world.evaluate(accesses, findings);
        let sandboxed = decision.obligations.contains(&Obligation::Sandboxed);
        assert_eq!((decision.effect, sandboxed), *expected, "{rules:?} {accesses:?} {findings:?}");
    }
    let off = World { auto_allow: Off, ..World::of(&[]) };
    assert_eq!(off.evaluate(&[script(), opaque(1)], &code("OX106")).effect, Ask);
}

/// A rule about a registry does not answer a question of the safety floor, so "always" offers none.
#[test]
fn a_finding_is_not_answered_by_a_rule_about_a_registry() {
    let world = World { auto_allow: Project, ..World::of(&[]) };
    let script = || at(1, effectful("python3 a.py", CauseCode::RunsCode));
    let offered = world.evaluate(&[script(), install("npm install")], &[]);
    assert_eq!(offered.suggested_rules, ["WebFetch(registry:npm)"]);
    let asked = world.evaluate(&[script(), install("npm install")], &[code_finding("OX103", 1)]);
    assert_eq!((asked.effect, asked.suggested_rules), (Ask, Vec::new()));
}
