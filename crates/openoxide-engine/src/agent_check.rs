//! Decisions about calls of an agent that calls a hook before each tool.

use openoxide_adapters::{agent_hook, tool_action};
use openoxide_permission::{EvaluationContext, HookEvent, evaluate_with_hooks};
use openoxide_protocol::{AbsPath, Access, Action, Decision, Effect, OperationFacts};
use openoxide_store::{ClientProcess, audit::DecisionRecord};

use crate::{
    audit_log::{audit_violation_reason, record_without_decision},
    check_host::CheckHost,
    command_input::working_directory,
    engine::Engine,
    error::InterruptedError,
    hook_runner::run_hooks,
    hooks::HookCall,
    limited_grants::GrantUseMode,
    operation_facts::{CallLocation, collect_action_facts, facts_of_call},
    queued_request::WaitOptions,
    repetition::record_repetition,
};

/// The name of the agent whose own allow rules are respected.
const CLAUDE_CODE: &str = "claude";

/// A call of an agent, as its hook payload describes it.
#[derive(Clone, Debug)]
pub struct AgentCall<'a> {
    /// The agent.
    pub agent: &'a str,
    /// The payload.
    pub call: &'a agent_hook::AgentHookCall,
    /// The process that the call comes from, if it is known.
    pub client: Option<ClientProcess>,
    /// The actions that the call performs or may perform in addition to its own.
    pub extra_actions: Vec<Action>,
    /// The accesses that the call needs in addition, for example to the tool name
    /// [`RUN_WITHOUT_SANDBOX`](crate::RUN_WITHOUT_SANDBOX).
    pub extra_accesses: Vec<Access>,
    /// The wait for an answer in another terminal, if the client leaves time for it. Without it,
    /// nothing is registered.
    pub wait: Option<WaitOptions<'a>>,
}

/// The decision of the policy about a call of an agent.
#[derive(Clone, Debug)]
pub enum AgentDecision {
    /// The agent executes the call, or asks its user.
    Decided {
        /// The decision.
        decision: Box<Decision>,
        /// The number of the audit record, if it could be written.
        record_seq: Option<u64>,
    },
    /// A person answered in another terminal. The agent executes the call as it is, or not at all.
    Answered(Box<Decision>),
    /// The policy does not decide the call, and the user's own rules of the agent allow it. The agent
    /// decides as if there were no hook.
    LeftToAgent,
    /// The managed policy has errors, so no operation is allowed.
    PolicyUnusable(String),
}

impl Engine {
    /// Decides a call of an agent: runs the hooks of the policy, uses limited grants, and records
    /// the decision. If the policy requires the record and it cannot be written, the call is
    /// decided again as if the policy had errors.
    ///
    /// # Errors
    /// If the hooks were interrupted. Nothing was decided then.
    pub fn decide_for_agent(
        &self,
        agent: &AgentCall<'_>,
        host: &dyn CheckHost,
    ) -> Result<AgentDecision, InterruptedError> {
        let AgentCall { agent: name, call, .. } = agent;
        let action = tool_action::parse_action(&call.tool, &call.input);
        let record = |decided| {
            host.on_record_started();
            let written = self.audit_log.record_agent_call(name, call, &action, decided);
            host.on_record_ended();
            written
        };
        if let Some(why) = self.managed_policy_error() {
            drop(record(record_without_decision(Effect::Deny, why)));
            return Ok(AgentDecision::PolicyUnusable(why.to_owned()));
        }
        let facts = self.collect_agent_facts(agent, &action);
        host.on_hooks_started();
        let answers = run_hooks(&self.loaded_policy.hooks, &self.new_hook_call(call, &facts), host);
        host.on_hooks_ended();
        let answers = answers?;
        let context = self.directory_context(&call.cwd, &self.roots);
        let policy = self.operation_policy(&context, &facts, GrantUseMode::Spend, host);
        let decision = evaluate_with_hooks(policy, &context, &facts, &answers);
        let undecided = decision.effect == Effect::Ask && *name == CLAUDE_CODE;
        let rules = (policy, &context);
        // A call without its record is decided by the policy alone.
        if undecided
            && let Some(by_client) = self.claude_rules_decision(call, rules, &facts, &answers)
            && let Ok(seq) = record(DecisionRecord::new(&by_client, self.mode))
        {
            self.announce_call(agent, &facts, &answers, (&by_client, Some(seq)));
            return Ok(AgentDecision::LeftToAgent);
        }
        let decision = self.apply_agent_approval(agent, &facts, &answers, decision);
        let decision = self.with_ended_grant(decision, &context);
        let new_record = |decision: &Decision| DecisionRecord {
            hooks: answers.clone(),
            ..DecisionRecord::new(decision, self.mode)
        };
        let question = new_record(&decision);
        let review = match self.wait_for_answer(agent, (&facts, &answers), &decision, host) {
            Ok(review) => review,
            Err(error) => {
                drop(record(question));
                return Err(error);
            }
        };
        let (decision, answer) = review.unwrap_or((decision, None));
        let is_answered = answer.is_some();
        let written = record(match is_answered {
            true => DecisionRecord { answer, ..question },
            // The policy may have denied the call meanwhile.
            false => new_record(&decision),
        });
        let decision = match audit_violation_reason(&decision, &written) {
            Some(why) => {
                let context = EvaluationContext { policy_error: Some(&why), ..context };
                evaluate_with_hooks(policy, &context, &facts, &answers)
            }
            None => decision,
        };
        let (decision, record_seq) = (Box::new(decision), written.ok());
        self.announce_call(agent, &facts, &answers, (&decision, record_seq));
        if is_answered {
            return Ok(AgentDecision::Answered(decision));
        }
        Ok(AgentDecision::Decided { decision, record_seq })
    }

    fn collect_agent_facts(&self, agent: &AgentCall<'_>, action: &Action) -> OperationFacts {
        let AgentCall { call, extra_actions, extra_accesses, .. } = agent;
        let place = CallLocation { cwd: &call.cwd, home: self.home() };
        let mut facts = facts_of_call(action, &call.tool, &call.input, place);
        let named = working_directory(&call.input, &call.cwd);
        let there = CallLocation { cwd: named.as_ref().unwrap_or(&call.cwd), ..place };
        facts.accesses.extend(extra_accesses.iter().cloned());
        for action in extra_actions {
            let also = collect_action_facts(action, &call.tool, there);
            facts.accesses.extend(also.accesses);
            facts.findings.extend(also.findings);
        }
        if self.loaded_policy.has_repetition_rules() {
            record_repetition(call, self.environment(), &mut facts);
        }
        facts
    }

    fn new_hook_call<'a>(
        &'a self,
        call: &'a agent_hook::AgentHookCall,
        facts: &'a OperationFacts,
    ) -> HookCall<'a> {
        let agent_hook::AgentHookCall {
            session_id: session, call_id: id, tool, input, cwd, ..
        } = call;
        let (event, project): (_, &AbsPath) = (HookEvent::PreToolUse, &self.project);
        let session = session.clone();
        HookCall { event, session, call_id: id, tool, input, cwd, project, mode: self.mode, facts }
    }
}
