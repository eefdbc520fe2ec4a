//! Narrower and wider rules than those that "always" offers: a reviewer sees them before the choice.

use openoxide_protocol::{Access, Choice, Effect, Exec, Part, PermissionMode, Width};

use crate::{always, evaluate::Context, grant::Grants, pattern::command, rule::Anchors};

/// A longer rule is not read before it is chosen.
const LONGEST: usize = 400;

/// What a word less is offered of. Whatever follows these words names one thing of a kind: a script of the project, an object, a
/// subcommand that does no more than its siblings. A list of what is safe, and not of what is not: after `uv run`, `npm exec` or
/// `docker compose` any program can follow, and of an unknown program nothing is known.
const WIDER: &[&str] = &[
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

/// Returns the other choices beside the rules in `always`: each is a full list, so that it answers the whole request, or it is not there.
pub(crate) fn alternatives(always: &[String], parts: &[Part], anchors: Anchors<'_>) -> Vec<Choice> {
    let asked: Vec<_> = parts.iter().filter(|part| part.decision == Effect::Ask).collect();
    let each = [(Width::Narrower, narrower as Other), (Width::Wider, wider as Other)];
    let choices = each.into_iter().filter_map(|(width, other)| {
        let rules = instead(always, &asked, other)?;
        Some(Choice { width, rules })
    });
    choices.filter(|choice| choice.rules != always && answers(choice, &asked, anchors)).collect()
}

type Other = fn(&Exec) -> Option<String>;

/// Returns the rules with another one for each command; nothing if one of the commands has none that is narrower.
fn instead(always: &[String], asked: &[&Part], other: Other) -> Option<Vec<String>> {
    let mut rules = Vec::new();
    for rule in always {
        let mut found = false;
        for exec in asked.iter().filter_map(|part| exec(part)) {
            if always::prefix(exec).as_ref() == Some(rule) {
                found = true;
                add(&mut rules, other(exec)?);
            }
        }
        if !found {
            add(&mut rules, rule.clone());
        }
    }
    Some(rules)
}

fn add(rules: &mut Vec<String>, rule: String) {
    if !rules.contains(&rule) {
        rules.push(rule);
    }
}

const fn exec(part: &Part) -> Option<&Exec> {
    match &part.access {
        Access::Exec(exec) => Some(exec),
        _ => None,
    }
}

fn narrower(exec: &Exec) -> Option<String> {
    always::exactly(&exec.argv).filter(|rule| rule.len() <= LONGEST)
}

/// Returns the rule for one word less, or else the one that is offered.
fn wider(exec: &Exec) -> Option<String> {
    let kept = usize::from(exec.arity).checked_sub(1)?;
    let words: Option<Vec<_>> = (0..kept).map(|index| exec.argv.known(index)).collect();
    let words = words?;
    if !WIDER.contains(&words.join(" ").as_str()) {
        return always::prefix(exec);
    }
    let words: Vec<_> = words.into_iter().map(command::quote).collect();
    Some(format!("Bash({} *)", words.join(" ")))
}

/// Says whether the rules allow each command that is asked about, by the matcher that will judge them.
fn answers(choice: &Choice, asked: &[&Part], anchors: Anchors<'_>) -> bool {
    let (mode, cwd) = (PermissionMode::Default, anchors.base);
    let context = Context { mode, cwd, roots: &[], doubt: None };
    let mut grants = Grants::default();
    grants.add_rules(&choice.rules, &context);
    let mut commands = asked.iter().filter(|part| exec(part).is_some());
    commands.all(|part| grants.cover(&context, &part.access))
}

#[cfg(test)]
mod tests;
