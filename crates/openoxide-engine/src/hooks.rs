//! Running the hooks that apply to a call, concurrently. The permission crate decides what their
//! answers mean.
//!
//! The interface is that of Claude Code's PreToolUse hooks, so that existing hooks can be used: the
//! call as JSON on standard input, and an exit status with optional JSON as the answer. There is
//! one difference: Claude Code ignores a hook that fails. Here, the call requires approval then.

mod hook_output;
mod hook_process;

use std::{collections::HashMap, sync::Arc};

use openoxide_permission::{Hook, HookEvent};
use openoxide_protocol::{
    AbsPath, HookAnswer, HookDecision, Operation, OperationFacts, PermissionMode, SCHEMA,
};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use hook_process::{HOOK_VARIABLE, HookProcess};

/// The description of a call that hooks receive.
#[derive(Clone, Debug)]
pub struct HookCall<'a> {
    /// The event, which selects the hooks.
    pub event: HookEvent,
    /// The agent's identifier of the conversation.
    pub session: String,
    /// The agent's identifier of the call, or an empty text.
    pub call_id: &'a str,
    /// The tool, in the agent's spelling.
    pub tool: &'a str,
    /// The input, unchanged.
    pub input: &'a Value,
    /// The directory in which the call and the hooks run.
    pub cwd: &'a AbsPath,
    /// The project's directory.
    pub project: &'a AbsPath,
    /// The mode in force.
    pub mode: PermissionMode,
    /// The facts about the call.
    pub facts: &'a OperationFacts,
}

impl<'a> HookCall<'a> {
    /// Returns the description of one of OpenOxide's own operations, for the hooks of a project
    /// that run before it.
    #[must_use]
    pub fn from_operation(
        operation: &'a Operation,
        project: &'a AbsPath,
        mode: PermissionMode,
        facts: &'a OperationFacts,
    ) -> Self {
        let Operation { session, call, tool, input, cwd, .. } = operation;
        let (event, session) = (HookEvent::PreToolUse, session.to_string());
        Self { event, session, call_id: &call.0, tool, input, cwd, project, mode, facts }
    }

    /// Returns the payload for hooks: the fields of Claude Code's payload, and additional ones
    /// below `openoxide`.
    fn to_payload(&self) -> Value {
        let mut payload = json!({
            "session_id": self.session,
            "cwd": self.cwd,
            "permission_mode": self.mode.as_camel_case(),
            "hook_event_name": self.event.as_camel_case(),
            "tool_name": self.tool,
            "tool_input": self.input,
            "openoxide": { "schema": SCHEMA, "mode": self.mode, "facts": self.facts },
        });
        // A permission request does not name its call (measured with 2.1.330).
        if let (HookEvent::PreToolUse, Some(fields)) = (self.event, payload.as_object_mut()) {
            fields.insert("tool_use_id".to_owned(), self.call_id.into());
        }
        payload
    }
}

/// Asks every hook that applies to the call and returns their answers in the order of the hooks.
/// The hooks run concurrently, so this takes little longer than the longest timeout. Dropping the
/// future ends the hooks with all processes that they started. It requires a runtime with I/O and
/// time enabled.
pub async fn ask_hooks(hooks: &[Hook], call: &HookCall<'_>) -> Vec<HookAnswer> {
    let hooks: Vec<&Hook> =
        hooks.iter().filter(|hook| hook.applies_to(call.event, call.tool)).collect();
    if hooks.is_empty() {
        return Vec::new();
    }
    let (mut heard, lost) = match std::env::var_os(HOOK_VARIABLE) {
        None => (run_hook_processes(&hooks, call).await, "it did not run to completion"),
        Some(_) => (HashMap::new(), "hooks are not run for calls that a hook makes"),
    };
    let answer = |(at, hook): (usize, &&Hook)| {
        let lost = if hook.is_trusted {
            lost
        } else {
            "the project is not trusted, so the hook was not run"
        };
        let (said, reason) = heard.remove(&at).unwrap_or((HookDecision::Failed, lost.to_owned()));
        hook.to_answer(said, reason)
    };
    hooks.iter().enumerate().map(answer).collect()
}

/// Runs hooks concurrently and returns their replies by the index of the hook.
async fn run_hook_processes(
    hooks: &[&Hook],
    call: &HookCall<'_>,
) -> HashMap<usize, hook_output::HookReply> {
    let payload: Arc<[u8]> = call.to_payload().to_string().into_bytes().into();
    let mut running = JoinSet::new();
    for (at, hook) in hooks.iter().enumerate().filter(|(_, hook)| hook.is_trusted) {
        let (start, payload) =
            (HookProcess::new(hook, call.cwd, call.project), Arc::clone(&payload));
        let event = call.event;
        running.spawn(async move {
            (
                at,
                hook_output::read_hook_reply(&hook_process::run_hook(start, &payload).await, event),
            )
        });
    }
    let mut heard = HashMap::new();
    while let Some(ended) = running.join_next().await {
        heard.extend(ended.ok());
    }
    heard
}

#[cfg(test)]
mod tests;
