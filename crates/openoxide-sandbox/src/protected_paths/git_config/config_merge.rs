//! The merge of a program's changes of a configuration file into the current file of the host.
//!
//! Only files with one setting per line are merged, which is how `git` writes them. The result is
//! parsed again, and is used only if it contains exactly the intended settings.

use std::{collections::BTreeSet, path::Path};

use crate::protected_paths::git_config::{
    GitSetting, config_changes::parse_strictly, parse_settings, setting_changes::ConfigContext,
};

/// The section and the subsection of a setting.
type SectionName = (String, Option<String>);

/// The changes of a program, merged into the current file of the host.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MergedConfig {
    /// The current file with the harmless changes.
    pub(crate) harmless: Vec<u8>,
    /// The current file with all changes.
    pub(crate) all: Vec<u8>,
    /// The names of harmless settings that both have changed. The host's values stay.
    pub(crate) conflicts: BTreeSet<String>,
}

/// Merges the changes between two versions of a file into the current file. Returns `None` if one of
/// the files is not understood.
pub(crate) fn merge_changes(
    before: &[u8],
    after: &[u8],
    now: &[u8],
    file: &Path,
) -> Option<MergedConfig> {
    let current = now;
    let (before, after, now) =
        (ConfigLines::parse(before)?, ConfigLines::parse(after)?, ConfigLines::parse(now)?);
    let mut changed = Vec::new();
    for setting in before.settings().chain(after.settings()) {
        let is_new = !changed.iter().any(|one: &&GitSetting| one.has_same_name(setting));
        if is_new && before.values(setting) != after.values(setting) {
            changed.push(setting);
        }
    }
    let existing: Vec<_> = before.settings().chain(now.settings()).cloned().collect();
    let context = ConfigContext::new(file, &existing);
    let is_harmless = |setting: &&&GitSetting| {
        let all = [&before, &after, &now];
        let mut same = all.into_iter().flat_map(|one| one.named_like(setting));
        same.all(|one| context.is_harmless_change(one))
    };
    let is_conflict = |setting: &&&GitSetting| {
        let values = now.values(setting);
        values != before.values(setting) && values != after.values(setting)
    };
    let harmless: Vec<_> = changed.iter().filter(is_harmless).copied().collect();
    let (conflicts, harmless): (Vec<&GitSetting>, Vec<&GitSetting>) =
        harmless.into_iter().partition(|setting| is_conflict(&setting));
    // A file without settings that are not harmless may be damaged. A person sees all changes then.
    let removes =
        |setting: &&GitSetting| after.values(setting).is_empty() && !is_harmless(&setting);
    let is_applied = !harmless.is_empty() && !changed.iter().any(removes);
    Some(MergedConfig {
        harmless: match is_applied {
            true => now.with_changes(&after, &harmless)?,
            false => current.to_vec(),
        },
        all: now.with_changes(&after, &changed)?,
        conflicts: conflicts.into_iter().map(GitSetting::display_name).collect(),
    })
}

/// A line of a configuration file.
struct ConfigLine<'a> {
    text: &'a str,
    section: Option<SectionName>,
    setting: Option<GitSetting>,
}

/// A configuration file with one setting per line.
struct ConfigLines<'a>(Vec<ConfigLine<'a>>);

impl<'a> ConfigLines<'a> {
    /// Parses a file. Returns `None` if a setting needs more than one line, or shares its line.
    fn parse(text: &'a [u8]) -> Option<Self> {
        let all = parse_strictly(text)?;
        let (mut lines, mut section) = (Vec::new(), None);
        for line in str::from_utf8(text).ok()?.lines() {
            let mut setting = None;
            match line.trim_start().chars().next() {
                None | Some('#' | ';') => {}
                Some('[') => section = Some(parse_header(line)?),
                Some(_) => {
                    let (name, subsection) = section.clone()?;
                    let one = parse_single_setting(&format!("[x]\n{line}"))?;
                    setting = Some(GitSetting { section: name, subsection, ..one });
                }
            }
            lines.push(ConfigLine { text: line, section: section.clone(), setting });
        }
        let lines = Self(lines);
        lines.settings().eq(all.iter()).then_some(lines)
    }

    fn settings(&self) -> impl Iterator<Item = &GitSetting> {
        self.0.iter().filter_map(|line| line.setting.as_ref())
    }

    fn named_like(&self, setting: &GitSetting) -> impl Iterator<Item = &GitSetting> {
        self.settings().filter(move |one| one.has_same_name(setting))
    }

    fn values(&self, setting: &GitSetting) -> Vec<&str> {
        self.named_like(setting).map(|one| one.value.as_str()).collect()
    }

    /// Returns this file with the values that these settings have in another one.
    fn with_changes(&self, other: &Self, changed: &[&GitSetting]) -> Option<Vec<u8>> {
        let is_changed =
            |setting: &GitSetting| changed.iter().any(|one| one.has_same_name(setting));
        let kept = self.0.iter().filter(|line| !line.setting.as_ref().is_some_and(is_changed));
        let mut lines: Vec<_> = kept.map(|line| (line.section.clone(), line.text)).collect();
        for line in &other.0 {
            if line.setting.as_ref().is_some_and(is_changed) {
                let header = other.0.iter().find(|one| one.section == line.section)?;
                insert_line(&mut lines, line, header.text);
            }
        }
        let mut text: String = lines.iter().flat_map(|(_, text)| [text, "\n"]).collect();
        if lines.is_empty() {
            text.clear();
        }
        let intended = self.settings().filter(|one| !is_changed(one));
        let found = parse_strictly(text.as_bytes())?;
        let is_intended = intended.eq(found.iter().filter(|one| !is_changed(one)))
            && changed.iter().all(|one| {
                let values = found.iter().filter(|other| other.has_same_name(one));
                values.map(|other| other.value.as_str()).eq(other.values(one))
            });
        is_intended.then(|| text.into_bytes())
    }
}

/// Inserts a line at the end of its section, which is created if it does not exist.
fn insert_line<'a>(
    lines: &mut Vec<(Option<SectionName>, &'a str)>,
    line: &ConfigLine<'a>,
    header: &'a str,
) {
    let last = lines.iter().rposition(|(section, _)| *section == line.section);
    let at = last.map_or_else(
        || {
            lines.push((line.section.clone(), header));
            lines.len()
        },
        |last| last + 1,
    );
    lines.insert(at, (line.section.clone(), line.text));
}

/// Parses a line that contains only the header of a section.
fn parse_header(line: &str) -> Option<SectionName> {
    let one = parse_single_setting(&format!("{line}\nx = y"))?;
    (one.key == "x").then_some((one.section, one.subsection))
}

fn parse_single_setting(text: &str) -> Option<GitSetting> {
    let mut all = parse_settings(text)?.into_iter();
    all.next().filter(|_| all.next().is_none())
}

impl GitSetting {
    fn has_same_name(&self, other: &Self) -> bool {
        self.section == other.section
            && self.subsection == other.subsection
            && self.key == other.key
    }
}

#[cfg(test)]
mod tests;
