//! Evaluation of a tool call as OpenCode does it.

use openoxide_protocol::{AbsPath, Access, AccessDecision, Decision, Effect};
use serde_json::Value;
use thiserror::Error;

use super::{
    builtin_agents,
    config::OpenCodeConfig,
    permission_request::OpenCodeRequest,
    permission_requests::collect_permission_requests,
    ruleset::{OpenCodeRule, OpenCodeRuleset},
};
use crate::{
    policy_translation::{CallContext, build_exec_access, combine_parts},
    tool_input_error::ToolInputError,
};

/// The error for an agent that the configuration does not define. Contains its name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("there is no agent `{0}`")]
pub struct UnknownAgentError(pub String);

/// The rules of one agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenCodePolicy {
    rules: OpenCodeRuleset,
}

impl OpenCodePolicy {
    /// Returns the rules of an agent, or of the default agent if none is named.
    ///
    /// # Errors
    /// Returns an error if there is no such agent.
    pub fn for_agent(
        config: &OpenCodeConfig,
        agent: Option<&str>,
        home: Option<&AbsPath>,
    ) -> Result<Self, UnknownAgentError> {
        let agent =
            agent.or(config.default_agent.as_deref()).unwrap_or(builtin_agents::DEFAULT_AGENT);
        let own = config.has_agent(agent);
        if own.is_none() && !builtin_agents::is_builtin_agent(agent) {
            return Err(UnknownAgentError(agent.to_owned()));
        }
        let mut rules = builtin_agents::base_rules(agent, home);
        for said in std::iter::once(&config.permission).chain(own) {
            rules.extend(said.to_rules(home).into_iter().map(|(rule, _)| rule));
        }
        rules.extend(builtin_agents::tool_output_rule(&rules, home));
        Ok(Self { rules: OpenCodeRuleset(rules) })
    }

    /// Returns the answer to a tool call.
    ///
    /// # Errors
    /// Returns an error if the input does not fit the tool.
    pub fn check_call(
        &self,
        tool: &str,
        input: &Value,
        at: CallContext<'_>,
    ) -> Result<Decision, ToolInputError> {
        Ok(self.evaluate_requests(&collect_permission_requests(tool, input, at)?))
    }

    /// Returns the answer to a request without a tool call. A request without patterns is allowed.
    pub fn check_request(&self, permission: &str, patterns: &[String]) -> Decision {
        self.evaluate_requests(&[OpenCodeRequest::new(permission, patterns.to_vec(), Vec::new())])
    }

    fn evaluate_requests(&self, questions: &[OpenCodeRequest]) -> Decision {
        let mut parts = Vec::new();
        let mut always = Vec::new();
        for question in questions {
            let answers =
                question.patterns.iter().map(|p| self.evaluate_pattern(&question.permission, p));
            let before = parts.len();
            parts.extend(answers);
            let asked = parts.iter().skip(before).any(|part| part.decision == Effect::Ask);
            if asked {
                let rule = |pattern: &String| format!("{}({pattern})", question.permission);
                always.extend(question.always_patterns.iter().map(rule));
            }
        }
        combine_parts(parts, always)
    }

    fn evaluate_pattern(&self, permission: &str, pattern: &str) -> AccessDecision {
        let rule = self.rules.evaluate(permission, pattern);
        let decision = rule.map_or(Effect::Ask, |rule| rule.effect);
        let access = match permission {
            "bash" => build_exec_access(pattern),
            _ => Access::CallTool { tool: format!("{permission}({pattern})") },
        };
        let does = match decision {
            Effect::Allow => "is allowed",
            Effect::Ask => "is asked about",
            Effect::Deny => "is denied",
        };
        let why = match rule {
            Some(rule) => format!("by the last rule that matches, `{}`", to_rule_ref(rule)),
            None => "because no rule matches".to_owned(),
        };
        let reason = format!("`{}` {does} in OpenCode {why}", access.summary());
        let text = |rule: &OpenCodeRule| format!("{} {}", rule.effect.as_str(), to_rule_ref(rule));
        let rule = rule.map(|rule| rule.origin.to_rule_ref(text(rule)));
        AccessDecision { access, decision, rule, reason, cause: None, overridden: Vec::new() }
    }
}

fn to_rule_ref(rule: &OpenCodeRule) -> String {
    format!("{}({})", rule.permission, rule.pattern)
}
