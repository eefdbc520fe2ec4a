//! What Claude Code would answer: deny, then ask, then the mode, then allow.

use openoxide_protocol::{AbsPath, Access, Decision, Effect, Part};
use serde_json::{Value, json};

use super::{
    hosts, paths,
    rules::{Rule, glob, parameter},
    settings::{Mode, Settings},
};
use crate::foreign::{Surroundings, command, decision};

/// The settings that are in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    pub(crate) settings: Settings,
    pub(crate) mode: Mode,
}

/// An answer and what gave it.
#[derive(Clone, Debug)]
pub(crate) struct Answer<'a> {
    pub(crate) effect: Effect,
    pub(crate) rule: Option<&'a Rule>,
    pub(crate) why: &'static str,
}

impl<'a> Answer<'a> {
    pub(crate) const fn of(effect: Effect, why: &'static str) -> Self {
        Self { effect, rule: None, why }
    }

    pub(crate) const fn by(rule: &'a Rule) -> Self {
        Self { effect: rule.effect, rule: Some(rule), why: "by a rule" }
    }
}

/// Tools that need no approval.
const FREE: &[&str] = &[
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

impl Policy {
    /// Returns what is in force with these settings, and the mode of the command line, if it names one.
    #[must_use]
    pub fn of(settings: Settings, named: Option<Mode>) -> Self {
        let mode = named.or(settings.mode).unwrap_or_default();
        let mode = if mode == Mode::Bypass && settings.no_bypass { Mode::Default } else { mode };
        Self { settings, mode }
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
        let tool = named(tool);
        let answer = self.answer(tool, input, at)?;
        // Where nobody may be asked, the client denies.
        let effect = match (answer.effect, self.mode) {
            (Effect::Ask, Mode::DontAsk) => Effect::Deny,
            (effect, _) => effect,
        };
        let access = match (tool, input.get("command").and_then(Value::as_str)) {
            ("Bash", Some(script)) => command(script),
            _ => Access::CallTool { tool: tool.to_owned() },
        };
        let reason = match answer.rule {
            Some(rule) => format!("Claude Code: `{}` speaks of it", rule.written()),
            None => format!("Claude Code: {}", answer.why),
        };
        let rule = answer.rule.map(|rule| rule.origin.rule(rule.written()));
        let part = Part { access, decision: effect, rule, reason, lost: Vec::new() };
        Ok(decision(vec![part], Vec::new()))
    }

    /// Returns the answer to a bare question, for all patterns together.
    ///
    /// # Errors
    /// As [`Self::call`].
    pub fn question(
        &self,
        permission: &str,
        patterns: &[String],
        at: Surroundings<'_>,
    ) -> Result<Decision, String> {
        let tool = named(permission);
        let key = match tool {
            "Bash" => "command",
            "WebFetch" => "url",
            "Agent" => "subagent_type",
            "Skill" => "skill",
            "Glob" | "Grep" => "path",
            _ => "file_path",
        };
        let each = patterns.iter().map(|pattern| self.call(tool, &json!({ key: pattern }), at));
        let parts = each.map(|decision| decision.map(|decision| decision.parts));
        Ok(decision(parts.collect::<Result<Vec<_>, _>>()?.concat(), Vec::new()))
    }

    fn answer(
        &self,
        tool: &str,
        input: &Value,
        at: Surroundings<'_>,
    ) -> Result<Answer<'_>, String> {
        let text = |key: &str| {
            let value = input.get(key).and_then(Value::as_str);
            value.ok_or_else(|| format!("the input has no text `{key}`"))
        };
        if let Some(rule) = self.whole(tool, Effect::Deny) {
            return Ok(Answer::by(rule));
        }
        if let Some(rule) = self.by_parameter(tool, input, Effect::Deny) {
            return Ok(Answer::by(rule));
        }
        let by_parameter = self.by_parameter(tool, input, Effect::Ask);
        let answer = match tool {
            "Bash" => self.bash(text("command")?, at),
            "Read" | "NotebookRead" => self.read(&path(text("file_path")?, at), at),
            "Glob" | "Grep" | "LS" => {
                let place = input.get("path").and_then(Value::as_str).unwrap_or(".");
                self.read(&path(place, at), at)
            }
            "Edit" | "MultiEdit" | "Write" => self.write(tool, &path(text("file_path")?, at), at),
            "NotebookEdit" => self.write(tool, &path(text("notebook_path")?, at), at),
            "WebFetch" => self.fetch(text("url")?),
            "Agent" => self.named(tool, text("subagent_type").unwrap_or("general-purpose")),
            "Skill" => self.named(tool, text("skill")?),
            _ => self.other(tool),
        };
        Ok(match by_parameter {
            Some(rule) if answer.effect < Effect::Ask => Answer::by(rule),
            _ => answer,
        })
    }

    /// Returns the rules of one effect.
    pub(crate) fn rules(&self, effect: Effect) -> impl Iterator<Item = &Rule> {
        self.settings.rules.iter().filter(move |rule| rule.effect == effect)
    }

    /// Returns the rule about a whole tool.
    pub(crate) fn whole(&self, tool: &str, effect: Effect) -> Option<&Rule> {
        self.rules(effect).find(|rule| rule.is_bare_for(tool))
    }

    fn by_parameter(&self, tool: &str, input: &Value, effect: Effect) -> Option<&Rule> {
        self.rules(effect).find(|rule| {
            let named = rule.about(tool).and_then(parameter);
            let value = named.and_then(|(name, _)| input.get(name)).and_then(scalar);
            named.zip(value).is_some_and(|((_, wanted), value)| glob(wanted, &value))
        })
    }

    /// Returns the rule that speaks of a path in one of its spellings.
    pub(crate) fn of_path(
        &self,
        tool: &str,
        effect: Effect,
        path: &AbsPath,
        at: Surroundings<'_>,
    ) -> Option<&Rule> {
        self.rules(effect).find(|rule| {
            rule.about(tool)
                .is_some_and(|content| paths::matches(content, effect, path, &rule.base, at))
        })
    }

    /// Returns the rule that holds a path back, in the spelling that was given or where it leads.
    pub(crate) fn held_back(
        &self,
        tool: &str,
        effect: Effect,
        path: &AbsPath,
        at: Surroundings<'_>,
    ) -> Option<&Rule> {
        let real = at.disk.resolved(path);
        [path, &real].into_iter().find_map(|path| self.of_path(tool, effect, path, at))
    }

    /// Says whether a path lies in the working directories, by its letters and where it leads.
    pub(crate) fn is_inside(&self, path: &AbsPath, at: Surroundings<'_>) -> bool {
        let real = at.disk.resolved(path);
        let root = |directory: &AbsPath| {
            let leads = at.disk.resolved(directory);
            path.below(directory).is_some()
                && (real.below(&leads).is_some() || real.below(directory).is_some())
        };
        root(at.cwd) || self.settings.directories.iter().any(|more| root(&self.directory(more, at)))
    }

    fn directory(&self, text: &str, at: Surroundings<'_>) -> AbsPath {
        match (text.strip_prefix("~/"), at.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => at.cwd.join(text),
        }
    }

    pub(crate) fn read(&self, path: &AbsPath, at: Surroundings<'_>) -> Answer<'_> {
        for effect in [Effect::Deny, Effect::Ask] {
            let whole = || self.whole("Read", effect);
            if let Some(rule) = self.held_back("Read", effect, path, at).or_else(whole) {
                return Answer::by(rule);
            }
        }
        if self.is_inside(path, at) {
            return Answer::of(Effect::Allow, "it lies in the working directories");
        }
        match self.allowed("Read", path, at).or_else(|| self.whole("Read", Effect::Allow)) {
            Some(rule) => Answer::by(rule),
            None if self.mode == Mode::Bypass => Answer::of(Effect::Allow, "the mode allows it"),
            None => Answer::of(Effect::Ask, "it lies outside the working directories"),
        }
    }

    /// Returns the rule that allows a path in both spellings.
    fn allowed(&self, tool: &str, path: &AbsPath, at: Surroundings<'_>) -> Option<&Rule> {
        let first = self.of_path(tool, Effect::Allow, path, at)?;
        let real = at.disk.resolved(path);
        let same = real == *path || self.of_path(tool, Effect::Allow, &real, at).is_some();
        same.then_some(first)
    }

    pub(crate) fn write(&self, tool: &str, path: &AbsPath, at: Surroundings<'_>) -> Answer<'_> {
        for effect in [Effect::Deny, Effect::Ask] {
            if let Some(rule) = self.held_back("Edit", effect, path, at) {
                return Answer::by(rule);
            }
        }
        if self.held_back("Read", Effect::Deny, path, at).is_some() {
            return Answer::of(Effect::Ask, "a rule denies reading what would be changed");
        }
        for name in [tool, "Edit"] {
            if let Some(rule) = self.whole(name, Effect::Ask) {
                return Answer::by(rule);
            }
        }
        if self.mode == Mode::Bypass {
            return Answer::of(Effect::Allow, "the mode allows it");
        }
        let real = at.disk.resolved(path);
        if paths::is_protected(path) || paths::is_protected(&real) || at.disk.is_directory(path) {
            return Answer::of(Effect::Ask, "no rule approves a change of this file");
        }
        if self.mode == Mode::Plan {
            return Answer::of(Effect::Ask, "the mode only plans");
        }
        if let Some(rule) = self.allowed("Edit", path, at) {
            return Answer::by(rule);
        }
        let leads_out = path.below(at.cwd).is_some() && !self.is_inside(path, at);
        match self.whole(tool, Effect::Allow) {
            Some(rule) if !leads_out => Answer::by(rule),
            None if self.mode == Mode::AcceptEdits && self.is_inside(path, at) => {
                Answer::of(Effect::Allow, "the mode accepts edits")
            }
            _ => Answer::of(Effect::Ask, "no rule allows it"),
        }
    }

    fn fetch(&self, url: &str) -> Answer<'_> {
        let host = hosts::host(url);
        let of_host = |effect| {
            self.rules(effect).find(|rule| {
                let host = host.as_deref().unwrap_or_default();
                rule.is_bare_for("WebFetch")
                    || rule.about("WebFetch").is_some_and(|content| hosts::matches(content, host))
            })
        };
        let rule = of_host(Effect::Deny).or_else(|| of_host(Effect::Ask));
        if let Some(rule) = rule {
            return Answer::by(rule);
        }
        if host.as_deref().is_some_and(hosts::is_known) {
            return Answer::of(Effect::Allow, "documentation is fetched without a question");
        }
        match of_host(Effect::Allow) {
            Some(rule) => Answer::by(rule),
            None => self.otherwise(),
        }
    }

    /// Agents and skills: only a deny looks at their names.
    fn named(&self, tool: &str, name: &str) -> Answer<'_> {
        let denied = self.rules(Effect::Deny).find(|rule| {
            let content = rule.about(tool).unwrap_or_default();
            let prefix = content.strip_suffix(" *").or_else(|| content.strip_suffix(":*"));
            content == name || (tool == "Skill" && prefix == Some(name))
        });
        match denied.or_else(|| self.whole(tool, Effect::Ask)) {
            Some(rule) => Answer::by(rule),
            None => Answer::of(Effect::Allow, "it needs no approval"),
        }
    }

    fn other(&self, tool: &str) -> Answer<'_> {
        let rule = self.whole(tool, Effect::Ask).or_else(|| self.whole(tool, Effect::Allow));
        match rule {
            Some(rule) => Answer::by(rule),
            None if FREE.contains(&tool) => Answer::of(Effect::Allow, "it needs no approval"),
            None => self.otherwise(),
        }
    }

    pub(crate) fn otherwise(&self) -> Answer<'_> {
        match self.mode {
            Mode::Bypass => Answer::of(Effect::Allow, "the mode allows it"),
            _ => Answer::of(Effect::Ask, "no rule allows it"),
        }
    }
}

/// Returns the client's name of a tool.
fn named(tool: &str) -> &str {
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

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        _ => None,
    }
}

/// Returns the path that a tool is given; `~` stands for home there, too.
fn path(text: &str, at: Surroundings<'_>) -> AbsPath {
    match (text.strip_prefix("~/"), at.home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => at.cwd.join(text),
    }
}
