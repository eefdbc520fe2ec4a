//! Rules of other programs as an OpenOxide policy file.

use openoxide_adapters::policy_export::{ConversionLoss, PolicyExport};
use openoxide_permission::{
    AdditionalDirectory, CombiningAlgorithm, Layer, PathAnchors, Pattern, Rule, parse_rule,
    to_rule_text,
};
use openoxide_protocol::{AbsPath, Effect};
use openoxide_store::policy_edit::quote_toml;

/// A rule as OpenOxide writes it.
pub(super) struct RenderedRule {
    pub(super) effect: Effect,
    pub(super) text: String,
    pub(super) reason: Option<String>,
    pub(super) requires_human: bool,
}

/// Returns the rules of a layer as OpenOxide rules in the same order, and the differences in
/// meaning.
pub(super) fn render_rules(layer: &Layer) -> (Vec<RenderedRule>, PolicyExport) {
    let (mut all, mut export): (Vec<RenderedRule>, _) = (Vec::new(), PolicyExport::default());
    for rule in &layer.rules {
        for (effect, text) in rule_texts(layer.combining_algorithm, rule, &mut export) {
            let last_match = layer.combining_algorithm == CombiningAlgorithm::LastMatch;
            let twin = |one: &RenderedRule| {
                (one.effect, &one.text, one.requires_human) == (effect, &text, rule.requires_human)
            };
            if last_match || !all.iter().any(twin) {
                all.push(RenderedRule {
                    effect,
                    text,
                    reason: rule.reason.clone(),
                    requires_human: rule.requires_human,
                });
            }
        }
    }
    (all, export)
}

/// A text that OpenOxide's parser reads as the same rule is kept.
fn rule_texts(
    combining: CombiningAlgorithm,
    rule: &Rule,
    export: &mut PolicyExport,
) -> Vec<(Effect, String)> {
    let root = AbsPath::root();
    let read = parse_rule(&rule.text, rule.effect, PathAnchors { home: None, base: &root });
    // A path relative to its policy file would be relative to another file after the conversion.
    let own = rule.text.contains("(/") && !rule.text.contains("(//");
    if !own && read.is_ok_and(|read| read.patterns == rule.patterns) {
        return vec![(rule.effect, rule.text.clone())];
    }
    let mut all: Vec<(Effect, String)> = Vec::new();
    for pattern in &rule.patterns {
        if let Some(one) =
            pattern_text(combining, rule, pattern, export).filter(|one| !all.contains(one))
        {
            all.push(one);
        }
    }
    all
}

fn pattern_text(
    combining: CombiningAlgorithm,
    rule: &Rule,
    pattern: &Pattern,
    export: &mut PolicyExport,
) -> Option<(Effect, String)> {
    let spelled = to_rule_text(rule, pattern);
    let same = spelled.as_ref().is_some_and(|spelled| spelled.is_equivalent);
    if same {
        return spelled.map(|spelled| (rule.effect, spelled.text));
    }
    if rule.effect == Effect::Allow {
        export.add_unsupported_rule(rule, ConversionLoss::Narrower);
        return spelled.map(|spelled| (Effect::Allow, spelled.text));
    }
    export.add_unsupported_rule(rule, ConversionLoss::Wider);
    // In an ordered policy, a wider `ask` rule would override an earlier deny.
    let ordered = combining == CombiningAlgorithm::LastMatch;
    let effect = if ordered { Effect::Deny } else { rule.effect };
    Some((
        effect,
        spelled.map_or_else(|| pattern.kind.rule_name().to_owned(), |spelled| spelled.text),
    ))
}

/// Returns a layer and additional directories as the text of a policy file.
pub(super) fn render_policy(layer: &Layer, directories: &[AdditionalDirectory]) -> PolicyExport {
    let (all, mut export) = render_rules(layer);
    let mode = layer.mode.map(|mode| format!("mode = \"{}\"\n\n", mode.as_str()));
    let lines: String = directories
        .iter()
        .map(|one| format!("    {},\n", quote_toml(one.portable_text())))
        .collect();
    let directories = (!lines.is_empty()).then(|| format!("directories = [\n{lines}]\n\n"));
    let mut text: String = mode.into_iter().chain(directories).collect();
    text += "[permissions]\n";
    let ordered = layer.combining_algorithm == CombiningAlgorithm::LastMatch;
    if layer.combining_algorithm != CombiningAlgorithm::Strictest {
        text.extend([format!("combining = \"{}\"\n", layer.combining_algorithm.as_str())]);
    }
    let is_long = |one: &&RenderedRule| ordered || one.requires_human || one.reason.is_some();
    for effect in [Effect::Deny, Effect::Ask, Effect::Allow] {
        let short = all.iter().filter(|one| !is_long(one) && one.effect == effect);
        let lines: String = short.map(|one| format!("    {},\n", quote_toml(&one.text))).collect();
        if !lines.is_empty() {
            text.extend([format!("{} = [\n{lines}]\n", effect.as_str())]);
        }
    }
    all.iter().filter(is_long).for_each(|one| text += &render_long_rule(one));
    export.text = text;
    export
}

fn render_long_rule(one: &RenderedRule) -> String {
    let inside = one.text.split_once('(');
    let inside = inside.and_then(|(name, rest)| Some((name, rest.strip_suffix(')')?)));
    let (permission, pattern) = inside.unwrap_or((&one.text, "*"));
    let mut text = format!(
        "\n[[permissions.rule]]\npermission = {}\npattern = {}\naction = \"{}\"\n",
        quote_toml(permission),
        quote_toml(pattern),
        one.effect.as_str()
    );
    if one.requires_human {
        text += "reviewer = \"human\"\n";
    }
    if let Some(reason) = &one.reason {
        text.extend([format!("reason = {}\n", quote_toml(reason))]);
    }
    text
}
