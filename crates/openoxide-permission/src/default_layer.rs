//! The built-in layer: the rules that apply where no other rule matches.

use openoxide_protocol::{AbsPath, Effect};

use crate::{
    combining_algorithm::CombiningAlgorithm,
    layer::{Layer, LayerKind},
    rule::{PathAnchors, Rule},
    rule_syntax,
};

/// The built-in rules. The last matching rule decides, as in OpenCode, which is the source of the
/// rules about `.env`.
const RULES: &[(Effect, &str, &str)] = &[
    (Effect::Ask, "Read(//**/*.env)", "it usually contains secrets"),
    (Effect::Ask, "Read(//**/*.env.*)", "it usually contains secrets"),
    (Effect::Allow, "Read(//**/*.env.example)", "it is an example without secrets"),
    (Effect::Allow, "Read(//**/*.env.sample)", "it is an example without secrets"),
    (Effect::Allow, "Read(//**/*.env.template)", "it is an example without secrets"),
    // Tools that only read or only talk to the user: they access no file, host or process.
    (Effect::Allow, "AskUserQuestion", "it asks the user"),
    (Effect::Allow, "BashOutput", "it only reads"),
    (Effect::Allow, "EnterPlanMode", "it changes nothing"),
    (Effect::Allow, "ExitPlanMode", "it asks the user"),
    (Effect::Allow, "TaskOutput", "it only reads"),
    (Effect::Allow, "TodoRead", "it only reads"),
    (Effect::Allow, "TodoWrite", "it records the agent's own plan"),
    (Effect::Allow, "todoread", "it only reads"),
    (Effect::Allow, "todowrite", "it records the agent's own plan"),
    (Effect::Allow, "update_plan", "it records the agent's own plan"),
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
