//! Commands of agents that run in the sandbox instead of in the agent's shell.
//!
//! The hook issues a ticket and makes the agent start `openoxide sandbox exec` with it. The policy
//! decides again when the ticket is used.

use openoxide_adapters::agent_hook::AgentHookCall;
use openoxide_permission::{CheckRequest, GateOutcome, OperationRefusal, PermissionGate};
use openoxide_protocol::{
    AbsPath, Access, AccessDecision, Action, CallId, CommandClass, Decision, Effect, Obligation,
    Operation, Principal, SandboxAutoAllow,
};
use openoxide_store::{KnownDirectory, RunTicket, RunTicketError, UserEnvironment};
use serde_json::json;

use crate::{
    digest::digest_operation,
    engine::{Engine, EngineOptions},
    error::EngineOpenError,
    ids::{new_approval_id, new_session_id},
    operation_check::{DirectoryIdentity, ExecutionPermit},
    operation_facts::collect_operation_facts,
    outside_state::shows_outside_state,
    presentation::{operation_title, present_operation},
    sandbox_profile::{has_rule_match, is_read_only},
};

impl Engine {
    /// Returns whether the policy replaces questions by the sandbox.
    #[must_use]
    pub fn replaces_questions(&self) -> bool {
        self.auto_allow(self.mode()) != SandboxAutoAllow::Off
    }

    /// Returns the same engine for a caller that does not confine commands.
    #[must_use]
    pub fn without_confinement(mut self) -> Self {
        self.options.confines_commands = false;
        self
    }

    /// Returns whether an allowed command has to run in the sandbox, or runs there so that an error
    /// of the analysis has no effect outside of it. A command that a rule allows is not confined, and
    /// neither is a read-only one that shows the state of the system or of a service, because the
    /// sandbox hides both.
    #[must_use]
    pub fn confines(&self, decision: &Decision) -> bool {
        decision.effect == Effect::Allow
            && self.replaces_questions()
            && (decision.obligations.contains(&Obligation::Sandboxed) || !stays_outside(decision))
    }

    /// Issues a ticket for a command of an agent, and returns its id. `record` is the number of the
    /// audit record of its decision, and `entered` the directory in which it leaves the shell.
    ///
    /// # Errors
    /// Returns an error if the ticket cannot be stored.
    pub fn issue_run_ticket(
        &self,
        agent: &str,
        call: &AgentHookCall,
        script: String,
        (record, entered): (Option<u64>, Option<AbsPath>),
    ) -> Result<String, RunTicketError> {
        let directories = [call.cwd.clone()].into_iter().chain(entered).map(KnownDirectory::at);
        RunTicket {
            agent: agent.to_owned(),
            session: call.session_id.clone(),
            script,
            cwd: call.cwd.clone(),
            directories: directories.collect(),
            project: self.project.clone(),
            mode: self.options.mode,
            record,
        }
        .issue(self.environment())
    }

    /// Opens the engine that decides about the command of a ticket.
    ///
    /// # Errors
    /// Returns the same errors as [`Self::open`].
    pub fn open_for_ticket(
        ticket: &RunTicket,
        environment: UserEnvironment,
    ) -> Result<Self, EngineOpenError> {
        Self::open(EngineOptions {
            project: Some(ticket.project.clone()),
            mode: ticket.mode,
            include_managed: true,
            confines_commands: true,
            ..EngineOptions::new(environment, ticket.cwd.clone())
        })
    }

    /// Decides about the command of a ticket under the current policy. Nothing is recorded, because
    /// the decision of the hook was.
    ///
    /// # Errors
    /// Returns the refusal if the command is not allowed any more.
    pub fn permit_ticket(&self, ticket: &RunTicket) -> Result<ExecutionPermit, OperationRefusal> {
        let operation = ticket_operation(ticket);
        let facts = collect_operation_facts(&operation, self.home());
        let context = self.directory_context(&operation.cwd, &self.roots);
        let policy = self.policy_without_spending(&context, &facts).clone();
        let mut gate =
            PermissionGate::new(policy.into(), self.effective_mode(), self.roots.clone())
                .with_policy_error(self.policy_error().map(str::to_owned))
                .with_auto_allow(self.auto_allow(self.mode()));
        let request = CheckRequest {
            facts,
            digest: digest_operation(&operation),
            id: new_approval_id(),
            presentation: present_operation(&operation),
            title: operation_title(&operation),
            group: None,
            requires_explicit_approval: false,
            offered_directory: None,
            hooks: Vec::new(),
            coverage: Default::default(),
            operation: operation.clone(),
        };
        match gate.check(request) {
            GateOutcome::Proceed(permit) => {
                let directory = DirectoryIdentity::at(&operation.cwd);
                Ok(ExecutionPermit::new(permit, operation, ticket.record, directory))
            }
            GateOutcome::Refuse(refusal) => Err(refusal),
            GateOutcome::Ask(request) => Err(OperationRefusal::Denied(Box::new(request.decision))),
        }
    }
}

/// Returns whether rules decide about all commands that are not read-only, or whether a read-only
/// command shows what the sandbox hides.
fn stays_outside(decision: &Decision) -> bool {
    let is_undecided = |part: &AccessDecision| {
        matches!(&part.access, Access::Exec(exec) if exec.class != CommandClass::Harmless)
            && part.rule.is_none()
    };
    has_rule_match(decision) && !decision.parts.iter().any(is_undecided)
        || is_read_only(decision) && shows_outside_state(decision)
}

/// Returns the operation of a ticket.
fn ticket_operation(ticket: &RunTicket) -> Operation {
    let script = ticket.script.clone();
    Operation {
        session: new_session_id(),
        call: CallId::default(),
        principal: Principal::Agent,
        tool: "Bash".to_owned(),
        input: json!({ "command": script }),
        action: Action::Command { script },
        cwd: ticket.cwd.clone(),
    }
}
