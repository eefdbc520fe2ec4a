//! The native policy file: TOML to rules, with every error at once.

mod audit;
mod directories;
mod hooks;
mod sandbox;

use std::ops::Range;

use crate::line_numbers::LineNumbers;
use openoxide_permission::{
    AdditionalDirectory, CombiningAlgorithm, Hook, Layer, LayerKind, PathAnchors, Rule, RuleError,
    matches_example, parse_long_rule, parse_rule,
};
use openoxide_protocol::{Effect, PermissionMode};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

mod test_cases;

pub use sandbox::{
    MissingSandboxAction, NetworkSetting, SandboxLimits, SandboxRequirement, SandboxSettings,
};
pub use test_cases::{PolicyTestCase, read_cases};

const KEYS: &[&str] = &["mode", "permissions", "directories", "audit", "sandbox", "hooks", "test"];

const MANAGED_KEYS: &[&str] =
    &["disable_bypass_permissions", "allow_managed_rules_only", "allow_managed_hooks_only"];

/// One thing that is wrong with a policy file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyProblem {
    /// The problem: lower case, the user's words in backticks, no full stop.
    pub message: String,
    /// The probable correction.
    pub help: Option<String>,
    /// The byte range in the file.
    pub span: Range<usize>,
    /// True if the problem may cause the loss of a rule that asks or denies.
    pub loses_restriction: bool,
}

/// The content of a policy file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyFile {
    /// Its rules. If there is any problem, the allows are gone.
    pub layer: Layer,
    /// Its hooks. If there is any problem, they can only ask and deny.
    pub hooks: Vec<Hook>,
    /// The directories that shall count as the project's. If there is any problem, there are none.
    pub directories: Vec<AdditionalDirectory>,
    /// The sandbox settings. If there is any problem, only the restrictive ones.
    pub sandbox: SandboxSettings,
    /// The directories that confined commands may change besides the project's. If there is any problem, there are none.
    pub writable: Vec<AdditionalDirectory>,
    /// The settings that only the managed file may contain.
    pub managed: ManagedSettings,
    /// The line, from 1, of `[audit] required = true`, which makes every allow depend on an audit
    /// record.
    pub audit: Option<u32>,
    /// True if harmless commands of unproved programs require approval (`unproved = "ask"`).
    pub asks_unproved: bool,
    /// Everything that is wrong with it, in the order of the text.
    pub problems: Vec<PolicyProblem>,
    /// Notes for the user about rules that were left out because they would only allow.
    pub notes: Vec<String>,
}

impl PolicyFile {
    /// Drops everything that allows, as in a file with a problem.
    pub(crate) fn keep_restrictions(&mut self) {
        self.layer.rules.retain(|rule| rule.effect != Effect::Allow);
        self.layer.mode = None;
        self.hooks.iter_mut().for_each(|hook| hook.may_allow = false);
        (self.directories, self.writable) = (Vec::new(), Vec::new());
        self.sandbox = std::mem::take(&mut self.sandbox).into_restrictions();
    }
}

/// The restrictions that an administrator sets for all users (the table `managed`, in the managed
/// file only).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ManagedSettings {
    /// True if the mode `bypass_permissions` is not available.
    pub disable_bypass_permissions: bool,
    /// Rules of other files, and of the command line, do not count.
    pub allow_managed_rules_only: bool,
    /// Hooks of other files do not count.
    pub allow_managed_hooks_only: bool,
}

/// Parses a policy file. Valid parts are kept. A file with any problem allows nothing, but its ask
/// and deny rules stay in force.
#[must_use]
pub fn parse_policy(
    text: &str,
    kind: LayerKind,
    name: &str,
    anchors: PathAnchors<'_>,
) -> PolicyFile {
    let (table, errors) = DeTable::parse_recoverable(text);
    let mut reader = PolicyFileParser::new(text, kind, name, anchors);
    for error in errors {
        let span = error.span().unwrap_or(0..text.len());
        reader.push_problem(error.message().to_owned(), span, None, true);
    }
    let settings = reader.parse_file(table.get_ref());
    reader.rules.sort_by_key(|(at, _)| *at);
    reader.problems.sort_by_key(|problem| problem.span.start);
    let broken = !reader.problems.is_empty();
    let kept = |rule: &Rule| !(broken && rule.effect == Effect::Allow);
    let rules = reader.rules.into_iter().map(|(_, rule)| rule).filter(kept).collect();
    let layer = Layer {
        kind,
        file: Some(name.to_owned()),
        combining_algorithm: settings.combining,
        rules,
        mode: settings.mode.filter(|_| !broken),
    };
    let mut hooks = reader.hooks;
    hooks.iter_mut().for_each(|hook| hook.may_allow &= !broken);
    let (directories, writable, sandbox) = match broken {
        true => (Vec::new(), Vec::new(), reader.sandbox.into_restrictions()),
        false => (reader.directories, reader.writable, reader.sandbox),
    };
    PolicyFile {
        layer,
        hooks,
        directories,
        sandbox,
        writable,
        managed: settings.managed,
        audit: settings.audit,
        asks_unproved: settings.asks_unproved,
        problems: reader.problems,
        notes: Vec::new(),
    }
}

