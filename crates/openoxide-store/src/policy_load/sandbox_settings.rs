//! The merged sandbox settings of all files.

use openoxide_permission::LayerKind;
use openoxide_protocol::AbsPath;

use crate::{
    policy_file::SandboxSettings, resolved_directory::ResolvedDirectory, trust_store::relative_name,
};

/// The sandbox settings of one file.
pub(super) struct LayerSandboxSettings {
    /// The layer of the file.
    pub(super) kind: LayerKind,
    /// The path of the file.
    pub(super) file: String,
    /// The settings.
    pub(super) settings: SandboxSettings,
}

impl LayerSandboxSettings {
    /// Returns the settings that require trust, one line each.
    pub(super) fn describe_loosening(
        &self,
        checkouts: &[&AbsPath],
    ) -> impl Iterator<Item = String> {
        let file = relative_name(&self.file, checkouts);
        self.settings.describe_loosening().map(move |what| format!("{file}: {what}"))
    }

    /// Removes the permissive settings.
    pub(super) fn drop_loosening(&mut self) {
        self.settings = std::mem::take(&mut self.settings).into_restrictions();
    }
}

/// Merges the settings: the strictest of the restrictive ones, and all permissive ones that were
/// not dropped.
pub(super) fn merge_settings(
    said: impl Iterator<Item = LayerSandboxSettings>,
    writable: &[ResolvedDirectory],
) -> SandboxSettings {
    let settings =
        said.map(|said| said.settings).fold(SandboxSettings::default(), SandboxSettings::merge);
    let counts = writable.iter().flat_map(ResolvedDirectory::active_path).cloned();
    SandboxSettings { writable: counts.collect(), ..settings }
}
