//! OpenCode's configuration: the parts of `opencode.json[c]` about permissions.

use std::{ops::Range, sync::Arc};

use jsonc_parser::ast::{Object, Value};
use openoxide_protocol::{AbsPath, Effect};

use super::ruleset::OpenCodeRule;
use crate::{
    json_text::{JsonDialect, effective_members, find_member, parse_object, value_span},
    policy_translation::{PolicyTextError, RuleOrigin, line_number},
};

/// The permissions of a configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenCodeConfig {
    pub(crate) permission: PermissionMap,
    pub(crate) agents: Vec<(String, PermissionMap)>,
    pub(crate) default_agent: Option<String>,
}

/// The entries of all permissions, in the order of the text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PermissionMap(Vec<(String, PermissionEntry)>);

/// The entry of one permission.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PermissionEntry {
    Uniform(EffectEntry),
    PerPattern(Vec<(String, EffectEntry)>),
}

/// An effect with its location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EffectEntry {
    pub(crate) effect: Effect,
    pub(crate) origin: RuleOrigin,
    pub(crate) span: Range<usize>,
}

/// Permissions that accept one effect and no patterns.
const UNPATTERNED_PERMISSIONS: &[&str] =
    &["todowrite", "question", "webfetch", "websearch", "doom_loop"];

impl OpenCodeConfig {
    /// Parses a configuration.
    ///
    /// # Errors
    /// Returns the errors about permissions for which OpenCode would not start.
    pub fn parse(text: &str, file: &str) -> Result<Self, Vec<PolicyTextError>> {
        // A byte order mark is skipped, as by `JSON.parse` in most programs.
        let whole = parse_object(text, JsonDialect::WithComments).map_err(|fault| vec![fault])?;
        let mut reader = OpenCodeConfigReader { text, file: Arc::from(file), errors: Vec::new() };
        let config = reader.read_config(&whole);
        if reader.errors.is_empty() { Ok(config) } else { Err(reader.errors) }
    }

    /// Returns the combined configuration, in which `higher` takes precedence. A key keeps the
    /// position that it has in the lower configuration.
    #[must_use]
    pub fn merge_with(self, higher: Self) -> Self {
        let mut agents = self.agents;
        for (name, permissions) in higher.agents {
            let known = agents.iter().position(|(known, _)| *known == name);
            match known.and_then(|at| agents.get_mut(at)) {
                Some(agent) => agent.1 = std::mem::take(&mut agent.1).merge_with(permissions),
                None => agents.push((name, permissions)),
            }
        }
        Self {
            permission: self.permission.merge_with(higher.permission),
            agents,
            default_agent: higher.default_agent.or(self.default_agent),
        }
    }

    /// Returns the permissions of an agent, if the configuration contains it.
    pub(crate) fn has_agent(&self, name: &str) -> Option<&PermissionMap> {
        self.agents.iter().find(|(known, _)| known == name).map(|(_, permissions)| permissions)
    }
}

impl PermissionMap {
    fn merge_with(self, higher: Self) -> Self {
        let mut all = self.0;
        for (name, said) in higher.0 {
            set_key(&mut all, name, said, merge_entries);
        }
        Self(all)
    }

    /// Returns the rules in the order in which JavaScript iterates over the keys.
    pub(crate) fn to_rules(&self, home: Option<&AbsPath>) -> Vec<(OpenCodeRule, Range<usize>)> {
        let mut rules = Vec::new();
        for (permission, said) in sort_js_keys(&self.0) {
            let mut push = |pattern: String, entry: &EffectEntry| {
                let (effect, origin) = (entry.effect, entry.origin.clone());
                let permission = permission.clone();
                rules.push((
                    OpenCodeRule { permission, pattern, effect, origin },
                    entry.span.clone(),
                ));
            };
            match said {
                PermissionEntry::Uniform(entry) => push("*".to_owned(), entry),
                PermissionEntry::PerPattern(all) => {
                    sort_js_keys(all)
                        .into_iter()
                        .for_each(|(p, entry)| push(expand_home(p, home), entry));
                }
            }
        }
        rules
    }
}

/// Sets a key as in a JavaScript object: an existing key keeps its position.
fn set_key<T>(all: &mut Vec<(String, T)>, name: String, value: T, merge: impl Fn(&mut T, T)) {
    let known = all.iter().position(|(known, _)| *known == name);
    match known.and_then(|at| all.get_mut(at)) {
        Some(entry) => merge(&mut entry.1, value),
        None => all.push((name, value)),
    }
}

/// Merges two entries. Two objects are combined; any other entry is replaced.
fn merge_entries(lower: &mut PermissionEntry, higher: PermissionEntry) {
    match (lower, higher) {
        (PermissionEntry::PerPattern(all), PermissionEntry::PerPattern(more)) => {
            for (pattern, entry) in more {
                set_key(all, pattern, entry, |old, new| *old = new);
            }
        }
        (lower, higher) => *lower = higher,
    }
}

