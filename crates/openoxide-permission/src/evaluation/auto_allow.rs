//! Commands that need no approval because the sandbox confines them.

use openoxide_protocol::{
    Access, AccessRoute, CauseCode, Effect, ExecAccess, Finding, FindingKind, OperationFacts,
    PermissionMode, SandboxAutoAllow, registries::PackageRegistry,
};

use super::{
    access_decision::decide_access, evaluation_context::EvaluationContext, path::is_inside_project,
};
use crate::{
    access_outcome::{AccessOutcome, ReasonCode},
    cause_text::find_command_code,
    policy_stack::PolicyStack,
};

/// The package registries from which confined commands may install.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AllowedRegistries {
    /// Those whose hosts the rules allow.
    ByRules,
    /// All. The result shows whether a rule about registries would answer a question.
    All,
}

/// The code of the finding that an assignment changes which programs run.
const CHANGED_ENVIRONMENT: &str = "OX103";

/// The codes of the findings that a command may run other code than its words show.
const CODE_FINDINGS: [&str; 3] = [CHANGED_ENVIRONMENT, "OX104", "OX106"];

/// The accesses of one operation that the sandbox makes safe.
///
/// Accesses are passed in their order. The hosts and sockets of a command follow it and are checked
/// separately only if a person or a rule allowed the command.
#[derive(Debug)]
pub(super) struct AutoAllow<'a> {
    policy: &'a PolicyStack,
    context: &'a EvaluationContext<'a>,
    setting: SandboxAutoAllow,
    registries: AllowedRegistries,
    /// True while the last command was allowed by the sandbox.
    follows_sandboxed_command: bool,
    /// The last command, if the sandbox allowed it and it runs code that its words do not show.
    confined_code: Option<&'a ExecAccess>,
}

impl<'a> AutoAllow<'a> {
    /// Returns the automatic allow for an operation. Only commands can be confined.
    pub(super) fn new(
        policy: &'a PolicyStack,
        context: &'a EvaluationContext<'a>,
        facts: &OperationFacts,
        registries: AllowedRegistries,
    ) -> Self {
        let runs_command = facts.accesses.iter().any(|access| matches!(access, Access::Exec(_)));
        let mode_allows = match context.mode {
            PermissionMode::Default
            | PermissionMode::AcceptEdits
            | PermissionMode::Sandboxed
            | PermissionMode::DontAsk => true,
            PermissionMode::Plan | PermissionMode::BypassPermissions => false,
        };
        let setting =
            if runs_command && mode_allows { context.auto_allow } else { SandboxAutoAllow::Off };
        Self {
            policy,
            context,
            setting,
            registries,
            follows_sandboxed_command: false,
            confined_code: None,
        }
    }

    /// Turns an ask that no rule decided into an allow, if the sandbox confines the access.
    /// `following` contains the accesses after it.
    pub(super) fn apply(
        &mut self,
        access: &'a Access,
        outcome: AccessOutcome,
        following: &[Access],
    ) -> AccessOutcome {
        if self.setting == SandboxAutoAllow::Off {
            return outcome;
        }
        let sandboxed = AccessOutcome {
            effect: Effect::Allow,
            rule_match: None,
            reason: ReasonCode::Sandboxed,
        };
        let confines = outcome.effect == Effect::Ask && self.confines(access, &outcome, following);
        if let Access::Exec(_) | Access::Opaque { .. } = access {
            self.follows_sandboxed_command = confines;
        }
        if let Access::Exec(exec) = access {
            let runs_code = exec.argv.is_known() && self.may_run_any_code(exec, following);
            self.confined_code = (confines && runs_code).then_some(exec);
        }
        if confines {
            sandboxed
        } else if self.follows_sandboxed_command && is_left_to_program(access, &outcome) {
            AccessOutcome { effect: Effect::Ask, reason: ReasonCode::NoRule, ..outcome }
        } else {
            outcome
        }
    }

    fn installs_from_allowed_registry(&self, exec: &ExecAccess) -> bool {
        let registry =
            find_registry(exec).filter(|registry| registry.contains_packages(&exec.argv));
        registry.is_some_and(|registry| {
            self.registries == AllowedRegistries::All
                || allows_registry(self.policy, self.context, registry)
        })
    }

    fn confines(&self, access: &Access, outcome: &AccessOutcome, following: &[Access]) -> bool {
        let all = self.setting == SandboxAutoAllow::All;
        let by_no_rule = matches!(outcome.reason, ReasonCode::NoRule | ReasonCode::Unproved);
        match access {
            Access::Exec(exec) if by_no_rule => {
                all || find_command_code(exec, following).is_some_and(stays_inside)
                    || self.installs_from_allowed_registry(exec)
            }
            Access::Edit(path) => by_no_rule && is_inside_project(self.context.roots, path),
            Access::Read(_) | Access::ExternalDirectory(_) => {
                all && outcome.reason == ReasonCode::OutsideProject
            }
            Access::Opaque { text, span } => {
                let is_same = |exec: &ExecAccess| exec.span == *span && exec.text == *text;
                outcome.reason == ReasonCode::Opaque
                    && (self.confined_code.is_some_and(is_same)
                        || all && !self.policy.has_restrictive_command_rules())
            }
            _ => false,
        }
    }

