//! The decision on one access.

use openoxide_protocol::{Access, AccessRoute, Effect, SocketAccess};

use super::{
    command::{decide_command, decide_opaque},
    escalation::escalate_access,
    evaluation_context::EvaluationContext,
    mode_effect::{apply_dont_ask, apply_mode},
    path::decide_path,
    rule_outcome::{CHECKED_SEPARATELY, find_rule_match, outcome_or_default, stricter_outcome},
};
use crate::{
    access_outcome::{AccessOutcome, ReasonCode},
    hook::allow_scope::{HookAllowScope, apply_hook_allow},
    match_subject,
    pattern::socket,
    policy_stack::PolicyStack,
    rule::SubjectKind,
    rule_index::MatchSubject,
};

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
pub(super) fn decide_confined(
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