/// Returns the keys in JavaScript's order, in which whole numbers come first, by value.
fn sort_js_keys<T>(all: &[(String, T)]) -> Vec<(&String, &T)> {
    let number = |name: &str| {
        let number: u32 = name.parse().ok().filter(|number| *number != u32::MAX)?;
        (number.to_string() == name).then_some(number)
    };
    let mut sorted: Vec<_> = all.iter().map(|(name, value)| (name, value)).collect();
    sorted.sort_by_key(|(name, _)| number(name).map_or((1, 0), |number| (0, number)));
    sorted
}

/// Expands `~` and `$HOME` at the beginning of a pattern. `$HOME` is expanded regardless of the
/// text after it.
fn expand_home(pattern: &str, home: Option<&AbsPath>) -> String {
    let rest = match pattern {
        "~" => Some(""),
        _ if pattern.starts_with("~/") => pattern.strip_prefix('~'),
        _ => pattern.strip_prefix("$HOME"),
    };
    match (rest, home) {
        (Some(rest), Some(home)) => format!("{home}{rest}"),
        _ => pattern.to_owned(),
    }
}

struct OpenCodeConfigReader<'t> {
    text: &'t str,
    file: Arc<str>,
    errors: Vec<PolicyTextError>,
}

impl OpenCodeConfigReader<'_> {
    fn read_config(&mut self, whole: &Object<'_>) -> OpenCodeConfig {
        let permission = self.read_tools_and_permission(whole);
        let mut agents = Vec::new();
        for key in ["mode", "agent"] {
            let Some(value) = find_member(whole, key) else { continue };
            let Some(found) = value.as_object() else {
                self.add_error(format!("`{key}` must be an object"), value);
                continue;
            };
            for (name, agent) in effective_members(found) {
                let permissions = match agent.as_object() {
                    Some(agent) => self.read_tools_and_permission(agent),
                    None => {
                        self.add_error("an agent must be an object", agent);
                        continue;
                    }
                };
                set_key(&mut agents, name.to_owned(), permissions, |old, new| {
                    *old = std::mem::take(old).merge_with(new);
                });
            }
        }
        let default_agent = find_member(whole, "default_agent").and_then(Value::as_string_lit);
        let default_agent = default_agent.map(|name| name.value.clone().into_owned());
        OpenCodeConfig { permission, agents, default_agent }
    }

    /// Parses `tools`, which is an older form, and `permission`, which takes precedence.
    fn read_tools_and_permission(&mut self, holder: &Object<'_>) -> PermissionMap {
        let tools =
            find_member(holder, "tools").map(|value| self.read_tools(value)).unwrap_or_default();
        match find_member(holder, "permission") {
            Some(value) => tools.merge_with(self.read_permissions(value)),
            None => tools,
        }
    }

    fn read_tools(&mut self, value: &Value<'_>) -> PermissionMap {
        let mut all = Vec::new();
        let Some(tools) = value.as_object() else {
            self.add_error("`tools` must be an object", value);
            return PermissionMap::default();
        };
        for (name, on) in effective_members(tools) {
            let Some(on_or_off) = on.as_boolean_lit() else {
                self.add_error("expected `true` or `false`", on);
                continue;
            };
            let effect = if on_or_off.value { Effect::Allow } else { Effect::Deny };
            let name = if matches!(name, "write" | "edit" | "patch") { "edit" } else { name };
            set_key(
                &mut all,
                name.to_owned(),
                PermissionEntry::Uniform(self.build_entry(effect, on)),
                |old, new| *old = new,
            );
        }
        PermissionMap(all)
    }

    fn read_permissions(&mut self, value: &Value<'_>) -> PermissionMap {
        let Value::Object(object) = value else {
            let all = self
                .read_effect(value)
                .map(|entry| ("*".to_owned(), PermissionEntry::Uniform(entry)));
            return PermissionMap(all.into_iter().collect());
        };
        let mut all = Vec::new();
        for (name, value) in effective_members(object) {
            all.extend(self.read_permission_entry(name, value).map(|said| (name.to_owned(), said)));
        }
        PermissionMap(all)
    }

    fn read_permission_entry(&mut self, name: &str, value: &Value<'_>) -> Option<PermissionEntry> {
        let Value::Object(object) = value else {
            return self.read_effect(value).map(PermissionEntry::Uniform);
        };
        if UNPATTERNED_PERMISSIONS.contains(&name) {
            self.add_error(format!("expected `allow`, `ask` or `deny` for `{name}`"), value);
            return None;
        }
        let mut all = Vec::new();
        for (pattern, value) in effective_members(object) {
            if pattern.contains("{env:") || pattern.contains("{file:") {
                self.add_error("values of variables and other files are not resolved", value);
            }
            all.extend(self.read_effect(value).map(|entry| (pattern.to_owned(), entry)));
        }
        Some(PermissionEntry::PerPattern(all))
    }

    fn read_effect(&mut self, value: &Value<'_>) -> Option<EffectEntry> {
        let word = value.as_string_lit().map(|literal| literal.value.as_ref());
        let known = [Effect::Allow, Effect::Ask, Effect::Deny];
        let effect = known.into_iter().find(|effect| Some(effect.as_str()) == word);
        if effect.is_none() {
            let fault = PolicyTextError::new("unknown effect", value_span(value));
            self.errors.push(fault.with_help("write one of `allow`, `ask`, `deny`"));
        }
        effect.map(|effect| self.build_entry(effect, value))
    }

    fn build_entry(&self, effect: Effect, value: &Value<'_>) -> EffectEntry {
        let span = value_span(value);
        let line = line_number(self.text, span.start);
        EffectEntry {
            effect,
            origin: RuleOrigin { file: Some(Arc::clone(&self.file)), line },
            span,
        }
    }

    fn add_error(&mut self, message: impl Into<String>, value: &Value<'_>) {
        self.errors.push(PolicyTextError::new(message, value_span(value)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> OpenCodeConfig {
        OpenCodeConfig::parse(text, "opencode.json").unwrap()
    }

    fn rules(config: &OpenCodeConfig) -> Vec<String> {
        let home = AbsPath::new("/home/me").unwrap();
        let rule = |(rule, _): &(OpenCodeRule, Range<usize>)| {
            format!("{}:{}={}", rule.permission, rule.pattern, rule.effect.as_str())
        };
        config.permission.to_rules(Some(&home)).iter().map(rule).collect()
    }

    #[test]
    fn keys_have_the_order_that_javascript_gives_them() {
        let config = read(
            r#"{ "permission": { "bash": { "b": "ask", "10": "deny", "2": "allow", "b": "deny" },
            "edit": "ask", /* the last value counts */ "bash2": "allow", } }"#,
        );
        let expected =
            ["bash:2=allow", "bash:10=deny", "bash:b=deny", "edit:*=ask", "bash2:*=allow"];
        assert_eq!(rules(&config), expected);
    }

    #[test]
    fn home_is_put_in_at_the_beginning_alone() {
        let config = read(
            r#"{"permission":{"bash":{"~/x":"ask","~":"ask","$HOME/y":"ask","$HOMER/x":"ask","~x":"ask","a ~/b":"ask"},"~/x":"ask"}}"#,
        );
        let patterns = ["/home/me/x", "/home/me", "/home/me/y", "/home/meR/x", "~x", "a ~/b"];
        let mut expected: Vec<_> = patterns.iter().map(|p| format!("bash:{p}=ask")).collect();
        expected.push("~/x:*=ask".to_owned());
        assert_eq!(rules(&config), expected);
    }

    #[test]
    fn a_key_keeps_the_place_that_it_had_in_the_lower_layer() {
        let global = read(r#"{"permission":{"bash":{"rm *":"deny"},"edit":"allow"}}"#);
        let project = read(r#"{"permission":"ask"}"#);
        let local = read(r#"{"permission":{"bash":{"ls *":"allow"},"edit":{"*.md":"ask"}}}"#);
        let all = global.merge_with(project).merge_with(local);
        let expected = ["bash:rm *=deny", "bash:ls *=allow", "edit:*.md=ask", "*:*=ask"];
        assert_eq!(rules(&all), expected);
        let object = || read(r#"{"permission":{"bash":{"rm *":"deny"}}}"#);
        let text = read(r#"{"permission":{"bash":"allow"}}"#);
        let last = read(r#"{"permission":{"bash":{"ls *":"ask"}}}"#);
        assert_eq!(rules(&object().merge_with(text).merge_with(last)), ["bash:ls *=ask"]);
    }

    #[test]
    fn tools_come_first() {
        let config = read(
            r#"{"permission":{"bash":"ask","edit":{"*":"allow"}},"tools":{"write":false,"x":true}}"#,
        );
        assert_eq!(rules(&config), ["edit:*=allow", "x:*=allow", "bash:*=ask"]);
    }

    #[test]
    fn errors_point_at_the_values_that_opencode_rejects() {
        for (text, at) in [
            (r#"{"permission": null}"#, 15),
            (r#"{"permission": {"bash": "maybe"}}"#, 24),
            (r#"{"permission": {"webfetch": {"*": "ask"}}}"#, 28),
            (r#"{"permission": {"bash": {"a": ["ask"]}}}"#, 30),
            (r#"{"permission": {"bash": {"{env:X}": "ask"}}}"#, 36),
            (r#"{"agent": {"x": {"permission": 1}}}"#, 31),
            (r"{'permission': 'ask'}", 1),
            (r#"["ask"]"#, 0),
        ] {
            let faults = OpenCodeConfig::parse(text, "opencode.json").unwrap_err();
            assert_eq!(faults[0].span.start, at, "{text}: {faults:?}");
        }
    }
}
