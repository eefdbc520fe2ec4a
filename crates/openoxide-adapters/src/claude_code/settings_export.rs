//! Rendering of OpenOxide rules as the permissions of a `settings.json`.

use openoxide_permission::{AdditionalDirectory, Layer, Pattern, Rule, SubjectKind, to_rule_text};
use openoxide_protocol::Effect;
use serde_json::{Map, Value, json};

use crate::policy_export::{
    ConversionLoss, PolicyExport, filter_explicit_patterns, sort_by_precedence,
};

/// Renders a layer and additional directories as settings. In Claude Code deny takes precedence
/// over ask, and ask over allow.
#[must_use]
pub fn render_settings(layer: &Layer, directories: &[AdditionalDirectory]) -> PolicyExport {
    let (mut export, mut permissions) = (PolicyExport::default(), Map::new());
    for effect in [Effect::Deny, Effect::Ask, Effect::Allow] {
        let mut list: Vec<String> = Vec::new();
        for rule in sort_by_precedence(layer).into_iter().filter(|rule| rule.effect == effect) {
            if rule.requires_human {
                export.add_unsupported_rule(rule, ConversionLoss::Dropped);
            }
            for pattern in filter_explicit_patterns(rule) {
                let text = render_rule(&mut export, rule, pattern);
                list.extend(text.filter(|text| !list.contains(text)));
            }
        }
        if !list.is_empty() {
            permissions.insert(effect.as_str().to_owned(), Value::from(list));
        }
    }
    if let Some(mode) = layer.mode {
        permissions.insert("defaultMode".to_owned(), Value::from(mode.as_camel_case()));
    }
    if !directories.is_empty() {
        let all: Vec<&str> = directories.iter().map(AdditionalDirectory::portable_text).collect();
        permissions.insert("additionalDirectories".to_owned(), Value::from(all));
    }
    export.text = format!("{:#}\n", json!({ "permissions": permissions }));
    export
}

fn render_rule(export: &mut PolicyExport, rule: &Rule, pattern: &Pattern) -> Option<String> {
    let whole = match pattern.kind {
        SubjectKind::Tool => "",
        SubjectKind::DoomLoop
        | SubjectKind::External
        | SubjectKind::ExternalFromCwd
        | SubjectKind::Socket => {
            export.add_unsupported_pattern(rule);
            return None;
        }
        space => space.rule_name(),
    };
    // In Claude Code a command is plain text: quotes and backslashes are literal.
    let quoted = |text: &str| pattern.kind == SubjectKind::Exec && text.contains(['\\', '\'', '"']);
    match to_rule_text(rule, pattern).filter(|spelled| !quoted(&spelled.text)) {
        // In Claude Code a rule without a path matches only one of the tools that edit.
        Some(spelled) if rule.effect == Effect::Allow && spelled.text == "Edit" => {
            export.add_unsupported_rule(rule, ConversionLoss::Narrower);
            Some("Edit(**)".to_owned())
        }
        // The pattern matches a tool of another program, or every tool.
        Some(spelled)
            if pattern.kind == SubjectKind::Tool && !is_tool_name(&spelled.text, rule.effect) =>
        {
            export.add_unsupported_pattern(rule);
            None
        }
        Some(spelled) => {
            if !spelled.is_equivalent {
                let allows = rule.effect == Effect::Allow;
                export.add_unsupported_rule(
                    rule,
                    if allows { ConversionLoss::Narrower } else { ConversionLoss::Wider },
                );
            }
            Some(spelled.text)
        }
        None if rule.effect == Effect::Allow || whole.is_empty() => {
            export.add_unsupported_pattern(rule);
            None
        }
        None => {
            export.add_unsupported_rule(rule, ConversionLoss::Wider);
            Some(whole.to_owned())
        }
    }
}

/// Returns whether the client reads this text as the name of a tool. In an allow rule, a wildcard
/// is valid only after the name of one server.
fn is_tool_name(text: &str, effect: Effect) -> bool {
    let origin = crate::policy_translation::RuleOrigin::default();
    super::rules::ClaudeRule::parse(text, effect, origin, &openoxide_protocol::AbsPath::root())
        .is_some()
}
