//! The payload of a hook in the format of Claude Code, which Codex uses as well, and the common
//! parts of their answers.

use openoxide_protocol::{AbsPath, Decision, Effect, PermissionMode, escape::escape_and_truncate};
use serde::Deserialize;
use serde_json::{Value, json};

/// The hook events that are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentHookEvent {
    /// Runs before a tool; the only event that can block the tool in every mode.
    PreToolUse,
    /// Runs when the client would ask a person.
    PermissionRequest,
}

/// A parsed payload.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentHookCall {
    /// The event of the hook.
    pub event: AgentHookEvent,
    /// The client's id of the conversation.
    pub session_id: String,
    /// The client's id of the call; empty in a permission request.
    pub call_id: String,
    /// The client's id of the person's last prompt, if it sends one.
    pub prompt_id: String,
    /// The working directory of the session.
    pub cwd: AbsPath,
    /// The client's mode; `None` if OpenOxide has no such mode.
    pub mode: Option<PermissionMode>,
    /// The subagent that makes the call, if any.
    pub subagent: Option<String>,
    /// The name of the tool.
    pub tool: String,
    /// The input of the tool.
    pub input: Value,
    /// The path of the client's record of the conversation, if it names one.
    pub transcript: Option<String>,
}

/// A message that a client sends to its hook.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentHookMessage {
    /// A call that has not run yet. The client waits for the answer.
    Call(AgentHookCall),
    /// A call that has ended.
    EndedCall(EndedAgentCall),
}

/// A call that the client has executed.
#[derive(Clone, Debug, PartialEq)]
pub struct EndedAgentCall {
    /// The client's id of the conversation.
    pub session_id: String,
    /// The client's id of the call.
    pub call_id: String,
    /// The client's mode; `None` if OpenOxide has no such mode.
    pub mode: Option<PermissionMode>,
    /// The name of the tool.
    pub tool: String,
    /// The input with which the tool ran.
    pub input: Value,
    /// The result of the call.
    pub result: AgentCallResult,
    /// The running time in milliseconds.
    pub duration_ms: u64,
}

/// The result of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentCallResult {
    /// The call succeeded.
    Succeeded,
    /// The call failed. Contains the client's message.
    Failed(String),
    /// The person interrupted the call.
    Interrupted,
}

/// The maximum number of characters of a reason, which the client shows in its dialog.
const MAX_REASON_LENGTH: usize = 2000;

/// The maximum number of characters of each text that a reason quotes.
const MAX_COMMAND_LENGTH: usize = 600;

/// The maximum length of a name from a client.
const MAX_NAME_LENGTH: usize = 200;

impl AgentHookCall {
    /// Returns the name of the task, which lasts until the person's next prompt. Returns `None` if
    /// the client does not identify its session and prompt, because the end of the task is then
    /// unknown.
    #[must_use]
    pub fn task_name(&self) -> Option<String> {
        let is_name = |name: &str| (1..=MAX_NAME_LENGTH).contains(&name.len());
        let names = is_name(&self.session_id) && is_name(&self.prompt_id);
        names.then(|| format!("{}/{}", self.session_id, self.prompt_id))
    }
}

/// An error in the payload of a hook.
#[derive(Debug)]
pub enum PayloadError {
    /// The payload is not a JSON object.
    NotAnObject,
    /// The payload is not JSON, or has an unexpected shape.
    InvalidJson(serde_json::Error),
    /// The payload is for a hook event that cannot be answered.
    UnsupportedEvent(String),
    /// The payload has no absolute working directory.
    InvalidDirectory(String),
}

impl std::fmt::Display for PayloadError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotAnObject => write!(out, "the payload is not a JSON object"),
            Self::InvalidJson(error) => write!(out, "the payload was not understood: {error}"),
            Self::UnsupportedEvent(name) => {
                write!(out, "`{name}` is not a hook event that makes decisions")
            }
            Self::InvalidDirectory(cwd) => write!(out, "`{cwd}` is not an absolute path"),
        }
    }
}

impl std::error::Error for PayloadError {}

#[derive(Deserialize)]
struct HookPayload {
    hook_event_name: String,
    #[serde(default)]
    session_id: String,
    #[serde(default)]
    tool_use_id: String,
    #[serde(default, alias = "turn_id")]
    prompt_id: String,
    cwd: String,
    #[serde(default)]
    transcript_path: Option<String>,
    #[serde(default)]
    permission_mode: Option<String>,
    #[serde(default)]
    agent_type: Option<String>,
    tool_name: String,
    #[serde(default)]
    tool_input: Value,
    #[serde(default)]
    error: Value,
    #[serde(default)]
    is_interrupt: Value,
    #[serde(default)]
    duration_ms: Value,
}

