//! Running permitted commands in the sandbox.

mod live_changes;
mod remedy_hint;
mod run_context;
mod run_host;
mod sandbox_settings;

use openoxide_engine::discarded_temporary_paths;
use openoxide_protocol::{AbsPath, Decision};
use openoxide_tui::{LineMode, escape_text};

pub(super) use run_context::{RunContext, requested_confinement};
pub(super) use sandbox_settings::build_environment;
pub(crate) use sandbox_settings::render_text;

/// Returns a note about files that the decision names below a temporary directory and that do not
/// exist yet. They are lost after the run.
pub(super) fn lost(decision: &Decision, roots: &[AbsPath]) -> Option<String> {
    let all = discarded_temporary_paths(decision, roots);
    let names: Vec<_> = all
        .iter()
        .map(|path| format!("`{}`", escape_text(path.as_str(), LineMode::SingleLine)))
        .collect();
    (!names.is_empty()).then(|| {
        format!(
            "`/tmp` and `/var/tmp` are private to this run: {} will not exist after it ends. To \
             keep a result, create the file first, or write it inside the project",
            names.join(", ")
        )
    })
}
