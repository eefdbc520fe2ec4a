//! From facts to a decision: pure, total, deterministic.

mod command;
mod escalation;
mod mode_effect;
mod path;

use openoxide_protocol::{
    AbsPath, Access, AccessDecision, AccessRoute, Decision, Effect, Obligation, OperationFacts,
    PermissionMode,
};

pub(crate) use self::command::strip_program_directory;
use self::{
    command::{decide_command, decide_opaque},
    escalation::{apply_policy_error, escalate_access, escalate_findings, find_escalation},
    mode_effect::apply_mode,
    path::decide_path,
};
use crate::{
    access_outcome::{AccessOutcome, ReasonCode},
    hook,
    layer::{LayerKind, RuleMatch},
    match_subject,
    policy_stack::PolicyStack,
    reason_text::to_access_decision,
    rule::SubjectKind,
    rule_index::{LayerRanks, MAX_LAYERS, MatchSubject},
    suggested_rules,
};

/// The facts of the moment.
#[derive(Clone, Copy, Debug)]
pub struct EvaluationContext<'a> {
    /// The mode in force.
    pub mode: PermissionMode,
    /// The working directory. Relative rules that ask or deny count from it, from the project, and from the directories of the
    /// project between them; relative rules that allow count from the project alone.
    pub cwd: &'a AbsPath,
    /// The directories of the project.
    pub roots: &'a [AbsPath],
    /// The error that occurred while the policy was loaded. Rules that ask or deny may be missing,
    /// so nothing is allowed.
    pub policy_error: Option<&'a str>,
}

impl<'a> EvaluationContext<'a> {
    /// Returns the base directory of relative rules: the first directory of the project, or the
    /// working directory without a project. A `cd` therefore does not widen a rule that allows.
    pub(crate) fn base(&self) -> &'a AbsPath {
        self.roots.first().unwrap_or(self.cwd)
    }

    /// Returns the other directories that relative rules which ask or deny count from: the working directory, and the directories
    /// of the project above it.
    pub(crate) fn other_bases(&self) -> impl Iterator<Item = &'a AbsPath> {
        let (cwd, roots, base) = (self.cwd, self.roots, self.base());
        let above =
            roots.iter().filter(move |root| *root != cwd && cwd.strip_prefix(root).is_some());
        above.chain([cwd]).filter(move |each| *each != base)
    }
}

/// Returns the decision on an operation: the strictest among its accesses, under the safety floor.
///
/// An operation without any access does nothing, and is allowed.
pub fn evaluate(
    policy: &PolicyStack,
    context: &EvaluationContext<'_>,
    facts: &OperationFacts,
) -> Decision {
    evaluate_with_hook_allow(policy, context, facts, None)
}

/// Evaluates like [`evaluate`], with the scope of the hooks that allow the operation.
pub(crate) fn evaluate_with_hook_allow(
    policy: &PolicyStack,
    context: &EvaluationContext<'_>,
    facts: &OperationFacts,
    hook: Option<hook::HookAllowScope>,
) -> Decision {
    let outcomes: Vec<_> = decide_accesses(policy, context, facts, hook).collect();
    let parts: Vec<_> = facts
        .accesses
        .iter()
        .zip(&outcomes)
        .enumerate()
        .map(|(index, (access, outcome))| {
            let following = facts.accesses.get(index + 1..).unwrap_or_default();
            to_access_decision(policy, access, outcome, following)
        })
        .collect();
    let strictest = find_deciding_part(&parts);
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
    apply_policy_error(escalate_findings(decision, context.mode), context)
}

fn collect_obligations(policy: &PolicyStack, outcomes: &[AccessOutcome]) -> Vec<Obligation> {
    let human = outcomes.iter().any(requires_human).then_some(Obligation::Human);
    let audit = policy.requires_audit().then_some(Obligation::Audit);
    human.into_iter().chain(audit).collect()
}

/// Returns the effect on an operation alone. It allocates nothing.
#[must_use]
pub fn evaluate_effect(
    policy: &PolicyStack,
    context: &EvaluationContext<'_>,
    facts: &OperationFacts,
) -> Effect {
    let accesses = decide_accesses(policy, context, facts, None).map(|outcome| outcome.effect);
    let effect = accesses.max().unwrap_or(Effect::Allow);
    let floor = find_escalation(&facts.findings, context.mode)
        .map(|_| apply_dont_ask(Effect::Ask, context.mode));
    let doubt = context.policy_error.map(|_| apply_dont_ask(Effect::Ask, context.mode));
    effect.max(floor.unwrap_or(Effect::Allow)).max(doubt.unwrap_or(Effect::Allow))
}

