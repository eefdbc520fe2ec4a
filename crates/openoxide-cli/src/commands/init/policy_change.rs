//! The preset in the user's policy file.

use super::{
    preset::{AppliedPreset, ChosenPreset, apply_preset, has_preset_settings, remove_preset},
    settings_change::SettingsChange,
};
use crate::{
    args::{GlobalArgs, PresetName},
    commands::rules::EditTarget,
    error::{CliError, file_error::FileError},
    program_exit::ProgramExit,
    user_messages,
};

/// A change of the user's policy file that may not have been made yet. The file is locked.
pub(super) struct PolicyChange {
    change: SettingsChange,
    preset: Option<PresetName>,
    kept: Vec<String>,
    _target: EditTarget,
}

impl PolicyChange {
    /// Prepares the settings of a preset. The inner error is the exit code after the problems of
    /// the policy were printed.
    ///
    /// # Errors
    ///
    /// If the policy cannot be read or changed.
    pub(super) fn from_preset(
        chosen: ChosenPreset,
        global: GlobalArgs,
    ) -> Result<Result<Self, ProgramExit>, CliError> {
        let target = EditTarget::open_user_policy()?;
        let path = &target.source.path;
        if let Err(exit) = target.check_text(&target.text, global) {
            return Ok(Err(exit));
        }
        let AppliedPreset { text, kept } =
            apply_preset(&target.text, chosen.preset, chosen.is_explicit)
                .map_err(|error| FileError::new(path, error))?;
        if let Err(exit) = target.check_text(&text, global) {
            return Ok(Err(exit));
        }
        let preset = Some(chosen.preset);
        let change = SettingsChange::new(path.clone(), target.text.clone(), text);
        Ok(Ok(Self { change, preset, kept, _target: target }))
    }

    /// Prepares the removal of the settings of a preset. Returns `None` if the policy has none.
    ///
    /// # Errors
    ///
    /// If the policy cannot be read or changed.
    pub(super) fn undo_preset() -> Result<Option<Self>, CliError> {
        let target = EditTarget::open_user_policy()?;
        let path = &target.source.path;
        let text = remove_preset(&target.text).map_err(|error| FileError::new(path, error))?;
        let change = SettingsChange::new(path.clone(), target.text.clone(), text);
        let (preset, kept) = (None, Vec::new());
        Ok(change.is_change().then_some(Self { change, preset, kept, _target: target }))
    }

    /// Returns the change as a unified diff.
    pub(super) fn to_diff(&self) -> String {
        self.change.to_diff()
    }

    /// Writes the policy, and prints what has changed.
    ///
    /// # Errors
    ///
    /// If the operating system refuses.
    pub(super) fn apply(&self) -> Result<(), FileError> {
        self.change.apply()?;
        let path = self.change.display_path();
        let Some(preset) = self.preset else {
            user_messages::print_line(&format!("openoxide: preset removed from {path}"));
            return Ok(());
        };
        let (name, questions) = (preset.as_str(), preset.questions());
        user_messages::print_line(&format!("openoxide: preset {name}: asks about {questions}"));
        if self.change.is_change() {
            user_messages::print_line(&format!("openoxide: settings written to {path}"));
        }
        for kept in &self.kept {
            user_messages::print_note(&format!(
                "{path} keeps `{kept}`; `openoxide init --preset {name}` replaces it"
            ));
        }
        Ok(())
    }
}

/// Returns whether the user's policy has a setting that presets set. A policy that cannot be read
/// is not changed.
pub(super) fn policy_has_preset_settings() -> bool {
    EditTarget::open_user_policy().map_or(true, |target| has_preset_settings(&target.text))
}
