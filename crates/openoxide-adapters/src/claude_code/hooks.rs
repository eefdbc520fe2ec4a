//! Translation of the hooks of a `settings.json` into OpenOxide hooks. Only hooks that are commands
//! and decide about a call are translated (its hook reference; observed on 2.1.330). A hook that
//! cannot be run is reported. A hook whose conditions cannot be translated exactly is asked about
//! more calls, and cannot allow anything.

use std::time::Duration;

use jsonc_parser::ast::{Object, Value};
use openoxide_permission::{Hook, HookCommand, HookEvent, HookMatcher, LayerKind};

use super::{hook_matcher, openoxide_hook};
use crate::{
    json_text::{JsonDialect, effective_members, find_member, parse_object, value_span},
    policy_translation::{PolicyTextError, line_number},
};

/// The maximum number of hooks in one file. Each hook is one process per call.
const MAX_HOOKS: usize = 32;

/// The maximum timeout of a hook in seconds. Claude Code allows ten minutes and then ignores the
/// hook. In OpenOxide a timeout leads to a question, so a person need not wait as long.
const MAX_TIMEOUT_SECONDS: f64 = 300.0;

/// The types of hooks other than `command` (from the hook reference).
const OTHER_TYPES: [&str; 4] = ["prompt", "agent", "http", "mcp_tool"];

/// The hooks of a settings file.
#[derive(Debug, Default)]
pub(super) struct ClaudeHooks {
    pub(super) hooks: Vec<Hook>,
    pub(super) errors: Vec<PolicyTextError>,
    pub(super) notes: Vec<String>,
    /// True if hooks of other files must not run. It applies only to the administrator's file.
    pub(super) managed_only: bool,
}

/// Parses the hooks of a settings file, which is an object.
pub(super) fn parse_hooks(text: &str, kind: LayerKind, file: &str) -> ClaudeHooks {
    let mut reader = HookConfigReader { text, kind, file, result: ClaudeHooks::default() };
    if let Ok(whole) = parse_object(text, JsonDialect::Strict) {
        reader.read_settings(&whole);
    }
    reader.result
}

struct HookConfigReader<'a> {
    text: &'a str,
    kind: LayerKind,
    file: &'a str,
    result: ClaudeHooks,
}

/// The common properties of the hooks of one matcher.
struct HookGroup {
    event: HookEvent,
    matcher: HookMatcher,
    may_allow: bool,
}

