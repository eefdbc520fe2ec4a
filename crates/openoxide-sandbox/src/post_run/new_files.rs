//! Findings after a run, after everything that must not run yet was quarantined.

use std::{
    fs,
    io::ErrorKind,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use openoxide_protocol::SandboxRestrictions;

use crate::{
    interface::PostRunFinding,
    post_run::{
        quarantine::{self, quarantine_path},
        steering_scan,
    },
    protected_paths::{ProtectedPaths, TemporaryPermissions, to_display_path, unsearched_finding},
};

/// The maximum number of findings of one kind that are listed. A person would not read a longer
/// list.
const MAX_NAMED_FINDINGS: usize = 100;

/// Quarantines the new files that the next `git` of the host would run and new steering files,
/// however many there are, and returns the findings. A file that could not be quarantined is
/// reported at its path. Directories that deny access are made accessible in the meantime.
#[must_use]
pub(crate) fn quarantine_new_files(
    guarded: &ProtectedPaths,
    profile: &SandboxRestrictions,
) -> Vec<PostRunFinding> {
    let opened = TemporaryPermissions::default();
    let armed = steering_scan::find_new_steering_files(guarded, profile, &opened);
    let hooks = armed.hooks.iter().filter_map(|path| match quarantine_or_lock(path) {
        QuarantineResult::Gone => None,
        QuarantineResult::Held(held) => repository_hook_finding(path, Some(&held)),
        QuarantineResult::Failed => repository_hook_finding(path, None),
    });
    let hooks = hooks.collect();
    let steering = armed.steering_files.iter().filter_map(|path| {
        let quarantined = match quarantine_or_lock(path) {
            QuarantineResult::Gone => return None,
            QuarantineResult::Held(held) => to_display_path(&held),
            QuarantineResult::Failed => None,
        };
        Some(PostRunFinding::SteeringFile { path: to_display_path(path)?, quarantined })
    });
    let steering = steering.collect();
    let unsearched =
        armed.unsearched_directories.iter().filter(|path| !guarded.is_known_unsearched(path));
    let unsearched = unsearched.filter_map(|path| quarantine_directory(path)).collect();
    [hooks, steering, unsearched].into_iter().flat_map(limit_findings).collect()
}

/// The result of putting a file into quarantine.
enum QuarantineResult {
    /// The file has this name now.
    Held(PathBuf),
    /// The file has its old name.
    Failed,
    /// There is no such file any more: a directory above it is in quarantine.
    Gone,
}

/// Quarantines a file. A file that cannot be renamed loses its permissions.
fn quarantine_or_lock(path: &Path) -> QuarantineResult {
    match quarantine_path(path) {
        Ok(held) => QuarantineResult::Held(held),
        Err(error) if error.kind() == ErrorKind::NotFound => QuarantineResult::Gone,
        Err(_) => {
            quarantine::remove_permissions(path);
            QuarantineResult::Failed
        }
    }
}

/// Returns a finding about a file that `git` would run, if the path can be displayed.
pub(crate) fn repository_hook_finding(path: &Path, held: Option<&Path>) -> Option<PostRunFinding> {
    Some(PostRunFinding::RepositoryHook {
        path: to_display_path(path)?,
        quarantined: held.and_then(to_display_path),
    })
}

/// Quarantines a directory that could not be searched, and removes its permissions, because it may
/// contain anything. A writable root stays in place.
fn quarantine_directory(path: &Path) -> Option<PostRunFinding> {
    let held = quarantine_path(path).ok();
    if let Some(held) = &held {
        // The directory has another name in quarantine, even if its permissions cannot be removed.
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

/// Limits the findings: keeps all files that are still in place, then the first of the others, and
/// adds the number of omitted ones.
pub(crate) fn limit_findings(mut all: Vec<PostRunFinding>) -> Vec<PostRunFinding> {
    all.sort_by_key(|one| !one.is_always_named());
    let in_place = all.iter().filter(|one| one.is_always_named()).count();
    let shown = MAX_NAMED_FINDINGS.max(in_place);
    let more = all.len().saturating_sub(shown);
    all.truncate(shown);
    all.extend((more > 0).then_some(PostRunFinding::Omitted { count: more }));
    all
}

impl PostRunFinding {
    /// Returns whether the finding is always listed: the end of the run, and each file that could
    /// not be quarantined.
    pub(crate) const fn is_always_named(&self) -> bool {
        matches!(
            self,
            Self::RunEnded { .. }
                | Self::RepositoryHook { quarantined: None, .. }
                | Self::SteeringFile { quarantined: None, .. }
        )
    }
}
