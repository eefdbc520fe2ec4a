//! The way of one command to its permit: hooks, the gate, a person, the audit.

use std::sync::Arc;

use openoxide_engine::{
    Asked, Dispatcher, GateHandle, digest, facts, new_approval_id, present, title,
};
use openoxide_permission::{PermissionGate, PolicyStack, Question, Refusal};
use openoxide_protocol::{ApprovalRequest, Facts, HookAnswer, Operation};
use openoxide_store::audit::{AuditError, Decided, Enforced};
use tokio::{
    runtime::Runtime,
    sync::{mpsc::UnboundedReceiver, oneshot},
};

use crate::{
    bounded, hooks,
    policy::World,
    record::{self, Audit, Reviewed},
    review::Review,
    staged::Shown,
};

/// One command, what it means, and what the hooks said of it.
pub(super) struct Way<'a> {
    pub(super) world: World,
    operation: Operation,
    facts: Facts,
    hooks: Vec<HookAnswer>,
    policy: Arc<PolicyStack>,
    /// Where a person is asked, if one can be.
    review: Option<Review<'a>>,
    enforced: Enforced,
    /// What is asked in place of what the operation says, for nothing but a person's yes to it.
    again: Option<String>,
    /// What a person is shown in place of what the operation says.
    shown: Option<Shown>,
}

/// How it came out.
pub(super) struct Passed {
    pub(super) asked: Asked,
    pub(super) reviewed: Option<Reviewed>,
    /// The number of its record.
    pub(super) number: Option<u64>,
}

impl<'a> Way<'a> {
    /// Asks the hooks; nothing if a signal to end came meanwhile. Grants that count so many times are used here.
    pub(super) fn open(
        world: World,
        operation: Operation,
        review: Option<Review<'a>>,
        enforced: Enforced,
    ) -> Option<Self> {
        let facts = facts(&operation, world.home.as_ref());
        let hooks = hooks::ask_about(&world, &operation, &facts)?;
        let (context, grants) = (world.context(), world.grants.as_ref());
        let policy = bounded::policy(&world.loaded, &context, &facts, grants, true);
        let policy = Arc::new(policy.clone());
        Some(Self {
            world,
            operation,
            facts,
            hooks,
            policy,
            review,
            enforced,
            again: None,
            shown: None,
        })
    }

    /// Asks this, after something has failed. Nothing but a person's yes to it counts.
    pub(super) fn again(self, title: String) -> Self {
        Self { again: Some(title), ..self }
    }

    /// Has a person shown this.
    pub(super) fn showing(self, shown: Shown) -> Self {
        Self { shown: Some(shown), ..self }
    }

    /// Decides, and writes it down. What has to be written down and cannot be is decided again as if the policy were in doubt: nothing
    /// but a person's yes to that very question counts.
    ///
    /// # Errors
    /// When the system gives no means to wait.
    pub(super) fn pass(&self, audit: &Audit) -> Result<Passed, String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        let runtime = runtime.map_err(|error| format!("no runtime: {error}"))?;
        let doubt = self.world.loaded.doubt.clone();
        let (passed, written) = self.written(&runtime, audit, doubt, false);
        let unheld = match &passed.asked {
            Asked::Granted(permit) => record::unheld(permit.decision(), &written),
            _ => None,
        };
        let (passed, written) = match unheld {
            Some(why) => self.written(&runtime, audit, Some(why), true),
            None => (passed, written),
        };
        Ok(Passed { number: record::told(written), ..passed })
    }

    fn written(
        &self,
        runtime: &Runtime,
        audit: &Audit,
        doubt: Option<String>,
        explicit: bool,
    ) -> (Passed, Result<u64, AuditError>) {
        let (asked, reviewed) = runtime.block_on(self.through_the_gate(doubt, explicit));
        let decided = record::asked(&asked, reviewed.as_ref(), self.world.mode);
        let task = self.world.grants.as_ref().and_then(|grants| grants.task());
        let task = task.map(str::to_owned);
        let enforced =
            if matches!(asked, Asked::Granted(_)) { self.enforced } else { Enforced::NotConfined };
        let decided = Decided { hooks: self.hooks.clone(), task, enforced, ..decided };
        let written = audit.decided(&self.operation, decided, reviewed.as_ref());
        (Passed { asked, reviewed, number: None }, written)
    }

    async fn through_the_gate(
        &self,
        doubt: Option<String>,
        explicit: bool,
    ) -> (Asked, Option<Reviewed>) {
        let question = self.question(explicit);
        let (policy, roots) = (Arc::clone(&self.policy), self.world.roots.clone());
        let gate = PermissionGate::new(policy, self.world.mode, roots).in_doubt(doubt);
        let (dispatcher, handle, requests) = Dispatcher::new(gate);
        let (decided, ended) = oneshot::channel::<()>();
        let answers = answer_all(handle.clone(), requests, ended, self.review.as_ref());
        let check = async move {
            let asked = handle.check(question).await;
            drop(decided);
            asked
        };
        let (_, reviewed, asked) = tokio::join!(dispatcher.run(), answers, check);
        (asked.unwrap_or(Asked::Refused(Refusal::Cancelled)), reviewed)
    }

    fn question(&self, explicit_yes_required: bool) -> Question {
        let operation = self.operation.clone();
        let (title, presentation) = match &self.shown {
            Some(shown) => (shown.title.clone(), shown.presentation.clone()),
            None => (title(&operation), present(&operation)),
        };
        Question {
            facts: self.facts.clone(),
            digest: digest(&operation),
            id: new_approval_id(),
            presentation,
            title: self.again.clone().unwrap_or(title),
            group: None,
            explicit_yes_required: explicit_yes_required || self.again.is_some(),
            hooks: self.hooks.clone(),
            covers: Default::default(),
            operation,
        }
    }
}

/// Has the question answered. Where nobody can be asked it is dropped, which says so. Returns what was asked and answered; what
/// is `decided` without a question ends the wait for one.
async fn answer_all(
    handle: GateHandle,
    mut requests: UnboundedReceiver<ApprovalRequest>,
    decided: oneshot::Receiver<()>,
    review: Option<&Review<'_>>,
) -> Option<Reviewed> {
    let Some(review) = review else {
        drop(requests);
        return None;
    };
    // One question at most: what runs is one command.
    let request = tokio::select! {
        biased;
        request = requests.recv() => request?,
        _ = decided => return None,
    };
    let reviewed = review.ask(request);
    drop(handle.answer(reviewed.request.id, reviewed.response()).await);
    Some(reviewed)
}
