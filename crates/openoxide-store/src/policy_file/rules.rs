//! The rules of a policy file: the lists of each effect, and `[[permissions.rule]]`.

use std::ops::Range;

use openoxide_permission::{Rule, RuleError, matches_example, parse_long_rule, parse_rule};
use openoxide_protocol::Effect;
use toml::de::{DeTable, DeValue};

use super::policy_file_parser::{PolicyFileParser, TomlValue};

impl PolicyFileParser<'_> {
    pub(super) fn parse_rule_list(&mut self, value: &TomlValue<'_>, effect: Effect) {
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

    pub(super) fn parse_long_rules(&mut self, value: &TomlValue<'_>) {
        let DeValue::Array(items) = value.get_ref() else {
            let help = "write `[[permissions.rule]]`".to_owned();
            return self.push_problem(
                "expected an array of tables (`[[permissions.rule]]`)",
                value.span(),
                Some(help),
                true,
            );
        };
        for item in items {
            match item.get_ref() {
                DeValue::Table(table) => self.parse_long_rule(table, item.span()),
                _ => self.push_problem("expected a table", item.span(), None, true),
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
                self.push_problem("missing key `action`", span.clone(), None, true);
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
            self.push_problem(format!("missing key `{key}`"), span.clone(), None, restrains);
            return None;
        };
        let Some(text) = value.get_ref().as_str() else {
            self.push_problem(format!("`{key}` must be a string"), value.span(), None, restrains);
            return None;
        };
        Some((text.to_owned(), value.span()))
    }

    /// Parses whether the rule requires a human reviewer.
    fn parse_reviewer(&mut self, table: &DeTable<'_>, effect: Effect) -> bool {
        let Some(value) = table.get("reviewer") else { return false };
        let human =
            self.parse_word(value, "reviewer", |word| (word == "human").then_some(()), "human");
        if human.is_some() && effect != Effect::Ask {
            let help = Some("write `action = \"ask\"`".to_owned());
            self.push_problem("`reviewer` requires `action = \"ask\"`", value.span(), help, true);
        }
        human.is_some()
    }

    fn parse_reason(&mut self, table: &DeTable<'_>) -> Option<String> {
        let value = table.get("reason")?;
        let text = value.get_ref().as_str().map(str::to_owned);
        if text.is_none() {
            self.push_problem("`reason` must be a string", value.span(), None, false);
        }
        text
    }

    /// Checks a rule against its own examples, as Codex does.
    fn check_examples(&mut self, table: &DeTable<'_>, rule: &Rule) {
        for (key, wanted) in [("match", true), ("not_match", false)] {
            let Some(value) = table.get(key) else { continue };
            let DeValue::Array(items) = value.get_ref() else {
                self.push_problem(
                    format!("`{key}` must be an array of examples"),
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
            return self.push_problem("expected a string", item.span(), None, restrains);
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
