//! The comparison of two versions of a configuration file: the changes that could make `git` run
//! something, that remove a protection, or that change what later commands send, contact or delete.

use std::{collections::BTreeSet, path::Path};

use openoxide_protocol::git_settings::{GitSettingEffect, git_setting_effect};

use crate::protected_paths::git_config::{
    GitSetting, parse_settings, setting_changes::ConfigContext,
};

/// The maximum number of settings in both versions together. Each is compared with all others.
const MAX_SETTINGS: usize = 4096;

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
    if before.len() + after.len() > MAX_SETTINGS {
        return None;
    }
    let harmless = harmless_names(&context, &before, &after);
    before.retain(|one| !harmless.contains(&one.display_name()));
    after.retain(|one| !harmless.contains(&one.display_name()));
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

/// Returns the names of the settings whose values in both versions are harmless. A setting that changes
/// the reach of commands may only be added, or removed with its branch: git uses the last value, and
/// another value can have been a protection.
fn harmless_names(
    context: &ConfigContext<'_>,
    before: &[GitSetting],
    after: &[GitSetting],
) -> BTreeSet<String> {
    let names = |version: &[GitSetting]| -> BTreeSet<String> {
        version.iter().map(GitSetting::display_name).collect()
    };
    let (old, new) = (names(before), names(after));
    let is_harmless = |one: &GitSetting| {
        let name = one.display_name();
        let is_local = git_setting_effect(&one.name()) == Some(GitSettingEffect::Local);
        let is_removed_branch = one.section == "branch" && !new.contains(&name);
        let may_change = is_local || !old.contains(&name) || is_removed_branch;
        may_change && context.is_harmless_change(one)
    };
    let settings = || before.iter().chain(after);
    let risky = settings().filter(|one| !is_harmless(one)).map(GitSetting::display_name);
    let risky: BTreeSet<_> = risky.collect();
    settings().map(GitSetting::display_name).filter(|name| !risky.contains(name)).collect()
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
