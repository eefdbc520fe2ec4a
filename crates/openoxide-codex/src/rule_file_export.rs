//! Rendering of OpenOxide rules as a rule file of Codex: the first words of commands, and hosts.

use openoxide_permission::{Layer, Pattern, Rule, SubjectKind};
use openoxide_protocol::Effect;
use serde_json::Value;

use openoxide_adapters::policy_export::{
    ConversionLoss, PolicyExport, filter_explicit_patterns, literal_host, sort_by_precedence,
    word_prefix,
};

/// Renders a layer as a rule file, in which the most restrictive rule decides.
#[must_use]
pub fn render_rule_file(layer: &Layer) -> PolicyExport {
    let mut export = PolicyExport::default();
    for rule in sort_by_precedence(layer) {
        if rule.requires_human {
            export.add_unsupported_rule(rule, ConversionLoss::Dropped);
        }
        for pattern in filter_explicit_patterns(rule) {
            match render_call(&mut export, rule, pattern) {
                Some(line) if export.text.contains(&line) => {}
                Some(line) => export.text += &line,
                None => export.add_unsupported_pattern(rule),
            }
        }
    }
    export.add_unsupported_mode(layer.mode);
    export
}

fn render_call(export: &mut PolicyExport, rule: &Rule, pattern: &Pattern) -> Option<String> {
    let decision = match rule.effect {
        Effect::Allow => "allow",
        Effect::Ask => "prompt",
        Effect::Deny => "forbidden",
    };
    let why = rule.reason.as_ref().filter(|why| !why.trim().is_empty());
    let why = why.map(|why| format!(", justification={}", render_string(why))).unwrap_or_default();
    match pattern.kind {
        SubjectKind::Exec => {
            let prefix = word_prefix(pattern)?;
            if !prefix.is_exact && rule.effect == Effect::Allow {
                return None;
            }
            if !prefix.is_exact {
                export.add_unsupported_rule(rule, ConversionLoss::Wider);
            }
            let words: Vec<String> = prefix.words.iter().map(|word| render_string(word)).collect();
            let words = words.join(", ");
            Some(format!("prefix_rule(pattern=[{words}], decision=\"{decision}\"{why})\n"))
        }
        SubjectKind::Fetch => {
            let host = render_string(&literal_host(pattern)?);
            let decision = if decision == "forbidden" { "deny" } else { decision };
            Some(format!(
                "network_rule(host={host}, protocol=\"https\", decision=\"{decision}\"{why})\n"
            ))
        }
        _ => None,
    }
}

/// Renders a string. Codex itself writes the words of its rules as JSON strings.
fn render_string(text: &str) -> String {
    Value::from(text).to_string()
}
