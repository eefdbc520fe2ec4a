//! Detection of repeated calls if each call is a separate process. It is active if the policy has a
//! rule for repetition.

use openoxide_adapters::agent_hook::{AgentHookCall, AgentHookEvent};
use openoxide_protocol::{Access, OperationFacts};
use openoxide_store::{RecentCallsFile, UserEnvironment};

use crate::digest::digest_call;

/// Records a call and adds its repetition to its facts. A call that could not be recorded is
/// treated as a repetition.
pub(crate) fn record_repetition(
    call: &AgentHookCall,
    environment: &UserEnvironment,
    facts: &mut OperationFacts,
) {
    let (file, digest) =
        (RecentCallsFile::for_user(environment), digest_call(&call.tool, &call.input));
    let repeats = match call.event {
        AgentHookEvent::PreToolUse => file.record(&call.session_id, digest),
        // Returns the access of a repeated call.
        AgentHookEvent::PermissionRequest => file.is_loop(&call.session_id, digest),
    };
    if repeats.unwrap_or(true) {
        facts.accesses.push(Access::Repetition { tool: call.tool.clone() });
    }
}
