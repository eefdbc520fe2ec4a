//! Evaluation of a tool call as Claude Code does it: deny, then ask, then the mode, then allow.

use openoxide_protocol::{AbsPath, Access, AccessDecision, Decision, Effect};
use serde_json::{Value, json};

use super::{
    host_rules, path_patterns,
    rules::{ClaudeRule, matches_glob, parse_parameter},
    settings::{ClaudeMode, ClaudeSettings},
};
use crate::{
    policy_translation::{CallContext, build_exec_access, combine_parts},
    tool_input_error::ToolInputError,
};

/// The settings that are in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaudePolicy {
    pub(crate) settings: ClaudeSettings,
    pub(crate) mode: ClaudeMode,
}

/// An answer with the rule or reason that determined it.
#[derive(Clone, Debug)]
pub(crate) struct ClaudeVerdict<'a> {
    pub(crate) effect: Effect,
    pub(crate) rule: Option<&'a ClaudeRule>,
    pub(crate) reason: &'static str,
}

impl<'a> ClaudeVerdict<'a> {
    pub(crate) const fn new(effect: Effect, reason: &'static str) -> Self {
        Self { effect, rule: None, reason }
    }

    pub(crate) const fn from_rule(rule: &'a ClaudeRule) -> Self {
        Self { effect: rule.effect, rule: Some(rule), reason: "by a rule" }
    }
}

/// Tools that need no approval.
const UNRESTRICTED_TOOLS: &[&str] = &[
    "AskUserQuestion",
    "BashOutput",
    "EnterPlanMode",
    "ExitPlanMode",
    "KillShell",
    "ListMcpResourcesTool",
    "ReadMcpResourceTool",
    "TaskOutput",
    "TodoWrite",
];

impl ClaudePolicy {
    /// Returns the policy of these settings. `named` is the mode of the command line; it takes
    /// precedence over the mode of the settings.
    #[must_use]
    pub fn new(settings: ClaudeSettings, named: Option<ClaudeMode>) -> Self {
        let mode = named.or(settings.mode).unwrap_or_default();
        let mode = if mode == ClaudeMode::Bypass && settings.bypass_disabled {
            ClaudeMode::Default
        } else {
            mode
        };
        Self { settings, mode }
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
        let tool = canonical_tool_name(tool);
        let answer = self.evaluate_call(tool, input, at)?;
        // In this mode the client denies instead of asking.
        let effect = match (answer.effect, self.mode) {
            (Effect::Ask, ClaudeMode::DontAsk) => Effect::Deny,
            (effect, _) => effect,
        };
        let access = match (tool, input.get("command").and_then(Value::as_str)) {
            ("Bash", Some(script)) => build_exec_access(script),
            _ => Access::CallTool { tool: tool.to_owned() },
        };
        let reason = match answer.rule {
            Some(rule) => format!("Claude Code: `{}` matches", rule.to_rule_ref()),
            None => format!("Claude Code: {}", answer.reason),
        };
        let rule = answer.rule.map(|rule| rule.origin.to_rule_ref(rule.to_rule_ref()));
        let part = AccessDecision {
            access,
            decision: effect,
            rule,
            reason,
            cause: None,
            overridden: Vec::new(),
        };
        Ok(combine_parts(vec![part], Vec::new()))
    }

    /// Returns the answer to a permission and patterns without a tool call.
    ///
    /// # Errors
    /// Returns the errors of [`Self::check_call`].
    pub fn check_patterns(
        &self,
        permission: &str,
        patterns: &[String],
        at: CallContext<'_>,
    ) -> Result<Decision, ToolInputError> {
        let tool = canonical_tool_name(permission);
        let key = match tool {
            "Bash" => "command",
            "WebFetch" => "url",
            "Agent" => "subagent_type",
            "Skill" => "skill",
            "Glob" | "Grep" => "path",
            _ => "file_path",
        };
        let each =
            patterns.iter().map(|pattern| self.check_call(tool, &json!({ key: pattern }), at));
        let parts = each.map(|decision| decision.map(|decision| decision.parts));
        Ok(combine_parts(parts.collect::<Result<Vec<_>, _>>()?.concat(), Vec::new()))
    }

