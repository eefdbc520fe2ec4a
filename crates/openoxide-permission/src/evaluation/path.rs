//! Evaluation of paths.

use openoxide_protocol::{AbsPath, AccessRoute, Effect, PathAccess};

use super::{
    evaluation_context::EvaluationContext,
    rule_outcome::{
        CHECKED_SEPARATELY, is_decided_by_user_rule, outcome_or_default, requires_human,
    },
};
use crate::{
    access_outcome::{AccessOutcome, ReasonCode},
    layer::{LayerKind, RuleMatch},
    match_subject,
    policy_stack::PolicyStack,
    rule::SubjectKind,
    rule_index::{LayerRanks, MAX_LAYERS, MatchSubject},
};

/// Evaluates every form of a path and returns the strictest outcome.
pub(super) fn decide_path(
    policy: &PolicyStack,
    context: &EvaluationContext<'_>,
    path: &PathAccess,
    space: SubjectKind,
) -> AccessOutcome {
    let inside = is_inside_project(context.roots, path);
    let one = |spelling: &AbsPath| {
        let by_default = |effect, why| AccessOutcome { effect, rule_match: None, reason: why };
        let default = match (space, inside) {
            (SubjectKind::Read | SubjectKind::External, true) => {
                by_default(Effect::Allow, ReasonCode::InsideProject)
            }
            (SubjectKind::Read, false) => decide_external_read(policy, spelling, context),
            (SubjectKind::Edit, true) if path.route == AccessRoute::Program => CHECKED_SEPARATELY,
            (_, true) => by_default(Effect::Ask, ReasonCode::NoRule),
            (_, false) => by_default(Effect::Ask, ReasonCode::OutsideProject),
        };
        let ruling = find_path_match(policy, context, spelling, space);
        // The built-in rules about secrets apply to the contents of files, not to their names.
        let ruling = ruling.filter(|ruling| {
            path.route != AccessRoute::Metadata || ruling.layer != LayerKind::Default
        });
        let ruling = ruling.filter(|ruling| inside || !is_unscoped_edit_allow(*ruling, space));
        ruling.map_or(default, |found| {
            outcome_or_default(Some(found), (default.effect, default.reason))
        })
    };
    let written = one(&path.path);
    match path.resolved.as_ref().map(one) {
        Some(resolved) if resolved.effect > written.effect => resolved,
        // If both forms ask, the rule of a person takes precedence, because no mode answers it.
        Some(resolved)
            if resolved.effect == written.effect && takes_precedence(&resolved, &written) =>
        {
            resolved
        }
        _ => written,
    }
}

/// Returns whether a rule allows every edit without naming a path. Such a rule only applies inside
/// the project: edits outside are asked about separately, as in Claude Code and OpenCode. A rule
/// that names a path outside applies there, and so does a rule for every read, since reads inside
/// the project are allowed anyway.
const fn is_unscoped_edit_allow(ruling: RuleMatch, space: SubjectKind) -> bool {
    matches!((ruling.effect, space), (Effect::Allow, SubjectKind::Edit))
        && ruling.matches_everything
}

/// Decides a read outside the project by the rules for `external_directory`. If such a rule asks or
/// denies, no mode overrides it.
fn decide_external_read(
    policy: &PolicyStack,
    path: &AbsPath,
    context: &EvaluationContext<'_>,
) -> AccessOutcome {
    match find_path_match(policy, context, path, SubjectKind::External) {
        Some(found) if found.effect == Effect::Allow => AccessOutcome {
            effect: Effect::Allow,
            rule_match: None,
            reason: ReasonCode::OutsideProject,
        },
        Some(found) => AccessOutcome {
            effect: found.effect,
            rule_match: Some(found),
            reason: ReasonCode::Rule,
        },
        None => AccessOutcome {
            effect: Effect::Ask,
            rule_match: None,
            reason: ReasonCode::OutsideProject,
        },
    }
}

fn find_path_match(
    policy: &PolicyStack,
    context: &EvaluationContext<'_>,
    path: &AbsPath,
    space: SubjectKind,
) -> Option<RuleMatch> {
    let mut ranks: LayerRanks = [0; MAX_LAYERS];
    match_subject::with_path_subject(path.as_str().trim_start_matches('/'), |bytes| {
        policy.collect_ranks(MatchSubject { kind: space, bytes, is_variadic: false }, &mut ranks);
    });
    let here = match space {
        SubjectKind::Read => SubjectKind::ReadFromCwd,
        SubjectKind::Edit => SubjectKind::EditFromCwd,
        _ => SubjectKind::ExternalFromCwd,
    };
    let ask = |below: &str, ranks: &mut LayerRanks| {
        match_subject::with_path_subject(below, |bytes| {
            policy.collect_ranks(MatchSubject { kind: here, bytes, is_variadic: false }, ranks);
        });
    };
    if let Some(below) = path.strip_prefix(context.base()) {
        ask(below, &mut ranks);
    }
    let found = policy.combine_ranks(&ranks);
    let mut from_roots = ranks;
    let mut moved = false;
    for below in context.other_bases().filter_map(|root| path.strip_prefix(root)) {
        ask(below, &mut from_roots);
        moved = true;
    }
    let held = policy.combine_ranks(&from_roots).filter(|_| moved);
    match (&found, held) {
        (_, Some(held)) if held.effect != Effect::Allow && is_stricter(&held, found.as_ref()) => {
            Some(held)
        }
        _ => found,
    }
}

fn is_stricter(held: &RuleMatch, found: Option<&RuleMatch>) -> bool {
    found.is_none_or(|found| held.effect > found.effect)
}

pub(super) fn is_inside_project(roots: &[AbsPath], path: &PathAccess) -> bool {
    path.paths().all(|spelling| roots.iter().any(|root| spelling.strip_prefix(root).is_some()))
}

/// Returns whether `outcome` takes precedence over `other` if both forms ask. An outcome of a rule
/// written by a person does, unless the other outcome is more binding.
pub(super) fn takes_precedence(outcome: &AccessOutcome, other: &AccessOutcome) -> bool {
    let binds = |one: &AccessOutcome| {
        one.rule_match
            .is_some_and(|ruling| ruling.requires_human || ruling.layer == LayerKind::Managed)
    };
    (is_decided_by_user_rule(outcome) || binds(outcome))
        && (requires_human(outcome) || !binds(other))
}