/// Parses the payload of a call that has not run yet.
///
/// # Errors
/// Returns an error if the payload cannot be parsed, or is about another event.
pub fn parse_payload(bytes: &[u8]) -> Result<AgentHookCall, PayloadError> {
    match parse_message(bytes)? {
        AgentHookMessage::Call(call) => Ok(call),
        AgentHookMessage::EndedCall(_) => Err(PayloadError::UnsupportedEvent("PostToolUse".into())),
    }
}

/// Parses a payload. Unknown fields are ignored, because each version of the client adds some.
///
/// # Errors
/// Returns an error if the payload cannot be parsed.
pub fn parse_message(bytes: &[u8]) -> Result<AgentHookMessage, PayloadError> {
    // A list would be deserialized as the fields in their order.
    if bytes.trim_ascii_start().first() != Some(&b'{') {
        return Err(PayloadError::NotAnObject);
    }
    let payload: HookPayload = serde_json::from_slice(bytes).map_err(PayloadError::InvalidJson)?;
    let event = match payload.hook_event_name.as_str() {
        "PreToolUse" => AgentHookEvent::PreToolUse,
        "PermissionRequest" => AgentHookEvent::PermissionRequest,
        "PostToolUse" | "PostToolUseFailure" => {
            return Ok(AgentHookMessage::EndedCall(payload.into_ended_call()));
        }
        _ => return Err(PayloadError::UnsupportedEvent(payload.hook_event_name)),
    };
    let Ok(cwd) = AbsPath::new(&payload.cwd) else {
        return Err(PayloadError::InvalidDirectory(payload.cwd));
    };
    Ok(AgentHookMessage::Call(AgentHookCall {
        event,
        session_id: payload.session_id,
        call_id: payload.tool_use_id,
        prompt_id: payload.prompt_id,
        cwd,
        mode: payload.permission_mode.as_deref().and_then(PermissionMode::parse),
        subagent: payload.agent_type,
        tool: payload.tool_name,
        input: payload.tool_input,
        transcript: payload.transcript_path,
    }))
}

impl HookPayload {
    fn into_ended_call(self) -> EndedAgentCall {
        let result = match self.hook_event_name.as_str() {
            "PostToolUse" => AgentCallResult::Succeeded,
            _ if self.is_interrupt == Value::Bool(true) => AgentCallResult::Interrupted,
            _ => AgentCallResult::Failed(self.error.as_str().unwrap_or_default().to_owned()),
        };
        EndedAgentCall {
            session_id: self.session_id,
            call_id: self.tool_use_id,
            mode: self.permission_mode.as_deref().and_then(PermissionMode::parse),
            tool: self.tool_name,
            input: self.tool_input,
            result,
            duration_ms: self.duration_ms.as_u64().unwrap_or_default(),
        }
    }
}

/// Returns the answer to a hook that runs before a tool.
pub fn render_pre_tool_use(effect: Effect, reason: &str) -> String {
    json!({
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": effect.as_str(),
            "permissionDecisionReason": escape_and_truncate(reason, MAX_REASON_LENGTH),
        }
    })
    .to_string()
}

/// Returns the answer to a hook that runs before a tool and allows it with another input.
pub fn render_changed_input(reason: &str, input: &Value) -> String {
    json!({
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": Effect::Allow.as_str(),
            "permissionDecisionReason": escape_and_truncate(reason, MAX_REASON_LENGTH),
            "updatedInput": input,
        }
    })
    .to_string()
}

/// Returns the answer to a permission request, which replaces the person's answer.
pub fn render_permission_request(decision: &Value) -> String {
    json!({ "hookSpecificOutput": { "hookEventName": "PermissionRequest", "decision": decision } })
        .to_string()
}

/// Returns the answer for the case that nothing is allowed.
#[must_use]
pub fn render_blocked(event: AgentHookEvent, why: &str) -> String {
    let reason = format!("OpenOxide: {why}");
    match event {
        AgentHookEvent::PreToolUse => render_pre_tool_use(Effect::Deny, &reason),
        AgentHookEvent::PermissionRequest => render_permission_denial(&reason),
    }
}

/// Returns a denial that replaces the person's answer.
pub fn render_permission_denial(reason: &str) -> String {
    let message = escape_and_truncate(reason, MAX_REASON_LENGTH);
    render_permission_request(&json!({ "behavior": "deny", "message": message }))
}

