//! The visible part of the host's temporary directories. Each run has its own temporary
//! directories.

use std::{collections::BTreeSet, fs, path::Path};

use openoxide_protocol::{
    AbsPath, Access, AccessDecision, Decision, Effect, PathAccess, SandboxRestrictions,
};
use openoxide_sandbox::is_temporary;

use crate::sandbox_profile::canonicalize_or_keep;

/// Returns the visible paths below the temporary directories: the paths that the decision allows to
/// be read by name, and the home directory.
#[must_use]
pub fn visible_temporary_paths(
    decision: Option<&Decision>,
    home: Option<&AbsPath>,
) -> BTreeSet<AbsPath> {
    let named = decision.into_iter().flat_map(granted).filter_map(|access| match access {
        Access::Read(path) => named(path),
        Access::Edit(_)
        | Access::Exec(_)
        | Access::Fetch { .. }
        | Access::Socket(_)
        | Access::CallTool { .. }
        | Access::Delegate { .. }
        | Access::Repetition { .. }
        | Access::ExternalDirectory(_)
        | Access::Opaque { .. } => None,
    });
    named
        .chain(home.cloned())
        .map(|path| canonicalize_or_keep(&path))
        .filter(is_temporary)
        .collect()
}

/// Returns the new files below a temporary directory that the decision allows by name and that are
/// lost when the run ends, because the profile does not permit to save them.
#[must_use]
pub fn discarded_temporary_paths(
    decision: &Decision,
    profile: &SandboxRestrictions,
    roots: &[AbsPath],
    home: Option<&AbsPath>,
) -> BTreeSet<AbsPath> {
    let saved = saved_temporary_files(decision, profile, roots, home);
    new_temporary_paths(decision, roots).difference(&saved).cloned().collect()
}

/// Returns the new files below a temporary directory that the decision allows by name. The sandbox
/// copies them to the host when the run has ended.
pub(crate) fn saved_temporary_files(
    decision: &Decision,
    profile: &SandboxRestrictions,
    roots: &[AbsPath],
    home: Option<&AbsPath>,
) -> BTreeSet<AbsPath> {
    if profile.writable.is_empty() {
        return BTreeSet::new();
    }
    let is_within = |path: &AbsPath, of: &BTreeSet<AbsPath>| {
        of.iter().any(|one| path.strip_prefix(one).is_some())
    };
    let mut files = new_temporary_paths(decision, roots);
    files.retain(|path| {
        !is_within(path, &profile.writable)
            && !is_within(path, &profile.protected)
            && !is_within(path, &profile.unreadable)
            && home.is_none_or(|home| path.strip_prefix(home).is_none())
    });
    files
}

/// Returns the paths below a temporary directory that the decision changes by name and that do not
/// exist yet.
fn new_temporary_paths(decision: &Decision, roots: &[AbsPath]) -> BTreeSet<AbsPath> {
    let missing = |path: &AbsPath| {
        let inside = roots.iter().any(|root| path.strip_prefix(root).is_some());
        let nothing = fs::symlink_metadata(path.as_str()).is_err();
        is_temporary(path)
            && !inside
            && nothing
            && path.parent().is_some_and(|above| is_place(&above))
    };
    edited_paths(decision).filter(missing).collect()
}

/// Returns the files that the decision allows to be changed by name, with links resolved.
pub(crate) fn edited_paths(decision: &Decision) -> impl Iterator<Item = AbsPath> {
    granted(decision).filter_map(edited_path)
}

/// Returns the accesses that a person approved or a rule allows, without those that only the mode
/// allows.
pub(crate) fn explicitly_granted(decision: &Decision) -> impl Iterator<Item = &Access> {
    let is_explicit = |part: &&AccessDecision| match part.decision {
        Effect::Allow => decision.effect == Effect::Ask || part.rule.is_some(),
        Effect::Ask => true,
        Effect::Deny => false,
    };
    decision.parts.iter().filter(is_explicit).map(|part| &part.access)
}

/// Returns the file that an access changes, with links resolved.
pub(crate) fn edited_path(access: &Access) -> Option<AbsPath> {
    match access {
        Access::Edit(path) => named(path),
        Access::Read(_)
        | Access::Exec(_)
        | Access::Fetch { .. }
        | Access::Socket(_)
        | Access::CallTool { .. }
        | Access::Delegate { .. }
        | Access::Repetition { .. }
        | Access::ExternalDirectory(_)
        | Access::Opaque { .. } => None,
    }
}

fn is_place(path: &AbsPath) -> bool {
    // A path below a temporary directory is temporary.
    is_temporary(&path.join("x")) && Path::new(path.as_str()).is_dir()
}

fn granted(decision: &Decision) -> impl Iterator<Item = &Access> {
    decision.parts.iter().filter(|part| part.decision != Effect::Deny).map(|part| &part.access)
}

fn named(access: &PathAccess) -> Option<AbsPath> {
    (!access.is_pattern).then(|| access.resolved.clone().unwrap_or_else(|| access.path.clone()))
}
