//! The built-in rules of OpenCode's agents.

use openoxide_protocol::{AbsPath, Effect};

use super::ruleset::OpenCodeRule;

use Effect::{Allow, Ask, Deny};

type AgentRow = (&'static str, &'static str, Effect);

/// The first rules of every agent, before those about directories below the home directory.
const BASE_RULES: &[AgentRow] = &[
    ("*", "*", Allow),
    ("doom_loop", "*", Ask),
    ("external_directory", "*", Ask),
    ("external_directory", "/tmp/opencode/*", Allow),
];

const FINAL_BASE_RULES: &[AgentRow] = &[
    ("question", "*", Deny),
    ("plan_enter", "*", Deny),
    ("plan_exit", "*", Deny),
    ("read", "*", Allow),
    ("read", "*.env", Ask),
    ("read", "*.env.*", Ask),
    ("read", "*.env.example", Allow),
];

const BUILD_AGENT_RULES: &[AgentRow] = &[("question", "*", Allow), ("plan_enter", "*", Allow)];

const PLAN_AGENT_RULES: &[AgentRow] = &[
    ("question", "*", Allow),
    ("plan_exit", "*", Allow),
    ("task", "general", Deny),
    ("edit", "*", Deny),
    ("edit", ".opencode/plans/*.md", Allow),
];

const GENERAL_AGENT_RULES: &[AgentRow] = &[("todowrite", "*", Deny)];

const EXPLORE_AGENT_RULES: &[AgentRow] = &[
    ("*", "*", Deny),
    ("grep", "*", Allow),
    ("glob", "*", Allow),
    ("list", "*", Allow),
    ("bash", "*", Allow),
    ("webfetch", "*", Allow),
    ("websearch", "*", Allow),
    ("read", "*", Allow),
];

/// The agents that are built into OpenCode.
const BUILTIN_AGENTS: &[(&str, &[AgentRow])] = &[
    ("build", BUILD_AGENT_RULES),
    ("plan", PLAN_AGENT_RULES),
    ("general", GENERAL_AGENT_RULES),
    ("explore", EXPLORE_AGENT_RULES),
];

/// The agent that is used if none is named.
pub(crate) const DEFAULT_AGENT: &str = "build";

/// Returns whether an agent is built into OpenCode.
pub(crate) fn is_builtin_agent(agent: &str) -> bool {
    BUILTIN_AGENTS.iter().any(|(name, _)| *name == agent)
}

/// Returns the rules that precede those of the configuration.
pub(crate) fn base_rules(agent: &str, home: Option<&AbsPath>) -> Vec<OpenCodeRule> {
    let own =
        BUILTIN_AGENTS.iter().find(|(name, _)| *name == agent).map_or(&[][..], |(_, rows)| rows);
    let mut rules: Vec<_> = BASE_RULES.iter().map(build_rule).collect();
    rules.extend(tool_output_pattern(home));
    rules.extend(FINAL_BASE_RULES.iter().chain(own).map(build_rule));
    rules
}

/// Returns the last rule of all. It keeps the stored outputs of tools readable, unless a rule
/// denies exactly their directory.
pub(crate) fn tool_output_rule(
    rules: &[OpenCodeRule],
    home: Option<&AbsPath>,
) -> Option<OpenCodeRule> {
    let output = tool_output_pattern(home)?;
    let denied = rules.iter().any(|rule| {
        rule.permission == output.permission
            && rule.pattern == output.pattern
            && rule.effect == Deny
    });
    (!denied).then_some(output)
}

fn tool_output_pattern(home: Option<&AbsPath>) -> Option<OpenCodeRule> {
    let directory = home?.join(".local/share/opencode/tool-output");
    Some(OpenCodeRule::new("external_directory", &format!("{directory}/*"), Allow))
}

fn build_rule(row: &AgentRow) -> OpenCodeRule {
    OpenCodeRule::new(row.0, row.1, row.2)
}
