//! The hooks of a `settings.json` as hooks of ours: those that are commands and decide about a call (its hook reference; measured on
//! 2.1.330). What cannot be run is said. What cannot be told apart as finely as there is asked about more, and allows nothing.

use std::time::Duration;

use jsonc_parser::ast::{Object, Value};
use openoxide_permission::{Hook, HookCommand, HookEvent, LayerKind, Matcher};

use super::{matcher, own};
use crate::{
    foreign::{Fault, line},
    json_text::{Dialect, member, members, object, span},
};

/// A file holds so many: each is a process for each call.
const MOST: usize = 32;

/// Seconds. Theirs may take ten minutes, after which they are passed over; ours are a question then, so a person need not wait as long.
const LONGEST: f64 = 300.0;

/// What else a hook can be, besides a command (its hook reference).
const OTHER_TYPES: [&str; 4] = ["prompt", "agent", "http", "mcp_tool"];

/// What a settings file says of hooks.
#[derive(Debug, Default)]
pub(super) struct Hooks {
    pub(super) hooks: Vec<Hook>,
    pub(super) faults: Vec<Fault>,
    pub(super) notes: Vec<String>,
    /// Whether hooks of other files shall not run, if this is the administrator's.
    pub(super) managed_only: bool,
}

/// Reads the hooks of a settings file, which is an object.
pub(super) fn read(text: &str, kind: LayerKind, file: &str) -> Hooks {
    let mut reader = Reader { text, kind, file, found: Hooks::default() };
    if let Ok(whole) = object(text, Dialect::Strict) {
        reader.settings(&whole);
    }
    reader.found
}

struct Reader<'a> {
    text: &'a str,
    kind: LayerKind,
    file: &'a str,
    found: Hooks,
}

/// What the hooks of one matcher have in common.
struct Group {
    event: HookEvent,
    matcher: Matcher,
    may_allow: bool,
}

