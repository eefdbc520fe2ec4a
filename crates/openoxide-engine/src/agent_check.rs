//! Deciding a call of an agent that calls a hook before each of its tools.

use openoxide_adapters::{hook, tool};
use openoxide_permission::{Context, HookEvent, after_hooks};
use openoxide_protocol::{AbsPath, Action, Decision, Effect, Facts};
use openoxide_store::audit::Decided;

use crate::{
    CheckHost, Engine, HookCall, InterruptedError, Place, audit_log::without_grounds,
    audit_violation, command_input::working_directory, facts::facts_of_call, facts_of,
    hook_runner::run_hooks, limited_grants::GrantUse, note_repetition,
};

/// A call of an agent, as its hook payload describes it.
#[derive(Clone, Debug)]
pub struct AgentCall<'a> {
    /// The agent.
    pub agent: &'a str,
    /// The payload.
    pub call: &'a hook::Call,
    /// The actions that the call performs, or may perform, besides its own.
    pub also: Vec<Action>,
}

/// The decision of the policy about a call of an agent.
#[derive(Clone, Debug)]
pub enum AgentDecision {
    /// The decision; the agent executes the call, or asks its user.
    Decided(Box<Decision>),
    /// Nothing may be done at all, because the managed policy has errors.
    PolicyUnusable(String),
}

impl Engine {
    /// Decides a call of an agent: runs the hooks of the policy, uses limited grants up, and records the decision. If the policy requires
    /// the record and it cannot be written, the call is decided again as if the policy had errors.
    ///
    /// # Errors
    /// When the hooks were interrupted: nothing was decided.
    pub fn decide_for_agent(
        &self,
        agent: &AgentCall<'_>,
        host: &dyn CheckHost,
    ) -> Result<AgentDecision, InterruptedError> {
        let AgentCall { agent: name, call, also } = agent;
        let action = tool::action(&call.tool, &call.input);
        let record = |decided| self.audit.record_agent_call(name, call, &action, decided);
        if let Some(why) = self.managed_policy_error() {
            drop(record(without_grounds(Effect::Deny, why)));
            return Ok(AgentDecision::PolicyUnusable(why.to_owned()));
        }
        let facts = self.agent_facts(call, &action, also);
        host.hooks_started();
        let answers = run_hooks(&self.loaded.hooks, &self.hook_call(call, &facts), host);
        host.hooks_ended();
        let answers = answers?;
        let context = self.context_in(&call.cwd, &self.roots);
        let policy = self.policy_for(&context, &facts, GrantUse::Spend, host);
        let decision = after_hooks(policy, &context, &facts, &answers);
        let decided = Decided { hooks: answers.clone(), ..Decided::new(&decision, self.mode) };
        let written = record(decided);
        let decision = match audit_violation(&decision, &written) {
            Some(why) => {
                let context = Context { doubt: Some(&why), ..context };
                after_hooks(policy, &context, &facts, &answers)
            }
            None => decision,
        };
        Ok(AgentDecision::Decided(Box::new(decision)))
    }

    fn agent_facts(&self, call: &hook::Call, action: &Action, also: &[Action]) -> Facts {
        let place = Place { cwd: &call.cwd, home: self.home() };
        let mut facts = facts_of_call(action, &call.tool, &call.input, place);
        let named = working_directory(&call.input, &call.cwd);
        let there = Place { cwd: named.as_ref().unwrap_or(&call.cwd), ..place };
        for action in also {
            let also = facts_of(action, &call.tool, there);
            facts.accesses.extend(also.accesses);
            facts.findings.extend(also.findings);
        }
        if self.loaded.policy.watches_repetition() {
            note_repetition(call, self.environment(), &mut facts);
        }
        facts
    }

    fn hook_call<'a>(&'a self, call: &'a hook::Call, facts: &'a Facts) -> HookCall<'a> {
        let hook::Call { session, call: id, tool, input, cwd, .. } = call;
        let (event, project): (_, &AbsPath) = (HookEvent::PreToolUse, &self.project);
        let session = session.clone();
        HookCall { event, session, call: id, tool, input, cwd, project, mode: self.mode, facts }
    }
}
