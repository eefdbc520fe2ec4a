//! The comparison of two versions of a configuration file: the changes that could make `git` run
//! something or that remove a protection.

use std::{collections::BTreeSet, path::Path};

use crate::protected_paths::git_config::{GitSetting, parse_settings};

/// Settings that are harmless in a new repository. In an existing one, a change of their value or
/// their removal can end a protection (git-config(1)): `core.fsmonitor=false` overrides a command of
/// the user's configuration, and the others are checks of names, objects and other users.
const PROTECTIVE_SETTINGS: &[&str] = &[
    "core.fsmonitor",
    "core.protecthfs",
    "core.protectntfs",
    "core.sharedrepository",
    "receive.denynonfastforwards",
    "transfer.fsckobjects",
];

/// Returns the names of the settings that differ between two versions of a configuration file, apart
/// from settings that are known to make `git` run nothing. `directory` is the git directory in which
/// the file is read.
///
/// Returns `None` if one of the versions is not understood.
pub(crate) fn find_risky_changes(
    before: &[u8],
    after: &[u8],
    directory: &Path,
) -> Option<BTreeSet<String>> {
    let is_risky = |one: &GitSetting| !is_harmless_change(one, directory);
    let mut before: Vec<_> = parse_strictly(before)?.into_iter().filter(is_risky).collect();
    let mut after: Vec<_> = parse_strictly(after)?.into_iter().filter(is_risky).collect();
    if before == after {
        return Some(BTreeSet::new());
    }
    // The order of the settings matters too: the last value counts.
    let common = before.iter().zip(&after).take_while(|(old, new)| old == new).count();
    before.drain(..common);
    after.drain(..common);
    Some(before.iter().chain(&after).map(GitSetting::display_name).collect())
}

/// Returns whether a setting may be added, changed and removed.
pub(super) fn is_harmless_change(setting: &GitSetting, directory: &Path) -> bool {
    setting.is_harmless(directory) && !PROTECTIVE_SETTINGS.contains(&setting.name().as_str())
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
