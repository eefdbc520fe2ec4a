//! Narrower and wider alternatives to the rules that "always" saves. They are shown to the reviewer
//! before the choice.

use openoxide_protocol::{
    Access, AccessDecision, Effect, ExecAccess, PermissionMode, RuleBreadth, RuleChoice,
};

use crate::{
    evaluation::EvaluationContext, pattern::command, rule::PathAnchors,
    session_grants::SessionGrants, suggested_rules,
};

/// The maximum length of a suggested rule, because a reviewer would not read a longer one.
const MAX_RULE_LENGTH: usize = 400;

/// The prefixes that may be widened by one word. The word after such a prefix names one thing of a
/// kind: a script of the project, an object, or a subcommand that does no more than its siblings.
/// This is an allow list on purpose: after `uv run`, `npm exec` or `docker compose` any program can
/// follow, and the effects of an unknown program are not known.
const WIDENABLE_PREFIXES: &[&str] = &[
    "composer run",
    "composer run-script",
    "docker network",
    "docker volume",
    "gh issue",
    "gh label",
    "gh pr",
    "gh release",
    "gh run",
    "git notes",
    "git stash",
    "go mod",
    "helm repo",
    "ip addr",
    "ip link",
    "ip route",
    "jj bookmark",
    "kubectl describe",
    "kubectl get",
    "kubectl rollout",
    "lerna run",
    "npm run",
    "npm run-script",
    "npm view",
    "nx run",
    "openssl x509",
    "pnpm run",
    "podman network",
    "podman volume",
    "pulumi stack",
    "rustup component",
    "rustup target",
    "rustup toolchain",
    "terraform workspace",
    "tofu workspace",
    "turbo run",
    "uv pip",
];

/// Returns the alternatives to the rules in `always`. Each alternative is a complete list of rules
/// that answers the whole request; incomplete ones are left out.
pub(crate) fn find_alternatives(
    always: &[String],
    parts: &[AccessDecision],
    anchors: PathAnchors<'_>,
) -> Vec<RuleChoice> {
    let asked: Vec<_> = parts.iter().filter(|part| part.decision == Effect::Ask).collect();
    let each = [
        (RuleBreadth::Narrower, narrower_rule as RuleGenerator),
        (RuleBreadth::Wider, wider_rule as RuleGenerator),
    ];
    let choices = each.into_iter().filter_map(|(breadth, other)| {
        let rules = replace_command_rules(always, &asked, other)?;
        Some(RuleChoice { breadth, rules })
    });
    choices
        .filter(|choice| choice.rules != always && allows_all_commands(choice, &asked, anchors))
        .collect()
}

type RuleGenerator = fn(&ExecAccess) -> Option<String>;

/// Returns the rules with a replacement for each command, or `None` if there is no narrower rule
/// for one of the commands.
fn replace_command_rules(
    always: &[String],
    asked: &[&AccessDecision],
    other: RuleGenerator,
) -> Option<Vec<String>> {
    let mut rules = Vec::new();
    for rule in always {
        let mut found = false;
        for exec in asked.iter().filter_map(|part| as_exec(part)) {
            if suggested_rules::prefix_rule(exec).as_ref() == Some(rule) {
                found = true;
                push_unique(&mut rules, other(exec)?);
            }
        }
        if !found {
            push_unique(&mut rules, rule.clone());
        }
    }
    Some(rules)
}

fn push_unique(rules: &mut Vec<String>, rule: String) {
    if !rules.contains(&rule) {
        rules.push(rule);
    }
}

const fn as_exec(part: &AccessDecision) -> Option<&ExecAccess> {
    match &part.access {
        Access::Exec(exec) => Some(exec),
        _ => None,
    }
}

fn narrower_rule(exec: &ExecAccess) -> Option<String> {
    suggested_rules::exact_command_rule(&exec.argv).filter(|rule| rule.len() <= MAX_RULE_LENGTH)
}

/// Returns the rule with one word less, or else the suggested rule.
fn wider_rule(exec: &ExecAccess) -> Option<String> {
    let kept = usize::from(exec.arity).checked_sub(1)?;
    let words: Option<Vec<_>> = (0..kept).map(|index| exec.argv.known_word(index)).collect();
    let words = words?;
    if !WIDENABLE_PREFIXES.contains(&words.join(" ").as_str()) {
        return suggested_rules::prefix_rule(exec);
    }
    let words: Vec<_> = words.into_iter().map(command::quote).collect();
    Some(format!("Bash({} *)", words.join(" ")))
}

/// Returns whether the rules allow each command that is asked about, according to the matcher that
/// later evaluates them.
fn allows_all_commands(
    choice: &RuleChoice,
    asked: &[&AccessDecision],
    anchors: PathAnchors<'_>,
) -> bool {
    let (mode, cwd) = (PermissionMode::Default, anchors.base);
    let context = EvaluationContext {
        mode,
        cwd,
        roots: &[],
        policy_error: None,
        auto_allow: Default::default(),
    };
    let mut grants = SessionGrants::default();
    grants.add_rules(&choice.rules, &context);
    let mut commands = asked.iter().filter(|part| as_exec(part).is_some());
    commands.all(|part| grants.granted_rules_allow(&context, &part.access))
}

#[cfg(test)]
mod tests;
