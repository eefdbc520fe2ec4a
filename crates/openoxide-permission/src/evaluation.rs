//! Evaluation of facts: pure, total and deterministic.

mod auto_allow;
mod command;
mod escalation;
mod evaluation_context;
mod mode_effect;
mod path;
mod registry_question;
mod rule_outcome;

use openoxide_protocol::{
    Access, AccessDecision, AccessRoute, Decision, Effect, Finding, Obligation, OperationFacts,
    SandboxAutoAllow, SocketAccess,
};

pub use self::evaluation_context::EvaluationContext;
pub(crate) use self::{
    auto_allow::find_registry, command::strip_program_directory, mode_effect::apply_dont_ask,
};
use self::{
    auto_allow::{AllowedRegistries, AutoAllow},
    command::{decide_command, decide_opaque},
    escalation::{apply_policy_error, escalate_access, escalate_findings, find_escalation},
    mode_effect::apply_mode,
    path::decide_path,
    rule_outcome::{
        CHECKED_SEPARATELY, find_rule_match, outcome_or_default, requires_human, stricter_outcome,
    },
};
use crate::{
    access_outcome::{AccessOutcome, ReasonCode},
    hook::allow_scope::{HookAllowScope, apply_hook_allow},
    match_subject,
    pattern::socket,
    policy_stack::PolicyStack,
    reason_text::to_access_decision,
    rule::SubjectKind,
    rule_index::MatchSubject,
    suggested_rules,
};

/// Returns the decision on an operation: the strictest of the decisions on its accesses, after the
/// safety floor.
///
/// An operation without accesses does nothing and is allowed.
pub fn evaluate(
    policy: &PolicyStack,
    context: &EvaluationContext<'_>,
    facts: &OperationFacts,
) -> Decision {
    evaluate_with_hook_allow(policy, context, facts, None)
}

/// Evaluates like [`evaluate`], with the scope of the hooks that allow the operation.
///
/// The sandbox removes all questions of an operation or none. If one is left, a person sees the
/// whole operation.
pub(crate) fn evaluate_with_hook_allow(
    policy: &PolicyStack,
    context: &EvaluationContext<'_>,
    facts: &OperationFacts,
    hook: Option<HookAllowScope>,
) -> Decision {
    let evaluate = |context, registries| evaluate_once(policy, context, facts, hook, registries);
    let decision = evaluate(context, AllowedRegistries::ByRules);
    if decision.effect == Effect::Allow || context.auto_allow == SandboxAutoAllow::Off {
        return decision;
    }
    let unconfined = EvaluationContext { auto_allow: SandboxAutoAllow::Off, ..*context };
    let decision = evaluate(&unconfined, AllowedRegistries::ByRules);
    let registries = registry_question::missing_registries(policy, context, facts);
    if registries.is_empty() || evaluate(context, AllowedRegistries::All).effect != Effect::Allow {
        return decision;
    }
    registry_question::ask_about_registries(decision, &registries)
}

fn evaluate_once(
    policy: &PolicyStack,
    context: &EvaluationContext<'_>,
    facts: &OperationFacts,
    hook: Option<HookAllowScope>,
    registries: AllowedRegistries,
) -> Decision {
    let outcomes: Vec<_> = decide_accesses(policy, context, facts, hook, registries).collect();
    let parts: Vec<_> = facts
        .accesses
        .iter()
        .zip(&outcomes)
        .enumerate()
        .map(|(index, (access, outcome))| {
            let following = facts.accesses.get(index + 1..).unwrap_or_default();
            let part = to_access_decision(policy, access, outcome, following);
            explain_opaque(part, &facts.findings)
        })
        .collect();
    let strictest = find_deciding_part(&parts, &outcomes);
    let (effect, reason, rule) = match strictest {
        Some(part) => (part.decision, part.reason.clone(), part.rule.clone()),
        None => (Effect::Allow, "it does nothing".to_owned(), None),
    };
    let always = suggested_rules::suggest_rules(&facts.accesses, &outcomes);
    let decision = Decision {
        effect,
        reason,
        rule,
        parts,
        findings: facts.findings.clone(),
        suggested_rules: always,
        obligations: collect_obligations(policy, &outcomes),
    };
    let auto_allow = AutoAllow::new(policy, context, facts, registries);
    let is_confined =
        |finding: &Finding| auto_allow.confines_finding(finding, &facts.accesses, &outcomes);
    apply_policy_error(escalate_findings(decision, context.mode, is_confined), context)
}

/// Adds the explanation of its finding to the reason of an access that was not understood.
fn explain_opaque(part: AccessDecision, findings: &[Finding]) -> AccessDecision {
    let Access::Opaque { span, .. } = &part.access else { return part };
    let is_effect = |finding: &&Finding| finding.code == HIDDEN_EFFECT && finding.span == *span;
    match findings.iter().find(is_effect) {
        Some(finding) => {
            let reason = format!("{}: {}", part.reason, finding.message);
            AccessDecision { reason, ..part }
        }
        None => part,
    }
}

