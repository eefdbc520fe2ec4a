//! What a mode makes of an answer.

use openoxide_protocol::{Access, CommandClass, Effect, PermissionMode};

use super::{Context, path::is_inside, spoken};
use crate::{
    layer::LayerKind,
    outcome::{Outcome, Why},
    stack::PolicyStack,
};

/// What the mode makes of an answer that no rule of a person gave.
pub(super) fn in_mode(
    policy: &PolicyStack,
    context: &Context<'_>,
    access: &Access,
    outcome: Outcome,
) -> Outcome {
    let by_mode = |effect| Outcome { effect, why: Why::Mode(context.mode), ..outcome };
    let asked_by_nobody = outcome.effect == Effect::Ask && !spoken(&outcome);
    match context.mode {
        PermissionMode::Default | PermissionMode::DontAsk => outcome,
        PermissionMode::AcceptEdits => match access {
            Access::Edit(path) if asked_by_nobody && is_inside(context.roots, path) => {
                by_mode(Effect::Allow)
            }
            Access::Exec(exec) if asked_by_nobody && exec.class == CommandClass::Edits => {
                by_mode(Effect::Allow)
            }
            _ => outcome,
        },
        PermissionMode::Plan if outcome.effect < Effect::Deny && changes(access, &outcome) => {
            by_mode(Effect::Deny)
        }
        PermissionMode::Plan => outcome,
        PermissionMode::BypassPermissions if outcome.why == Why::Opaque && policy.holds_back() => {
            outcome
        }
        PermissionMode::BypassPermissions if asked_by_nobody => by_mode(Effect::Allow),
        PermissionMode::BypassPermissions => outcome,
    }
}

/// Says whether an access changes anything, as far as is known.
fn changes(access: &Access, outcome: &Outcome) -> bool {
    match access {
        Access::Exec(exec) => exec.class != CommandClass::Harmless,
        Access::Edit(_) | Access::Opaque { .. } => true,
        Access::CallTool { .. } => {
            !matches!(outcome.ruling, Some(ruling) if ruling.layer == LayerKind::Default)
        }
        Access::Read(_)
        | Access::Fetch { .. }
        | Access::Delegate { .. }
        | Access::DoomLoop { .. }
        | Access::ExternalDirectory(_) => false,
    }
}
