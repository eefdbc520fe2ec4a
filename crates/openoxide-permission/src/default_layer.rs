//! The built-in layer: the rules that apply where no other rule matches.

use openoxide_protocol::{AbsPath, Effect};

use crate::{
    combining_algorithm::CombiningAlgorithm,
    layer::{Layer, LayerKind},
    rule::{PathAnchors, Rule},
    rule_syntax,
};

const ONLY_READS: &str = "it only reads";
const OWN_PLAN: &str = "it records the agent's own plan";
/// The subagents that Claude Code brings with it. A definition of the project or of the user can
/// have hooks and servers of its own, so other subagents ask.
const CALLS_ARE_CHECKED: &str = "each call of the subagent is checked";

/// The built-in rules. The last matching rule decides, as in OpenCode, which is the source of the
/// rules about `.env`.
const RULES: &[(Effect, &str, &str)] = &[
    (Effect::Ask, "Read(//**/*.env)", "it usually contains secrets"),
    (Effect::Ask, "Read(//**/*.env.*)", "it usually contains secrets"),
    (Effect::Allow, "Read(//**/*.env.example)", "it is an example without secrets"),
    (Effect::Allow, "Read(//**/*.env.sample)", "it is an example without secrets"),
    (Effect::Allow, "Read(//**/*.env.template)", "it is an example without secrets"),
    // The agents' own tools that access no file, host or process of the user. `corpus/tools` lists
    // all tools of the agents.
    (Effect::Allow, "AskUserQuestion", "it asks the user"),
    (Effect::Allow, "BashOutput", ONLY_READS),
    (Effect::Allow, "CronCreate", "it resumes the agent later, whose calls are checked"),
    (Effect::Allow, "CronDelete", "it removes one of the agent's own jobs"),
    (Effect::Allow, "CronList", ONLY_READS),
    (Effect::Allow, "EnterPlanMode", "it changes nothing"),
    (Effect::Allow, "ExitPlanMode", "it asks the user"),
    (Effect::Allow, "ListAgents", ONLY_READS),
    (Effect::Allow, "ListMcpResourcesTool", ONLY_READS),
    (Effect::Allow, "ReportFindings", "it shows a result to the user"),
    (Effect::Allow, "ScheduleWakeup", "it resumes the agent later, whose calls are checked"),
    (Effect::Allow, "Task(Explore)", CALLS_ARE_CHECKED),
    (Effect::Allow, "Task(Plan)", CALLS_ARE_CHECKED),
    (Effect::Allow, "Task(claude)", CALLS_ARE_CHECKED),
    (Effect::Allow, "Task(fork)", CALLS_ARE_CHECKED),
    (Effect::Allow, "Task(general-purpose)", CALLS_ARE_CHECKED),
    (Effect::Allow, "TaskCreate", OWN_PLAN),
    (Effect::Allow, "TaskGet", ONLY_READS),
    (Effect::Allow, "TaskList", ONLY_READS),
    (Effect::Allow, "TaskOutput", ONLY_READS),
    (Effect::Allow, "TaskStop", "it stops what the agent has started in the background"),
    (Effect::Allow, "TaskUpdate", OWN_PLAN),
    (Effect::Allow, "TodoRead", ONLY_READS),
    (Effect::Allow, "TodoWrite", OWN_PLAN),
    (Effect::Allow, "ToolSearch", "it loads descriptions of tools"),
    (Effect::Allow, "create_goal", OWN_PLAN),
    (Effect::Allow, "get_goal", ONLY_READS),
    (Effect::Allow, "request_user_input", "it asks the user"),
    (Effect::Allow, "todoread", ONLY_READS),
    (Effect::Allow, "todowrite", OWN_PLAN),
    (Effect::Allow, "tool_search", "it loads descriptions of tools"),
    (Effect::Allow, "update_goal", OWN_PLAN),
    (Effect::Allow, "update_plan", OWN_PLAN),
];

/// Returns the text and the reason of each built-in rule. Caches use them to detect that another
/// version has different rules.
pub fn default_rule_texts() -> impl Iterator<Item = [&'static str; 3]> {
    RULES.iter().map(|(effect, text, reason)| [effect.as_str(), *text, *reason])
}

/// Returns the built-in layer.
#[must_use]
pub fn default_layer() -> Layer {
    let root = AbsPath::root();
    let anchors = PathAnchors { home: None, base: &root };
    let rule = |(effect, text, reason): &(Effect, &str, &str)| {
        let rule = rule_syntax::parse_rule(text, *effect, anchors).ok()?;
        Some(Rule { reason: Some((*reason).to_owned()), ..rule })
    };
    Layer {
        kind: LayerKind::Default,
        file: None,
        combining_algorithm: CombiningAlgorithm::LastMatch,
        rules: RULES.iter().filter_map(rule).collect(),
        mode: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_rule_is_a_rule() {
        assert_eq!(default_layer().rules.len(), RULES.len());
    }

    #[test]
    fn every_built_in_rule_has_a_reason() {
        let reasons: Vec<_> = default_layer().rules.into_iter().map(|rule| rule.reason).collect();
        let expected: Vec<_> = RULES.iter().map(|(_, _, why)| Some((*why).to_owned())).collect();
        assert_eq!(reasons, expected);
    }
}
