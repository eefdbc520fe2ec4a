//! What a person is told after a run, when all that must not be run yet was put aside.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use openoxide_protocol::Confined;

use crate::{
    Found, Guarded,
    protect::{Opened, said, unsearched_at},
    quarantine::{self, put_aside},
    scan,
};

/// How many things of one kind are named. A person who is shown more reads none of them.
const NAMED: usize = 100;

/// Puts aside what the next `git` of the host would run and was not there before, however much it is, and says so. What
/// could not be put aside is said to be where it is. Directories that were closed are opened meanwhile.
#[must_use]
pub fn found_and_put_aside(guarded: &Guarded, profile: &Confined) -> Vec<Found> {
    let opened = Opened::default();
    let armed = scan::armed(guarded, profile, &opened);
    let hooks = armed.hooks.iter();
    let hooks = hooks.filter_map(|path| git_found(path, put_aside_or_close(path).as_deref()));
    let hooks = hooks.collect();
    let steering = armed.steering.iter().filter_map(|path| {
        let held = put_aside_or_close(path);
        Some(Found::SteeringFile { path: said(path)?, held: held.as_deref().and_then(said) })
    });
    let steering = steering.collect();
    let unsearched = armed.unsearched.iter().filter(|path| !guarded.was_unsearched(path));
    let unsearched = unsearched.filter_map(|path| close(path)).collect();
    [hooks, steering, unsearched].into_iter().flat_map(named).collect()
}

/// Puts something aside. What has to keep its name loses its permissions.
fn put_aside_or_close(path: &Path) -> Option<PathBuf> {
    let held = put_aside(path).ok();
    if held.is_none() {
        quarantine::close(path);
    }
    held
}

/// Returns a finding about what `git` would run, if the path can be said.
pub(crate) fn git_found(path: &Path, held: Option<&Path>) -> Option<Found> {
    Some(Found::RepositoryHook { path: said(path)?, held: held.and_then(said) })
}

/// Puts a directory aside that could not be searched, and closes it: what is in it may be anything. A writable root has to
/// stay.
fn close(path: &Path) -> Option<Found> {
    let held = put_aside(path).ok();
    if let Some(held) = &held {
        // Where it cannot be closed, it has another name all the same.
        drop(fs::set_permissions(held, fs::Permissions::from_mode(0o0)));
    }
    match held.as_deref().and_then(said) {
        Some(held) => Some(Found::SteeringFile { path: said(path)?, held: Some(held) }),
        None => unsearched_at(path),
    }
}

/// Names all that is still where it was, and after that the first of the others, and says how many more there are.
pub(crate) fn named(mut all: Vec<Found>) -> Vec<Found> {
    all.sort_by_key(|one| !one.is_in_place());
    let in_place = all.iter().filter(|one| one.is_in_place()).count();
    let shown = NAMED.max(in_place);
    let more = all.len().saturating_sub(shown);
    all.truncate(shown);
    all.extend((more > 0).then_some(Found::More { count: more }));
    all
}

impl Found {
    /// Says whether it is something that could not be put aside.
    pub(crate) const fn is_in_place(&self) -> bool {
        matches!(
            self,
            Self::RepositoryHook { held: None, .. } | Self::SteeringFile { held: None, .. }
        )
    }
}
