//! What a confined command wants while it runs: a host, or a file (`changes`). Each goes the whole way: hooks, rules, a person, the audit.

use std::{cell::RefCell, collections::BTreeSet, io, process::ExitStatus, time::Instant};

use openoxide_engine::{CheckOptions, ConfinementRecord, Engine, RecordOrigin, ReviewResult};
use openoxide_protocol::{
    AbsPath, Action, ApprovalResponse, Confined, GrantScope, Operation, SessionId,
};
use openoxide_sandbox::{LiveAnswer, LiveQuestion};
use serde_json::json;

use crate::{
    args::{Global, RunArgs},
    commands::{
        call,
        run::{approval::Verdict, enforced},
    },
    report,
};

/// What is needed to decide about what a run wants.
pub(crate) struct RunContext<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) args: &'a RunArgs,
    pub(crate) global: Global,
    pub(crate) session: SessionId,
    /// What was said no to while the command ran.
    pub(crate) refused: RefCell<BTreeSet<AbsPath>>,
}

impl RunContext<'_> {
    /// Answers what a command waits for that is held by this. All doubt is no.
    pub(crate) fn answer(
        &self,
        question: &LiveQuestion,
        held: &Confined,
        gone: &dyn Fn() -> bool,
    ) -> LiveAnswer {
        match question {
            LiveQuestion::Host { host, port } => self.decided(&self.operation(host, *port), gone),
            LiveQuestion::Change(change) => self.change(change, held, gone),
        }
    }

    /// Has an operation decided like any other.
    pub(super) fn decided(&self, operation: &Operation, gone: &dyn Fn() -> bool) -> LiveAnswer {
        let options = CheckOptions::new(RecordOrigin::RUN, enforced(self.args));
        let Ok(approval) = self.approve(operation, options, Some(gone)) else {
            return LiveAnswer::No;
        };
        match (approval.verdict, approval.review) {
            (Verdict::Allowed(_), review) => lasting(review.as_ref()),
            (_, None) => LiveAnswer::Denied,
            (_, Some(_)) => LiveAnswer::No,
        }
    }

    /// Records how a command has ended, if it was recorded that it might run.
    pub(crate) fn record_outcome(
        &self,
        of: Option<u64>,
        status: &io::Result<ExitStatus>,
        began: Instant,
        confinement: ConfinementRecord,
    ) {
        let Some(of) = of else { return };
        let audit = self.engine.audit();
        report::recorded(audit.record_outcome(of, status, began.elapsed(), confinement));
    }

    fn operation(&self, host: &str, port: u16) -> Operation {
        let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        let url = match port {
            443 => format!("https://{host}/"),
            80 => format!("http://{host}/"),
            _ => format!("tcp://{host}:{port}/"),
        };
        let input = json!({ "url": url });
        let action = Action::Fetch { url };
        let operation = call::of("WebFetch".to_owned(), action, input, self.engine.cwd());
        Operation { session: self.session, ..operation }
    }
}

/// What a rule allows, it allows for the whole run; a person says how long.
fn lasting(review: Option<&ReviewResult>) -> LiveAnswer {
    match review.map(ReviewResult::response) {
        Some(ApprovalResponse::Approved { scope: GrantScope::Once, .. }) => LiveAnswer::Once,
        Some(_) => LiveAnswer::Session,
        None => LiveAnswer::Allowed,
    }
}
