//! The questions that an allow of a hook answers.

use openoxide_protocol::{Access, Effect, HookAnswer, HookDecision};

use crate::{
    access_outcome::{AccessOutcome, ReasonCode},
    layer::LayerKind,
};

/// The questions that the allow answers of hooks may answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HookAllowScope {
    /// The layer of the hooks.
    layer: LayerKind,
    /// True if the hooks also answer questions of rules.
    answers_ask_rules: bool,
}

/// Returns the widest scope among the hooks that allow.
pub(super) fn hook_allow_scope(answers: &[HookAnswer]) -> HookAllowScope {
    let above =
        |answer: &&HookAnswer| answer.decision == HookDecision::Allow && !answer.respects_ask_rules;
    let mut above = answers.iter().filter(above).peekable();
    let rules = above.peek().is_some();
    let managed = above.any(|answer| answer.hook.layer == LayerKind::Managed.as_str());
    HookAllowScope {
        layer: if managed { LayerKind::Managed } else { LayerKind::User },
        answers_ask_rules: rules,
    }
}

/// Turns an ask into an allow if hooks may answer the question. Only a hook of an administrator
/// answers a question of a managed rule. Questions of the built-in layer are part of the safety
/// floor. A hook cannot answer a question about repetition, because it sees a single call, and none
/// about a service outside of the sandbox.
pub(crate) fn apply_hook_allow(
    hook: HookAllowScope,
    access: &Access,
    outcome: AccessOutcome,
) -> AccessOutcome {
    let ruling = outcome.rule_match;
    let binds = |layer, human| {
        human || layer == LayerKind::Default || layer == LayerKind::Managed && hook.layer != layer
    };
    let bound = ruling.is_some_and(|ruling| binds(ruling.layer, ruling.requires_human));
    let open = match outcome.reason {
        ReasonCode::Rule => hook.answers_ask_rules,
        why => {
            matches!(why, ReasonCode::NoRule | ReasonCode::Unproved | ReasonCode::OutsideProject)
        }
    };
    let is_excluded = matches!(access, Access::Repetition { .. } | Access::Socket(_));
    if outcome.effect != Effect::Ask || bound || !open || is_excluded {
        return outcome;
    }
    // No rule allowed the access. Hooks do not get the exceptions from the safety floor that
    // literal rules get.
    AccessOutcome { effect: Effect::Allow, rule_match: None, reason: ReasonCode::Hook }
}
