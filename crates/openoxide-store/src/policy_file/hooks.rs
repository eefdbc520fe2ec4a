//! The tables `[[hooks]]` of a policy file.

use std::{ops::Range, time::Duration};

use openoxide_permission::{Hook, HookCommand, HookEvent, HookMatcher};
use toml::de::{DeTable, DeValue};

use super::policy_file_parser::{PolicyFileParser, TomlValue};

const KEYS: &[&str] = &["event", "matcher", "command", "timeout"];

/// The maximum number of hooks in one file. Each call starts a process for each hook.
const MAX_HOOKS: usize = 32;

/// The maximum timeout of a hook, in seconds. Claude Code waits ten minutes for a hook and then
/// continues without it, so all hooks must have ended well before.
const MAX_TIMEOUT_SECONDS: u64 = 300;

/// The default timeout, in seconds. A hook that decides about every call of a tool should need less
/// than one.
const DEFAULT_TIMEOUT_SECONDS: u64 = 30;

impl PolicyFileParser<'_> {
    /// Parses the hooks. A problem with a hook may lose a restriction.
    pub(super) fn parse_hooks(&mut self, value: &TomlValue<'_>) {
        let DeValue::Array(items) = value.get_ref() else {
            let help = Some("write `[[hooks]]`".to_owned());
            return self.push_problem("hooks are tables", value.span(), help, true);
        };
        if items.len() > MAX_HOOKS {
            let message = format!("more than {MAX_HOOKS} hooks");
            self.push_problem(message, value.span(), None, true);
        }
        for item in items.iter().take(MAX_HOOKS) {
            match item.get_ref() {
                DeValue::Table(table) => self.parse_hook(table, &item.span()),
                _ => self.push_problem("expected a table", item.span(), None, true),
            }
        }
    }

    fn parse_hook(&mut self, table: &DeTable<'_>, span: &Range<usize>) {
        for (key, _) in table {
            if !KEYS.contains(&key.get_ref().as_ref()) {
                self.push_unknown_key(key.get_ref(), key.span(), KEYS);
            }
        }
        let (event, command) = (self.parse_event(table, span), self.parse_command(table, span));
        let (matcher, timeout) = (self.parse_matcher(table), self.parse_timeout(table));
        let (Some(event), Some(command), Some(matcher), Some(timeout)) =
            (event, command, matcher, timeout)
        else {
            return;
        };
        let (layer, file, line) = (self.kind, self.name.to_owned(), self.line_at(span.start));
        let (may_allow, below_rules, project, vouched) = (true, false, None, true);
        self.hooks.push(Hook {
            layer,
            file,
            line,
            event,
            matcher,
            command,
            timeout,
            may_allow,
            respects_ask_rules: below_rules,
            project,
            is_trusted: vouched,
        });
    }

    fn parse_event(&mut self, table: &DeTable<'_>, span: &Range<usize>) -> Option<HookEvent> {
        let Some(value) = table.get("event") else {
            let help = Some("write `event = \"pre_tool_use\"`".to_owned());
            self.push_problem("missing key `event`", span.clone(), help, true);
            return None;
        };
        self.parse_word(value, "event", HookEvent::parse, HookEvent::PreToolUse.as_str())
    }

    fn parse_matcher(&mut self, table: &DeTable<'_>) -> Option<HookMatcher> {
        let Some(value) = table.get("matcher") else { return Some(HookMatcher::default()) };
        let Some(text) = value.get_ref().as_str() else {
            self.push_problem("`matcher` must be a string", value.span(), None, true);
            return None;
        };
        let read = HookMatcher::parse_name_patterns(text);
        read.map_err(|error| {
            let help =
                "names with `|` between them, `*` in a name for any text: `Edit|mcp__git__*`";
            self.push_problem(error.to_string(), value.span(), Some(help.to_owned()), true);
        })
        .ok()
    }

    fn parse_command(&mut self, table: &DeTable<'_>, span: &Range<usize>) -> Option<HookCommand> {
        let Some(value) = table.get("command") else {
            self.push_problem("missing key `command`", span.clone(), None, true);
            return None;
        };
        let command = to_hook_command(value.get_ref());
        if command.is_none() {
            let help =
                Some("write `\"…\"` for a shell, or `[\"PROGRAM\", \"ARGUMENT\"]`".to_owned());
            self.push_problem(
                "expected a command string or an array of strings",
                value.span(),
                help,
                true,
            );
        }
        command
    }

    fn parse_timeout(&mut self, table: &DeTable<'_>) -> Option<Duration> {
        let Some(value) = table.get("timeout") else {
            return Some(Duration::from_secs(DEFAULT_TIMEOUT_SECONDS));
        };
        let number = value.get_ref().as_integer();
        let number =
            number.and_then(|number| u64::from_str_radix(number.as_str(), number.radix()).ok());
        let seconds = number.filter(|seconds| (1..=MAX_TIMEOUT_SECONDS).contains(seconds));
        if seconds.is_none() {
            let message =
                format!("`timeout` must be a number of seconds from 1 to {MAX_TIMEOUT_SECONDS}");
            self.push_problem(message, value.span(), None, true);
        }
        seconds.map(Duration::from_secs)
    }
}

