//! The step after the sandbox has stopped a command: a question about the smallest change of the
//! profile, or advice.
//!
//! The table of [`AttemptState`] selects the step. Questions about hosts are asked while the
//! command runs, so a host that was refused then was refused by a person or by a rule.

use openoxide_protocol::{
    AbsPath, Access, AccessDecision, Action, CallId, Decision, Effect, Operation, PathAccess,
    Principal, SandboxRestrictions,
};
use openoxide_sandbox::{CommandOutcome, FailureCause, SandboxDenial, SandboxReport};
use openoxide_store::audit::RequestedConfinement;
use serde_json::json;

use crate::{
    engine::Engine,
    engine_warning::EngineWarning,
    escalation::{
        AttemptState, EscalationStep, RETRY_WITHOUT_SANDBOX_TITLE, RemedyKind,
        asks_about_unsandboxed_run, path_question_title,
    },
    remedy::{ProfileContext, Remedy},
    run_host::{RunHost, RunOptions},
    sandbox_profile::CallerRestriction,
};

/// One attempt to run a command.
pub(crate) struct Attempt {
    /// The profile, or `None` to run without a sandbox.
    pub(crate) held: Option<SandboxRestrictions>,
    /// The number of the audit record of its decision.
    pub(crate) record: Option<u64>,
}

/// The attempts of one command.
pub(crate) struct Retries<'a> {
    engine: &'a Engine,
    operation: &'a Operation,
    options: &'a RunOptions<'a>,
    /// The decision, including later approvals.
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

    /// Returns the next attempt, if a person approves one.
    pub(crate) fn after(
        &mut self,
        report: &SandboxReport,
        held: &SandboxRestrictions,
    ) -> Option<Attempt> {
        if !matches!(report.failure_cause(), FailureCause::Confirmed(_))
            || !matches!(report.outcome, CommandOutcome::Exited(_))
        {
            return None;
        }
        let (denial, remedy) = self.remedy(&report.denials, held)?;
        let next = self.next(&remedy);
        if next == EscalationStep::Return {
            if let Remedy::Forbidden(why) | Remedy::Inexpressible(why) = remedy {
                self.host.warn(EngineWarning::NotRetried(why));
            }
            return None;
        }
        if !self.host.can_ask() {
            self.host.show_advice(&remedy);
            return None;
        }
        self.count += 1;
        match (next, remedy) {
            (EscalationStep::AskWiderProfile, Remedy::WritablePath(path)) => {
                self.wider(denial, &path)
            }
            (EscalationStep::AskWithoutSandbox, _) => self.without(),
            _ => None,
        }
    }

    /// Returns the denial to remedy and its remedy. A wider profile is preferred. Running without
    /// the sandbox is not offered while any other denial is forbidden.
    fn remedy<'d>(
        &self,
        denials: &'d [SandboxDenial],
        held: &SandboxRestrictions,
    ) -> Option<(&'d SandboxDenial, Remedy)> {
        let (roots, home) = (self.engine.roots(), self.engine.home());
        let around = ProfileContext { restrictions: held, roots, home };
        let order = |(_, remedy): &(&SandboxDenial, Remedy)| match remedy.kind() {
            RemedyKind::WiderProfile => 0,
            RemedyKind::Forbidden => 1,
            RemedyKind::Inexpressible => 2,
        };
        denials
            .iter()
            .filter(|denial| denial.is_conclusive())
            .map(|denial| (denial, self.useful(denial, Remedy::for_denial(denial, around))))
            .min_by_key(order)
    }

    /// Removes remedies without effect and those that were already answered.
    fn useful(&self, denial: &SandboxDenial, remedy: Remedy) -> Remedy {
        match remedy {
            Remedy::WritablePath(_) | Remedy::Inexpressible(_) if matches!(denial, SandboxDenial::Write { path } if self.host.was_refused(path)) => {
                Remedy::Forbidden("that change was refused while it ran")
            }
            Remedy::ReachableHost { .. } => Remedy::Forbidden("that host was refused while it ran"),
            Remedy::WritablePath(path) if !self.would_open(&path) => {
                Remedy::Forbidden("a rule, the mode or --sandbox makes it read-only")
            }
            other @ (Remedy::WritablePath(_) | Remedy::Forbidden(_) | Remedy::Inexpressible(_)) => {
                other
            }
        }
    }

    fn would_open(&self, path: &AbsPath) -> bool {
        let part = AccessDecision {
            access: Access::Edit(PathAccess::new(path.clone())),
            decision: Effect::Ask,
            rule: None,
            reason: String::new(),
            cause: None,
            overridden: Vec::new(),
        };
        self.profile(vec![part]).is_some_and(|wider| wider.may_write(path))
    }

    /// Returns the profile with the additional accesses that these parts allow.
    fn profile(&self, parts: Vec<AccessDecision>) -> Option<SandboxRestrictions> {
        let mut decision = self.decision.clone();
        decision.parts.extend(parts);
        let restriction = self.options.sandbox?;
        self.engine.sandbox_profile(&decision, restriction, self.host).ok().flatten()
    }

    fn next(&self, remedy: &Remedy) -> EscalationStep {
        let engine = self.engine;
        let settings = engine.sandbox_settings();
        AttemptState {
            is_confined: true,
            is_denial_confirmed: true,
            escalates_on_failure: true,
            asks_without_sandbox: asks_about_unsandboxed_run(engine.mode()),
            remedy: remedy.kind(),
            denies_reading: engine.denies_reading() || !settings.unreadable.is_empty(),
            requires_sandbox: self.options.sandbox == Some(CallerRestriction::ReadOnly)
                || self.options.stage
                || settings.require.is_some(),
            retries: self.count,
        }
        .next_step()
    }

    /// Asks whether a path may be changed. This is an ordinary question about an edit, but only an
    /// approval of this request answers it.
    fn wider(&mut self, denial: &SandboxDenial, path: &AbsPath) -> Option<Attempt> {
        let mut paths = vec![path.to_string()];
        if let SandboxDenial::Write { path: denied } = denial
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
        let permit = self.host.approve_retry(
            &operation,
            path_question_title(path),
            RequestedConfinement::Confined,
        )?;
        let (record, parts) = (permit.record_seq(), permit.decision().parts.clone());
        if !permit.redeem_for(&operation) {
            return None;
        }
        let held = self.profile(parts.clone()).filter(|held| held.may_write(path))?;
        self.decision.parts.extend(parts);
        Some(Attempt { held: Some(held), record })
    }

    fn without(&self) -> Option<Attempt> {
        let title = RETRY_WITHOUT_SANDBOX_TITLE.to_owned();
        let permit =
            self.host.approve_retry(self.operation, title, RequestedConfinement::NotConfined)?;
        let record = permit.record_seq();
        permit.redeem_for(self.operation).then_some(Attempt { held: None, record })
    }
}
