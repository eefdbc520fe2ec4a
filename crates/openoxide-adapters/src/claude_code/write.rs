//! Our rules as the permissions of a `settings.json`.

use openoxide_permission::{Directory, Layer, Pattern, Rule, Space, spell};
use openoxide_protocol::Effect;
use serde_json::{Map, Value, json};

use crate::export::{Became, Export, in_order, patterns};

/// Returns a layer, and additional directories, as settings. There deny goes before ask, and ask before allow.
#[must_use]
pub fn write(layer: &Layer, directories: &[Directory]) -> Export {
    let (mut export, mut permissions) = (Export::default(), Map::new());
    for effect in [Effect::Deny, Effect::Ask, Effect::Allow] {
        let mut list: Vec<String> = Vec::new();
        for rule in in_order(layer).into_iter().filter(|rule| rule.effect == effect) {
            if rule.human {
                export.unsaid(rule, Became::Lost);
            }
            for pattern in patterns(rule) {
                let text = said(&mut export, rule, pattern);
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
        let all: Vec<&str> = directories.iter().map(Directory::anywhere).collect();
        permissions.insert("additionalDirectories".to_owned(), Value::from(all));
    }
    export.text = format!("{:#}\n", json!({ "permissions": permissions }));
    export
}

fn said(export: &mut Export, rule: &Rule, pattern: &Pattern) -> Option<String> {
    let whole = match pattern.space {
        Space::Tool => "",
        Space::DoomLoop | Space::External | Space::ExternalHere => {
            export.left_out(rule);
            return None;
        }
        space => space.name(),
    };
    // There a command is a text: quotes and backslashes stand for themselves.
    let quoted = |text: &str| pattern.space == Space::Exec && text.contains(['\\', '\'', '"']);
    match spell(rule, pattern).filter(|spelled| !quoted(&spelled.text)) {
        // There a rule without a path is about one of the tools that edit.
        Some(spelled) if rule.effect == Effect::Allow && spelled.text == "Edit" => {
            export.unsaid(rule, Became::Narrower);
            Some("Edit(**)".to_owned())
        }
        // A tool of another program, or every tool there is.
        Some(spelled) if pattern.space == Space::Tool && !is_name(&spelled.text, rule.effect) => {
            export.left_out(rule);
            None
        }
        Some(spelled) => {
            if !spelled.same {
                let allows = rule.effect == Effect::Allow;
                export.unsaid(rule, if allows { Became::Narrower } else { Became::Wider });
            }
            Some(spelled.text)
        }
        None if rule.effect == Effect::Allow || whole.is_empty() => {
            export.left_out(rule);
            None
        }
        None => {
            export.unsaid(rule, Became::Wider);
            Some(whole.to_owned())
        }
    }
}

/// Says whether the client reads this as the name of a tool; a wildcard allows only behind the name of one server.
fn is_name(text: &str, effect: Effect) -> bool {
    let origin = crate::foreign::Origin::default();
    super::rules::Rule::read(text, effect, origin, &openoxide_protocol::AbsPath::root()).is_some()
}
