//! Interpretation of the exit status and the output of a hook, as in Claude Code's contract.

use std::os::unix::process::ExitStatusExt as _;

use openoxide_permission::HookEvent;
use openoxide_protocol::HookDecision;
use serde_json::Value;

use super::hook_process::{CapturedOutput, HookExit};

/// The exit status of a hook that blocks. Its standard error is the reason.
const BLOCK_STATUS: i32 = 2;

/// The maximum number of characters in a reason.
const MAX_REASON_CHARS: usize = 1000;

/// The decision of a hook and its reason.
pub(super) type HookReply = (HookDecision, String);

/// Returns the decision of a hook at an event, and its reason. An exit status blocks the call only
/// at the event before a tool runs.
pub(super) fn read_hook_reply(end: &HookExit, event: HookEvent) -> HookReply {
    let blocks = event == HookEvent::PreToolUse;
    let (said, reason) = match end {
        HookExit::Exited { status, output, error } => match (status.code(), status.signal()) {
            (Some(BLOCK_STATUS), _) if blocks => (HookDecision::Deny, output_text(error)),
            (Some(0), _) => parse_output(output, event),
            (code, signal) => reply_from_failure(code, signal, parse_output(output, event), error),
        },
        HookExit::TimedOut(limit) => {
            failed_reply(&format!("it took longer than {} s", limit.as_secs()))
        }
        HookExit::Failed(error) => failed_reply(&format!("it could not be started: {error}")),
    };
    (said, reason.chars().take(MAX_REASON_CHARS).collect())
}

fn failed_reply(why: &str) -> HookReply {
    (HookDecision::Failed, why.to_owned())
}

/// Returns the reply of a hook that failed. Its output may still contain a denial.
fn reply_from_failure(
    code: Option<i32>,
    signal: Option<i32>,
    said: HookReply,
    error: &CapturedOutput,
) -> HookReply {
    if said.0 == HookDecision::Deny {
        return said;
    }
    let how = match (code, signal) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => "unknown exit status".to_owned(),
    };
    let error = output_text(error);
    failed_reply(&if error.is_empty() { how } else { format!("{how}: {error}") })
}

/// Parses the standard output of a hook. It must be empty or one JSON object.
fn parse_output(output: &CapturedOutput, event: HookEvent) -> HookReply {
    let read = match output.bytes.trim_ascii() {
        [] => (HookDecision::Pass, String::new()),
        text if text.first() == Some(&b'{') => match serde_json::from_slice(text) {
            Ok(answer) => parse_reply(&answer, event),
            Err(error) => failed_reply(&format!("invalid output: {error}")),
        },
        _ => failed_reply("its output is not a JSON object"),
    };
    // The missing part could have contained a denial.
    if read.0 == HookDecision::Deny || output.is_complete {
        return read;
    }
    failed_reply("its output did not end: it is too long, or a background process keeps it open")
}

fn parse_reply(answer: &Value, event: HookEvent) -> HookReply {
    if answer.get("continue") == Some(&Value::Bool(false)) {
        return (HookDecision::Deny, string_field(answer, "stopReason").to_owned());
    }
    let older = parse_legacy_decision(answer);
    let said = match answer.get("hookSpecificOutput") {
        None | Some(Value::Null)
            if older.0 == HookDecision::Allow && event != HookEvent::PreToolUse =>
        {
            failed_reply("its output is for `PreToolUse`, which is another event")
        }
        None | Some(Value::Null) => older,
        Some(_) if older.0 == HookDecision::Deny => older,
        Some(output) => match (event, output.get("decision")) {
            (HookEvent::PermissionRequest, Some(decision)) => parse_behavior(decision),
            _ => parse_permission_decision(output, event),
        },
    };
    if said.0 != HookDecision::Deny && changes_call_or_rules(answer) {
        return failed_reply("it tried to change the input or the rules, which hooks cannot do");
    }
    said
}

/// Returns whether an answer would change the input of the call or the rules in force.
fn changes_call_or_rules(answer: &Value) -> bool {
    let output = answer.get("hookSpecificOutput");
    let decision = output.and_then(|output| output.get("decision"));
    let says = |of: &Value, key| of.get(key).is_some_and(|value| !value.is_null());
    [Some(answer), output, decision]
        .into_iter()
        .flatten()
        .any(|of| says(of, "updatedInput") || says(of, "updatedPermissions"))
}

/// Parses the answer to a permission request.
fn parse_behavior(decision: &Value) -> HookReply {
    match string_field(decision, "behavior") {
        "deny" => (HookDecision::Deny, string_field(decision, "message").to_owned()),
        "allow" => (HookDecision::Allow, string_field(decision, "message").to_owned()),
        _ => failed_reply("`behavior` is neither `allow` nor `deny`"),
    }
}

fn parse_permission_decision(output: &Value, event: HookEvent) -> HookReply {
    let reason = || string_field(output, "permissionDecisionReason").to_owned();
    let decision = output.get("permissionDecision");
    match (decision.and_then(Value::as_str), string_field(output, "hookEventName")) {
        (Some("deny"), _) => (HookDecision::Deny, reason()),
        (_, name) if name != event.as_camel_case() => {
            failed_reply("its output is for another event")
        }
        (Some(_), _) if event != HookEvent::PreToolUse => {
            failed_reply("its output is for `PreToolUse`, which is another event")
        }
        (Some("allow"), _) => (HookDecision::Allow, reason()),
        // An answer that defers leaves the decision to a person.
        (Some("ask" | "defer"), _) => (HookDecision::Ask, reason()),
        (None, _) if decision.is_none() => (HookDecision::Pass, reason()),
        _ => failed_reply("the decision is not one of `allow`, `deny`, `ask` and `defer`"),
    }
}

/// The decisions of earlier versions of Claude Code, which it still accepts.
fn parse_legacy_decision(answer: &Value) -> HookReply {
    let reason = || string_field(answer, "reason").to_owned();
    match answer.get("decision").map(Value::as_str) {
        None => (HookDecision::Pass, reason()),
        Some(Some("approve")) => (HookDecision::Allow, reason()),
        Some(Some("block")) => (HookDecision::Deny, reason()),
        Some(_) => failed_reply("the decision is neither `approve` nor `block`"),
    }
}

fn string_field<'a>(of: &'a Value, key: &str) -> &'a str {
    of.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn output_text(heard: &CapturedOutput) -> String {
    String::from_utf8_lossy(&heard.bytes).trim().to_owned()
}
