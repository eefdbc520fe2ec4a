//! Limited grants: with a maximum number of uses, an expiry, or a directory.

use openoxide_permission::{EvaluationContext, PolicyStack, evaluate};
use openoxide_protocol::{AbsPath, Access, AccessDecision, Decision, Effect, OperationFacts};
use openoxide_store::{GrantEntry, GrantFile, LoadedPolicy};

use crate::engine_warning::EngineWarning;

/// The effect of a decision on the use counters of the grants that allow it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantUseMode {
    /// The decision has no effect.
    Preview,
    /// The decision takes effect: each limited grant that allows it is used once.
    Spend,
}

/// Returns the policy that applies to an operation. It excludes the limited grants if one of them
/// would allow an access outside of its limits. With [`GrantUseMode::Spend`], each limited grant
/// that allows the operation is used once.
pub(crate) fn applicable_policy<'a>(
    loaded: &'a LoadedPolicy,
    context: &EvaluationContext<'_>,
    facts: &OperationFacts,
    grants: Option<&GrantFile>,
    usage: GrantUseMode,
    warn: &dyn Fn(EngineWarning),
) -> &'a PolicyStack {
    loaded.policy_within_limits(|policy, entries| {
        let Some(grants) = grants else { return false };
        let decision = evaluate(policy, context, facts);
        let used = find_used_grants(entries, &decision, grants);
        let spends = usage == GrantUseMode::Spend && decision.effect == Effect::Allow;
        used.iter()
            .all(|(entry, part)| is_within_grant_directory(entry, part, &decision, context.cwd))
            && (!spends || spend_grants(&used, grants, warn))
    })
}

/// Returns each access that a limited grant allows, with the grant.
fn find_used_grants<'a>(
    entries: &'a [GrantEntry],
    decision: &'a Decision,
    grants: &GrantFile,
) -> Vec<(&'a GrantEntry, &'a AccessDecision)> {
    let path = grants.path();
    let spoke = |part: &AccessDecision, entry: &GrantEntry| {
        part.rule.as_ref().is_some_and(|rule| {
            rule.line == Some(entry.line) && rule.file.as_deref() == path.to_str()
        })
    };
    let of = |part: &'a AccessDecision| {
        let entry = entries.iter().find(|entry| spoke(part, entry));
        entry.map(|entry| (entry, part))
    };
    decision.parts.iter().filter_map(of).collect()
}

/// Returns whether all commands run below the directory of the grant, with links resolved, and the
/// operation accesses nothing outside of it.
fn is_within_grant_directory(
    entry: &GrantEntry,
    part: &AccessDecision,
    decision: &Decision,
    cwd: &AbsPath,
) -> bool {
    let Some(below) = &entry.limits.directory else { return true };
    let lies = |path: &AbsPath| path.strip_prefix(below).is_some();
    let runs = |place: &AbsPath| lies(place) && is_really_below(place, below);
    let Access::Exec(exec) = &part.access else { return false };
    let stays = |part: &AccessDecision| match &part.access {
        Access::Read(path) | Access::Edit(path) | Access::ExternalDirectory(path) => {
            path.paths().all(lies)
        }
        // `env -C ..` moves the command that it starts.
        Access::Exec(exec) => exec.cwd.as_ref().is_none_or(runs),
        Access::Fetch { .. }
        | Access::Socket(_)
        | Access::CallTool { .. }
        | Access::Delegate { .. }
        | Access::Repetition { .. }
        | Access::Opaque { .. } => true,
    };
    // Unknown words can name any file. The words of a command that runs in another directory are
    // unknown.
    exec.argv.is_known()
        && runs(exec.cwd.as_ref().unwrap_or(cwd))
        && decision.parts.iter().all(stays)
}

/// Returns whether a directory is below another one, with links resolved.
fn is_really_below(place: &AbsPath, below: &AbsPath) -> bool {
    let real = |path: &AbsPath| std::fs::canonicalize(path.as_str());
    real(place).is_ok_and(|place| real(below).is_ok_and(|below| place.starts_with(below)))
}

/// Uses each grant once, however many accesses it allows. Returns whether all of them could be
/// used.
fn spend_grants(
    used: &[(&GrantEntry, &AccessDecision)],
    grants: &GrantFile,
    warn: &dyn Fn(EngineWarning),
) -> bool {
    let mut spent: Vec<&GrantEntry> = Vec::new();
    used.iter().all(|(entry, _)| {
        if spent.contains(entry) {
            return true;
        }
        spent.push(entry);
        grants.consume_use(entry).unwrap_or_else(|error| {
            warn(EngineWarning::GrantNotCounted(error));
            false
        })
    })
}
