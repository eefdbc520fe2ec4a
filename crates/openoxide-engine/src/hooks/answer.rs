//! What a hook's end says, in the words of Claude Code's contract.

use std::os::unix::process::ExitStatusExt as _;

use openoxide_permission::HookEvent;
use openoxide_protocol::HookSaid;
use serde_json::Value;

use super::process::{End, Heard};

/// The status of a hook that blocks; its standard error is the reason.
const BLOCKED: i32 = 2;

/// No reason is longer, in characters.
const LONGEST_REASON: usize = 1000;

/// What was said, and why.
pub(super) type Said = (HookSaid, String);

/// Returns what a hook said at an event, and why. Only before a tool runs does a status block it.
pub(super) fn read(end: &End, event: HookEvent) -> Said {
    let blocks = event == HookEvent::PreToolUse;
    let (said, reason) = match end {
        End::Ended { status, output, error } => match (status.code(), status.signal()) {
            (Some(BLOCKED), _) if blocks => (HookSaid::Deny, text(error)),
            (Some(0), _) => said(output, event),
            (code, signal) => ended_badly(code, signal, said(output, event), error),
        },
        End::TimedOut(limit) => failed(&format!("it took longer than {} s", limit.as_secs())),
        End::Failed(error) => failed(&format!("it did not run: {error}")),
    };
    (said, reason.chars().take(LONGEST_REASON).collect())
}

fn failed(why: &str) -> Said {
    (HookSaid::Failed, why.to_owned())
}

/// A hook that fails may still have said no.
fn ended_badly(code: Option<i32>, signal: Option<i32>, said: Said, error: &Heard) -> Said {
    if said.0 == HookSaid::Deny {
        return said;
    }
    let how = match (code, signal) {
        (Some(code), _) => format!("it ended with status {code}"),
        (None, Some(signal)) => format!("signal {signal} ended it"),
        (None, None) => "it ended in no known way".to_owned(),
    };
    let error = text(error);
    failed(&if error.is_empty() { how } else { format!("{how}: {error}") })
}

/// Reads what was written to standard output: nothing, or one JSON object.
fn said(output: &Heard, event: HookEvent) -> Said {
    let read = match output.bytes.trim_ascii() {
        [] => (HookSaid::Pass, String::new()),
        text if text.first() == Some(&b'{') => match serde_json::from_slice(text) {
            Ok(answer) => spoken(&answer, event),
            Err(error) => failed(&format!("its answer was not understood: {error}")),
        },
        _ => failed("its answer is not a JSON object"),
    };
    // What is missing could have been a no.
    if read.0 == HookSaid::Deny || output.whole {
        return read;
    }
    failed("its answer did not end: it is too long, or a background process keeps the output open")
}

fn spoken(answer: &Value, event: HookEvent) -> Said {
    if answer.get("continue") == Some(&Value::Bool(false)) {
        return (HookSaid::Deny, word(answer, "stopReason").to_owned());
    }
    let older = by_older_word(answer);
    let said = match answer.get("hookSpecificOutput") {
        None | Some(Value::Null)
            if older.0 == HookSaid::Allow && event != HookEvent::PreToolUse =>
        {
            failed("its answer is one to a call before it runs")
        }
        None | Some(Value::Null) => older,
        Some(_) if older.0 == HookSaid::Deny => older,
        Some(output) => match (event, output.get("decision")) {
            (HookEvent::PermissionRequest, Some(decision)) => by_behavior(decision),
            _ => by_decision(output, event),
        },
    };
    if said.0 != HookSaid::Deny && alters(answer) {
        return failed("it tried to change the input or the rules, which hooks cannot do");
    }
    said
}

/// Says whether an answer would have something else run, or other rules hold, than what was judged and these.
fn alters(answer: &Value) -> bool {
    let output = answer.get("hookSpecificOutput");
    let decision = output.and_then(|output| output.get("decision"));
    let says = |of: &Value, key| of.get(key).is_some_and(|value| !value.is_null());
    [Some(answer), output, decision]
        .into_iter()
        .flatten()
        .any(|of| says(of, "updatedInput") || says(of, "updatedPermissions"))
}

/// Reads the answer to a permission request.
fn by_behavior(decision: &Value) -> Said {
    match word(decision, "behavior") {
        "deny" => (HookSaid::Deny, word(decision, "message").to_owned()),
        "allow" => (HookSaid::Allow, word(decision, "message").to_owned()),
        _ => failed("its behavior is neither allow nor deny"),
    }
}

fn by_decision(output: &Value, event: HookEvent) -> Said {
    let reason = || word(output, "permissionDecisionReason").to_owned();
    let decision = output.get("permissionDecision");
    match (decision.and_then(Value::as_str), word(output, "hookEventName")) {
        (Some("deny"), _) => (HookSaid::Deny, reason()),
        (_, name) if name != event.as_camel_case() => failed("its answer is for another event"),
        (Some(_), _) if event != HookEvent::PreToolUse => {
            failed("its answer is one to a call before it runs")
        }
        (Some("allow"), _) => (HookSaid::Allow, reason()),
        // Who defers wants somebody else to decide.
        (Some("ask" | "defer"), _) => (HookSaid::Ask, reason()),
        (None, _) if decision.is_none() => (HookSaid::Pass, reason()),
        _ => failed("its decision is not one of allow, deny, ask and defer"),
    }
}

/// The words that Claude Code had before, and still takes.
fn by_older_word(answer: &Value) -> Said {
    let reason = || word(answer, "reason").to_owned();
    match answer.get("decision").map(Value::as_str) {
        None => (HookSaid::Pass, reason()),
        Some(Some("approve")) => (HookSaid::Allow, reason()),
        Some(Some("block")) => (HookSaid::Deny, reason()),
        Some(_) => failed("its decision is neither approve nor block"),
    }
}

fn word<'a>(of: &'a Value, key: &str) -> &'a str {
    of.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn text(heard: &Heard) -> String {
    String::from_utf8_lossy(&heard.bytes).trim().to_owned()
}