#[derive(Default)]
struct PolicyFileSettings {
    combining: CombiningAlgorithm,
    mode: Option<PermissionMode>,
    managed: ManagedSettings,
    audit: Option<u32>,
    asks_unproved: bool,
}

struct PolicyFileParser<'a> {
    text: &'a str,
    lines: LineNumbers,
    anchors: PathAnchors<'a>,
    kind: LayerKind,
    name: &'a str,
    problems: Vec<PolicyProblem>,
    /// The rules, each with its position.
    rules: Vec<(usize, Rule)>,
    hooks: Vec<Hook>,
    directories: Vec<AdditionalDirectory>,
    sandbox: SandboxSettings,
    writable: Vec<AdditionalDirectory>,
}

type TomlValue<'a> = Spanned<DeValue<'a>>;

impl<'a> PolicyFileParser<'a> {
    fn new(text: &'a str, kind: LayerKind, name: &'a str, anchors: PathAnchors<'a>) -> Self {
        let (problems, rules) = (Vec::new(), Vec::new());
        let (hooks, directories, writable) = (Vec::new(), Vec::new(), Vec::new());
        let sandbox = SandboxSettings::default();
        let lines = LineNumbers::new(text);
        Self {
            text,
            lines,
            anchors,
            kind,
            name,
            problems,
            rules,
            hooks,
            directories,
            sandbox,
            writable,
        }
    }
}

