use openoxide_protocol::{AbsPath, CommandWords};
use proptest::prelude::*;

use super::*;
use crate::{Rule, rule_syntax::parse_rule, subsumption::subsumes};

fn part(command: &str, arity: u8) -> AccessDecision {
    of(command.split(' ').collect(), arity)
}

fn of(argv: CommandWords, arity: u8) -> AccessDecision {
    let exec = ExecAccess {
        argv,
        text: String::new(),
        class: Default::default(),
        span: Default::default(),
        arity,
        ..ExecAccess::default()
    };
    let (access, decision) = (Access::Exec(exec), Effect::Ask);
    AccessDecision {
        access,
        decision,
        rule: None,
        reason: String::new(),
        cause: None,
        overridden: Vec::new(),
    }
}

fn root() -> AbsPath {
    AbsPath::new("/p").unwrap()
}

fn offered(parts: &[AccessDecision]) -> Vec<String> {
    let mut rules = Vec::new();
    let prefixes = parts.iter().filter_map(|part| suggested_rules::prefix_rule(as_exec(part)?));
    prefixes.for_each(|rule| push_unique(&mut rules, rule));
    rules
}

fn choices(parts: &[AccessDecision]) -> Vec<(RuleBreadth, String)> {
    let anchors = PathAnchors { home: None, base: &root() };
    let found = find_alternatives(&offered(parts), parts, anchors);
    found.into_iter().map(|choice| (choice.breadth, choice.rules.join(", "))).collect()
}

fn choice(width: RuleBreadth, rules: &str) -> (RuleBreadth, String) {
    (width, rules.to_owned())
}

#[test]
fn the_narrower_one_is_this_command_and_the_wider_one_a_word_less() {
    let found = choices(&[part("npm run build --prod", 3)]);
    let narrower = choice(RuleBreadth::Narrower, "Bash(npm run build --prod)");
    assert_eq!(found, [narrower, choice(RuleBreadth::Wider, "Bash(npm run *)")]);
}

#[test]
fn a_list_answers_the_whole_request() {
    let parts = [part("npm run build", 3), part("npm run build x", 3), part("make all", 2)];
    let narrower = "Bash(npm run build), Bash(npm run build x), Bash(make all)";
    let wider = choice(RuleBreadth::Wider, "Bash(npm run *), Bash(make all *)");
    assert_eq!(choices(&parts), [choice(RuleBreadth::Narrower, narrower), wider]);
}

#[test]
fn no_wider_rule_that_can_run_any_program_is_offered() {
    for (command, arity) in [
        ("touch x", 1),
        ("git push origin", 2),
        ("npm exec cowsay", 3),
        ("uv run pytest", 3),
        ("yarn run node", 3),
        ("docker compose exec", 3),
        ("no-such-program one two", 2),
    ] {
        let found = choices(&[part(command, arity)]);
        assert_eq!(found, [choice(RuleBreadth::Narrower, &format!("Bash({command})"))]);
    }
}

#[test]
fn unknown_or_too_long_commands_have_no_narrower_rule() {
    let mut argv: CommandWords = ["npm", "run", "build"].iter().collect();
    argv.push_unknown();
    assert_eq!(choices(&[of(argv, 3)]), [choice(RuleBreadth::Wider, "Bash(npm run *)")]);
    let long = format!("make {}", "x".repeat(MAX_RULE_LENGTH));
    assert_eq!(choices(&[part(&long, 1)]), []);
    let both = [part("make all", 2), part(&long, 1)];
    assert_eq!(choices(&both), [], "half an answer is none");
}

/// The prefixes that can run any program are listed in the shell crate's data, which this crate
/// cannot import.
#[test]
fn no_banned_prefix_is_covered_by_a_widenable_prefix() {
    let text = include_str!("../../../openoxide-shell/prefixes.toml");
    let banned = text.split_once("[banned]").unwrap().1;
    let banned: Vec<_> = banned
        .lines()
        .filter_map(|line| line.trim().strip_prefix('"')?.strip_suffix("\","))
        .collect();
    assert!(banned.len() > 100 && banned.contains(&"git rebase"), "{banned:?}");
    for wider in WIDENABLE_PREFIXES {
        let below = |word: &&&str| format!("{word} ").starts_with(&format!("{wider} "));
        let above = |word: &&&str| format!("{wider} ").starts_with(&format!("{word} "));
        assert_eq!(banned.iter().find(below), None, "below {wider}");
        assert_eq!(banned.iter().find(above), None, "above {wider}");
        assert_eq!(wider.split(' ').count(), 2, "`{wider}` alone would be a whole program");
    }
}

fn rule(text: &str) -> Rule {
    parse_rule(text, Effect::Allow, PathAnchors { home: None, base: &root() }).unwrap()
}

fn allows(rules: &[String], argv: &[String]) -> bool {
    let context = EvaluationContext {
        mode: PermissionMode::Default,
        cwd: &root(),
        roots: &[],
        policy_error: None,
        auto_allow: Default::default(),
    };
    let mut grants = SessionGrants::default();
    grants.add_rules(rules, &context);
    grants.granted_rules_allow(&context, &of(argv.iter().collect(), 0).access)
}

proptest! {
    /// Narrower ⊆ suggested ⊆ wider: by proof, and by the matcher on commands that differ slightly.
    /// Guards I16.
    #[test]
    fn each_choice_allows_everything_that_narrower_ones_allow(
        prefix in prop::sample::select(WIDENABLE_PREFIXES.to_vec()),
        words in prop::collection::vec("[a-z*'\" \\\\$(){}\n-]{0,6}", 0..4),
        other in prop::collection::vec("[a-z*'-]{0,3}", 0..4),
        cut in 0_usize..7,
    ) {
        let argv: Vec<String> = prefix.split(' ').map(str::to_owned).chain(["it".to_owned()]).chain(words).collect();
        let parts = [of(argv.iter().collect(), 3)];
        let always = offered(&parts);
        let anchors = PathAnchors { home: None, base: &root() };
        let found = find_alternatives(&always, &parts, anchors);
        let [narrower, wider] = found.as_slice() else {
            return Err(TestCaseError::fail(format!("{argv:?}: {found:?}")));
        };
        let ladder = [&narrower.rules, &always, &wider.rules];
        for rules in ladder {
            prop_assert!(allows(rules, &argv));
        }
        prop_assert!(subsumes(&rule(&always[0]), &rule(&narrower.rules[0])));
        prop_assert!(subsumes(&rule(&wider.rules[0]), &rule(&always[0])));
        let near: Vec<String> = argv.iter().take(cut).cloned().chain(other).collect();
        let allowed = ladder.map(|rules| allows(rules, &near));
        prop_assert!(allowed.is_sorted(), "{near:?}: {allowed:?}");
        prop_assert!(!allowed[0] || near == argv, "the narrower one is this command alone");
    }
}

#[test]
fn a_choice_that_leaves_a_command_unanswered_is_none() {
    let (root, parts) = (root(), [part("npm run a", 3), part("git push x", 2)]);
    let asked: Vec<_> = parts.iter().collect();
    let anchors = PathAnchors { home: None, base: &root };
    let answered = |rules: &[&str]| {
        let rules = rules.iter().map(|rule| (*rule).to_owned()).collect();
        allows_all_commands(&RuleChoice { breadth: RuleBreadth::Wider, rules }, &asked, anchors)
    };
    assert!(answered(&["Bash(npm run *)", "Bash(git *)"]));
    assert!(!answered(&["Bash(npm run *)"]));
    assert!(!answered(&["Bash(git *)"]));
    assert!(!answered(&[]));
}
