//! OpenCode's configuration: the parts of `opencode.json[c]` that say what is permitted.

use std::{ops::Range, sync::Arc};

use jsonc_parser::ast::{Object, Value};
use openoxide_protocol::{AbsPath, Effect};

use super::ruleset::Rule;
use crate::{
    foreign::{Fault, Origin, line},
    json_text::{Dialect, member, members, object, span},
};

/// What a configuration says about permissions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    pub(crate) permission: Permissions,
    pub(crate) agents: Vec<(String, Permissions)>,
    pub(crate) default_agent: Option<String>,
}

/// What is said of each permission, in the order of the text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Permissions(Vec<(String, Said)>);

/// What is said of one permission.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Said {
    Of(Entry),
    Each(Vec<(String, Entry)>),
}

/// An effect, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) effect: Effect,
    pub(crate) origin: Origin,
    pub(crate) span: Range<usize>,
}

/// Permissions that are given as a whole only.
const WHOLE: &[&str] = &["todowrite", "question", "webfetch", "websearch", "doom_loop"];

impl Config {
    /// Reads a configuration.
    ///
    /// # Errors
    /// Everything that OpenCode would refuse to start with, as far as it is about permissions.
    pub fn read(text: &str, file: &str) -> Result<Self, Vec<Fault>> {
        // As JSON.parse in most programs does, a mark of byte order is looked through.
        let whole = object(text, Dialect::WithComments).map_err(|fault| vec![fault])?;
        let mut reader = Reader { text, file: Arc::from(file), faults: Vec::new() };
        let config = reader.config(&whole);
        if reader.faults.is_empty() { Ok(config) } else { Err(reader.faults) }
    }

    /// Returns both, where `higher` has the last word: a key keeps the place that it had in the lower one.
    #[must_use]
    pub fn under(self, higher: Self) -> Self {
        let mut agents = self.agents;
        for (name, permissions) in higher.agents {
            let known = agents.iter().position(|(known, _)| *known == name);
            match known.and_then(|at| agents.get_mut(at)) {
                Some(agent) => agent.1 = std::mem::take(&mut agent.1).under(permissions),
                None => agents.push((name, permissions)),
            }
        }
        Self {
            permission: self.permission.under(higher.permission),
            agents,
            default_agent: higher.default_agent.or(self.default_agent),
        }
    }

    /// Says whether there is such an agent in the configuration.
    pub(crate) fn agent(&self, name: &str) -> Option<&Permissions> {
        self.agents.iter().find(|(known, _)| known == name).map(|(_, permissions)| permissions)
    }
}

impl Permissions {
    fn under(self, higher: Self) -> Self {
        let mut all = self.0;
        for (name, said) in higher.0 {
            set(&mut all, name, said, merged);
        }
        Self(all)
    }

    /// Returns the rules, in the order in which JavaScript goes through the keys.
    pub(crate) fn rules(&self, home: Option<&AbsPath>) -> Vec<(Rule, Range<usize>)> {
        let mut rules = Vec::new();
        for (permission, said) in in_order(&self.0) {
            let mut push = |pattern: String, entry: &Entry| {
                let (effect, origin) = (entry.effect, entry.origin.clone());
                let permission = permission.clone();
                rules.push((Rule { permission, pattern, effect, origin }, entry.span.clone()));
            };
            match said {
                Said::Of(entry) => push("*".to_owned(), entry),
                Said::Each(all) => {
                    in_order(all).into_iter().for_each(|(p, entry)| push(expanded(p, home), entry));
                }
            }
        }
        rules
    }
}

/// Adds a key as an object of JavaScript does: a known one keeps its place.
fn set<T>(all: &mut Vec<(String, T)>, name: String, value: T, merge: impl Fn(&mut T, T)) {
    let known = all.iter().position(|(known, _)| *known == name);
    match known.and_then(|at| all.get_mut(at)) {
        Some(entry) => merge(&mut entry.1, value),
        None => all.push((name, value)),
    }
}

/// Two objects become one; anything else is replaced.
fn merged(lower: &mut Said, higher: Said) {
    match (lower, higher) {
        (Said::Each(all), Said::Each(more)) => {
            for (pattern, entry) in more {
                set(all, pattern, entry, |old, new| *old = new);
            }
        }
        (lower, higher) => *lower = higher,
    }
}

/// Keys that are whole numbers come first, by their value.
fn in_order<T>(all: &[(String, T)]) -> Vec<(&String, &T)> {
    let number = |name: &str| {
        let number: u32 = name.parse().ok().filter(|number| *number != u32::MAX)?;
        (number.to_string() == name).then_some(number)
    };
    let mut sorted: Vec<_> = all.iter().map(|(name, value)| (name, value)).collect();
    sorted.sort_by_key(|(name, _)| number(name).map_or((1, 0), |number| (0, number)));
    sorted
}

/// `~` and `$HOME` stand for home at the beginning of a pattern, whatever follows `$HOME`.
fn expanded(pattern: &str, home: Option<&AbsPath>) -> String {
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

struct Reader<'t> {
    text: &'t str,
    file: Arc<str>,
    faults: Vec<Fault>,
}