impl PolicyFileParser<'_> {
    fn push_problem(
        &mut self,
        message: impl Into<String>,
        span: Range<usize>,
        help: Option<String>,
        loses_restraint: bool,
    ) {
        self.problems.push(PolicyProblem {
            message: message.into(),
            help,
            span,
            loses_restriction: loses_restraint,
        });
    }

    fn parse_file(&mut self, table: &DeTable<'_>) -> PolicyFileSettings {
        let mut settings = PolicyFileSettings::default();
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "mode" => {
                    settings.mode =
                        self.parse_word(value, "mode", PermissionMode::parse, &mode_names());
                }
                "permissions" => match value.get_ref() {
                    DeValue::Table(table) => self.parse_permissions(table, &mut settings),
                    _ => {
                        self.push_problem(
                            "`permissions` must be a table",
                            value.span(),
                            None,
                            true,
                        );
                    }
                },
                "managed" if self.kind == LayerKind::Managed => match value.get_ref() {
                    DeValue::Table(table) => settings.managed = self.parse_managed(table),
                    _ => self.push_problem("`managed` must be a table", value.span(), None, true),
                },
                "managed" => {
                    let message = "`managed` is only allowed in the managed policy file";
                    self.push_problem(message, key.span(), None, true);
                }
                "audit" => settings.audit = self.parse_audit(value),
                "hooks" => self.parse_hooks(value),
                "sandbox" => self.parse_sandbox(value),
                "directories" => self.parse_directories(value),
                "test" => {
                    let (_, problems) = test_cases::parse_cases(self.text, value);
                    self.problems.extend(problems);
                }
                other => {
                    self.push_unknown_key(other, key.span(), KEYS);
                }
            }
        }
        settings
    }

    fn parse_managed(&mut self, table: &DeTable<'_>) -> ManagedSettings {
        let mut managed = ManagedSettings::default();
        for (key, value) in table {
            let place = match key.get_ref().as_ref() {
                "disable_bypass_permissions" => &mut managed.disable_bypass_permissions,
                "allow_managed_rules_only" => &mut managed.allow_managed_rules_only,
                "allow_managed_hooks_only" => &mut managed.allow_managed_hooks_only,
                other => {
                    self.push_unknown_key(other, key.span(), MANAGED_KEYS);
                    continue;
                }
            };
            match value.get_ref().as_bool() {
                Some(set) => *place = set,
                None => self.push_problem("write `true` or `false`", value.span(), None, true),
            }
        }
        managed
    }

    fn parse_permissions(&mut self, table: &DeTable<'_>, settings: &mut PolicyFileSettings) {
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "combining" => {
                    let known =
                        CombiningAlgorithm::ALL.map(CombiningAlgorithm::as_str).join("`, `");
                    let found =
                        self.parse_word(value, "combining", CombiningAlgorithm::parse, &known);
                    settings.combining = found.unwrap_or_default();
                }
                "unproved" => settings.asks_unproved |= self.parse_unproved(value),
                "deny" => self.parse_rule_list(value, Effect::Deny),
                "ask" => self.parse_rule_list(value, Effect::Ask),
                "allow" => self.parse_rule_list(value, Effect::Allow),
                "rule" => self.parse_long_rules(value),
                other => {
                    let known = ["combining", "unproved", "deny", "ask", "allow", "rule"];
                    self.push_unknown_key(other, key.span(), &known);
                }
            }
        }
    }

    /// Parses whether unproved programs require approval. An invalid value may have been meant to
    /// require it, so it does.
    fn parse_unproved(&mut self, value: &TomlValue<'_>) -> bool {
        match value.get_ref().as_str() {
            Some("ask") => true,
            Some("allow") => false,
            _ => {
                self.push_problem("write `\"ask\"` or `\"allow\"`", value.span(), None, true);
                true
            }
        }
    }

    fn push_unknown_key(&mut self, key: &str, span: Range<usize>, known: &[&str]) {
        let help = format!("known keys are `{}`", known.join("`, `"));
        self.push_problem(format!("unknown key `{key}`"), span, Some(help), true);
    }

    fn parse_word<T>(
        &mut self,
        value: &TomlValue<'_>,
        key: &str,
        parse: impl Fn(&str) -> Option<T>,
        known: &str,
    ) -> Option<T> {
        let found = value.get_ref().as_str().and_then(parse);
        if found.is_none() {
            let help = format!("write one of `{known}`");
            self.push_problem(format!("invalid value for `{key}`"), value.span(), Some(help), true);
        }
        found
    }

    fn parse_rule_list(&mut self, value: &TomlValue<'_>, effect: Effect) {
        let restrains = effect != Effect::Allow;
        let DeValue::Array(items) = value.get_ref() else {
            let help = format!("write `{} = [\"Bash(…)\"]`", effect.as_str());
            return self.push_problem(
                "expected an array of rules",
                value.span(),
                Some(help),
                restrains,
            );
        };
        for item in items {
            match item.get_ref().as_str() {
                Some(text) => {
                    let rule = parse_rule(text, effect, self.anchors);
                    self.push_rule(rule, effect, item.span());
                }
                None => self.push_problem("expected a string", item.span(), None, restrains),
            }
        }
    }

    fn push_rule(&mut self, rule: Result<Rule, RuleError>, effect: Effect, span: Range<usize>) {
        match rule {
            Ok(rule) => {
                let line = self.line_at(span.start);
                self.rules.push((span.start, Rule { line, ..rule }));
            }
            Err(error) => {
                let at = self.inner_span(&span, &error.range);
                self.push_problem(error.message, at, error.help, effect != Effect::Allow);
            }
        }
    }

    /// Returns the range in the file of a part of a string's content. If escapes shift the offsets,
    /// returns the range of the whole string.
    fn inner_span(&self, string: &Range<usize>, part: &Range<usize>) -> Range<usize> {
        let raw = self.text.get(string.clone()).unwrap_or_default();
        let one_line = raw.len() >= 2 && !raw.starts_with("\"\"\"") && !raw.starts_with("'''");
        let at = string.start + 1 + part.start..string.start + 1 + part.end;
        let fits = at.end < string.end && self.text.get(at.clone()).is_some();
        if one_line && !raw.contains('\\') && fits { at } else { string.clone() }
    }

    fn line_at(&self, at: usize) -> u32 {
        self.lines.line_at(at)
    }

    fn parse_long_rules(&mut self, value: &TomlValue<'_>) {
        let DeValue::Array(items) = value.get_ref() else {
            let help = "write `[[permissions.rule]]`".to_owned();
            return self.push_problem("long rules are tables", value.span(), Some(help), true);
        };
        for item in items {
            match item.get_ref() {
                DeValue::Table(table) => self.parse_long_rule(table, item.span()),
                _ => self.push_problem("a long rule is a table", item.span(), None, true),
            }
        }
    }

    fn parse_long_rule(&mut self, table: &DeTable<'_>, span: Range<usize>) {
        const KEYS: &[&str] =
            &["permission", "pattern", "action", "reviewer", "reason", "match", "not_match"];
        for (key, _) in table {
            if !KEYS.contains(&key.get_ref().as_ref()) {
                self.push_unknown_key(key.get_ref(), key.span(), KEYS);
            }
        }
        let Some(effect) = self.parse_action(table, &span) else { return };
        let Some((permission, _)) = self.parse_text(table, "permission", &span, effect) else {
            return;
        };
        let Some((pattern, at)) = self.parse_text(table, "pattern", &span, effect) else { return };
        let rule = match parse_long_rule(&permission, &pattern, effect, self.anchors) {
            Ok(rule) => Rule {
                reason: self.parse_reason(table),
                requires_human: self.parse_reviewer(table, effect),
                ..rule
            },
            Err(error) => return self.push_rule(Err(error), effect, at),
        };
        self.check_examples(table, &rule);
        self.push_rule(Ok(rule), effect, at);
    }

    fn parse_action(&mut self, table: &DeTable<'_>, span: &Range<usize>) -> Option<Effect> {
        let effect = |word: &str| {
            [Effect::Allow, Effect::Ask, Effect::Deny].into_iter().find(|e| e.as_str() == word)
        };
        match table.get("action") {
            Some(value) => self.parse_word(value, "action", effect, "allow`, `ask`, `deny"),
            None => {
                self.push_problem("the rule has no `action`", span.clone(), None, true);
                None
            }
        }
    }

    fn parse_text(
        &mut self,
        table: &DeTable<'_>,
        key: &str,
        span: &Range<usize>,
        effect: Effect,
    ) -> Option<(String, Range<usize>)> {
        let restrains = effect != Effect::Allow;
        let Some(value) = table.get(key) else {
            self.push_problem(format!("the rule has no `{key}`"), span.clone(), None, restrains);
            return None;
        };
        let Some(text) = value.get_ref().as_str() else {
            self.push_problem(format!("`{key}` is a text"), value.span(), None, restrains);
            return None;
        };
        Some((text.to_owned(), value.span()))
    }

    /// Returns whether the rule requires a human reviewer.
    fn parse_reviewer(&mut self, table: &DeTable<'_>, effect: Effect) -> bool {
        let Some(value) = table.get("reviewer") else { return false };
        let human =
            self.parse_word(value, "reviewer", |word| (word == "human").then_some(()), "human");
        if human.is_some() && effect != Effect::Ask {
            let help = Some("write `action = \"ask\"`".to_owned());
            self.push_problem("only what asks has a reviewer", value.span(), help, true);
        }
        human.is_some()
    }

    fn parse_reason(&mut self, table: &DeTable<'_>) -> Option<String> {
        let value = table.get("reason")?;
        let text = value.get_ref().as_str().map(str::to_owned);
        if text.is_none() {
            self.push_problem("`reason` is a text", value.span(), None, false);
        }
        text
    }

    /// Checks the examples that a rule brings along, as Codex does.
    fn check_examples(&mut self, table: &DeTable<'_>, rule: &Rule) {
        for (key, wanted) in [("match", true), ("not_match", false)] {
            let Some(value) = table.get(key) else { continue };
            let DeValue::Array(items) = value.get_ref() else {
                self.push_problem(
                    format!("`{key}` is a list of examples"),
                    value.span(),
                    None,
                    true,
                );
                continue;
            };
            for item in items {
                self.check_example(item, rule, wanted);
            }
        }
    }

    fn check_example(&mut self, item: &TomlValue<'_>, rule: &Rule, wanted: bool) {
        let restrains = rule.effect != Effect::Allow;
        let Some(text) = item.get_ref().as_str() else {
            return self.push_problem("an example is a text", item.span(), None, restrains);
        };
        match matches_example(rule, text, self.anchors) {
            Ok(found) if found == wanted => {}
            Ok(_) => {
                let does = if wanted { "does not match" } else { "matches" };
                let message = format!("`{}` {does} its example `{text}`", rule.text);
                self.push_problem(message, item.span(), None, restrains);
            }
            Err(error) => {
                let at = self.inner_span(&item.span(), &error.range);
                self.push_problem(error.message, at, error.help, restrains);
            }
        }
    }
}

fn mode_names() -> String {
    PermissionMode::ALL.map(PermissionMode::as_str).join("`, `")
}

#[cfg(test)]
mod tests;
