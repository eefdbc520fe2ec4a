//! Rendering of OpenOxide rules as the permissions of an `opencode.json`, where the last matching
//! rule decides.
//!
//! A rule about some paths or some hosts becomes a rule about all of them, or is left out. OpenCode
//! compares complete URLs, and paths in a form that depends on the call.

use openoxide_permission::{Layer, Pattern, Rule, SubjectKind, glob};
use openoxide_protocol::Effect;
use serde_json::Value;

use crate::policy_export::{
    ConversionLoss, PolicyExport, filter_explicit_patterns, matches_everything, sort_by_precedence,
};

/// Renders a layer as a configuration.
#[must_use]
pub fn render_config(layer: &Layer) -> PolicyExport {
    let (mut export, mut said) = (PolicyExport::default(), Vec::new());
    for rule in sort_by_precedence(layer) {
        if rule.requires_human {
            export.add_unsupported_rule(rule, ConversionLoss::Dropped);
        }
        for pattern in filter_explicit_patterns(rule) {
            match permission_patterns(&mut export, rule, pattern) {
                Some((permission, text)) => set_pattern(&mut said, permission, text, rule.effect),
                None => export.add_unsupported_pattern(rule),
            }
        }
    }
    export.add_unsupported_mode(layer.mode);
    export.text = render_json(&said);
    export
}

/// A permission with its patterns, in their order of precedence.
type PermissionPatterns = Vec<(String, Vec<(String, Effect)>)>;

/// Sets a pattern at the end. An existing key is removed first, because it would keep its position.
fn set_pattern(said: &mut PermissionPatterns, permission: String, text: String, effect: Effect) {
    let at = said.iter().position(|(name, _)| *name == permission).unwrap_or(said.len());
    if at == said.len() {
        said.push((permission, Vec::new()));
    }
    if let Some((_, rules)) = said.get_mut(at) {
        rules.retain(|(other, _)| *other != text);
        rules.push((text, effect));
    }
}

/// Renders the members in their order, which is significant.
fn render_json(said: &PermissionPatterns) -> String {
    let text = |text: &str| Value::from(text).to_string();
    let members = said.iter().map(|(permission, rules)| {
        let value = match rules.as_slice() {
            // Some permissions accept only one effect and no patterns.
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

fn permission_patterns(
    export: &mut PolicyExport,
    rule: &Rule,
    pattern: &Pattern,
) -> Option<(String, String)> {
    let name = match pattern.kind {
        SubjectKind::Exec => "bash",
        SubjectKind::Read | SubjectKind::ReadFromCwd => "read",
        SubjectKind::Edit | SubjectKind::EditFromCwd => "edit",
        SubjectKind::Fetch => "webfetch",
        SubjectKind::Delegate => "task",
        SubjectKind::DoomLoop => "doom_loop",
        SubjectKind::Tool
        | SubjectKind::External
        | SubjectKind::ExternalFromCwd
        | SubjectKind::Socket => return None,
    };
    let (permission, whole) = (name.to_owned(), "*".to_owned());
    if matches_everything(pattern)
        && pattern.kind != SubjectKind::ReadFromCwd
        && pattern.kind != SubjectKind::EditFromCwd
    {
        return Some((permission, whole));
    }
    if let (SubjectKind::Exec, Some(text)) = (pattern.kind, command_pattern(pattern)) {
        return Some((permission, text));
    }
    match rule.effect {
        Effect::Allow => None,
        // A wider ask rule would override a deny rule before it.
        Effect::Ask => None,
        Effect::Deny => {
            export.add_unsupported_rule(rule, ConversionLoss::Wider);
            Some((permission, whole))
        }
    }
}

/// Returns words separated by a blank, if they are plain, because OpenCode compares text.
fn command_pattern(pattern: &Pattern) -> Option<String> {
    let mut text = String::new();
    for step in glob::decode_steps(&pattern.program) {
        match step {
            glob::GlobStep::Literal(bytes) => text += std::str::from_utf8(bytes).ok()?,
            glob::GlobStep::Any => text.push('*'),
            _ => return None,
        }
    }
    let plain = |c: char| c.is_alphanumeric() || "-_./:=,@+%^~!#*".contains(c);
    let words: Vec<&str> = text.strip_suffix('\0').unwrap_or(&text).split('\0').collect();
    let plain = words.iter().all(|word| !word.is_empty() && word.chars().all(plain));
    let number = text.bytes().all(|byte| byte.is_ascii_digit() || byte == 0);
    (plain && !number).then(|| words.join(" "))
}
