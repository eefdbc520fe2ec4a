//! Limited grants: for a number of uses, until a moment, or below a directory.

use openoxide_permission::{Context, PolicyStack, evaluate};
use openoxide_protocol::{AbsPath, Access, Decision, Effect, Facts, Part};
use openoxide_store::{Bounded, Entry, GrantFile, Loaded};

use crate::Warning;

/// Whether a decision uses up the grants that allow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantUse {
    /// The decision is only looked at.
    Keep,
    /// The decision is acted on: each limited grant that allows it is used once.
    Spend,
}

/// Returns the policy that applies to an operation: without the limited grants, if one of them would allow what is outside of its
/// limits. With [`GrantUse::Spend`], each limited grant that allows the operation is used once.
pub(crate) fn policy_for<'a>(
    loaded: &'a Loaded,
    context: &Context<'_>,
    facts: &Facts,
    grants: Option<&GrantFile>,
    usage: GrantUse,
    warn: &dyn Fn(Warning),
) -> &'a PolicyStack {
    let Some(bounded) = &loaded.bounded else { return &loaded.policy };
    let decision = evaluate(&loaded.policy, context, facts);
    let applies = grants.is_some_and(|grants| {
        let used = used(bounded, &decision, grants);
        let spends = usage == GrantUse::Spend && decision.effect == Effect::Allow;
        used.iter().all(|(entry, part)| is_below(entry, part, &decision, context.cwd))
            && (!spends || spend(&used, grants, warn))
    });
    if applies { &loaded.policy } else { &bounded.without }
}

/// Returns each part that such a grant allows, with the grant.
fn used<'a>(
    bounded: &'a Bounded,
    decision: &'a Decision,
    grants: &GrantFile,
) -> Vec<(&'a Entry, &'a Part)> {
    let path = grants.path();
    let spoke = |part: &Part, entry: &Entry| {
        part.rule.as_ref().is_some_and(|rule| {
            rule.line == Some(entry.line) && rule.file.as_deref() == path.to_str()
        })
    };
    let of = |part: &'a Part| {
        let entry = bounded.entries.iter().find(|entry| spoke(part, entry));
        entry.map(|entry| (entry, part))
    };
    decision.parts.iter().filter_map(of).collect()
}

/// Returns whether the commands run below the directory of the grant, links resolved, and the operation names nothing outside of it.
fn is_below(entry: &Entry, part: &Part, decision: &Decision, cwd: &AbsPath) -> bool {
    let Some(below) = &entry.bound.below else { return true };
    let lies = |path: &AbsPath| path.below(below).is_some();
    let runs = |place: &AbsPath| lies(place) && really_lies(place, below);
    let Access::Exec(exec) = &part.access else { return false };
    let stays = |part: &Part| match &part.access {
        Access::Read(path) | Access::Edit(path) | Access::ExternalDirectory(path) => {
            path.spellings().all(lies)
        }
        // `env -C ..` moves the command that it starts.
        Access::Exec(exec) => exec.place.as_ref().is_none_or(runs),
        Access::Fetch { .. }
        | Access::CallTool { .. }
        | Access::Delegate { .. }
        | Access::DoomLoop { .. }
        | Access::Opaque { .. } => true,
    };
    // Words that are not known can lead anywhere; so does what another program moves, whose words are not known then.
    exec.argv.is_known()
        && runs(exec.place.as_ref().unwrap_or(cwd))
        && decision.parts.iter().all(stays)
}

/// Returns whether a directory is below another one, with links resolved.
fn really_lies(place: &AbsPath, below: &AbsPath) -> bool {
    let real = |path: &AbsPath| std::fs::canonicalize(path.as_str());
    real(place).is_ok_and(|place| real(below).is_ok_and(|below| place.starts_with(below)))
}

/// Uses each grant once, however many parts it allows. Says whether all could be.
fn spend(used: &[(&Entry, &Part)], grants: &GrantFile, warn: &dyn Fn(Warning)) -> bool {
    let mut spent: Vec<&Entry> = Vec::new();
    used.iter().all(|(entry, _)| {
        if spent.contains(entry) {
            return true;
        }
        spent.push(entry);
        grants.spend(entry).unwrap_or_else(|error| {
            warn(Warning::GrantNotCounted(error));
            false
        })
    })
}