/// The code of the finding that a command has an effect that its words do not show.
const HIDDEN_EFFECT: &str = "OX106";

fn collect_obligations(policy: &PolicyStack, outcomes: &[AccessOutcome]) -> Vec<Obligation> {
    let human = outcomes.iter().any(requires_human).then_some(Obligation::Human);
    let audit = policy.requires_audit().then_some(Obligation::Audit);
    let sandboxed = outcomes.iter().any(is_sandboxed).then_some(Obligation::Sandboxed);
    human.into_iter().chain(audit).chain(sandboxed).collect()
}

fn is_sandboxed(outcome: &AccessOutcome) -> bool {
    outcome.reason == ReasonCode::Sandboxed
}

/// Returns only the effect on an operation. Allocates only if `auto_allow` is on and the operation
/// has a finding that asks.
#[must_use]
pub fn evaluate_effect(
    policy: &PolicyStack,
    context: &EvaluationContext<'_>,
    facts: &OperationFacts,
) -> Effect {
    let finding = find_escalation(&facts.findings, context.mode);
    if finding.is_some() && context.auto_allow != SandboxAutoAllow::Off {
        return evaluate(policy, context, facts).effect;
    }
    let registries = AllowedRegistries::ByRules;
    let accesses =
        decide_accesses(policy, context, facts, None, registries).map(|outcome| outcome.effect);
    let effect = accesses.max().unwrap_or(Effect::Allow);
    let floor = finding.map(|_| apply_dont_ask(Effect::Ask, context.mode));
    let doubt = context.policy_error.map(|_| apply_dont_ask(Effect::Ask, context.mode));
    effect.max(floor.unwrap_or(Effect::Allow)).max(doubt.unwrap_or(Effect::Allow))
}

/// Decides each access in turn. If a rule allows every command, the changes that the last program
/// makes outside the project are not asked about separately. The safety floor still applies.
fn decide_accesses<'a>(
    policy: &'a PolicyStack,
    context: &'a EvaluationContext<'a>,
    facts: &'a OperationFacts,
    hook: Option<HookAllowScope>,
    registries: AllowedRegistries,
) -> impl Iterator<Item = AccessOutcome> + 'a {
    let mut anywhere = false;
    let mut auto_allow = AutoAllow::new(policy, context, facts, registries);
    facts.accesses.iter().enumerate().map(move |(index, access)| {
        let following = facts.accesses.get(index + 1..).unwrap_or_default();
        let confine = |outcome| auto_allow.apply(access, outcome, following);
        let outcome = decide_confined(policy, context, access, hook, confine);
        match access {
            Access::Exec(_) => anywhere = is_allowed_by_catch_all(&outcome),
            Access::Edit(path)
                if anywhere
                    && path.route == AccessRoute::Program
                    && outcome.reason == ReasonCode::OutsideProject =>
            {
                return escalate_access(context.mode, access, CHECKED_SEPARATELY);
            }
            _ => {}
        }
        outcome
    })
}

/// Returns whether a command is allowed by a rule that allows every command.
fn is_allowed_by_catch_all(outcome: &AccessOutcome) -> bool {
    matches!(outcome.rule_match, Some(ruling) if ruling.matches_everything)
        && outcome.effect == Effect::Allow
}

/// Returns the part that represents the decision: the first of the strictest parts that a rule
/// decided, or else the first of the strictest. A part that is allowed in the sandbox represents an
/// allow.
fn find_deciding_part<'a>(
    parts: &'a [AccessDecision],
    outcomes: &[AccessOutcome],
) -> Option<&'a AccessDecision> {
    let worst = parts.iter().map(|part| part.decision).max()?;
    let mut sandboxed = parts.iter().zip(outcomes).filter(|(_, outcome)| is_sandboxed(outcome));
    if let (Effect::Allow, Some((part, _))) = (worst, sandboxed.next()) {
        return Some(part);
    }
    let mut strictest = parts.iter().filter(|part| part.decision == worst);
    strictest.clone().find(|part| part.rule.is_some()).or_else(|| strictest.next())
}

/// Returns the decision on one access. Allocates only for paths and hosts of unusual length and for
/// commands that are only partly known.
#[must_use]
pub fn decide_access(
    policy: &PolicyStack,
    context: &EvaluationContext<'_>,
    access: &Access,
) -> AccessOutcome {
    decide_confined(policy, context, access, None, std::convert::identity)
}

