//! What OpenCode would answer.

use openoxide_protocol::{AbsPath, Access, Decision, Effect, Part};
use serde_json::Value;

use super::{
    agents,
    config::Config,
    questions::{Question, questions},
    ruleset::{Rule, Ruleset},
};
use crate::foreign::{Surroundings, command, decision};

/// The rules of one agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    rules: Ruleset,
}

impl Policy {
    /// Returns the rules that hold for an agent, or for the one that works where none is named.
    ///
    /// # Errors
    /// When there is no such agent.
    pub fn of(
        config: &Config,
        agent: Option<&str>,
        home: Option<&AbsPath>,
    ) -> Result<Self, String> {
        let agent = agent.or(config.default_agent.as_deref()).unwrap_or(agents::DEFAULT);
        let own = config.agent(agent);
        if own.is_none() && !agents::is_own(agent) {
            return Err(format!("there is no agent `{agent}`"));
        }
        let mut rules = agents::before(agent, home);
        for said in std::iter::once(&config.permission).chain(own) {
            rules.extend(said.rules(home).into_iter().map(|(rule, _)| rule));
        }
        rules.extend(agents::after(&rules, home));
        Ok(Self { rules: Ruleset(rules) })
    }

    /// Returns the answer to a tool call.
    ///
    /// # Errors
    /// When its input does not fit the tool.
    pub fn call(
        &self,
        tool: &str,
        input: &Value,
        at: Surroundings<'_>,
    ) -> Result<Decision, String> {
        Ok(self.answer(&questions(tool, input, at)?))
    }

    /// Returns the answer to a bare question. One without patterns is allowed.
    pub fn question(&self, permission: &str, patterns: &[String]) -> Decision {
        self.answer(&[Question::new(permission, patterns.to_vec(), Vec::new())])
    }

    fn answer(&self, questions: &[Question]) -> Decision {
        let mut parts = Vec::new();
        let mut always = Vec::new();
        for question in questions {
            let answers = question.patterns.iter().map(|p| self.part(&question.permission, p));
            let before = parts.len();
            parts.extend(answers);
            let asked = parts.iter().skip(before).any(|part| part.decision == Effect::Ask);
            if asked {
                let rule = |pattern: &String| format!("{}({pattern})", question.permission);
                always.extend(question.always.iter().map(rule));
            }
        }
        decision(parts, always)
    }

    fn part(&self, permission: &str, pattern: &str) -> Part {
        let rule = self.rules.evaluate(permission, pattern);
        let decision = rule.map_or(Effect::Ask, |rule| rule.effect);
        let access = match permission {
            "bash" => command(pattern),
            _ => Access::CallTool { tool: format!("{permission}({pattern})") },
        };
        let does = match decision {
            Effect::Allow => "is allowed",
            Effect::Ask => "is asked about",
            Effect::Deny => "is denied",
        };
        let why = match rule {
            Some(rule) => format!("by the last rule that matches, `{}`", written(rule)),
            None => "because no rule matches".to_owned(),
        };
        let reason = format!("`{}` {does} in OpenCode {why}", access.summary());
        let text = |rule: &Rule| format!("{} {}", rule.effect.as_str(), written(rule));
        let rule = rule.map(|rule| rule.origin.rule(text(rule)));
        Part { access, decision, rule, reason, lost: Vec::new() }
    }
}

fn written(rule: &Rule) -> String {
    format!("{}({})", rule.permission, rule.pattern)
}
