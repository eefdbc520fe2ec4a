//! The OpenOxide hook in the `settings.json` of Claude Code.

use jsonc_parser::cst::CstInputValue;

use crate::wiring::{
    AgentSettings, HookInvocation, HookWiring, WiringError, blocking_command, get_or_insert_array,
    get_or_insert_object, reporting_command, starts_openoxide, timeout_for_wait,
};

/// The rule that makes the client ask about every tool. A call can then run only if a working hook
/// answers the question.
const MATCH_ALL: &str = "*";
/// The time that the client waits for the hook, in seconds. The hook answers within this time.
const HOOK_TIMEOUT_SECONDS: u32 = 10;

/// The events at which the hook decides about a call.
pub const DECISION_EVENTS: [&str; 2] = ["PreToolUse", "PermissionRequest"];
/// The events that report the end of a call.
pub const REPORT_EVENTS: [&str; 2] = ["PostToolUse", "PostToolUseFailure"];

/// The shell comment after the hooks that report the end of a call. It marks the ask rule as added
/// by OpenOxide. Without it, the rule is the person's own. Settings cannot contain other comments.
const ASK_RULE_MARK: &str = " # the ask rule * is from openoxide init --strict";

/// Returns the hooks that start a program. The client continues if a hook cannot
/// be started or crashes, so a shell turns these cases into the status that blocks the call. The
/// end of a call is reported without this status, because the call has run. `marks_ask_rule` marks
/// the ask rule as added by OpenOxide.
///
/// # Errors
/// Returns an error if the path cannot be written for a shell.
pub fn hook_wiring<'a>(
    invocation: impl Into<HookInvocation<'a>>,
    marks_ask_rule: bool,
) -> Result<HookWiring, WiringError> {
    let invocation = invocation.into();
    let timeout = invocation.wait.map_or(HOOK_TIMEOUT_SECONDS, timeout_for_wait);
    let decides = command_hook(blocking_command(invocation, "claude")?, timeout);
    let mark = if marks_ask_rule { ASK_RULE_MARK } else { "" };
    let reports = reporting_command(invocation.program, "claude")? + mark;
    let reports = command_hook(reports, HOOK_TIMEOUT_SECONDS);
    let deciding = DECISION_EVENTS.map(|event| (event, decides.clone()));
    let reporting = REPORT_EVENTS.map(|event| (event, reports.clone()));
    Ok(HookWiring {
        hooks: deciding.into_iter().chain(reporting).collect(),
        matcher: Some(MATCH_ALL),
        is_ours: |hook| starts_openoxide(hook, "claude"),
    })
}

fn command_hook(command: String, timeout: u32) -> CstInputValue {
    CstInputValue::Object(vec![
        ("type".to_owned(), "command".into()),
        ("command".to_owned(), command.into()),
        ("timeout".to_owned(), CstInputValue::Number(timeout.to_string())),
    ])
}

/// Returns whether the settings have a rule that makes the client ask about every tool.
#[must_use]
pub fn has_ask_rule(settings: &serde_json::Value) -> bool {
    let rules = settings.get("permissions").and_then(|permissions| permissions.get("ask"));
    let mut rules = rules.and_then(serde_json::Value::as_array).into_iter().flatten();
    rules.any(|rule| rule.as_str() == Some(MATCH_ALL))
}

/// Returns whether the settings have such a rule, and OpenOxide has added it.
#[must_use]
pub fn has_marked_ask_rule(settings: &serde_json::Value) -> bool {
    let groups = REPORT_EVENTS.into_iter().filter_map(|event| settings.get("hooks")?.get(event));
    let mut hooks = groups
        .filter_map(serde_json::Value::as_array)
        .flatten()
        .filter_map(|group| group.get("hooks")?.as_array())
        .flatten();
    has_ask_rule(settings)
        && hooks.any(|hook| {
            let command = hook.get("command").and_then(serde_json::Value::as_str);
            starts_openoxide(hook, "claude")
                && command.is_some_and(|command| command.ends_with(ASK_RULE_MARK))
        })
}

/// Returns the settings with a rule that makes the client ask about every tool.
///
/// # Errors
/// Returns an error if the text is not a JSON object, or if the key of such rules has a value of
/// another type.
pub fn with_ask_rule(text: &str) -> Result<String, WiringError> {
    let settings = AgentSettings::parse(text)?;
    let ask = get_or_insert_array(&get_or_insert_object(&settings.object, "permissions")?, "ask")?;
    let asks = |rule: &serde_json::Value| rule.as_str() == Some(MATCH_ALL);
    if !ask.elements().iter().any(|rule| rule.to_serde_value().as_ref().is_some_and(asks)) {
        ask.append(MATCH_ALL.into());
    }
    Ok(settings.to_text())
}

