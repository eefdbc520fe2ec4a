//! Hosts that a confined command wants to reach while it runs. Each goes the whole way: hooks, rules, a person, the audit.

use openoxide_protocol::{Action, ApprovalResponse, GrantScope, Operation, SessionId};
use openoxide_sandbox::NetworkAnswer;
use openoxide_session::Asked;
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

/// What is needed to decide about a host.
pub(crate) struct Hosts<'a> {
    pub(crate) world: World,
    pub(crate) args: &'a RunArgs,
    pub(crate) global: Global,
    pub(crate) audit: &'a Audit,
    pub(crate) session: SessionId,
}

impl Hosts<'_> {
    /// Says whether a host may be reached at a port. All doubt is no.
    pub(crate) fn answer(&self, host: &str, port: u16) -> NetworkAnswer {
        let operation = self.operation(host, port);
        let grants = self.world.grants.clone();
        let review = Review::of(self.args, self.global, operation.clone(), grants);
        let Some(way) = Way::open(self.world.clone(), operation, review, enforced(self.args))
        else {
            return NetworkAnswer::No;
        };
        match way.pass(self.audit) {
            Ok(Passed { asked: Asked::Granted(_), reviewed, .. }) => lasting(reviewed.as_ref()),
            Ok(_) => NetworkAnswer::No,
            Err(error) => {
                report::failure(&error);
                NetworkAnswer::No
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
fn lasting(reviewed: Option<&Reviewed>) -> NetworkAnswer {
    match reviewed.map(Reviewed::response) {
        Some(ApprovalResponse::Approved { scope: GrantScope::Once, .. }) => NetworkAnswer::Once,
        _ => NetworkAnswer::Session,
    }
}