    fn evaluate_call(
        &self,
        tool: &str,
        input: &Value,
        at: CallContext<'_>,
    ) -> Result<ClaudeVerdict<'_>, ToolInputError> {
        let text = |key: &str| {
            let value = input.get(key).and_then(Value::as_str);
            value.ok_or_else(|| ToolInputError::MissingText(key.to_owned()))
        };
        if let Some(rule) = self.find_tool_rule(tool, Effect::Deny) {
            return Ok(ClaudeVerdict::from_rule(rule));
        }
        if let Some(rule) = self.find_parameter_rule(tool, input, Effect::Deny) {
            return Ok(ClaudeVerdict::from_rule(rule));
        }
        let by_parameter = self.find_parameter_rule(tool, input, Effect::Ask);
        let answer = match tool {
            "Bash" => self.check_bash(text("command")?, at),
            "Read" | "NotebookRead" => {
                self.check_read(&resolve_input_path(text("file_path")?, at), at)
            }
            "Glob" | "Grep" | "LS" => {
                let place = input.get("path").and_then(Value::as_str).unwrap_or(".");
                self.check_read(&resolve_input_path(place, at), at)
            }
            "Edit" | "MultiEdit" | "Write" => {
                self.check_write(tool, &resolve_input_path(text("file_path")?, at), at)
            }
            "NotebookEdit" => {
                self.check_write(tool, &resolve_input_path(text("notebook_path")?, at), at)
            }
            "WebFetch" => self.check_fetch(text("url")?),
            "Agent" => {
                self.check_named_target(tool, text("subagent_type").unwrap_or("general-purpose"))
            }
            "Skill" => self.check_named_target(tool, text("skill")?),
            _ => self.check_other_tool(tool),
        };
        Ok(match by_parameter {
            Some(rule) if answer.effect < Effect::Ask => ClaudeVerdict::from_rule(rule),
            _ => answer,
        })
    }

    /// Returns the rules of one effect.
    pub(crate) fn rules_with_effect(&self, effect: Effect) -> impl Iterator<Item = &ClaudeRule> {
        self.settings.rules.iter().filter(move |rule| rule.effect == effect)
    }

    /// Returns the rule about a whole tool.
    pub(crate) fn find_tool_rule(&self, tool: &str, effect: Effect) -> Option<&ClaudeRule> {
        self.rules_with_effect(effect).find(|rule| rule.covers_tool(tool))
    }

    fn find_parameter_rule(
        &self,
        tool: &str,
        input: &Value,
        effect: Effect,
    ) -> Option<&ClaudeRule> {
        self.rules_with_effect(effect).find(|rule| {
            let named = rule.content_for(tool).and_then(parse_parameter);
            let value = named.and_then(|(name, _)| input.get(name)).and_then(scalar_to_string);
            named.zip(value).is_some_and(|((_, wanted), value)| matches_glob(wanted, &value))
        })
    }

    /// Returns the rule that matches a path, without following links.
    pub(crate) fn find_path_rule(
        &self,
        tool: &str,
        effect: Effect,
        path: &AbsPath,
        at: CallContext<'_>,
    ) -> Option<&ClaudeRule> {
        self.rules_with_effect(effect).find(|rule| {
            rule.content_for(tool).is_some_and(|content| {
                path_patterns::pattern_matches_path(content, effect, path, &rule.base_directory, at)
            })
        })
    }

    /// Returns the restrictive rule that matches a path, either as given or after links are
    /// resolved.
    pub(crate) fn find_restrictive_path_rule(
        &self,
        tool: &str,
        effect: Effect,
        path: &AbsPath,
        at: CallContext<'_>,
    ) -> Option<&ClaudeRule> {
        let real = at.disk.resolve_links(path);
        [path, &real].into_iter().find_map(|path| self.find_path_rule(tool, effect, path, at))
    }

    /// Returns whether a path is in the working directories, both as written and after links are
    /// resolved.
    pub(crate) fn is_in_working_directories(&self, path: &AbsPath, at: CallContext<'_>) -> bool {
        let real = at.disk.resolve_links(path);
        let root = |directory: &AbsPath| {
            let leads = at.disk.resolve_links(directory);
            path.strip_prefix(directory).is_some()
                && (real.strip_prefix(&leads).is_some() || real.strip_prefix(directory).is_some())
        };
        root(at.cwd)
            || self.settings.directories.iter().any(|more| root(&self.resolve_directory(more, at)))
    }

    fn resolve_directory(&self, text: &str, at: CallContext<'_>) -> AbsPath {
        match (text.strip_prefix("~/"), at.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => at.cwd.join(text),
        }
    }

    pub(crate) fn check_read(&self, path: &AbsPath, at: CallContext<'_>) -> ClaudeVerdict<'_> {
        for effect in [Effect::Deny, Effect::Ask] {
            let whole = || self.find_tool_rule("Read", effect);
            if let Some(rule) =
                self.find_restrictive_path_rule("Read", effect, path, at).or_else(whole)
            {
                return ClaudeVerdict::from_rule(rule);
            }
        }
        if self.is_in_working_directories(path, at) {
            return ClaudeVerdict::new(Effect::Allow, "it is in the working directories");
        }
        match self
            .find_allow_rule("Read", path, at)
            .or_else(|| self.find_tool_rule("Read", Effect::Allow))
        {
            Some(rule) => ClaudeVerdict::from_rule(rule),
            None if self.mode == ClaudeMode::Bypass => {
                ClaudeVerdict::new(Effect::Allow, "the mode allows it")
            }
            None => ClaudeVerdict::new(Effect::Ask, "it is outside the working directories"),
        }
    }

    /// Returns the rule that allows a path both as given and after links are resolved.
    fn find_allow_rule(
        &self,
        tool: &str,
        path: &AbsPath,
        at: CallContext<'_>,
    ) -> Option<&ClaudeRule> {
        let first = self.find_path_rule(tool, Effect::Allow, path, at)?;
        let real = at.disk.resolve_links(path);
        let same = real == *path || self.find_path_rule(tool, Effect::Allow, &real, at).is_some();
        same.then_some(first)
    }

    pub(crate) fn check_write(
        &self,
        tool: &str,
        path: &AbsPath,
        at: CallContext<'_>,
    ) -> ClaudeVerdict<'_> {
        for effect in [Effect::Deny, Effect::Ask] {
            if let Some(rule) = self.find_restrictive_path_rule("Edit", effect, path, at) {
                return ClaudeVerdict::from_rule(rule);
            }
        }
        if self.find_restrictive_path_rule("Read", Effect::Deny, path, at).is_some() {
            return ClaudeVerdict::new(Effect::Ask, "a rule denies reading what would be changed");
        }
        for name in [tool, "Edit"] {
            if let Some(rule) = self.find_tool_rule(name, Effect::Ask) {
                return ClaudeVerdict::from_rule(rule);
            }
        }
        if self.mode == ClaudeMode::Bypass {
            return ClaudeVerdict::new(Effect::Allow, "the mode allows it");
        }
        let real = at.disk.resolve_links(path);
        if path_patterns::is_protected(path)
            || path_patterns::is_protected(&real)
            || at.disk.is_directory(path)
        {
            return ClaudeVerdict::new(Effect::Ask, "no rule approves a change of this file");
        }
        if self.mode == ClaudeMode::Plan {
            return ClaudeVerdict::new(Effect::Ask, "the mode only plans");
        }
        if let Some(rule) = self.find_allow_rule("Edit", path, at) {
            return ClaudeVerdict::from_rule(rule);
        }
        let leads_out =
            path.strip_prefix(at.cwd).is_some() && !self.is_in_working_directories(path, at);
        match self.find_tool_rule(tool, Effect::Allow) {
            Some(rule) if !leads_out => ClaudeVerdict::from_rule(rule),
            None if self.mode == ClaudeMode::AcceptEdits
                && self.is_in_working_directories(path, at) =>
            {
                ClaudeVerdict::new(Effect::Allow, "the mode accepts edits")
            }
            _ => ClaudeVerdict::new(Effect::Ask, "no rule allows it"),
        }
    }

    fn check_fetch(&self, url: &str) -> ClaudeVerdict<'_> {
        let host = host_rules::parse_url_host(url);
        let of_host = |effect| {
            self.rules_with_effect(effect).find(|rule| {
                let host = host.as_deref().unwrap_or_default();
                rule.covers_tool("WebFetch")
                    || rule
                        .content_for("WebFetch")
                        .is_some_and(|content| host_rules::content_matches_host(content, host))
            })
        };
        let rule = of_host(Effect::Deny).or_else(|| of_host(Effect::Ask));
        if let Some(rule) = rule {
            return ClaudeVerdict::from_rule(rule);
        }
        if host.as_deref().is_some_and(host_rules::is_preapproved) {
            return ClaudeVerdict::new(
                Effect::Allow,
                "documentation is fetched without a question",
            );
        }
        match of_host(Effect::Allow) {
            Some(rule) => ClaudeVerdict::from_rule(rule),
            None => self.default_verdict(),
        }
    }

    /// Checks a call of an agent or skill, whose name matters only for deny rules.
    fn check_named_target(&self, tool: &str, name: &str) -> ClaudeVerdict<'_> {
        let denied = self.rules_with_effect(Effect::Deny).find(|rule| {
            let content = rule.content_for(tool).unwrap_or_default();
            let prefix = content.strip_suffix(" *").or_else(|| content.strip_suffix(":*"));
            content == name || (tool == "Skill" && prefix == Some(name))
        });
        match denied.or_else(|| self.find_tool_rule(tool, Effect::Ask)) {
            Some(rule) => ClaudeVerdict::from_rule(rule),
            None => ClaudeVerdict::new(Effect::Allow, "it needs no approval"),
        }
    }

    fn check_other_tool(&self, tool: &str) -> ClaudeVerdict<'_> {
        let rule = self
            .find_tool_rule(tool, Effect::Ask)
            .or_else(|| self.find_tool_rule(tool, Effect::Allow));
        match rule {
            Some(rule) => ClaudeVerdict::from_rule(rule),
            None if UNRESTRICTED_TOOLS.contains(&tool) => {
                ClaudeVerdict::new(Effect::Allow, "it needs no approval")
            }
            None => self.default_verdict(),
        }
    }

    pub(crate) fn default_verdict(&self) -> ClaudeVerdict<'_> {
        match self.mode {
            ClaudeMode::Bypass => ClaudeVerdict::new(Effect::Allow, "the mode allows it"),
            _ => ClaudeVerdict::new(Effect::Ask, "no rule allows it"),
        }
    }
}

/// Returns the client's name of a tool.
fn canonical_tool_name(tool: &str) -> &str {
    match tool {
        "bash" | "shell" => "Bash",
        "read" => "Read",
        "edit" => "Edit",
        "write" => "Write",
        "glob" => "Glob",
        "grep" => "Grep",
        "webfetch" => "WebFetch",
        "list" => "LS",
        "Task" | "task" | "agent" => "Agent",
        "skill" => "Skill",
        known => known,
    }
}

fn scalar_to_string(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        _ => None,
    }
}

/// Returns the path from the input of a tool. `~` is expanded there as well.
fn resolve_input_path(text: &str, at: CallContext<'_>) -> AbsPath {
    match (text.strip_prefix("~/"), at.home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => at.cwd.join(text),
    }
}