    /// Returns whether a finding is only about the code that a confined command runs. A changed
    /// environment also affects the other commands, so no rule may allow one of them.
    pub(super) fn confines_finding(
        &self,
        finding: &Finding,
        accesses: &[Access],
        outcomes: &[AccessOutcome],
    ) -> bool {
        let commands = || {
            accesses.iter().zip(outcomes).enumerate().filter_map(|(index, (access, outcome))| {
                let Access::Exec(exec) = access else { return None };
                Some((exec, outcome, accesses.get(index + 1..).unwrap_or_default()))
            })
        };
        let runs_in_sandbox = |exec: &ExecAccess, outcome: &AccessOutcome, following: &[Access]| {
            outcome.effect == Effect::Allow
                && outcome.reason == ReasonCode::Sandboxed
                && self.may_run_any_code(exec, following)
        };
        finding.kind == FindingKind::Escalate
            && CODE_FINDINGS.contains(&finding.code.as_ref())
            && commands().all(|(_, outcome, _)| outcome.rule_match.is_none())
            && commands().any(|(exec, outcome, following)| {
                is_about(finding, exec) && runs_in_sandbox(exec, outcome, following)
            })
    }

    /// Returns whether a command is known to run code that its words do not show. What else it may
    /// run makes no difference then: the sandbox confines both. If rules restrict commands, all of
    /// its words must be known.
    fn may_run_any_code(&self, exec: &ExecAccess, following: &[Access]) -> bool {
        let runs_code = matches!(
            find_command_code(exec, following),
            Some(CauseCode::RunsCode | CauseCode::RunsProjectCode | CauseCode::UnknownProgram)
        );
        runs_code && (exec.argv.is_known() || !self.policy.has_restrictive_command_rules())
    }
}

/// Returns whether a finding is about the code that a command runs. An assignment is part of its
/// command. What a command with unknown words runs could be in these words.
fn is_about(finding: &Finding, exec: &ExecAccess) -> bool {
    let (part, span) = (finding.span, exec.span);
    if finding.code == CHANGED_ENVIRONMENT {
        span.start <= part.start && part.end <= span.end
    } else {
        part == span && exec.argv.is_known()
    }
}

/// Returns the registry from which a command installs packages into the project.
pub(crate) fn find_registry(exec: &ExecAccess) -> Option<&'static PackageRegistry> {
    PackageRegistry::of_command(exec.normalized_argv.as_ref().unwrap_or(&exec.argv))
}

/// Returns whether rules allow all hosts of a registry.
pub(super) fn allows_registry(
    policy: &PolicyStack,
    context: &EvaluationContext<'_>,
    registry: &PackageRegistry,
) -> bool {
    registry.hosts.iter().all(|host| {
        let (host, url) = ((*host).to_owned(), String::new());
        let access = Access::Fetch { host, url, route: AccessRoute::Direct };
        decide_access(policy, context, &access).effect == Effect::Allow
    })
}

/// Returns whether an access was allowed only because the decision on the program applies.
fn is_left_to_program(access: &Access, outcome: &AccessOutcome) -> bool {
    let is_outside = match access {
        Access::Fetch { route, .. } => *route != AccessRoute::Direct,
        Access::Socket(_) => true,
        _ => false,
    };
    is_outside && outcome.reason == ReasonCode::CheckedSeparately
}

/// Returns whether the sandbox keeps an effect inside the project, and the effect can be undone.
const fn stays_inside(code: CauseCode) -> bool {
    match code {
        CauseCode::RunsProjectCode
        | CauseCode::RunsCode
        | CauseCode::ChangesHistory
        | CauseCode::WritesFiles
        | CauseCode::ReadsFiles
        | CauseCode::StartsPrograms
        | CauseCode::UnknownProgram => true,
        CauseCode::RemovesFiles
        | CauseCode::UnknownEffect
        | CauseCode::DiscardsChanges
        | CauseCode::InstallsPackages
        | CauseCode::ContactsHost
        | CauseCode::ConnectsSocket
        | CauseCode::ChangesService
        | CauseCode::WritesOutside
        | CauseCode::ReadsSecret
        | CauseCode::LeavesProject
        | CauseCode::ChangesSystem
        | CauseCode::ChangesData
        | CauseCode::CallsTool
        | CauseCode::StartsAgent
        | CauseCode::RepeatsCall
        | CauseCode::ApprovesRequests
        | CauseCode::UnknownValue
        | CauseCode::Opaque => false,
    }
}
