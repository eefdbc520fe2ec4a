//! What a confined command wants while it runs: a host, or a file (`changes`). Each goes the whole way: hooks, rules, a person, the audit.

use std::{cell::RefCell, collections::BTreeSet};

use openoxide_engine::{
    CheckHost, CheckOptions, ConfinementRecord, Engine, ExecutionPermit, InterruptWatch,
    RecordOrigin, Remedy, ReviewResult, RunHost, Warning,
};
use openoxide_protocol::{
    AbsPath, Action, ApprovalResponse, Confined, GrantScope, Operation, SessionId,
};
use openoxide_sandbox::{Found, LiveAnswer, LiveQuestion, Report};
use openoxide_store::audit::Enforced;
use openoxide_tui::{Lines, can_ask, visible};
use serde_json::json;

use crate::{
    args::{Global, RunArgs},
    check_host::TerminalHost,
    commands::{
        call,
        run::{again, approval::Verdict, enforced, put_back},
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

impl CheckHost for RunContext<'_> {
    fn warn(&self, warning: Warning) {
        TerminalHost.warn(warning);
    }

    fn watch_interrupts(&self) -> Box<dyn InterruptWatch + '_> {
        TerminalHost.watch_interrupts()
    }
}

impl RunHost for RunContext<'_> {
    fn answer(
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

    fn attempt_ended(&self, report: &Report) {
        super::tell(report);
    }

    fn describe(&self, report: &Report) -> ConfinementRecord {
        super::held(report)
    }

    fn quarantined(&self, found: &[Found]) {
        put_back::offer(self, found);
    }

    fn can_ask(&self) -> bool {
        !self.global.no_input && can_ask()
    }

    fn was_refused(&self, path: &AbsPath) -> bool {
        self.refused.borrow().contains(path)
    }

    fn advise(&self, remedy: &Remedy) {
        advise(remedy);
    }

    fn approve_retry(
        &self,
        operation: &Operation,
        title: String,
        enforced: Enforced,
    ) -> Option<ExecutionPermit> {
        let permit = again::ask(self, operation, title, enforced);
        if permit.is_none() {
            report::say("openoxide: not retried");
        }
        permit
    }
}

/// Says what to do where nobody can be asked.
fn advise(remedy: &Remedy) {
    let Remedy::Path(path) = remedy else {
        return report::note(&"in a terminal you would be asked whether to retry");
    };
    let place = std::path::Path::new(path.as_str());
    let directory = if place.is_dir() { Some(path.clone()) } else { path.parent() };
    let directory = directory.as_ref().map_or("", AbsPath::as_str);
    report::note(&format!(
        "in a terminal you would be asked to allow changes to `{}`; `--add-dir {}` allows them",
        visible(path.as_str(), Lines::One),
        visible(directory, Lines::One),
    ));
}

/// What a rule allows, it allows for the whole run; a person says how long.
fn lasting(review: Option<&ReviewResult>) -> LiveAnswer {
    match review.map(ReviewResult::response) {
        Some(ApprovalResponse::Approved { scope: GrantScope::Once, .. }) => LiveAnswer::Once,
        Some(_) => LiveAnswer::Session,
        None => LiveAnswer::Allowed,
    }
}
