//! Evaluation of facts: pure, total and deterministic.

mod access_decision;
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
    SandboxAutoAllow,
};

pub use self::{access_decision::decide_access, evaluation_context::EvaluationContext};
use self::{
    access_decision::decide_confined,
    auto_allow::{AllowedRegistries, AutoAllow},
    escalation::{apply_policy_error, escalate_access, escalate_findings, find_escalation},
    rule_outcome::{CHECKED_SEPARATELY, requires_human},
};
pub(crate) use self::{
    auto_allow::find_registry, command::strip_program_directory, mode_effect::apply_dont_ask,
};
use crate::{
    access_outcome::{AccessOutcome, ReasonCode},
    hook::allow_scope::HookAllowScope,
    policy_stack::PolicyStack,
    reason_text::to_access_decision,
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
    // A rule about registries would not answer a question of the safety floor.
    if find_escalation(&facts.findings, context.mode).is_some() {
        return decision;
    }
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

#[cfg(test)]
mod tests;
