//! The call that a hook has not answered yet, and the record of an answer without a decision.

use std::sync::{Arc, Mutex, PoisonError};

use openoxide_adapters::agent_hook::AgentHookCall;
use openoxide_engine::AuditLog;
use openoxide_store::UserEnvironment;

use super::hook_client::HookClient;

/// The call that a hook is about. Both the thread that decides and the watchdog know it.
#[derive(Clone, Debug)]
pub(super) struct UnansweredCall {
    pub(super) client: HookClient,
    environment: UserEnvironment,
    call: Arc<Mutex<Option<Arc<AgentHookCall>>>>,
}

impl UnansweredCall {
    /// Returns a call whose payload is not known yet.
    pub(super) fn new(client: HookClient, environment: UserEnvironment) -> Self {
        Self { client, environment, call: Arc::default() }
    }

    /// Takes the payload.
    pub(super) fn set_call(&self, call: AgentHookCall) -> Arc<AgentHookCall> {
        let call = Arc::new(call);
        *self.call.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&call));
        call
    }

    /// Records the answer to a call that was not decided. The answer is the same without a record.
    pub(super) fn record(&self, why: &str) {
        let call = self.call.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let log = AuditLog::new(self.environment.clone());
        let told = self.client.undecided_effect();
        drop(log.record_undecided_call(self.client.name(), call.as_deref(), told, why));
    }
}
