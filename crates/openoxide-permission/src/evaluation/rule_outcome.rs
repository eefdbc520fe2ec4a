//! The outcome of a rule match.

use openoxide_protocol::Effect;

use crate::{
    access_outcome::{AccessOutcome, ReasonCode},
    layer::{LayerKind, RuleMatch},
    policy_stack::PolicyStack,
    rule_index::{LayerRanks, MAX_LAYERS, MatchSubject},
};

#[inline]
pub(super) fn find_rule_match(
    policy: &PolicyStack,
    subject: MatchSubject<'_>,
) -> Option<RuleMatch> {
    let mut ranks: LayerRanks = [0; MAX_LAYERS];
    policy.collect_ranks(subject, &mut ranks);
    policy.combine_ranks(&ranks)
}

pub(super) fn outcome_or_default(
    ruling: Option<RuleMatch>,
    default: (Effect, ReasonCode),
) -> AccessOutcome {
    match ruling {
        Some(found) => {
            AccessOutcome { effect: found.effect, rule_match: ruling, reason: ReasonCode::Rule }
        }
        None => AccessOutcome { effect: default.0, rule_match: None, reason: default.1 },
    }
}

/// Returns the stricter outcome. Among rules that ask, a rule that only a person can answer takes
/// precedence, and then the rule of the layer with the higher precedence.
pub(super) fn stricter_outcome(found: RuleMatch, outcome: AccessOutcome) -> AccessOutcome {
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

/// The outcome of an access that a program makes and no rule matches: the decision on the program
/// applies.
pub(super) const CHECKED_SEPARATELY: AccessOutcome = AccessOutcome {
    effect: Effect::Allow,
    rule_match: None,
    reason: ReasonCode::CheckedSeparately,
};

/// Returns whether a rule written by a person decided, or could have decided.
pub(super) const fn is_decided_by_user_rule(outcome: &AccessOutcome) -> bool {
    match (outcome.reason, outcome.rule_match) {
        (ReasonCode::PartialMatch(_), _) => true,
        (ReasonCode::Rule, Some(ruling)) => !matches!(ruling.layer, LayerKind::Default),
        _ => false,
    }
}

/// Returns whether a rule that only a person can answer decided.
pub(super) fn requires_human(outcome: &AccessOutcome) -> bool {
    outcome.effect == Effect::Ask
        && matches!(outcome.rule_match, Some(ruling) if ruling.requires_human)
}
