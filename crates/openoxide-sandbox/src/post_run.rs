//! What a person is told after a run, when all that must not be run yet was put aside.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use openoxide_protocol::SandboxRestrictions;

use crate::{
    PostRunFinding, ProtectedPaths,
    protected_paths::{TemporaryPermissions, to_display_path, unsearched_finding},
    quarantine::{self, quarantine_path},
    steering_scan,
};

/// How many things of one kind are named. A person who is shown more reads none of them.
const MAX_NAMED_FINDINGS: usize = 100;

/// Puts aside what the next `git` of the host would run and was not there before, however much it is, and says so. What
/// could not be put aside is said to be where it is. Directories that were closed are opened meanwhile.
#[must_use]
pub fn quarantine_new_files(
    guarded: &ProtectedPaths,
    profile: &SandboxRestrictions,
) -> Vec<PostRunFinding> {
    let opened = TemporaryPermissions::default();
    let armed = steering_scan::find_new_steering_files(guarded, profile, &opened);
    let hooks = armed.hooks.iter();
    let hooks =
        hooks.filter_map(|path| repository_hook_finding(path, quarantine_or_lock(path).as_deref()));
    let hooks = hooks.collect();
    let steering = armed.steering_files.iter().filter_map(|path| {
        let held = quarantine_or_lock(path);
        Some(PostRunFinding::SteeringFile {
            path: to_display_path(path)?,
            quarantined: held.as_deref().and_then(to_display_path),
        })
    });
    let steering = steering.collect();
    let unsearched =
        armed.unsearched_directories.iter().filter(|path| !guarded.is_known_unsearched(path));
    let unsearched = unsearched.filter_map(|path| quarantine_directory(path)).collect();
    [hooks, steering, unsearched].into_iter().flat_map(limit_findings).collect()
}

/// Puts something aside. What has to keep its name loses its permissions.
fn quarantine_or_lock(path: &Path) -> Option<PathBuf> {
    let held = quarantine_path(path).ok();
    if held.is_none() {
        quarantine::remove_permissions(path);
    }
    held
}

/// Returns a finding about what `git` would run, if the path can be said.
pub(crate) fn repository_hook_finding(path: &Path, held: Option<&Path>) -> Option<PostRunFinding> {
    Some(PostRunFinding::RepositoryHook {
        path: to_display_path(path)?,
        quarantined: held.and_then(to_display_path),
    })
}

/// Puts a directory aside that could not be searched, and closes it: what is in it may be anything. A writable root has to
/// stay.
fn quarantine_directory(path: &Path) -> Option<PostRunFinding> {
    let held = quarantine_path(path).ok();
    if let Some(held) = &held {
        // Where it cannot be closed, it has another name all the same.
        drop(fs::set_permissions(held, fs::Permissions::from_mode(0o0)));
    }
    match held.as_deref().and_then(to_display_path) {
        Some(held) => Some(PostRunFinding::SteeringFile {
            path: to_display_path(path)?,
            quarantined: Some(held),
        }),
        None => unsearched_finding(path),
    }
}

/// Names all that is still where it was, and after that the first of the others, and says how many more there are.
pub(crate) fn limit_findings(mut all: Vec<PostRunFinding>) -> Vec<PostRunFinding> {
    all.sort_by_key(|one| !one.is_not_quarantined());
    let in_place = all.iter().filter(|one| one.is_not_quarantined()).count();
    let shown = MAX_NAMED_FINDINGS.max(in_place);
    let more = all.len().saturating_sub(shown);
    all.truncate(shown);
    all.extend((more > 0).then_some(PostRunFinding::Omitted { count: more }));
    all
}

impl PostRunFinding {
    /// Says whether it is something that could not be put aside.
    pub(crate) const fn is_not_quarantined(&self) -> bool {
        matches!(
            self,
            Self::RepositoryHook { quarantined: None, .. }
                | Self::SteeringFile { quarantined: None, .. }
        )
    }
}