fn to_hook_command(value: &DeValue<'_>) -> Option<HookCommand> {
    let sound = |text: &&str| !text.contains('\0');
    let text = |value: &TomlValue<'_>| value.get_ref().as_str().filter(sound).map(str::to_owned);
    let command = match value {
        DeValue::Array(words) => {
            HookCommand::Program(words.iter().map(text).collect::<Option<_>>()?)
        }
        _ => HookCommand::Shell(value.as_str().filter(sound)?.to_owned()),
    };
    let first = match &command {
        HookCommand::Program(words) => words.first().map_or("", String::as_str),
        HookCommand::Shell(script) => script.as_str(),
    };
    (!first.trim().is_empty()).then_some(command)
}

#[cfg(test)]
mod tests {
    use openoxide_permission::{LayerKind, PathAnchors};
    use openoxide_protocol::AbsPath;

    use super::*;
    use crate::policy_file::{PolicyFile, parse_policy};

    fn read_text(text: &str) -> PolicyFile {
        let base = AbsPath::new("/p").unwrap();
        parse_policy(text, LayerKind::User, "policy.toml", PathAnchors { home: None, base: &base })
    }

    #[test]
    fn hooks_are_read_with_their_place() {
        let text = "mode = \"default\"\n\n[[hooks]]\nevent = \"pre_tool_use\"\ncommand = \"./guard.sh --all\"\n\n\
            [[hooks]]\nevent = \"PreToolUse\"\nmatcher = \"Edit|Write\"\ncommand = [\"guard\", \"a b\"]\ntimeout = 5\n";
        let file = read_text(text);
        assert_eq!(file.problems, []);
        let [first, second] = file.hooks.as_slice() else { panic!("{:?}", file.hooks) };
        assert_eq!(
            (first.line, first.layer, first.file.as_str()),
            (3, LayerKind::User, "policy.toml")
        );
        assert_eq!(first.command, HookCommand::Shell("./guard.sh --all".to_owned()));
        assert_eq!(
            (first.timeout, first.name()),
            (Duration::from_secs(DEFAULT_TIMEOUT_SECONDS), "guard.sh")
        );
        assert!(first.applies_to(HookEvent::PreToolUse, "anything") && first.may_allow);
        assert_eq!((second.line, second.timeout), (7, Duration::from_secs(5)));
        assert!(second.applies_to(HookEvent::PreToolUse, "Write"));
        assert!(!second.applies_to(HookEvent::PreToolUse, "Bash"));
        assert_eq!(second.command.to_string(), r#"["guard", "a b"]"#);
    }

    #[test]
    fn hook_problems_have_a_position_and_may_lose_a_restriction() {
        let hook = |rest: &str| format!("[[hooks]]\nevent = \"pre_tool_use\"\n{rest}\n");
        let rows = [
            ("hooks = 7\n".to_owned(), "7"),
            ("hooks = [7]\n".to_owned(), "7"),
            ("[[hooks]]\ncommand = \"x\"\n".to_owned(), "[[hooks]]"),
            ("[[hooks]]\nevent = \"stop\"\ncommand = \"x\"\n".to_owned(), "\"stop\""),
            (hook("matcher = \"Bash\""), "[[hooks]]"),
            (hook("command = \"\""), "\"\""),
            (hook("command = []"), "[]"),
            (hook("command = [\"\", \"x\"]"), "[\"\", \"x\"]"),
            (hook("command = [\"x\", 7]"), "[\"x\", 7]"),
            (hook("command = \"a\\u0000b\""), "\"a\\u0000b\""),
            (hook("command = \"x\"\nmatcher = \"mcp__.*\""), "\"mcp__.*\""),
            (hook("command = \"x\"\nmatcher = [\"Bash\"]"), "[\"Bash\"]"),
            (hook("command = \"x\"\ntimeout = 0"), "0"),
            (hook("command = \"x\"\ntimeout = 301"), "301"),
            (hook("command = \"x\"\ntimeout = -1"), "-1"),
            (hook("command = \"x\"\ntimeout = \"5\""), "\"5\""),
            (hook("command = \"x\"\nasync = true"), "async"),
        ];
        for (text, at) in rows {
            let file = read_text(&text);
            let [problem] = file.problems.as_slice() else { panic!("{text}: {:?}", file.problems) };
            assert_eq!(text.get(problem.span.clone()).unwrap(), at, "{text}");
            assert!(problem.loses_restriction, "{text}");
        }
        assert_eq!(read_text(&hook("command = \"x\"").repeat(MAX_HOOKS + 1)).problems.len(), 1);
    }

    #[test]
    fn the_hooks_of_a_broken_file_only_tighten() {
        let file = read_text(
            "[[hooks]]\nevent = \"pre_tool_use\"\ncommand = \"x\"\n[permissions]\nallow = [7]\n",
        );
        assert!(!file.hooks[0].may_allow);
    }
}
