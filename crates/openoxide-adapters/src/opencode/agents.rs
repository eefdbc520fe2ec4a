//! The rules that OpenCode gives its agents before anybody has said anything.

use openoxide_protocol::{AbsPath, Effect};

use super::ruleset::Rule;

use Effect::{Allow, Ask, Deny};

type Row = (&'static str, &'static str, Effect);

/// What every agent begins with, up to the directories that lie below home.
const BASE: &[Row] = &[
    ("*", "*", Allow),
    ("doom_loop", "*", Ask),
    ("external_directory", "*", Ask),
    ("external_directory", "/tmp/opencode/*", Allow),
];

const BASE_END: &[Row] = &[
    ("question", "*", Deny),
    ("plan_enter", "*", Deny),
    ("plan_exit", "*", Deny),
    ("read", "*", Allow),
    ("read", "*.env", Ask),
    ("read", "*.env.*", Ask),
    ("read", "*.env.example", Allow),
];

const BUILD: &[Row] = &[("question", "*", Allow), ("plan_enter", "*", Allow)];

const PLAN: &[Row] = &[
    ("question", "*", Allow),
    ("plan_exit", "*", Allow),
    ("task", "general", Deny),
    ("edit", "*", Deny),
    ("edit", ".opencode/plans/*.md", Allow),
];

const GENERAL: &[Row] = &[("todowrite", "*", Deny)];

const EXPLORE: &[Row] = &[
    ("*", "*", Deny),
    ("grep", "*", Allow),
    ("glob", "*", Allow),
    ("list", "*", Allow),
    ("bash", "*", Allow),
    ("webfetch", "*", Allow),
    ("websearch", "*", Allow),
    ("read", "*", Allow),
];

/// The agents that OpenCode brings along.
const OWN: &[(&str, &[Row])] =
    &[("build", BUILD), ("plan", PLAN), ("general", GENERAL), ("explore", EXPLORE)];

/// The agent that works where none is named.
pub(crate) const DEFAULT: &str = "build";

/// Says whether OpenCode brings this agent along.
pub(crate) fn is_own(agent: &str) -> bool {
    OWN.iter().any(|(name, _)| *name == agent)
}

/// Returns the rules that come before those of the configuration.
pub(crate) fn before(agent: &str, home: Option<&AbsPath>) -> Vec<Rule> {
    let own = OWN.iter().find(|(name, _)| *name == agent).map_or(&[][..], |(_, rows)| rows);
    let mut rules: Vec<_> = BASE.iter().map(rule).collect();
    rules.extend(output(home));
    rules.extend(BASE_END.iter().chain(own).map(rule));
    rules
}

/// Returns the rule that comes last of all: what tools have put aside stays readable, unless exactly that is denied.
pub(crate) fn after(rules: &[Rule], home: Option<&AbsPath>) -> Option<Rule> {
    let output = output(home)?;
    let denied = rules.iter().any(|rule| {
        rule.permission == output.permission
            && rule.pattern == output.pattern
            && rule.effect == Deny
    });
    (!denied).then_some(output)
}

fn output(home: Option<&AbsPath>) -> Option<Rule> {
    let directory = home?.join(".local/share/opencode/tool-output");
    Some(Rule::new("external_directory", &format!("{directory}/*"), Allow))
}

fn rule(row: &Row) -> Rule {
    Rule::new(row.0, row.1, row.2)
}
