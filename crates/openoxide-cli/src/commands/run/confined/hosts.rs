//! What a confined command wants while it runs: a host, or a file (`changes`). Each goes the whole way: hooks, rules, a person, the audit.

use std::{cell::RefCell, collections::BTreeSet};

use openoxide_engine::Asked;
use openoxide_protocol::{
    AbsPath, Action, ApprovalResponse, Confined, GrantScope, Operation, SessionId,
};
use openoxide_sandbox::{LiveAnswer, LiveQuestion};
use serde_json::json;

use crate::{
    args::{Global, RunArgs},
    commands::{
        call,
        run::{
            enforced,
            way::{Passed, Way},
        },
    },
    policy::World,
    record::{Audit, Reviewed},
    report,
    review::Review,
};

/// What is needed to decide about it.
pub(crate) struct Hosts<'a> {
    pub(crate) world: World,
    pub(crate) args: &'a RunArgs,
    pub(crate) global: Global,
    pub(crate) audit: &'a Audit,
    pub(crate) session: SessionId,
    /// What was said no to while the command ran.
    pub(crate) refused: RefCell<BTreeSet<AbsPath>>,
}

impl Hosts<'_> {
    /// Answers what a command waits for that is held by this. All doubt is no.
    pub(crate) fn answer(
        &self,
        question: &LiveQuestion,
        held: &Confined,
        gone: &dyn Fn() -> bool,
    ) -> LiveAnswer {
        match question {
            LiveQuestion::Host { host, port } => self.decided(self.operation(host, *port), gone),
            LiveQuestion::Change(change) => self.change(change, held, gone),
        }
    }

    /// Has an operation decided like any other.
    pub(super) fn decided(&self, operation: Operation, gone: &dyn Fn() -> bool) -> LiveAnswer {
        let grants = self.world.grants.clone();
        let review = Review::of(self.args, self.global, operation.clone(), grants);
        let review = review.map(|review| review.unless(gone));
        let Some(way) = Way::open(self.world.clone(), operation, review, enforced(self.args))
        else {
            return LiveAnswer::No;
        };
        match way.pass(self.audit) {
            Ok(Passed { asked: Asked::Granted(_), reviewed, .. }) => lasting(reviewed.as_ref()),
            Ok(Passed { reviewed: None, .. }) => LiveAnswer::Denied,
            Ok(_) => LiveAnswer::No,
            Err(error) => {
                report::failure(&error);
                LiveAnswer::No
            }
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
        let operation = call::of("WebFetch".to_owned(), action, input, &self.world.cwd);
        Operation { session: self.session, ..operation }
    }
}

/// What a rule allows, it allows for the whole run; a person says how long.
fn lasting(reviewed: Option<&Reviewed>) -> LiveAnswer {
    match reviewed.map(Reviewed::response) {
        Some(ApprovalResponse::Approved { scope: GrantScope::Once, .. }) => LiveAnswer::Once,
        Some(_) => LiveAnswer::Session,
        None => LiveAnswer::Allowed,
    }
}
