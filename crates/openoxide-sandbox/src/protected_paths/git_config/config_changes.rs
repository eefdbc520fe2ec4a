//! The comparison of two versions of a configuration file: the changes that could make `git` run
//! something, that remove a protection, or that change what later commands send, contact or delete.

use std::{collections::BTreeSet, path::Path};

use openoxide_protocol::git_settings::{GitSettingEffect, git_setting_effect};

use crate::protected_paths::git_config::{
    GitSetting, parse_settings, setting_changes::ConfigContext,
};

/// Returns the names of the settings that differ between two versions of a configuration file, apart
/// from harmless changes. `file` is the path of the file.
///
/// Returns `None` if one of the versions is not understood.
pub(crate) fn find_risky_changes(
    before: &[u8],
    after: &[u8],
    file: &Path,
) -> Option<BTreeSet<String>> {
    let (mut before, mut after) = (parse_strictly(before)?, parse_strictly(after)?);
    let context = ConfigContext::new(file, &before);
    let versions = (before.clone(), after.clone());
    let is_risky = |one: &GitSetting| !is_harmless_in_both(&context, &versions, one);
    before.retain(is_risky);
    after.retain(is_risky);
    if before == after {
        return Some(BTreeSet::new());
    }
    // The order of the settings matters too: the last value counts.
    let common = before.iter().zip(&after).take_while(|(old, new)| old == new).count();
    before.drain(..common);
    after.drain(..common);
    let common = before.iter().rev().zip(after.iter().rev()).take_while(|(old, new)| old == new);
    let common = common.count();
    before.truncate(before.len() - common);
    after.truncate(after.len() - common);
    Some(before.iter().chain(&after).map(GitSetting::display_name).collect())
}

/// Returns whether the values of a setting in both versions are harmless. A setting that changes the
/// reach of commands may only be added, or removed with its branch: git uses the last value, and
/// another value can have been a protection.
fn is_harmless_in_both(
    context: &ConfigContext<'_>,
    (before, after): &(Vec<GitSetting>, Vec<GitSetting>),
    setting: &GitSetting,
) -> bool {
    let name = setting.display_name();
    let values = |version: &[GitSetting]| -> Vec<GitSetting> {
        version.iter().filter(|one| one.display_name() == name).cloned().collect()
    };
    let (old, new) = (values(before), values(after));
    let is_local = git_setting_effect(&setting.name()) == Some(GitSettingEffect::Local);
    let is_removed_branch = new.is_empty() && setting.section == "branch";
    old.iter().chain(&new).all(|one| context.is_harmless_change(one))
        && (is_local || old.is_empty() || is_removed_branch)
}

/// Returns whether a file may be created with these settings.
pub(crate) fn are_harmless_additions(file: &Path, settings: &[GitSetting]) -> bool {
    let context = ConfigContext::new(file, &[]);
    settings.iter().all(|one| context.is_harmless_change(one))
}

/// Parses a text that contains nothing that versions of `git` and other programs read in different
/// ways: other encodings than UTF-8, a byte order mark, carriage returns and other control characters.
pub(super) fn parse_strictly(text: &[u8]) -> Option<Vec<GitSetting>> {
    let text = str::from_utf8(text).ok()?;
    let is_odd = |character: char| match character {
        '\n' | '\t' | ' ' => false,
        '\u{feff}' => true,
        _ => character.is_control() || character.is_whitespace(),
    };
    if text.contains(is_odd) { None } else { parse_settings(text) }
}

impl GitSetting {
    /// Returns the name of the setting as `git config` accepts it.
    pub(super) fn display_name(&self) -> String {
        let Self { section, subsection, key, .. } = self;
        match subsection {
            Some(subsection) => format!("{section}.{subsection}.{key}"),
            None => format!("{section}.{key}"),
        }
    }
}

#[cfg(test)]
mod tests;
