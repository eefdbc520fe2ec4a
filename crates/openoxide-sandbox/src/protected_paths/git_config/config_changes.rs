//! The comparison of two versions of a configuration file: the changes that could make `git` run
//! something, that remove a protection, or that change what later commands send, contact or delete.

use std::{collections::BTreeSet, path::Path};

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
    before.retain(|one| !context.is_harmless_change(one));
    after.retain(|one| !context.is_harmless_change(one));
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
