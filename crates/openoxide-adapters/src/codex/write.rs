//! Our rules as a rule file of Codex: the first words of commands, and hosts.

use openoxide_permission::{Layer, Pattern, Rule, Space};
use openoxide_protocol::Effect;
use serde_json::Value;

use crate::export::{Became, Export, host, in_order, patterns, prefix};

/// Returns a layer as a rule file. There the most restrictive rule decides.
#[must_use]
pub fn write(layer: &Layer) -> Export {
    let mut export = Export::default();
    for rule in in_order(layer) {
        if rule.human {
            export.unsaid(rule, Became::Lost);
        }
        for pattern in patterns(rule) {
            match call(&mut export, rule, pattern) {
                Some(line) if export.text.contains(&line) => {}
                Some(line) => export.text += &line,
                None => export.left_out(rule),
            }
        }
    }
    export.no_mode(layer.mode);
    export
}

fn call(export: &mut Export, rule: &Rule, pattern: &Pattern) -> Option<String> {
    let decision = match rule.effect {
        Effect::Allow => "allow",
        Effect::Ask => "prompt",
        Effect::Deny => "forbidden",
    };
    let why = rule.reason.as_ref().filter(|why| !why.trim().is_empty());
    let why = why.map(|why| format!(", justification={}", text(why))).unwrap_or_default();
    match pattern.space {
        Space::Exec => {
            let prefix = prefix(pattern)?;
            if !prefix.same && rule.effect == Effect::Allow {
                return None;
            }
            if !prefix.same {
                export.unsaid(rule, Became::Wider);
            }
            let words: Vec<String> = prefix.words.iter().map(|word| text(word)).collect();
            let words = words.join(", ");
            Some(format!("prefix_rule(pattern=[{words}], decision=\"{decision}\"{why})\n"))
        }
        Space::Fetch => {
            let host = text(&host(pattern)?);
            let decision = if decision == "forbidden" { "deny" } else { decision };
            Some(format!(
                "network_rule(host={host}, protocol=\"https\", decision=\"{decision}\"{why})\n"
            ))
        }
        _ => None,
    }
}

/// Codex itself writes its words as JSON does.
fn text(text: &str) -> String {
    Value::from(text).to_string()
}
