//! What the policy says of a request: hooks, our analysis, the rules of the project that the conversation works in, the gate.

use std::{path::Path, sync::Arc};

use openoxide_adapters::codex::review::{Answer, Wanted};
use openoxide_engine::{digest, facts, facts_of, new_approval_id};
use openoxide_permission::{PermissionGate, PolicyStack, Question, Step, evaluate};
use openoxide_protocol::{
    AbsPath, ApprovalRequest, Decision, Effect, Facts, HookAnswer, Operation,
};
use openoxide_store::{
    Environment,
    audit::{self, AuditError, Channel, Decided},
};

use crate::{
    args::{CodexReviewArgs, PolicyArgs},
    bounded, hooks,
    policy::World,
    record,
};

/// One request under the policy of its project.
pub(super) struct Case {
    world: World,
    wanted: Wanted,
    pub(super) facts: Facts,
    hooks: Vec<HookAnswer>,
    policy: Arc<PolicyStack>,
    arguments: PolicyArgs,
}

/// A gate that has decided, and takes a person's answer where that is a question.
pub(super) struct Judged(PermissionGate);

impl Case {
    /// Loads the policy of the project, finds out what is meant, and asks the hooks; nothing if a signal to end came meanwhile.
    ///
    /// # Errors
    /// The policy cannot be found.
    pub(super) fn open(
        args: &CodexReviewArgs,
        project: &AbsPath,
        wanted: Wanted,
    ) -> Result<Option<Self>, String> {
        let arguments = policy_args(args, Some(Path::new(project.as_str())));
        let world = World::for_execution(&arguments, None)?;
        let facts = meant(&wanted, &world);
        let Some(hooks) = hooks::ask_about(&world, &wanted.operation, &facts) else {
            return Ok(None);
        };
        let policy = Arc::new(policy(&world, &wanted.operation, &facts, true).clone());
        Ok(Some(Self { world, wanted, facts, hooks, policy, arguments }))
    }

    /// Asks the gate. With a `doubt` nothing but a person's yes to this very request counts.
    pub(super) fn judge(&self, doubt: Option<&str>) -> (Step, Judged) {
        let loaded = &self.world.loaded;
        let reason = doubt.or(loaded.closed.as_deref()).or(loaded.doubt.as_deref());
        let gate = PermissionGate::new(
            Arc::clone(&self.policy),
            self.world.mode,
            self.world.roots.clone(),
        );
        let mut gate = gate.in_doubt(reason.map(str::to_owned));
        let step = gate.check(self.question(doubt.is_some() || self.wanted.personal.is_some()));
        (step, Judged(gate))
    }

    fn question(&self, explicit_yes_required: bool) -> Question {
        let operation = self.wanted.operation.clone();
        Question {
            facts: self.facts.clone(),
            digest: digest(&operation),
            id: new_approval_id(),
            presentation: self.wanted.presentation.clone(),
            title: self.wanted.title.clone(),
            group: None,
            explicit_yes_required,
            hooks: self.hooks.clone(),
            covers: Default::default(),
            operation,
        }
    }

    /// Says why nothing at all may be done, if that is so.
    pub(super) fn closed(&self) -> Option<&str> {
        self.world.loaded.closed.as_deref()
    }

    /// Returns what the policy denies by now, whatever a person has said meanwhile.
    pub(super) fn denied_meanwhile(&self) -> Option<Decision> {
        let operation = &self.wanted.operation;
        let world = World::for_execution(&self.arguments, None).ok()?;
        let context = world.context_in(&operation.cwd, &world.roots);
        let policy = policy(&world, operation, &self.facts, false);
        let decision = evaluate(policy, &context, &self.facts);
        (decision.effect == Effect::Deny).then_some(decision)
    }

    /// Says whether the answer may be given: a yes needs the gate's permit for this very operation.
    pub(super) fn permits(
        &self,
        judged: Judged,
        request: &ApprovalRequest,
        answer: &Answer,
    ) -> bool {
        let Judged(mut gate) = judged;
        let settled = gate.answer(request.id, &answer.response());
        let permit = settled.ok().and_then(|settled| settled.into_iter().next()?.outcome.ok());
        permit.is_some_and(|permit| permit.redeem(digest(&self.wanted.operation)))
    }

    /// Writes down what was decided, and what a person said.
    ///
    /// # Errors
    /// When it could not.
    pub(super) fn write(
        &self,
        decision: &Decision,
        said: Option<(&ApprovalRequest, &Answer)>,
    ) -> Result<u64, AuditError> {
        let decided = Decided::new(decision, self.world.mode);
        let answer = said.map(|(request, answer)| written(request, answer));
        self.append(Decided { hooks: self.hooks.clone(), answer, ..decided })
    }

    /// Writes down that nothing at all may be done.
    ///
    /// # Errors
    /// When it could not.
    pub(super) fn write_closed(&self, why: &str) -> Result<u64, AuditError> {
        self.append(record::closed(why))
    }

    fn append(&self, decided: Decided) -> Result<u64, AuditError> {
        let decided = record::operation(&self.wanted.operation, decided);
        record::of_agent(&Environment::read(), "codex review", "codex", decided)
    }
}

/// Returns the record of what a person said, with the rule that Codex keeps.
fn written(request: &ApprovalRequest, answer: &Answer) -> audit::Answer {
    let rules = answer.keeps().into_iter().collect::<Vec<_>>();
    let kept = (!rules.is_empty()).then(|| audit::Kept { rules, ..Default::default() });
    let said = audit::Answer::new(request, &answer.response(), Channel::Terminal, None);
    audit::Answer { kept, ..said }
}

/// Returns what a request means: the operation, and what it does beside that.
fn meant(wanted: &Wanted, world: &World) -> Facts {
    let operation = &wanted.operation;
    let mut all = facts(operation, world.home.as_ref());
    for action in &wanted.also {
        let also = facts_of(action, &operation.tool, world.place(&operation.cwd));
        all.accesses.extend(also.accesses);
        all.findings.extend(also.findings);
    }
    all
}

fn policy<'a>(
    world: &'a World,
    operation: &Operation,
    facts: &Facts,
    spends: bool,
) -> &'a PolicyStack {
    let context = world.context_in(&operation.cwd, &world.roots);
    bounded::policy(&world.loaded, &context, facts, world.grants.as_ref(), spends)
}

/// Returns the arguments that name the policy, in this directory.
pub(super) fn policy_args(args: &CodexReviewArgs, cwd: Option<&Path>) -> PolicyArgs {
    PolicyArgs {
        policy: args.policy.clone(),
        cwd: cwd.map(Path::to_owned),
        ..PolicyArgs::default()
    }
}
