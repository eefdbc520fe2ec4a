//! Our rules as the permissions of an `opencode.json`: the last one that matches decides.
//!
//! What is about some paths or some hosts becomes a rule about all of them, or none: OpenCode compares paths as it happens to
//! write them, and whole addresses.

use openoxide_permission::{Layer, Pattern, Rule, Space, glob};
use openoxide_protocol::Effect;
use serde_json::Value;

use crate::export::{Became, Export, in_order, is_whole, patterns};

/// Returns a layer as a configuration.
#[must_use]
pub fn write(layer: &Layer) -> Export {
    let (mut export, mut said) = (Export::default(), Vec::new());
    for rule in in_order(layer) {
        if rule.human {
            export.unsaid(rule, Became::Lost);
        }
        for pattern in patterns(rule) {
            match of(&mut export, rule, pattern) {
                Some((permission, text)) => put(&mut said, permission, text, rule.effect),
                None => export.left_out(rule),
            }
        }
    }
    export.no_mode(layer.mode);
    export.text = text(&said);
    export
}

/// A permission with its patterns, in the order in which they count.
type Said = Vec<(String, Vec<(String, Effect)>)>;

/// A key that is there already would keep its place: it is taken out first.
fn put(said: &mut Said, permission: String, text: String, effect: Effect) {
    let at = said.iter().position(|(name, _)| *name == permission).unwrap_or(said.len());
    if at == said.len() {
        said.push((permission, Vec::new()));
    }
    if let Some((_, rules)) = said.get_mut(at) {
        rules.retain(|(other, _)| *other != text);
        rules.push((text, effect));
    }
}

/// Writes the members in their order, because it counts.
fn text(said: &Said) -> String {
    let text = |text: &str| Value::from(text).to_string();
    let members = said.iter().map(|(permission, rules)| {
        let value = match rules.as_slice() {
            // Some are only given as a whole.
            [(whole, effect)] if whole == "*" => text(effect.as_str()),
            rules => {
                let rule = |(pattern, effect): &(String, Effect)| {
                    format!("      {}: {}", text(pattern), text(effect.as_str()))
                };
                let rules: Vec<String> = rules.iter().map(rule).collect();
                format!("{{\n{}\n    }}", rules.join(",\n"))
            }
        };
        format!("    {}: {value}", text(permission))
    });
    let members: Vec<String> = members.collect();
    format!("{{\n  \"permission\": {{\n{}\n  }}\n}}\n", members.join(",\n"))
}

fn of(export: &mut Export, rule: &Rule, pattern: &Pattern) -> Option<(String, String)> {
    let name = match pattern.space {
        Space::Exec => "bash",
        Space::Read | Space::ReadHere => "read",
        Space::Edit | Space::EditHere => "edit",
        Space::Fetch => "webfetch",
        Space::Delegate => "task",
        Space::DoomLoop => "doom_loop",
        Space::Tool | Space::External | Space::ExternalHere => return None,
    };
    let (permission, whole) = (name.to_owned(), "*".to_owned());
    if is_whole(pattern) && pattern.space != Space::ReadHere && pattern.space != Space::EditHere {
        return Some((permission, whole));
    }
    if let (Space::Exec, Some(text)) = (pattern.space, command(pattern)) {
        return Some((permission, text));
    }
    match rule.effect {
        Effect::Allow => None,
        // One that asks about more would lift what is denied before it.
        Effect::Ask => None,
        Effect::Deny => {
            export.unsaid(rule, Became::Wider);
            Some((permission, whole))
        }
    }
}

/// Returns words with a blank between them, if they are plain: OpenCode compares letters.
fn command(pattern: &Pattern) -> Option<String> {
    let mut text = String::new();
    for step in glob::steps(&pattern.code) {
        match step {
            glob::Step::Literal(bytes) => text += std::str::from_utf8(bytes).ok()?,
            glob::Step::Any => text.push('*'),
            _ => return None,
        }
    }
    let plain = |c: char| c.is_alphanumeric() || "-_./:=,@+%^~!#*".contains(c);
    let words: Vec<&str> = text.strip_suffix('\0').unwrap_or(&text).split('\0').collect();
    let plain = words.iter().all(|word| !word.is_empty() && word.chars().all(plain));
    let number = text.bytes().all(|byte| byte.is_ascii_digit() || byte == 0);
    (plain && !number).then(|| words.join(" "))
}