impl HookConfigReader<'_> {
    fn read_settings(&mut self, whole: &Object<'_>) {
        // The client also treats any value other than `false` as true.
        let only = find_member(whole, "allowManagedHooksOnly");
        self.result.managed_only = only.is_some_and(|value| !is_bool_literal(value, false));
        let Some(hooks) = find_member(whole, "hooks") else { return };
        if find_member(whole, "disableAllHooks").is_some_and(|value| is_bool_literal(value, true)) {
            return self.add_note(hooks, "`disableAllHooks`: the hooks of this file are not run");
        }
        match hooks.as_object() {
            Some(events) => effective_members(events)
                .into_iter()
                .for_each(|(name, of)| self.read_event(name, of)),
            None => self.add_error("`hooks` must be an object", hooks),
        }
        if self.result.hooks.len() > MAX_HOOKS {
            self.result.hooks.truncate(MAX_HOOKS);
            self.add_error(&format!("more than {MAX_HOOKS} hooks"), hooks);
        }
    }

    fn read_event(&mut self, name: &str, groups: &Value<'_>) {
        let known = [HookEvent::PreToolUse, HookEvent::PermissionRequest];
        let Some(event) = known.into_iter().find(|event| event.as_camel_case() == name) else {
            let meant = known.map(HookEvent::as_camel_case);
            if let Some(meant) = meant.into_iter().find(|meant| meant.eq_ignore_ascii_case(name)) {
                return self.add_error(
                    &format!("unknown event `{name}`; did you mean `{meant}`?"),
                    groups,
                );
            }
            return self.add_note(
                groups,
                &format!("hooks for `{name}` are ignored: they make no decisions"),
            );
        };
        let Some(array) = groups.as_array() else {
            return self.add_error("expected a list of hooks", groups);
        };
        for group in &array.elements {
            match group.as_object() {
                Some(object) => self.read_group(event, object, group),
                None => {
                    self.add_error(
                        "expected an object with a `matcher` and its list of hooks",
                        group,
                    );
                }
            }
        }
    }

    fn read_group(&mut self, event: HookEvent, group: &Object<'_>, whole: &Value<'_>) {
        let text = match find_member(group, "matcher") {
            None | Some(Value::NullKeyword(_)) => "",
            Some(Value::StringLit(text)) => text.value.as_ref(),
            Some(other) => return self.add_error("`matcher` must be a string", other),
        };
        let matcher = hook_matcher::parse_matcher(text);
        if matcher.is_none() {
            let what = "was not understood: its hooks run for every tool, and cannot allow \
                        anything";
            self.add_note(whole, &format!("the matcher `{text}` {what}"));
        }
        let may_allow = matcher.is_some();
        let group_of = HookGroup { event, matcher: matcher.unwrap_or_default(), may_allow };
        match find_member(group, "hooks").and_then(Value::as_array) {
            Some(array) => array.elements.iter().for_each(|hook| self.read_hook(&group_of, hook)),
            None => self.add_error("missing array `hooks`", whole),
        }
    }

    fn read_hook(&mut self, group: &HookGroup, whole: &Value<'_>) {
        let Some(hook) = whole.as_object() else {
            return self.add_error("expected an object", whole);
        };
        let kind = find_member(hook, "type").and_then(parse_string).unwrap_or_default();
        // A hook of an unknown type is an error, because it may have been meant to block something.
        if kind != "command" && !OTHER_TYPES.contains(&kind.as_str()) {
            let at = find_member(hook, "type").unwrap_or(whole);
            return self.add_error("missing `type`; only hooks of type `command` are run", at);
        }
        if let Some(why) = find_unsupported_reason(hook, &kind) {
            return self.add_note(whole, &why);
        }
        let (Some(command), Some(timeout)) =
            (self.read_command(hook, whole), self.read_timeout(hook))
        else {
            return;
        };
        if openoxide_hook::is_openoxide_hook(&command) {
            return self.add_note(whole, "`openoxide hook` is ignored: it would call itself");
        }
        let narrower = find_member(hook, "if").is_some();
        if narrower {
            let what = "is not evaluated: the hook runs for each call, and cannot allow anything";
            self.add_note(whole, &format!("`if` {what}"));
        }
        self.result.hooks.push(Hook {
            layer: self.kind,
            file: self.file.to_owned(),
            line: line_number(self.text, value_span(whole).start),
            event: group.event,
            matcher: group.matcher.clone(),
            command,
            timeout,
            may_allow: group.may_allow && !narrower,
            respects_ask_rules: group.event == HookEvent::PreToolUse,
            project: None,
            is_trusted: true,
        });
    }

    /// Parses the command of a hook: a program if there are `args`, or else a script.
    fn read_command(&mut self, hook: &Object<'_>, whole: &Value<'_>) -> Option<HookCommand> {
        let first = find_member(hook, "command")
            .and_then(parse_string)
            .filter(|text| !text.trim().is_empty());
        let command = match (first, find_member(hook, "args")) {
            (Some(first), None) => Some(HookCommand::Shell(first)),
            (Some(first), Some(args)) => parse_string_list(args)
                .map(|args| HookCommand::Program([first].into_iter().chain(args).collect())),
            (None, _) => None,
        };
        if command.is_none() {
            self.add_error(
                "expected a command string or an array of strings",
                find_member(hook, "command").unwrap_or(whole),
            );
        }
        command
    }

    fn read_timeout(&mut self, hook: &Object<'_>) -> Option<Duration> {
        let Some(value) = find_member(hook, "timeout") else {
            return Some(Duration::from_secs_f64(MAX_TIMEOUT_SECONDS));
        };
        let number = value.as_number_lit().and_then(|number| number.value.parse::<f64>().ok());
        let seconds = number.filter(|seconds| *seconds > 0.0);
        if seconds.is_none() {
            self.add_error("`timeout` must be a number of seconds", value);
        }
        seconds.map(|seconds| Duration::from_secs_f64(seconds.ceil().min(MAX_TIMEOUT_SECONDS)))
    }

    fn add_note(&mut self, at: &Value<'_>, what: &str) {
        let line = line_number(self.text, value_span(at).start);
        self.result.notes.push(format!("{}:{line}: {what}", self.file));
    }

    fn add_error(&mut self, message: &str, value: &Value<'_>) {
        self.result.errors.push(PolicyTextError::new(message, value_span(value)));
    }
}

/// Returns why a hook cannot be run here, or why its answer would have no effect.
fn find_unsupported_reason(hook: &Object<'_>, kind: &str) -> Option<String> {
    let shell = find_member(hook, "shell").and_then(parse_string).filter(|shell| shell != "bash");
    if kind != "command" {
        return Some(format!("a hook of type `{kind}` is ignored: only commands are run"));
    }
    if find_member(hook, "async").is_some_and(|value| is_bool_literal(value, true)) {
        return Some("an `async` hook is ignored: it cannot decide".to_owned());
    }
    shell.map(|shell| format!("a hook for `{shell}` is ignored: only bash is supported"))
}

fn is_bool_literal(value: &Value<'_>, wanted: bool) -> bool {
    matches!(value, Value::BooleanLit(literal) if literal.value == wanted)
}

fn parse_string(value: &Value<'_>) -> Option<String> {
    let text = value.as_string_lit()?.value.to_string();
    (!text.contains('\0')).then_some(text)
}

fn parse_string_list(value: &Value<'_>) -> Option<Vec<String>> {
    value.as_array()?.elements.iter().map(parse_string).collect()
}

#[cfg(test)]
mod tests;