impl Reader<'_> {
    fn settings(&mut self, whole: &Object<'_>) {
        // Any word is a yes for the client, too.
        let only = member(whole, "allowManagedHooksOnly");
        self.found.managed_only = only.is_some_and(|value| !is(value, false));
        let Some(hooks) = member(whole, "hooks") else { return };
        if member(whole, "disableAllHooks").is_some_and(|value| is(value, true)) {
            return self.note(hooks, "`disableAllHooks`: the hooks of this file are not run");
        }
        match hooks.as_object() {
            Some(events) => members(events).into_iter().for_each(|(name, of)| self.event(name, of)),
            None => self.fault("`hooks` must be an object", hooks),
        }
        if self.found.hooks.len() > MOST {
            self.found.hooks.truncate(MOST);
            self.fault(&format!("these are more than {MOST} hooks"), hooks);
        }
    }

    fn event(&mut self, name: &str, groups: &Value<'_>) {
        let known = [HookEvent::PreToolUse, HookEvent::PermissionRequest];
        let Some(event) = known.into_iter().find(|event| event.as_camel_case() == name) else {
            let meant = known.map(HookEvent::as_camel_case);
            if let Some(meant) = meant.into_iter().find(|meant| meant.eq_ignore_ascii_case(name)) {
                return self.fault(&format!("no event is called `{name}`: `{meant}` is"), groups);
            }
            return self
                .note(groups, &format!("hooks of `{name}` are left out: they decide nothing"));
        };
        let Some(array) = groups.as_array() else {
            return self.fault("hooks stand in a list", groups);
        };
        for group in &array.elements {
            match group.as_object() {
                Some(object) => self.group(event, object, group),
                None => self.fault("a list of hooks stands in an object with its `matcher`", group),
            }
        }
    }

    fn group(&mut self, event: HookEvent, group: &Object<'_>, whole: &Value<'_>) {
        let text = match member(group, "matcher") {
            None | Some(Value::NullKeyword(_)) => "",
            Some(Value::StringLit(text)) => text.value.as_ref(),
            Some(other) => return self.fault("`matcher` is a text", other),
        };
        let matcher = matcher::read(text);
        if matcher.is_none() {
            let what = "is not understood: its hooks are asked about every tool, and allow nothing";
            self.note(whole, &format!("the matcher `{text}` {what}"));
        }
        let may_allow = matcher.is_some();
        let group_of = Group { event, matcher: matcher.unwrap_or_default(), may_allow };
        match member(group, "hooks").and_then(Value::as_array) {
            Some(array) => array.elements.iter().for_each(|hook| self.hook(&group_of, hook)),
            None => self.fault("there is no list of `hooks` in it", whole),
        }
    }

    fn hook(&mut self, group: &Group, whole: &Value<'_>) {
        let Some(hook) = whole.as_object() else { return self.fault("a hook is an object", whole) };
        let kind = member(hook, "type").and_then(text_of).unwrap_or_default();
        // Whoever wrote it may have meant it to stop something.
        if kind != "command" && !OTHER_TYPES.contains(&kind.as_str()) {
            let at = member(hook, "type").unwrap_or(whole);
            return self.fault("a hook has a `type`: `command`, or one that is left out", at);
        }
        if let Some(why) = not_run(hook, &kind) {
            return self.note(whole, &why);
        }
        let (Some(command), Some(timeout)) = (self.command(hook, whole), self.timeout(hook)) else {
            return;
        };
        if own::is_own(&command) {
            return self.note(whole, "`openoxide hook` is left out: it would only ask itself");
        }
        let narrower = member(hook, "if").is_some();
        if narrower {
            let what = "is not looked at: the hook is asked about each call, and allows nothing";
            self.note(whole, &format!("`if` {what}"));
        }
        self.found.hooks.push(Hook {
            layer: self.kind,
            file: self.file.to_owned(),
            line: line(self.text, span(whole).start),
            event: group.event,
            matcher: group.matcher.clone(),
            command,
            timeout,
            may_allow: group.may_allow && !narrower,
            below_rules: group.event == HookEvent::PreToolUse,
            project: None,
            vouched: true,
        });
    }

    /// With `args` it is a program, without it is a script.
    fn command(&mut self, hook: &Object<'_>, whole: &Value<'_>) -> Option<HookCommand> {
        let first =
            member(hook, "command").and_then(text_of).filter(|text| !text.trim().is_empty());
        let command = match (first, member(hook, "args")) {
            (Some(first), None) => Some(HookCommand::Shell(first)),
            (Some(first), Some(args)) => words(args)
                .map(|args| HookCommand::Program([first].into_iter().chain(args).collect())),
            (None, _) => None,
        };
        if command.is_none() {
            self.fault(
                "expected a command string or an array of strings",
                member(hook, "command").unwrap_or(whole),
            );
        }
        command
    }

    fn timeout(&mut self, hook: &Object<'_>) -> Option<Duration> {
        let Some(value) = member(hook, "timeout") else {
            return Some(Duration::from_secs_f64(LONGEST));
        };
        let number = value.as_number_lit().and_then(|number| number.value.parse::<f64>().ok());
        let seconds = number.filter(|seconds| *seconds > 0.0);
        if seconds.is_none() {
            self.fault("`timeout` is a number of seconds", value);
        }
        seconds.map(|seconds| Duration::from_secs_f64(seconds.ceil().min(LONGEST)))
    }

    fn note(&mut self, at: &Value<'_>, what: &str) {
        let line = line(self.text, span(at).start);
        self.found.notes.push(format!("{}:{line}: {what}", self.file));
    }

    fn fault(&mut self, message: &str, value: &Value<'_>) {
        self.found.faults.push(Fault::new(message, span(value)));
    }
}

/// Says why a hook cannot be run here, or would decide nothing.
fn not_run(hook: &Object<'_>, kind: &str) -> Option<String> {
    let shell = member(hook, "shell").and_then(text_of).filter(|shell| shell != "bash");
    if kind != "command" {
        return Some(format!("a hook of type `{kind}` is left out: only commands are run"));
    }
    if member(hook, "async").is_some_and(|value| is(value, true)) {
        return Some("an `async` hook is left out: it decides nothing".to_owned());
    }
    shell.map(|shell| format!("a hook for `{shell}` is left out: only bash is run"))
}

fn is(value: &Value<'_>, wanted: bool) -> bool {
    matches!(value, Value::BooleanLit(literal) if literal.value == wanted)
}

fn text_of(value: &Value<'_>) -> Option<String> {
    let text = value.as_string_lit()?.value.to_string();
    (!text.contains('\0')).then_some(text)
}

fn words(value: &Value<'_>) -> Option<Vec<String>> {
    value.as_array()?.elements.iter().map(text_of).collect()
}

#[cfg(test)]
mod tests;
