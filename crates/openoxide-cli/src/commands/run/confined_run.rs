//! Running permitted commands in the sandbox.

mod live_changes;
mod port_requests;
mod remedy_hint;
mod run_context;
mod run_host;
mod sandbox_settings;

use std::collections::BTreeSet;

use openoxide_engine::{Engine, discarded_temporary_paths, private_new_files};
use openoxide_protocol::{AbsPath, Decision, SandboxRestrictions};
use openoxide_tui::{LineMode, escape_text};

pub(super) use run_context::{RunContext, requested_confinement};
pub(super) use sandbox_settings::build_environment;
pub(crate) use sandbox_settings::render_text;

/// Returns notes about files that the decision creates by name and that will not exist after the
/// run, or only in the sandbox.
pub(super) fn lost_files_notes(
    decision: &Decision,
    profile: &SandboxRestrictions,
    engine: &Engine,
) -> Vec<String> {
    let temporary =
        name_list(&discarded_temporary_paths(decision, profile, engine.roots(), engine.home()));
    let private = name_list(&private_new_files(decision, profile, engine.home()));
    let temporary = temporary.map(|names| {
        format!(
            "`/tmp` and `/var/tmp` are private to this run: {names} will not exist after it ends. \
             To keep a result, create the file first, or write it inside the project"
        )
    });
    let private = private.map(|names| {
        format!(
            "caches and settings of tools are private to the sandbox: {names} will not exist \
             outside of it. `writable` in `[sandbox]` of your policy shares a directory"
        )
    });
    temporary.into_iter().chain(private).collect()
}

/// Returns the paths as one text, without those below another one.
fn name_list(paths: &BTreeSet<AbsPath>) -> Option<String> {
    let is_outermost = |path: &&AbsPath| {
        !paths.iter().any(|other| other != *path && path.strip_prefix(other).is_some())
    };
    let names: Vec<_> = paths
        .iter()
        .filter(is_outermost)
        .map(|path| format!("`{}`", escape_text(path.as_str(), LineMode::SingleLine)))
        .collect();
    (!names.is_empty()).then(|| names.join(", "))
}