/// Returns the settings without the rule that makes the client ask about every tool.
///
/// # Errors
/// Returns an error if the text is not a JSON object.
pub fn without_ask_rule(text: &str) -> Result<String, WiringError> {
    let settings = AgentSettings::parse(text)?;
    let Some(permissions) = settings.object.object_value("permissions") else {
        return Ok(text.to_owned());
    };
    let Some(ask) = permissions.array_value("ask") else { return Ok(text.to_owned()) };
    for rule in ask.elements() {
        if rule.to_serde_value().is_some_and(|rule| rule.as_str() == Some(MATCH_ALL)) {
            rule.remove();
        }
    }
    if ask.elements().is_empty() {
        permissions.get("ask").into_iter().for_each(|property| property.remove());
    }
    if permissions.properties().is_empty() {
        settings.object.get("permissions").into_iter().for_each(|property| property.remove());
    }
    Ok(settings.to_text())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::wiring::wired_wait;

    #[test]
    fn settings_are_those_of_the_guide() {
        let text =
            with_ask_rule(&hook_wiring("/abs/openoxide", false).unwrap().install("").unwrap().text)
                .unwrap();
        let found: Value = serde_json::from_str(&text).unwrap();
        let everything = |end: &str| {
            let command = format!("/abs/openoxide hook claude || {{ echo 'OpenOxide {end}; }}");
            let hook = json!({ "type": "command", "command": command, "timeout": 10 });
            json!([{ "matcher": "*", "hooks": [hook] }])
        };
        let decides = everything("gave no answer, so the call is blocked' >&2; exit 2");
        let reports =
            everything("did not run, so the end of this call is not recorded' >&2; exit 1");
        let expected = json!({
            "permissions": { "ask": ["*"] },
            "hooks": {
                "PreToolUse": decides, "PermissionRequest": decides,
                "PostToolUse": reports, "PostToolUseFailure": reports,
            },
        });
        assert_eq!(found, expected, "{text}");
        assert!(has_ask_rule(&found) && !has_ask_rule(&json!({ "permissions": { "ask": ["x"] } })));
        assert_eq!(with_ask_rule(&text).unwrap(), text);
        let taken = without_ask_rule(
            &hook_wiring("/elsewhere/openoxide", false).unwrap().uninstall(&text).unwrap().text,
        )
        .unwrap();
        assert_eq!(taken.split_whitespace().collect::<String>(), "{}");
    }

    #[test]
    fn the_ask_rule_of_openoxide_is_marked() {
        let parse = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        let wire = |marks: bool| hook_wiring("/abs/openoxide", marks).unwrap();
        let marked = wire(true).install("").unwrap().text;
        assert!(!has_marked_ask_rule(&parse(&marked)), "there is no rule: {marked}");
        let marked = with_ask_rule(&marked).unwrap();
        assert!(has_marked_ask_rule(&parse(&marked)), "{marked}");
        let plain = wire(false).install(&marked).unwrap().text;
        assert!(has_ask_rule(&parse(&plain)) && !has_marked_ask_rule(&parse(&plain)), "{plain}");
        assert_eq!(parse(&wire(true).install(&plain).unwrap().text), parse(&marked));
    }

    #[test]
    fn a_hook_that_waits_has_the_time_for_it() {
        let invocation = HookInvocation { program: "/abs/openoxide", wait: Some(60) };
        let text = hook_wiring(invocation, false).unwrap().install("").unwrap().text;
        let found: Value = serde_json::from_str(&text).unwrap();
        for (event, words, timeout) in [
            ("PermissionRequest", "hook claude --wait=60 ||", 70),
            ("PostToolUse", "claude ||", 10),
        ] {
            let hook = &found["hooks"][event][0]["hooks"][0];
            assert!(hook["command"].as_str().unwrap().contains(words), "{text}");
            assert_eq!(hook["timeout"], timeout, "{text}");
        }
        assert_eq!((wired_wait(&found, "claude"), wired_wait(&found, "codex")), (Some(60), None));
        let plain = hook_wiring("/abs/openoxide", false).unwrap();
        let parse = |text: &str| -> Value { serde_json::from_str(text).unwrap() };
        let without = plain.install(&text).unwrap().text;
        assert_eq!(parse(&without), parse(&plain.install("").unwrap().text));
    }

    #[test]
    fn rules_of_the_person_stay() {
        let text = "{\n  \"permissions\": { \"ask\": [\"Bash(rm *)\"], \"deny\": [] }\n}\n";
        let asks = with_ask_rule(text).unwrap();
        assert!(asks.contains(r#"["Bash(rm *)", "*"]"#), "{asks}");
        assert_eq!(without_ask_rule(&asks).unwrap(), text);
        assert!(
            with_ask_rule(r#"{"permissions": 3}"#)
                .unwrap_err()
                .to_string()
                .contains("`permissions` is not an object")
        );
    }
}
