//! Our rules as llm-do's configuration: the first rule whose words begin a command decides.

use openoxide_permission::{Layer, Pattern, Rule, Space};
use openoxide_protocol::{Effect, PermissionMode};
use serde_json::Value;

use crate::export::{Became, Export, in_order, is_whole, patterns, prefix};

/// Returns a layer as a configuration. What is about some files or hosts becomes a rule about all of them.
#[must_use]
pub fn write(layer: &Layer) -> Export {
    let mut writer = Writer {
        export: Export::default(),
        default: Effect::Ask,
        rules: vec![],
        files: false,
        hosts: false,
    };
    for rule in in_order(layer) {
        if rule.human {
            writer.export.unsaid(rule, Became::Lost);
        }
        patterns(rule).for_each(|pattern| writer.pattern(rule, pattern));
    }
    writer.text(layer.mode)
}

struct Writer {
    export: Export,
    default: Effect,
    /// The last one decides.
    rules: Vec<(String, Effect, Option<String>)>,
    files: bool,
    hosts: bool,
}

impl Writer {
    fn pattern(&mut self, rule: &Rule, pattern: &Pattern) {
        let holds_back = rule.effect != Effect::Allow;
        match pattern.space {
            Space::Exec if is_whole(pattern) => {
                self.rules.clear();
                self.default = rule.effect;
            }
            Space::Exec => self.command(rule, pattern),
            Space::Tool | Space::Delegate | Space::DoomLoop => self.export.left_out(rule),
            Space::Fetch if holds_back => {
                self.hosts = true;
                self.export.unsaid(rule, Became::Wider);
            }
            _ if holds_back && pattern.space != Space::Fetch => {
                self.files = true;
                self.export.unsaid(rule, Became::Wider);
            }
            _ => self.export.unsaid(rule, Became::Narrower),
        }
    }

    fn command(&mut self, rule: &Rule, pattern: &Pattern) {
        let plain = |word: &String| {
            let plain = |c: char| c.is_alphanumeric() || "-_./:=,@+%^~!#".contains(c);
            !word.is_empty() && word.chars().all(plain)
        };
        let Some(prefix) = prefix(pattern).filter(|prefix| prefix.words.iter().all(plain)) else {
            return self.export.left_out(rule);
        };
        let effect = match (prefix.same, rule.effect) {
            (true, effect) => effect,
            (false, Effect::Allow) => return self.export.left_out(rule),
            // One that asks about more would lift what is denied before it.
            (false, _) => {
                self.export.unsaid(rule, Became::Wider);
                Effect::Deny
            }
        };
        self.rules.push((prefix.words.join(" "), effect, rule.reason.clone()));
    }

    fn text(mut self, mode: Option<PermissionMode>) -> Export {
        let mut text = String::new();
        match mode {
            Some(PermissionMode::DontAsk) => text += "mode: strict\n",
            Some(PermissionMode::BypassPermissions) => text += "mode: approve_all\n",
            other => self.export.no_mode(other),
        }
        if self.files {
            text += "sandbox:\n  paths: {}\n";
        }
        text += "shell:\n";
        if self.hosts {
            text += "  network: false\n";
        }
        text.extend([format!("  default: {{ {} }}\n", verdict(self.default))]);
        if !self.rules.is_empty() {
            text += "  rules:\n";
        }
        for (pattern, effect, reason) in self.rules.iter().rev() {
            text.extend([format!(
                "    - pattern: {}\n      {}\n",
                quoted(pattern),
                verdict(*effect)
            )]);
            if let Some(reason) = reason {
                text.extend([format!("      description: {}\n", quoted(reason))]);
            }
        }
        self.export.text = text;
        self.export
    }
}

const fn verdict(effect: Effect) -> &'static str {
    match effect {
        Effect::Allow => "approval: false",
        Effect::Ask => "approval: true",
        Effect::Deny => "allowed: false",
    }
}

/// A JSON text is a YAML text.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