/// Decides one access. An access that a rule of the last good version denies stays denied.
/// `confine` turns questions into an allow where the sandbox makes them unnecessary.
fn decide_confined(
    policy: &PolicyStack,
    context: &EvaluationContext<'_>,
    access: &Access,
    hook: Option<HookAllowScope>,
    confine: impl FnOnce(AccessOutcome) -> AccessOutcome,
) -> AccessOutcome {
    let outcome = decide_by_policy(policy, context, access, hook, confine);
    let Some(before) = policy.last_good() else { return outcome };
    let earlier = decide_by_policy(before, context, access, None, std::convert::identity);
    let denies = |outcome: &AccessOutcome| {
        outcome.effect == Effect::Deny && outcome.reason == ReasonCode::Rule
    };
    if denies(&earlier) && !denies(&outcome) {
        AccessOutcome { reason: ReasonCode::LastGoodDeny, ..earlier }
    } else {
        outcome
    }
}

/// Decides one access under one policy. A hook's allow and the sandbox apply after the rules and the
/// mode, which may deny, and before the safety floor, which may still ask.
fn decide_by_policy(
    policy: &PolicyStack,
    context: &EvaluationContext<'_>,
    access: &Access,
    hook: Option<HookAllowScope>,
    confine: impl FnOnce(AccessOutcome) -> AccessOutcome,
) -> AccessOutcome {
    let outcome = match access {
        Access::Exec(exec) => decide_command(policy, context, exec, hook),
        Access::Read(path) => decide_path(policy, context, path, SubjectKind::Read),
        Access::Edit(path) => decide_path(policy, context, path, SubjectKind::Edit),
        Access::ExternalDirectory(path) => {
            decide_path(policy, context, path, SubjectKind::External)
        }
        Access::Fetch { host, route: touch, .. } => {
            match_subject::with_host_subject(host, |bytes| decide_host(policy, *touch, bytes))
        }
        Access::Socket(socket) => decide_socket(policy, socket),
        Access::CallTool { tool } => match_subject::with_name_subject(tool, |bytes| {
            decide_name(policy, SubjectKind::Tool, bytes)
        }),
        Access::Delegate { agent } => match_subject::with_name_subject(agent, |bytes| {
            decide_name(policy, SubjectKind::Delegate, bytes)
        }),
        Access::Repetition { tool } => match_subject::with_name_subject(tool, |bytes| {
            decide_name(policy, SubjectKind::DoomLoop, bytes)
        }),
        Access::Opaque { .. } => decide_opaque(policy),
    };
    let outcome = apply_mode(policy, context, access, outcome);
    let outcome = match hook {
        Some(lift) => apply_hook_allow(lift, access, outcome),
        None => outcome,
    };
    let outcome = escalate_access(context.mode, access, confine(outcome));
    match apply_dont_ask(outcome.effect, context.mode) {
        effect if effect == outcome.effect => outcome,
        effect => AccessOutcome { effect, reason: ReasonCode::Mode(context.mode), ..outcome },
    }
}

fn decide_name(policy: &PolicyStack, space: SubjectKind, bytes: &[u8]) -> AccessOutcome {
    let subject = MatchSubject { kind: space, bytes, is_variadic: false };
    outcome_or_default(find_rule_match(policy, subject), (Effect::Ask, ReasonCode::NoRule))
}

/// Decides an access to a host. If no rule matches the host and a program makes the access, the
/// decision on the program applies.
fn decide_host(policy: &PolicyStack, touch: AccessRoute, bytes: &[u8]) -> AccessOutcome {
    match decide_name(policy, SubjectKind::Fetch, bytes) {
        AccessOutcome { reason: ReasonCode::NoRule, .. } if touch != AccessRoute::Direct => {
            CHECKED_SEPARATELY
        }
        outcome => outcome,
    }
}

/// Decides an access to a socket by its path and by the name of its service. The stricter rule
/// applies. If no rule matches and a program makes the access, the decision on the program applies;
/// the sandbox then asks when the program connects.
fn decide_socket(policy: &PolicyStack, access: &SocketAccess) -> AccessOutcome {
    let find = |bytes: Vec<u8>| {
        let kind = SubjectKind::Socket;
        find_rule_match(policy, MatchSubject { kind, bytes: &bytes, is_variadic: false })
    };
    let mut found = socket::subjects(access).into_iter().filter_map(find);
    let Some(first) = found.next() else {
        return match access.route {
            AccessRoute::Direct => outcome_or_default(None, (Effect::Ask, ReasonCode::NoRule)),
            AccessRoute::Program | AccessRoute::Metadata | AccessRoute::RepositoryData => {
                CHECKED_SEPARATELY
            }
        };
    };
    let by_default = (Effect::Ask, ReasonCode::NoRule);
    let outcome = outcome_or_default(Some(first), by_default);
    found.fold(outcome, |outcome, found| stricter_outcome(found, outcome))
}

#[cfg(test)]
mod tests;
