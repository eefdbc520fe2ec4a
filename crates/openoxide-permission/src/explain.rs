//! Every rule that matches an access, also those that lost: slow and complete, for explanations.

use openoxide_protocol::{AbsPath, Access, Effect};

use crate::{
    evaluate::Context,
    glob,
    layer::{Layer, LayerKind},
    pattern::{host, path},
    rule::{Rule, Space},
};

/// A rule that matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match<'a> {
    /// The layer that it stands in.
    pub layer: &'a Layer,
    /// The rule.
    pub rule: &'a Rule,
    /// Why it did not decide; nothing when it did.
    pub lost: Option<&'static str>,
}

/// Returns every rule that matches an access (the path by its letters, not where it leads), in the order of the layers, each
/// with the reason why it lost.
#[must_use]
pub fn matching<'a>(layers: &'a [Layer], context: &Context<'_>, access: &Access) -> Vec<Match<'a>> {
    let subjects = subjects(context, access);
    let matches = |rule: &Rule| {
        rule.patterns.iter().any(|pattern| {
            let manner = pattern.space.manner(rule.effect);
            let mut here = subjects.iter().filter(|(space, _)| *space == pattern.space);
            here.any(|(_, subject)| glob::matches(&pattern.code, subject, manner))
        })
    };
    let mut found: Vec<Match<'a>> = Vec::new();
    for layer in layers {
        let of_layer: Vec<_> = layer.rules.iter().filter(|rule| matches(rule)).collect();
        let winner = winner(layer, &of_layer);
        found.extend(of_layer.iter().enumerate().map(|(at, rule)| {
            let lost = (Some(at) != winner).then_some("another rule of the layer outranks it");
            Match { layer, rule, lost }
        }));
    }
    between_layers(&mut found);
    found
}

fn winner(layer: &Layer, rules: &[&Rule]) -> Option<usize> {
    (0_u32..)
        .zip(rules)
        .map(|(at, rule)| layer.combining.rank(rule.effect, at))
        .enumerate()
        .max_by_key(|(_, rank)| *rank)
        .map(|(at, _)| at)
}

/// Among the winners of the layers, the first deny decides, otherwise the first.
fn between_layers(found: &mut [Match<'_>]) {
    let winners = || 0..found.len();
    let deny = winners().find(|at| wins(found, *at) && effect(found, *at) == Some(Effect::Deny));
    let first = winners().find(|at| wins(found, *at));
    for (at, one) in found.iter_mut().enumerate() {
        if one.lost.is_some() || Some(at) == deny.or(first) {
            continue;
        }
        one.lost = Some(match deny {
            Some(_) => "a deny of any layer is final",
            None => "a more precedent layer decides",
        });
    }
}

fn wins(found: &[Match<'_>], at: usize) -> bool {
    found.get(at).is_some_and(|one| one.lost.is_none())
}

fn effect(found: &[Match<'_>], at: usize) -> Option<Effect> {
    found.get(at).map(|one| one.rule.effect)
}

fn subjects(context: &Context<'_>, access: &Access) -> Vec<(Space, Vec<u8>)> {
    let name = |space, name: &str| vec![(space, format!("{name}\0").into_bytes())];
    match access {
        Access::Exec(exec) => vec![(Space::Exec, exec.argv.as_bytes().to_vec())],
        Access::Read(place) => {
            let mut all = of_path(context, &place.path, Space::Read, Space::ReadHere);
            all.extend(of_path(context, &place.path, Space::External, Space::ExternalHere));
            all
        }
        Access::Edit(place) => of_path(context, &place.path, Space::Edit, Space::EditHere),
        Access::ExternalDirectory(place) => {
            of_path(context, &place.path, Space::External, Space::ExternalHere)
        }
        Access::Fetch { host, .. } => vec![(Space::Fetch, host::parts(host).into_bytes())],
        Access::CallTool { tool } => name(Space::Tool, tool),
        Access::Delegate { agent } => name(Space::Delegate, agent),
        Access::DoomLoop { tool } => name(Space::DoomLoop, tool),
        Access::Opaque { .. } => Vec::new(),
    }
}

fn of_path(
    context: &Context<'_>,
    place: &AbsPath,
    space: Space,
    here: Space,
) -> Vec<(Space, Vec<u8>)> {
    let below = place.below(context.cwd).map(|rest| AbsPath::root().join(rest));
    let mut all = vec![(space, path::parts(place).into_bytes())];
    all.extend(below.map(|below| (here, path::parts(&below).into_bytes())));
    all
}

impl Match<'_> {
    /// Returns the layer's name.
    #[must_use]
    pub const fn layer_name(&self) -> &'static str {
        match self.layer.kind {
            LayerKind::Default => "built-in",
            kind => kind.as_str(),
        }
    }
}
