//! What follows when the sandbox has stopped a command: a question about the smallest widening, or advice.
//!
//! The table of [`Attempted`] says which of them. Hosts are asked about while the command runs: a host that was refused there, a person
//! or a rule has refused.

use openoxide_protocol::{
    AbsPath, Access, Action, CallId, Confined, Decision, Effect, Operation, Part, PathAccess,
    Principal,
};
use openoxide_sandbox::{Denial, End, Graded, Report};
use openoxide_store::audit::Enforced;
use serde_json::json;

use crate::{
    Attempted, Engine, Next, Remedied, Remedy, RunHost, RunOptions, SandboxRestriction,
    Surroundings, WITHOUT_SANDBOX, Warning, asks_without_sandbox, with_path,
};

/// One attempt to run a command.
pub(crate) struct Attempt {
    /// The profile; nothing if it runs without a sandbox.
    pub(crate) held: Option<Confined>,
    /// The number of the record of the decision that permits it.
    pub(crate) record: Option<u64>,
}

/// The attempts of one command.
pub(crate) struct Retries<'a> {
    engine: &'a Engine,
    operation: &'a Operation,
    options: &'a RunOptions<'a>,
    /// The decision, with what was approved since.
    decision: Decision,
    host: &'a dyn RunHost,
    count: u8,
}

impl<'a> Retries<'a> {
    pub(crate) fn new(
        engine: &'a Engine,
        operation: &'a Operation,
        options: &'a RunOptions<'a>,
        decision: Decision,
        host: &'a dyn RunHost,
    ) -> Self {
        Self { engine, operation, options, decision, host, count: 0 }
    }

    /// Returns the next attempt, if a person wants one.
    pub(crate) fn after(&mut self, report: &Report, held: &Confined) -> Option<Attempt> {
        if !matches!(report.graded(), Graded::Confirmed(_)) || !matches!(report.end, End::Exited(_))
        {
            return None;
        }
        let (denial, remedy) = self.remedy(&report.denials, held)?;
        let next = self.next(&remedy);
        if next == Next::Return {
            if let Remedy::Held(why) | Remedy::Beyond(why) = remedy {
                self.host.warn(Warning::NotRetried(why));
            }
            return None;
        }
        if !self.host.can_ask() {
            self.host.advise(&remedy);
            return None;
        }
        self.count += 1;
        match (next, remedy) {
            (Next::AskWider, Remedy::Path(path)) => self.wider(denial, &path),
            (Next::AskWithout, _) => self.without(),
            _ => None,
        }
    }

    /// Returns what would let it pass: the first that can be said, and nothing beyond that while anything else is held.
    fn remedy<'d>(&self, denials: &'d [Denial], held: &Confined) -> Option<(&'d Denial, Remedy)> {
        let (roots, home) = (self.engine.roots(), self.engine.home());
        let around = Surroundings { held, roots, home };
        let order = |(_, remedy): &(&Denial, Remedy)| match remedy.remedied() {
            Remedied::Wider => 0,
            Remedied::Held => 1,
            Remedied::Beyond => 2,
        };
        denials
            .iter()
            .map(|denial| (denial, self.useful(denial, Remedy::of(denial, around))))
            .min_by_key(order)
    }

    /// Leaves out what would change nothing, or was answered.
    fn useful(&self, denial: &Denial, remedy: Remedy) -> Remedy {
        match remedy {
            Remedy::Path(_) | Remedy::Beyond(_) if matches!(denial, Denial::Write { path } if self.host.was_refused(path)) => {
                Remedy::Held("that change was refused while it ran")
            }
            Remedy::Host { .. } => Remedy::Held("that host was refused while it ran"),
            Remedy::Path(path) if !self.would_open(&path) => {
                Remedy::Held("a rule, the mode or --sandbox keeps it as it is")
            }
            other @ (Remedy::Path(_) | Remedy::Held(_) | Remedy::Beyond(_)) => other,
        }
    }

    fn would_open(&self, path: &AbsPath) -> bool {
        let part = Part {
            access: Access::Edit(PathAccess::new(path.clone())),
            decision: Effect::Ask,
            rule: None,
            reason: String::new(),
            lost: Vec::new(),
        };
        self.profile(vec![part]).is_some_and(|wider| wider.may_write(path))
    }

    /// Returns the profile with what these parts open besides.
    fn profile(&self, parts: Vec<Part>) -> Option<Confined> {
        let mut decision = self.decision.clone();
        decision.parts.extend(parts);
        let restriction = self.options.sandbox?;
        self.engine.sandbox_profile(&decision, restriction, self.host).ok().flatten()
    }

    fn next(&self, remedy: &Remedy) -> Next {
        let engine = self.engine;
        let settings = engine.sandbox_settings();
        Attempted {
            confined: true,
            confirmed: true,
            escalates: true,
            asks_without: asks_without_sandbox(engine.mode()),
            remedy: remedy.remedied(),
            reads_denied: engine.denies_reading() || !settings.unreadable.is_empty(),
            required: self.options.sandbox == Some(SandboxRestriction::ReadOnly)
                || self.options.stage
                || settings.require.is_some(),
            retries: self.count,
        }
        .next()
    }

    /// Asks whether a path may be changed: a question like any other about an edit, that only a yes to it answers.
    fn wider(&mut self, denial: &Denial, path: &AbsPath) -> Option<Attempt> {
        let mut paths = vec![path.to_string()];
        if let Denial::Write { path: denied } = denial
            && denied != path
        {
            paths.push(denied.to_string());
        }
        let operation = Operation {
            session: self.operation.session,
            call: CallId::default(),
            principal: Principal::Person,
            tool: "Edit".to_owned(),
            action: Action::Edit { paths },
            input: json!({ "file_path": path }),
            cwd: self.operation.cwd.clone(),
        };
        let permit = self.host.approve_retry(&operation, with_path(path), Enforced::Confined)?;
        let (record, parts) = (permit.record(), permit.decision().parts.clone());
        if !permit.redeem(&operation) {
            return None;
        }
        let held = self.profile(parts.clone()).filter(|held| held.may_write(path))?;
        self.decision.parts.extend(parts);
        Some(Attempt { held: Some(held), record })
    }

    fn without(&self) -> Option<Attempt> {
        let title = WITHOUT_SANDBOX.to_owned();
        let permit = self.host.approve_retry(self.operation, title, Enforced::NotConfined)?;
        let record = permit.record();
        permit.redeem(self.operation).then_some(Attempt { held: None, record })
    }
}