impl Reader<'_> {
    fn config(&mut self, whole: &Object<'_>) -> Config {
        let permission = self.permissions_of(whole);
        let mut agents = Vec::new();
        for key in ["mode", "agent"] {
            let Some(value) = member(whole, key) else { continue };
            let Some(found) = value.as_object() else {
                self.fault(format!("`{key}` must be an object"), value);
                continue;
            };
            for (name, agent) in members(found) {
                let permissions = match agent.as_object() {
                    Some(agent) => self.permissions_of(agent),
                    None => {
                        self.fault("an agent must be an object", agent);
                        continue;
                    }
                };
                set(&mut agents, name.to_owned(), permissions, |old, new| {
                    *old = std::mem::take(old).under(new);
                });
            }
        }
        let default_agent = member(whole, "default_agent").and_then(Value::as_string_lit);
        let default_agent = default_agent.map(|name| name.value.clone().into_owned());
        Config { permission, agents, default_agent }
    }

    /// Reads `tools`, an older way to say it, and `permission`, which has the last word.
    fn permissions_of(&mut self, holder: &Object<'_>) -> Permissions {
        let tools = member(holder, "tools").map(|value| self.tools(value)).unwrap_or_default();
        match member(holder, "permission") {
            Some(value) => tools.under(self.permissions(value)),
            None => tools,
        }
    }

    fn tools(&mut self, value: &Value<'_>) -> Permissions {
        let mut all = Vec::new();
        let Some(tools) = value.as_object() else {
            self.fault("`tools` must be an object", value);
            return Permissions::default();
        };
        for (name, on) in members(tools) {
            let Some(on_or_off) = on.as_boolean_lit() else {
                self.fault("a tool is on or off: `true` or `false`", on);
                continue;
            };
            let effect = if on_or_off.value { Effect::Allow } else { Effect::Deny };
            let name = if matches!(name, "write" | "edit" | "patch") { "edit" } else { name };
            set(&mut all, name.to_owned(), Said::Of(self.entry(effect, on)), |old, new| *old = new);
        }
        Permissions(all)
    }

    fn permissions(&mut self, value: &Value<'_>) -> Permissions {
        let Value::Object(object) = value else {
            let all = self.effect(value).map(|entry| ("*".to_owned(), Said::Of(entry)));
            return Permissions(all.into_iter().collect());
        };
        let mut all = Vec::new();
        for (name, value) in members(object) {
            all.extend(self.said(name, value).map(|said| (name.to_owned(), said)));
        }
        Permissions(all)
    }

    fn said(&mut self, name: &str, value: &Value<'_>) -> Option<Said> {
        let Value::Object(object) = value else {
            return self.effect(value).map(Said::Of);
        };
        if WHOLE.contains(&name) {
            self.fault(format!("`{name}` is given as a whole: `allow`, `ask` or `deny`"), value);
            return None;
        }
        let mut all = Vec::new();
        for (pattern, value) in members(object) {
            if pattern.contains("{env:") || pattern.contains("{file:") {
                self.fault("what a variable or another file holds is not known here", value);
            }
            all.extend(self.effect(value).map(|entry| (pattern.to_owned(), entry)));
        }
        Some(Said::Each(all))
    }

    fn effect(&mut self, value: &Value<'_>) -> Option<Entry> {
        let word = value.as_string_lit().map(|literal| literal.value.as_ref());
        let known = [Effect::Allow, Effect::Ask, Effect::Deny];
        let effect = known.into_iter().find(|effect| Some(effect.as_str()) == word);
        if effect.is_none() {
            let fault = Fault::new("this is no effect", span(value));
            self.faults.push(fault.help("write one of `allow`, `ask`, `deny`"));
        }
        effect.map(|effect| self.entry(effect, value))
    }

    fn entry(&self, effect: Effect, value: &Value<'_>) -> Entry {
        let span = span(value);
        let line = line(self.text, span.start);
        Entry { effect, origin: Origin { file: Some(Arc::clone(&self.file)), line }, span }
    }

    fn fault(&mut self, message: impl Into<String>, value: &Value<'_>) {
        self.faults.push(Fault::new(message, span(value)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Config {
        Config::read(text, "opencode.json").unwrap()
    }

    fn rules(config: &Config) -> Vec<String> {
        let home = AbsPath::new("/home/me").unwrap();
        let rule = |(rule, _): &(Rule, Range<usize>)| {
            format!("{}:{}={}", rule.permission, rule.pattern, rule.effect.as_str())
        };
        config.permission.rules(Some(&home)).iter().map(rule).collect()
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
        let all = global.under(project).under(local);
        let expected = ["bash:rm *=deny", "bash:ls *=allow", "edit:*.md=ask", "*:*=ask"];
        assert_eq!(rules(&all), expected);
        let object = || read(r#"{"permission":{"bash":{"rm *":"deny"}}}"#);
        let text = read(r#"{"permission":{"bash":"allow"}}"#);
        let last = read(r#"{"permission":{"bash":{"ls *":"ask"}}}"#);
        assert_eq!(rules(&object().under(text).under(last)), ["bash:ls *=ask"]);
    }

    #[test]
    fn tools_come_first() {
        let config = read(
            r#"{"permission":{"bash":"ask","edit":{"*":"allow"}},"tools":{"write":false,"x":true}}"#,
        );
        assert_eq!(rules(&config), ["edit:*=allow", "x:*=allow", "bash:*=ask"]);
    }

    #[test]
    fn what_opencode_refuses_is_pointed_at() {
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
            let faults = Config::read(text, "opencode.json").unwrap_err();
            assert_eq!(faults[0].span.start, at, "{text}: {faults:?}");
        }
    }
}
