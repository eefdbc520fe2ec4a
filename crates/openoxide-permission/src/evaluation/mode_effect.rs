//! The effect of the permission mode on an outcome.

use openoxide_protocol::{Access, CommandClass, Effect, PermissionMode};

use super::{
    evaluation_context::EvaluationContext, path::is_inside_project,
    rule_outcome::is_decided_by_user_rule,
};
use crate::{
    access_outcome::{AccessOutcome, ReasonCode},
    layer::LayerKind,
    policy_stack::PolicyStack,
};

/// Applies the mode to an outcome that no rule written by a person decided.
pub(super) fn apply_mode(
    policy: &PolicyStack,
    context: &EvaluationContext<'_>,
    access: &Access,
    outcome: AccessOutcome,
) -> AccessOutcome {
    let by_mode =
        |effect| AccessOutcome { effect, reason: ReasonCode::Mode(context.mode), ..outcome };
    let asked_by_nobody = outcome.effect == Effect::Ask && !is_decided_by_user_rule(&outcome);
    match context.mode {
        PermissionMode::Default | PermissionMode::Sandboxed | PermissionMode::DontAsk => outcome,
        PermissionMode::AcceptEdits => match access {
            Access::Edit(path) if asked_by_nobody && is_inside_project(context.roots, path) => {
                by_mode(Effect::Allow)
            }
            Access::Exec(exec) if asked_by_nobody && exec.class == CommandClass::Edits => {
                by_mode(Effect::Allow)
            }
            _ => outcome,
        },
        PermissionMode::Plan
            if outcome.effect < Effect::Deny && may_change_state(access, &outcome) =>
        {
            by_mode(Effect::Deny)
        }
        PermissionMode::Plan => outcome,
        PermissionMode::BypassPermissions
            if outcome.reason == ReasonCode::Opaque && policy.has_restrictive_command_rules() =>
        {
            outcome
        }
        // The mode removes questions, but not the sandbox: a service outside of it can do anything.
        PermissionMode::BypassPermissions if matches!(access, Access::Socket(_)) => outcome,
        PermissionMode::BypassPermissions if asked_by_nobody => by_mode(Effect::Allow),
        PermissionMode::BypassPermissions => outcome,
    }
}

/// Returns whether an access may change anything.
fn may_change_state(access: &Access, outcome: &AccessOutcome) -> bool {
    match access {
        Access::Exec(exec) => exec.class != CommandClass::Harmless,
        Access::Edit(_) | Access::Socket(_) | Access::Opaque { .. } => true,
        Access::CallTool { .. } => {
            !matches!(outcome.rule_match, Some(ruling) if ruling.layer == LayerKind::Default)
        }
        Access::Read(_)
        | Access::Fetch { .. }
        | Access::Delegate { .. }
        | Access::Repetition { .. }
        | Access::ExternalDirectory(_) => false,
    }
}

/// Turns an ask into a deny in mode `dont_ask`.
pub(crate) const fn apply_dont_ask(effect: Effect, mode: PermissionMode) -> Effect {
    match (effect, mode) {
        (Effect::Ask, PermissionMode::DontAsk) => Effect::Deny,
        (effect, _) => effect,
    }
}