/// Returns the reason with the deciding rule and its file and line, for the model and for a person.
pub fn render_reason(decision: &Decision) -> String {
    match &decision.rule {
        Some(rule) => {
            // The rule is at the end of the text, where a long command must not cut it off.
            let reason = escape_and_truncate(&decision.reason, MAX_COMMAND_LENGTH);
            let place = match (&rule.file, rule.line) {
                (Some(file), Some(line)) => format!(", {file}:{line}"),
                _ => String::new(),
            };
            format!("{reason} (`{}`{place})", escape_and_truncate(&rule.text, MAX_COMMAND_LENGTH))
        }
        None => escape_and_truncate(&decision.reason, MAX_COMMAND_LENGTH),
    }
}

/// The maximum number of findings that a question shows.
const MAX_SHOWN_FINDINGS: usize = 3;

/// Returns the reason of a question, with the findings about the call. A person reads it in the
/// client's dialog.
pub fn render_question(decision: &Decision) -> String {
    let mut lines = vec![render_reason(decision)];
    lines.extend(decision.findings.iter().take(MAX_SHOWN_FINDINGS).map(|finding| {
        format!("{}: {}", finding.code, escape_and_truncate(&finding.message, MAX_COMMAND_LENGTH))
    }));
    let hidden = decision.findings.len().saturating_sub(MAX_SHOWN_FINDINGS);
    if hidden > 0 {
        lines.push(format!("{hidden} more findings"));
    }
    lines.join("; ")
}

/// Tools that ask the person. Their own dialog is the question, which no hook may answer. The names
/// are those of Claude Code, Codex, OpenCode, Gemini CLI, Qwen Code, Cline, Roo Code, Copilot CLI
/// and Crush.
const USER_PROMPT_TOOLS: &[&str] = &[
    "AskUserQuestion",
    "EnterPlanMode",
    "ExitPlanMode",
    "ask_followup_question",
    "ask_question",
    "ask_user",
    "ask_user_question",
    "askuserquestion",
    "attempt_completion",
    "enter_plan_mode",
    "exit_plan_mode",
    "plan_enter",
    "plan_exit",
    "plan_mode_respond",
    "question",
    "request_user_input",
    "switch_mode",
];

