//! What follows when the sandbox has stopped a command: a question about the smallest widening, or words.
//!
//! Which of them, says the table of the session ([`openoxide_engine::Attempted`]). RunContext are asked about while the command runs
//! (`confined/hosts`): what was refused there, a person or a rule has refused.

use openoxide_engine::{
    Attempted, ExecutionPermit, Next, Remedied, Remedy, Surroundings, WITHOUT_SANDBOX,
    asks_without_sandbox, with_path,
};
use openoxide_protocol::{
    AbsPath, Access, Action, Confined, Decision, Effect, Operation, Part, PathAccess,
};
use openoxide_sandbox::{Denial, End, Graded, Report};
use openoxide_store::audit::Enforced;
use openoxide_tui::{Lines, can_ask, visible};
use serde_json::json;

use super::{
    again,
    confined::{self, RunContext},
    enforced,
};
use crate::{args::RunSandbox, commands::call, report};

/// One attempt.
pub(super) struct Try {
    /// What is held; nothing where the person wants that.
    pub(super) held: Option<Confined>,
    /// The number of the record by which it may run.
    pub(super) number: Option<u64>,
}

/// The attempts of one command.
pub(super) struct Retries<'a> {
    around: &'a RunContext<'a>,
    operation: &'a Operation,
    /// What was decided, with what was said yes to since.
    decision: Decision,
    count: u8,
}

impl<'a> Retries<'a> {
    pub(super) const fn new(
        around: &'a RunContext<'a>,
        operation: &'a Operation,
        decision: Decision,
    ) -> Self {
        Self { around, operation, decision, count: 0 }
    }

    /// Returns the next attempt, if a person wants one.
    pub(super) fn after(&mut self, report: &Report, held: &Confined) -> Option<Try> {
        if !matches!(report.graded(), Graded::Confirmed(_)) || !matches!(report.end, End::Exited(_))
        {
            return None;
        }
        let (denial, remedy) = self.remedy(&report.denials, held)?;
        let next = self.next(&remedy);
        if next == Next::Return {
            if let Remedy::Held(why) | Remedy::Beyond(why) = remedy {
                report::note(&format!("it is not tried again: {why}"));
            }
            return None;
        }
        if self.around.global.no_input || !can_ask() {
            advise(&remedy);
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
        let engine = self.around.engine;
        let around = Surroundings { held, roots: engine.roots(), home: engine.home() };
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
        let refused = self.around.refused.borrow();
        match remedy {
            Remedy::Path(_) | Remedy::Beyond(_) if matches!(denial, Denial::Write { path } if refused.contains(path)) => {
                Remedy::Held("that change was refused while it ran")
            }
            Remedy::Host { .. } => Remedy::Held("that host was refused while it ran"),
            Remedy::Path(path) if !self.would_open(&path) => {
                Remedy::Held("a rule, the mode or --sandbox keeps it as it is")
            }
            other => other,
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
        confined::profile(self.around.engine, &decision, self.around.args.sandbox).ok().flatten()
    }

    fn next(&self, remedy: &Remedy) -> Next {
        let engine = self.around.engine;
        let settings = engine.sandbox_settings();
        Attempted {
            confined: true,
            confirmed: true,
            escalates: true,
            asks_without: asks_without_sandbox(engine.mode()),
            remedy: remedy.remedied(),
            reads_denied: engine.denies_reading() || !settings.unreadable.is_empty(),
            required: self.around.args.sandbox == RunSandbox::ReadOnly
                || self.around.args.stage
                || settings.require.is_some(),
            retries: self.count,
        }
        .next()
    }

    /// Asks whether a path may be changed: a question like any other about an edit, that only a yes to it answers.
    fn wider(&mut self, denial: &Denial, path: &AbsPath) -> Option<Try> {
        let mut paths = vec![path.to_string()];
        if let Denial::Write { path: denied } = denial
            && denied != path
        {
            paths.push(denied.to_string());
        }
        let input = json!({ "file_path": path });
        let action = Action::Edit { paths };
        let operation = call::of("Edit".to_owned(), action, input, &self.operation.cwd);
        let permit = self.ask(&operation, with_path(path), enforced(self.around.args))?;
        let number = permit.record();
        let parts = permit.decision().parts.clone();
        if !permit.redeem(&Operation { session: self.around.session, ..operation }) {
            return None;
        }
        let held = self.profile(parts.clone()).filter(|held| held.may_write(path))?;
        self.decision.parts.extend(parts);
        Some(Try { held: Some(held), number })
    }

    fn without(&self) -> Option<Try> {
        let title = WITHOUT_SANDBOX.to_owned();
        let permit = self.ask(self.operation, title, Enforced::NotConfined)?;
        let number = permit.record();
        permit.redeem(self.operation).then_some(Try { held: None, number })
    }

    fn ask(
        &self,
        operation: &Operation,
        title: String,
        enforced: Enforced,
    ) -> Option<ExecutionPermit> {
        let asked = again::ask(self.around, operation, title, enforced);
        if asked.is_none() {
            report::say("openoxide: it is not tried again");
        }
        asked
    }
}

/// Says what to do where nobody can be asked.
fn advise(remedy: &Remedy) {
    let Remedy::Path(path) = remedy else {
        return report::note(&"in a terminal you would be asked what to do about it");
    };
    let place = std::path::Path::new(path.as_str());
    let directory = if place.is_dir() { Some(path.clone()) } else { path.parent() };
    let directory = directory.as_ref().map_or("", AbsPath::as_str);
    report::note(&format!(
        "in a terminal you would be asked whether `{}` may be changed; `--add-dir {}` lets it",
        visible(path.as_str(), Lines::One),
        visible(directory, Lines::One),
    ));
}
