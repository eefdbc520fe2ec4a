//! What a person is told after a run, when all that must not be run yet was put aside.

use std::path::Path;

use openoxide_protocol::Confined;

use crate::{
    Found, Guarded,
    protect::{Opened, said, unsearched_at},
    quarantine::put_aside,
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
    let mut hooks = Vec::new();
    for path in &armed.hooks {
        let held = put_aside(path).ok();
        hooks.extend(hook(path, held.as_deref()));
    }
    let settings = armed.settings.iter().filter_map(|path| said(path));
    let settings = settings.map(|path| Found::AgentSettings { path }).collect();
    let unsearched = armed.unsearched.iter().filter_map(|path| unsearched_at(path)).collect();
    [hooks, settings, unsearched].into_iter().flat_map(named).collect()
}

fn hook(path: &Path, held: Option<&Path>) -> Option<Found> {
    Some(Found::RepositoryHook { path: said(path)?, held: held.and_then(said) })
}

/// Names the first of them, what is still where it was before the others, and says how many more there are.
pub(crate) fn named(mut all: Vec<Found>) -> Vec<Found> {
    all.sort_by_key(|one| !matches!(one, Found::RepositoryHook { held: None, .. }));
    let more = all.len().saturating_sub(NAMED);
    all.truncate(NAMED);
    all.extend((more > 0).then_some(Found::More { count: more }));
    all
}