/// Returns whether a tool asks the person in its own dialog. An allow would answer the tool's
/// question, and an ask would add a second one, so only a deny is given.
#[must_use]
pub fn is_user_prompt_tool(tool: &str) -> bool {
    USER_PROMPT_TOOLS.contains(&tool)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Recorded from the client (2.1.330), with the ids shortened.
    const PRE: &str = r#"{"session_id":"c6dc","transcript_path":"/h/.claude/projects/-tmp-proj/c6dc.jsonl","cwd":"/tmp/proj","prompt_id":"87e7","permission_mode":"acceptEdits","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"git status && npm run build","timeout":60000,"description":"Build it"},"tool_use_id":"toolu_e608"}"#;
    const ASK: &str = r#"{"session_id":"c6dc","cwd":"/tmp/proj","permission_mode":"auto","hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"x"},"permission_suggestions":[]}"#;

    #[test]
    fn real_payloads_are_read() {
        let call = parse_payload(PRE.as_bytes()).unwrap();
        assert_eq!((call.event, call.tool.as_str()), (AgentHookEvent::PreToolUse, "Bash"));
        assert_eq!((call.cwd.as_str(), call.call_id.as_str()), ("/tmp/proj", "toolu_e608"));
        assert_eq!(call.mode, Some(PermissionMode::AcceptEdits));
        assert_eq!(call.input["command"], "git status && npm run build");
        assert_eq!(call.task_name().as_deref(), Some("c6dc/87e7"));
        let call = parse_payload(ASK.as_bytes()).unwrap();
        assert_eq!(call.task_name(), None, "a client that does not say what it works on");
        assert_eq!(
            (call.event, call.call_id.as_str(), call.mode),
            (AgentHookEvent::PermissionRequest, "", None)
        );
    }

    /// Recorded from Codex 0.169, with the ids shortened. The directory is the one that the model
    /// named for this command.
    #[test]
    fn a_payload_of_codex_is_read() {
        let call = parse_payload(br#"{"session_id":"01a2","turn_id":"01a3","transcript_path":"/h/s.jsonl","cwd":"/p/sub","hook_event_name":"PreToolUse","model":"gpt-5.5","permission_mode":"default","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"call_5"}"#).unwrap();
        assert_eq!((call.event, call.cwd.as_str()), (AgentHookEvent::PreToolUse, "/p/sub"));
        assert_eq!(
            (call.call_id.as_str(), call.task_name().as_deref()),
            ("call_5", Some("01a2/01a3"))
        );
    }

    /// Recorded from Claude Code 2.1.330, with the ids shortened.
    #[test]
    fn the_end_of_a_call_is_read() {
        let read = |text: &str| match parse_message(text.as_bytes()) {
            Ok(AgentHookMessage::EndedCall(ended)) => ended,
            other => panic!("{other:?}"),
        };
        let ended = read(
            r#"{"session_id":"467c","transcript_path":"/h/467c.jsonl","cwd":"/p","prompt_id":"757d","permission_mode":"default","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"touch notes.txt","description":"x"},"tool_response":{"stdout":"","stderr":"","interrupted":false,"isImage":false,"noOutputExpected":true},"tool_use_id":"toolu_840d","duration_ms":397}"#,
        );
        assert_eq!((ended.call_id.as_str(), ended.duration_ms), ("toolu_840d", 397));
        assert_eq!(
            (ended.result, ended.mode),
            (AgentCallResult::Succeeded, Some(PermissionMode::Default))
        );
        assert_eq!(ended.input["command"], "touch notes.txt");
        let failed = r#"{"session_id":"467c","cwd":"/p","prompt_id":"757d","permission_mode":"default","hook_event_name":"PostToolUseFailure","tool_name":"Bash","tool_input":{"command":"false","description":"x"},"tool_use_id":"toolu_de88","error":"Exit code 1","is_interrupt":false,"duration_ms":465}"#;
        assert_eq!(read(failed).result, AgentCallResult::Failed("Exit code 1".to_owned()));
        let interrupted = failed.replace("\"is_interrupt\":false", "\"is_interrupt\":true");
        assert_eq!(read(&interrupted).result, AgentCallResult::Interrupted);
        assert!(parse_payload(failed.as_bytes()).is_err(), "it is no call that can be decided");
    }

    /// The client shows the reason unchanged in a dialog.
    #[test]
    fn a_reason_is_escaped_and_bounded() {
        let hostile =
            ["\u{1b}[2J", "\u{9b}31m", "\u{202e}", "\u{200b}", "\u{e0041}", "\r", "\n", "\u{7}"];
        let reason = format!("a {} {}", hostile.concat(), "x".repeat(60_000));
        for line in [
            render_pre_tool_use(Effect::Ask, &reason),
            render_permission_denial(&reason),
            render_blocked(AgentHookEvent::PreToolUse, &reason),
            render_blocked(AgentHookEvent::PermissionRequest, &reason),
        ] {
            let value: Value = serde_json::from_str(&line).unwrap();
            let output = &value["hookSpecificOutput"];
            let shown = output["permissionDecisionReason"].as_str();
            let shown = shown.or_else(|| output["decision"]["message"].as_str()).unwrap();
            for part in hostile {
                assert!(!shown.contains(part), "{part:?}");
            }
            assert!(shown.contains("\\x1b[2J\\u{9b}31m\\u{202e}\\u{200b}\\u{e0041}\\r\\n\\x07"));
            assert!(shown.chars().count() < 2100, "{}", shown.len());
        }
    }

    #[test]
    fn a_long_command_leaves_room_for_the_rule() {
        use openoxide_protocol::RuleRef;
        let rule = RuleRef {
            layer: "user".into(),
            file: Some("/h/policy.toml".into()),
            line: Some(4),
            text: "deny Bash(rm *)".into(),
            reason: None,
        };
        let decision = Decision {
            effect: Effect::Deny,
            reason: "x".repeat(60_000),
            rule: Some(rule),
            parts: vec![],
            findings: vec![],
            suggested_rules: vec![],
            obligations: vec![],
        };
        assert!(render_reason(&decision).ends_with("(`deny Bash(rm *)`, /h/policy.toml:4)"));
        assert!(render_reason(&decision).len() < 800);
    }

    #[test]
    fn an_invalid_payload_is_an_error() {
        for text in [
            "",
            "not json",
            "[]",
            r#"["PreToolUse","s","t","/p",null,null,"Bash",{"command":"ls"}]"#,
            "{}",
            "\u{0}",
            r#"{"hook_event_name":"PreToolUse","cwd":"/p"}"#,
            r#"{"hook_event_name":"PreToolUse","cwd":"p","tool_name":"Bash"}"#,
            r#"{"hook_event_name":"PreToolUse","tool_name":"Bash"}"#,
            r#"{"hook_event_name":"Stop","cwd":"/p","tool_name":"Bash"}"#,
        ] {
            assert!(parse_payload(text.as_bytes()).is_err(), "{text}");
        }
        assert!(parse_payload(&[0xFF, 0xFE]).is_err());
        let deep = format!("{{\"tool_input\":{}", "[".repeat(100_000));
        assert!(parse_payload(deep.as_bytes()).is_err());
    }
}
