//! Rendering of OpenOxide rules as llm-do's configuration, in which the first rule whose words
//! begin a command decides.

use openoxide_permission::{Layer, Pattern, Rule, SubjectKind};
use openoxide_protocol::{Effect, PermissionMode};
use serde_json::Value;

use crate::policy_export::{
    ConversionLoss, PolicyExport, filter_explicit_patterns, matches_everything, sort_by_precedence,
    word_prefix,
};

/// Renders a layer as a configuration. A rule about some files or hosts becomes a rule about all of
/// them.
#[must_use]
pub fn render_config(layer: &Layer) -> PolicyExport {
    let mut writer = LlmDoWriter {
        export: PolicyExport::default(),
        default: Effect::Ask,
        rules: vec![],
        has_file_rules: false,
        has_host_rules: false,
    };
    for rule in sort_by_precedence(layer) {
        if rule.requires_human {
            writer.export.add_unsupported_rule(rule, ConversionLoss::Dropped);
        }
        filter_explicit_patterns(rule).for_each(|pattern| writer.add_pattern(rule, pattern));
    }
    writer.render_yaml(layer.mode)
}

struct LlmDoWriter {
    export: PolicyExport,
    default: Effect,
    /// The rules. The last one that matches decides.
    rules: Vec<(String, Effect, Option<String>)>,
    has_file_rules: bool,
    has_host_rules: bool,
}

impl LlmDoWriter {
    fn add_pattern(&mut self, rule: &Rule, pattern: &Pattern) {
        let holds_back = rule.effect != Effect::Allow;
        match pattern.kind {
            SubjectKind::Exec if matches_everything(pattern) => {
                self.rules.clear();
                self.default = rule.effect;
            }
            SubjectKind::Exec => self.add_command(rule, pattern),
            SubjectKind::Tool
            | SubjectKind::Delegate
            | SubjectKind::DoomLoop
            | SubjectKind::Socket => {
                self.export.add_unsupported_pattern(rule);
            }
            SubjectKind::Fetch if holds_back => {
                self.has_host_rules = true;
                self.export.add_unsupported_rule(rule, ConversionLoss::Wider);
            }
            _ if holds_back && pattern.kind != SubjectKind::Fetch => {
                self.has_file_rules = true;
                self.export.add_unsupported_rule(rule, ConversionLoss::Wider);
            }
            _ => self.export.add_unsupported_rule(rule, ConversionLoss::Narrower),
        }
    }

    fn add_command(&mut self, rule: &Rule, pattern: &Pattern) {
        let plain = |word: &String| {
            let plain = |c: char| c.is_alphanumeric() || "-_./:=,@+%^~!#".contains(c);
            !word.is_empty() && word.chars().all(plain)
        };
        let Some(prefix) = word_prefix(pattern).filter(|prefix| prefix.words.iter().all(plain))
        else {
            return self.export.add_unsupported_pattern(rule);
        };
        let effect = match (prefix.is_exact, rule.effect) {
            (true, effect) => effect,
            (false, Effect::Allow) => return self.export.add_unsupported_pattern(rule),
            // A wider ask rule would override a deny rule before it.
            (false, _) => {
                self.export.add_unsupported_rule(rule, ConversionLoss::Wider);
                Effect::Deny
            }
        };
        self.rules.push((prefix.words.join(" "), effect, rule.reason.clone()));
    }

    fn render_yaml(mut self, mode: Option<PermissionMode>) -> PolicyExport {
        let mut text = String::new();
        match mode {
            Some(PermissionMode::DontAsk) => text += "mode: strict\n",
            Some(PermissionMode::BypassPermissions) => text += "mode: approve_all\n",
            other => self.export.add_unsupported_mode(other),
        }
        if self.has_file_rules {
            text += "sandbox:\n  paths: {}\n";
        }
        text += "shell:\n";
        if self.has_host_rules {
            text += "  network: false\n";
        }
        text.extend([format!("  default: {{ {} }}\n", render_verdict(self.default))]);
        if !self.rules.is_empty() {
            text += "  rules:\n";
        }
        for (pattern, effect, reason) in self.rules.iter().rev() {
            text.extend([format!(
                "    - pattern: {}\n      {}\n",
                quote_yaml(pattern),
                render_verdict(*effect)
            )]);
            if let Some(reason) = reason {
                text.extend([format!("      description: {}\n", quote_yaml(reason))]);
            }
        }
        self.export.text = text;
        self.export
    }
}

const fn render_verdict(effect: Effect) -> &'static str {
    match effect {
        Effect::Allow => "approval: false",
        Effect::Ask => "approval: true",
        Effect::Deny => "allowed: false",
    }
}

/// Quotes a text for YAML. Every JSON string is a valid YAML string.
fn quote_yaml(text: &str) -> String {
    Value::from(text).to_string()
}