/// Decides each access in turn. If a rule allows every command, the changes that the last program
/// makes outside the project are not asked about separately. The safety floor still applies.
fn decide_accesses<'a>(
    policy: &'a PolicyStack,
    context: &'a EvaluationContext<'a>,
    facts: &'a OperationFacts,
    hook: Option<hook::HookAllowScope>,
) -> impl Iterator<Item = AccessOutcome> + 'a {
    let mut anywhere = false;
    facts.accesses.iter().map(move |access| {
        let outcome = decide_with_hook_allow(policy, context, access, hook);
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

/// Returns the part that speaks for the whole: among the strictest the first that a rule decided, or else the first.
fn find_deciding_part(parts: &[AccessDecision]) -> Option<&AccessDecision> {
    let worst = parts.iter().map(|part| part.decision).max()?;
    let mut strictest = parts.iter().filter(|part| part.decision == worst);
    strictest.clone().find(|part| part.rule.is_some()).or_else(|| strictest.next())
}

/// Turns an ask into a deny in mode `dont_ask`.
pub(crate) const fn apply_dont_ask(effect: Effect, mode: PermissionMode) -> Effect {
    match (effect, mode) {
        (Effect::Ask, PermissionMode::DontAsk) => Effect::Deny,
        (effect, _) => effect,
    }
}

/// Returns the decision on one access. It allocates nothing, but for paths and hosts of unusual length and for commands
/// that are only partly known.
#[must_use]
pub fn decide_access(
    policy: &PolicyStack,
    context: &EvaluationContext<'_>,
    access: &Access,
) -> AccessOutcome {
    decide_with_hook_allow(policy, context, access, None)
}

/// Decides one access. An access that a rule of the last good version denies stays denied.
fn decide_with_hook_allow(
    policy: &PolicyStack,
    context: &EvaluationContext<'_>,
    access: &Access,
    hook: Option<hook::HookAllowScope>,
) -> AccessOutcome {
    let outcome = decide_by_policy(policy, context, access, hook);
    let Some(before) = policy.last_good() else { return outcome };
    let earlier = decide_by_policy(before, context, access, None);
    let denies = |outcome: &AccessOutcome| {
        outcome.effect == Effect::Deny && outcome.reason == ReasonCode::Rule
    };
    if denies(&earlier) && !denies(&outcome) {
        AccessOutcome { reason: ReasonCode::LastGoodDeny, ..earlier }
    } else {
        outcome
    }
}

/// Decides one access under one policy. A hook's allow applies after the rules and the mode, which
/// may deny, and before the safety floor, which may still ask.
fn decide_by_policy(
    policy: &PolicyStack,
    context: &EvaluationContext<'_>,
    access: &Access,
    hook: Option<hook::HookAllowScope>,
) -> AccessOutcome {
    let outcome = match access {
        Access::Exec(exec) => decide_command(policy, exec, hook),
        Access::Read(path) => decide_path(policy, context, path, SubjectKind::Read),
        Access::Edit(path) => decide_path(policy, context, path, SubjectKind::Edit),
        Access::ExternalDirectory(path) => {
            decide_path(policy, context, path, SubjectKind::External)
        }
        Access::Fetch { host, route: touch, .. } => {
            match_subject::with_host_subject(host, |bytes| decide_host(policy, *touch, bytes))
        }
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
        Some(lift) => hook::apply_hook_allow(lift, access, outcome),
        None => outcome,
    };
    let outcome = escalate_access(context.mode, access, outcome);
    match apply_dont_ask(outcome.effect, context.mode) {
        effect if effect == outcome.effect => outcome,
        effect => AccessOutcome { effect, reason: ReasonCode::Mode(context.mode), ..outcome },
    }
}

#[inline]
fn find_rule_match(policy: &PolicyStack, subject: MatchSubject<'_>) -> Option<RuleMatch> {
    let mut ranks: LayerRanks = [0; MAX_LAYERS];
    policy.collect_ranks(subject, &mut ranks);
    policy.combine_ranks(&ranks)
}

fn outcome_or_default(ruling: Option<RuleMatch>, default: (Effect, ReasonCode)) -> AccessOutcome {
    match ruling {
        Some(found) => {
            AccessOutcome { effect: found.effect, rule_match: ruling, reason: ReasonCode::Rule }
        }
        None => AccessOutcome { effect: default.0, rule_match: None, reason: default.1 },
    }
}

/// Returns the stricter outcome. Between two rules that ask, a rule that only a person can answer
/// takes precedence, and then the rule of the more precedent layer.
fn stricter_outcome(found: RuleMatch, outcome: AccessOutcome) -> AccessOutcome {
    let outranks = |ruling: RuleMatch| {
        ruling.requires_human && !found.requires_human
            || ruling.requires_human == found.requires_human && ruling.layer < found.layer
    };
    let stays = outcome.effect == found.effect && outcome.rule_match.is_some_and(outranks);
    if found.effect == Effect::Allow || found.effect < outcome.effect || stays {
        return outcome;
    }
    AccessOutcome { effect: found.effect, rule_match: Some(found), reason: ReasonCode::Rule }
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

/// The outcome of an access that a program makes and no rule matches: the decision on the program
/// applies.
const CHECKED_SEPARATELY: AccessOutcome = AccessOutcome {
    effect: Effect::Allow,
    rule_match: None,
    reason: ReasonCode::CheckedSeparately,
};

/// Returns whether a rule written by a person decided, or could have decided.
const fn is_decided_by_user_rule(outcome: &AccessOutcome) -> bool {
    match (outcome.reason, outcome.rule_match) {
        (ReasonCode::PartialMatch(_), _) => true,
        (ReasonCode::Rule, Some(ruling)) => !matches!(ruling.layer, LayerKind::Default),
        _ => false,
    }
}

/// Returns whether a rule that only a person can answer decided.
fn requires_human(outcome: &AccessOutcome) -> bool {
    outcome.effect == Effect::Ask
        && matches!(outcome.rule_match, Some(ruling) if ruling.requires_human)
}

#[cfg(test)]
mod tests;
