//! What all files together say of the sandbox, and what of it counts.

use openoxide_permission::LayerKind;
use openoxide_protocol::AbsPath;

use super::Additional;
use crate::{policy_file::SandboxSettings, trust::name_in};

/// What one file says.
pub(super) struct Said {
    /// The layer of the file.
    pub(super) kind: LayerKind,
    /// The file.
    pub(super) file: String,
    /// What it says.
    pub(super) settings: SandboxSettings,
}

impl Said {
    /// Returns what of it a person has to vouch for, a line each.
    pub(super) fn loosening(&self, checkouts: &[&AbsPath]) -> impl Iterator<Item = String> {
        let file = name_in(&self.file, checkouts);
        self.settings.loosening().map(move |what| format!("{file}: {what}"))
    }

    /// Leaves out what loosens.
    pub(super) fn tighten(&mut self) {
        self.settings = std::mem::take(&mut self.settings).tightened();
    }
}

/// Returns what counts: of what tightens the strictest, of what loosens all that was not left out.
pub(super) fn together(
    said: impl Iterator<Item = Said>,
    writable: &[Additional],
) -> SandboxSettings {
    let settings =
        said.map(|said| said.settings).fold(SandboxSettings::default(), SandboxSettings::with);
    let counts = writable.iter().flat_map(Additional::counting).cloned();
    SandboxSettings { writable: counts.collect(), ..settings }
}
