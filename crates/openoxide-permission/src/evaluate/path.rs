//! What the rules say of a path.

use openoxide_protocol::{AbsPath, Effect, PathAccess, Touch};

use super::{CARRIED, Context, by_rule_or, is_for_a_person, spoken};
use crate::{
    index::{MAX_LAYERS, Ranks, Subject},
    layer::{LayerKind, Ruling},
    outcome::{Outcome, Why},
    rule::Space,
    stack::PolicyStack,
    subject,
};

/// Judges every spelling of a path; the strictest counts.
pub(super) fn by_path(
    policy: &PolicyStack,
    context: &Context<'_>,
    path: &PathAccess,
    space: Space,
) -> Outcome {
    let inside = is_inside(context.roots, path);
    let one = |spelling: &AbsPath| {
        let by_default = |effect, why| Outcome { effect, ruling: None, why };
        let default = match (space, inside) {
            (Space::Read | Space::External, true) => by_default(Effect::Allow, Why::Inside),
            (Space::Read, false) => outside(policy, spelling, context),
            (Space::Edit, true) if path.touch == Touch::Program => CARRIED,
            (_, true) => by_default(Effect::Ask, Why::NoRule),
            (_, false) => by_default(Effect::Ask, Why::Outside),
        };
        let ruling = path_ruling(policy, context, spelling, space);
        // What the built-in rules say of secrets is about what is in them, not about their names.
        let ruling = ruling
            .filter(|ruling| path.touch != Touch::Names || ruling.layer != LayerKind::Default);
        let ruling = ruling.filter(|ruling| inside || !reaches_too_far(*ruling, space));
        ruling.map_or(default, |found| by_rule_or(Some(found), (default.effect, default.why)))
    };
    let written = one(&path.path);
    match path.resolved.as_ref().map(one) {
        Some(resolved) if resolved.effect > written.effect => resolved,
        // Between two that ask, the one that a person wants to ask counts: a mode does not answer it.
        Some(resolved) if resolved.effect == written.effect && outspeaks(&resolved, &written) => {
            resolved
        }
        _ => written,
    }
}

/// A rule that allows every edit means those inside the project: to leave it is asked about by itself, as with Claude Code
/// and OpenCode. A rule that names a place outside is meant; and so is one for every read, since inside they are free.
const fn reaches_too_far(ruling: Ruling, space: Space) -> bool {
    matches!((ruling.effect, space), (Effect::Allow, Space::Edit)) && ruling.bare
}

/// A read outside the project is as free as `external_directory` says. A rule that enforces all of it back is a rule about it: no mode answers it.
fn outside(policy: &PolicyStack, path: &AbsPath, context: &Context<'_>) -> Outcome {
    match path_ruling(policy, context, path, Space::External) {
        Some(found) if found.effect == Effect::Allow => {
            Outcome { effect: Effect::Allow, ruling: None, why: Why::Outside }
        }
        Some(found) => Outcome { effect: found.effect, ruling: Some(found), why: Why::Rule },
        None => Outcome { effect: Effect::Ask, ruling: None, why: Why::Outside },
    }
}

fn path_ruling(
    policy: &PolicyStack,
    context: &Context<'_>,
    path: &AbsPath,
    space: Space,
) -> Option<Ruling> {
    let mut ranks: Ranks = [0; MAX_LAYERS];
    subject::of_path(path.as_str().trim_start_matches('/'), |bytes| {
        policy.ask(Subject { space, bytes, has_many: false }, &mut ranks);
    });
    let here = match space {
        Space::Read => Space::ReadHere,
        Space::Edit => Space::EditHere,
        _ => Space::ExternalHere,
    };
    let ask = |below: &str, ranks: &mut Ranks| {
        subject::of_path(below, |bytes| {
            policy.ask(Subject { space: here, bytes, has_many: false }, ranks);
        });
    };
    if let Some(below) = path.below(context.base()) {
        ask(below, &mut ranks);
    }
    let found = policy.combine(&ranks);
    let mut from_roots = ranks;
    let mut moved = false;
    for below in context.other_bases().filter_map(|root| path.below(root)) {
        ask(below, &mut from_roots);
        moved = true;
    }
    let held = policy.combine(&from_roots).filter(|_| moved);
    match (&found, held) {
        (_, Some(held)) if held.effect != Effect::Allow && stricter(&held, found.as_ref()) => {
            Some(held)
        }
        _ => found,
    }
}

fn stricter(held: &Ruling, found: Option<&Ruling>) -> bool {
    found.is_none_or(|found| held.effect > found.effect)
}

pub(super) fn is_inside(roots: &[AbsPath], path: &PathAccess) -> bool {
    path.spellings().all(|spelling| roots.iter().any(|root| spelling.below(root).is_some()))
}

/// Says whether of two spellings that ask this one speaks: a person's rule does, unless the other is more binding.
pub(super) fn outspeaks(outcome: &Outcome, other: &Outcome) -> bool {
    let binds = |one: &Outcome| {
        one.ruling.is_some_and(|ruling| ruling.human || ruling.layer == LayerKind::Managed)
    };
    (spoken(outcome) || binds(outcome)) && (is_for_a_person(outcome) || !binds(other))
}
