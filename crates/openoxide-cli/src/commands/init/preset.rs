//! Presets: what a person is asked about, as settings of the policy.

use openoxide_store::policy_edit::{
    PolicyEditError, PolicySetting, SettingKey, read_setting, with_setting, without_setting,
};

use crate::args::PresetName;

/// The settings of a preset.
const KEYS: [SettingKey; 2] = [
    SettingKey { table: None, name: "mode" },
    SettingKey { table: Some("sandbox"), name: "auto_allow" },
];
/// The start of the comment above a setting that a preset has written.
const COMMENT_START: &str = "# openoxide init --preset ";
/// The part of the comment that precedes the value that the preset has replaced.
const BEFORE: &str = " (before: ";

/// A preset that the person has chosen.
#[derive(Clone, Copy)]
pub(super) struct ChosenPreset {
    pub(super) preset: PresetName,
    /// True if it is an argument. It then replaces other values of the policy.
    pub(super) is_explicit: bool,
}

/// Settings of a policy after a preset was applied.
#[derive(Debug)]
pub(super) struct AppliedPreset {
    /// The text of the policy.
    pub(super) text: String,
    /// The settings that the policy keeps although the preset has other values, as text.
    pub(super) kept: Vec<String>,
}

impl PresetName {
    /// All presets, those that ask most first.
    pub(super) const ALL: [Self; 3] = [Self::Careful, Self::Balanced, Self::HandsOff];

    /// Returns the name.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Careful => "careful",
            Self::Balanced => "balanced",
            Self::HandsOff => "hands-off",
        }
    }

    /// Returns what a person is asked about.
    pub(super) const fn questions(self) -> &'static str {
        match self {
            Self::Careful => {
                "each command and edit that no rule allows and that is not known to be harmless"
            }
            Self::Balanced => {
                "packages, hosts, secrets, and what cannot be undone or leaves the project"
            }
            Self::HandsOff => {
                "named hosts, secrets, files that configure tools, and changes outside the project"
            }
        }
    }

    /// Returns the values of the settings.
    const fn values(self) -> [&'static str; 2] {
        match self {
            Self::Careful => ["default", "off"],
            Self::Balanced => ["accept_edits", "project"],
            Self::HandsOff => ["accept_edits", "all"],
        }
    }
}

/// Returns what a value means, for the comment above it.
const fn describe_value(value: &str) -> &'static str {
    match value.as_bytes() {
        b"accept_edits" => "edits of project files need no approval",
        b"project" => "commands that stay in the project run in the sandbox",
        b"all" => "commands run in the sandbox if it can confine them",
        _ => "asks",
    }
}

/// Applies a preset to a policy. Other settings, and the comments, are preserved. A setting that
/// the person has set is replaced only if `replaces` is true.
///
/// # Errors
///
/// If the text cannot be changed.
pub(super) fn apply_preset(
    text: &str,
    preset: PresetName,
    replaces: bool,
) -> Result<AppliedPreset, PolicyEditError> {
    let mut applied = AppliedPreset { text: text.to_owned(), kept: Vec::new() };
    for (key, wanted) in KEYS.into_iter().zip(preset.values()) {
        let mut current = read_setting(&applied.text, key)?;
        if preset == PresetName::Careful && current.as_ref().is_some_and(|one| is_ours(key, one)) {
            applied.text = remove_own_setting(&applied.text, key)?;
            current = read_setting(&applied.text, key)?;
        }
        match current {
            // These are the values that apply without a setting.
            None if preset == PresetName::Careful => {}
            Some(current) if current.value == wanted && !is_ours(key, &current) => {}
            Some(current) if !replaces && !is_ours(key, &current) => {
                applied.kept.push(format!("{} = \"{}\"", key.name, current.value));
            }
            current => {
                let setting = preset_setting(key, preset, wanted, current);
                applied.text = with_setting(&applied.text, key, &setting)?;
            }
        }
    }
    Ok(applied)
}

/// Returns the text without the settings of a preset. What they have replaced is restored. A
/// setting that was changed since then is kept.
///
/// # Errors
///
/// If the text cannot be changed.
pub(super) fn remove_preset(text: &str) -> Result<String, PolicyEditError> {
    KEYS.into_iter().try_fold(text.to_owned(), |text, key| {
        let current = read_setting(&text, key)?;
        match current.is_some_and(|one| is_ours(key, &one)) {
            true => remove_own_setting(&text, key),
            false => Ok(text),
        }
    })
}

/// Returns whether a policy has one of the settings of a preset.
pub(super) fn has_preset_settings(text: &str) -> bool {
    // A policy with errors is not changed.
    KEYS.into_iter().any(|key| read_setting(text, key).map_or(true, |found| found.is_some()))
}

fn preset_setting(
    key: SettingKey,
    preset: PresetName,
    value: &str,
    current: Option<PolicySetting>,
) -> PolicySetting {
    let before = current.as_ref().and_then(|current| match is_ours(key, current) {
        true => replaced_value(&current.comment),
        false => Some(current.value.clone()),
    });
    let before = before.map_or_else(String::new, |before| format!("{BEFORE}{before})"));
    let above = current.map(|current| without_own_comment(&current.comment)).unwrap_or_default();
    let (name, meaning) = (preset.as_str(), describe_value(value));
    let comment = format!("{above}{COMMENT_START}{name}{before}: {meaning}\n");
    PolicySetting { value: value.to_owned(), comment }
}

/// Removes a setting of a preset, or restores the value that it has replaced.
fn remove_own_setting(text: &str, key: SettingKey) -> Result<String, PolicyEditError> {
    let comment = read_setting(text, key)?.map(|current| current.comment).unwrap_or_default();
    match replaced_value(&comment) {
        Some(value) => {
            let setting = PolicySetting { value, comment: without_own_comment(&comment) };
            with_setting(text, key, &setting)
        }
        None => without_setting(text, key, &without_own_comment(&comment)),
    }
}

/// Returns whether a preset has written a setting, and its value was not changed since then.
fn is_ours(key: SettingKey, setting: &PolicySetting) -> bool {
    let Some(line) = own_comment(&setting.comment) else { return false };
    let name = line.split([' ', ':']).next();
    let preset = PresetName::ALL.into_iter().find(|preset| Some(preset.as_str()) == name);
    preset.is_some_and(|preset| {
        KEYS.into_iter().zip(preset.values()).any(|one| one == (key, setting.value.as_str()))
    })
}

/// Returns the comment of a preset, from its name on.
fn own_comment(comment: &str) -> Option<&str> {
    comment.lines().find_map(|line| line.trim().strip_prefix(COMMENT_START))
}

fn replaced_value(comment: &str) -> Option<String> {
    let (_, rest) = own_comment(comment)?.split_once(BEFORE)?;
    Some(rest.split_once(')')?.0.to_owned())
}

fn without_own_comment(comment: &str) -> String {
    let is_own = |line: &&str| line.trim().starts_with(COMMENT_START);
    comment.split_inclusive('\n').filter(|line| !is_own(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &str =
        "# mine\n[permissions]\ndeny = [\"Bash(x)\"]\n\n[sandbox]\nnetwork = \"off\"\n";

    fn apply(text: &str, preset: PresetName, replaces: bool) -> String {
        apply_preset(text, preset, replaces).unwrap().text
    }

    #[test]
    fn a_preset_is_written_once_changed_in_place_and_removed() {
        for before in ["", OWN, "# only a comment\n"] {
            assert_eq!(apply(before, PresetName::Careful, true), before);
            let balanced = apply(before, PresetName::Balanced, true);
            assert!(balanced.contains("mode = \"accept_edits\"\n"), "{balanced}");
            assert!(balanced.contains("auto_allow = \"project\"\n"), "{balanced}");
            assert_eq!(apply(&balanced, PresetName::Balanced, true), balanced);
            let hands_off = apply(&balanced, PresetName::HandsOff, false);
            assert!(hands_off.contains("auto_allow = \"all\"\n"), "{hands_off}");
            assert_eq!(hands_off.matches("--preset hands-off: ").count(), 2, "{hands_off}");
            assert!(!hands_off.contains("balanced"), "{hands_off}");
            assert_eq!(apply(&hands_off, PresetName::Careful, true), before);
            assert_eq!(remove_preset(&hands_off).unwrap(), before);
            let lines = hands_off.lines();
            assert!(lines.clone().all(|line| line.len() <= 100), "{hands_off}");
        }
    }

    #[test]
    fn a_setting_of_the_person_is_kept_or_replaced_and_restored() {
        let before = "# why\nmode = \"plan\" # mine\n";
        let kept = apply_preset(before, PresetName::Balanced, false).unwrap();
        assert_eq!(kept.kept, ["mode = \"plan\""]);
        assert!(kept.text.starts_with(before), "{}", kept.text);
        assert_eq!(remove_preset(&kept.text).unwrap(), before);

        let replaced = apply(before, PresetName::Balanced, true);
        assert!(replaced.starts_with("# why\n# openoxide init --preset balanced (before: plan): "));
        assert!(replaced.contains("mode = \"accept_edits\" # mine\n"), "{replaced}");
        let again = apply(&replaced, PresetName::HandsOff, true);
        assert_eq!(remove_preset(&again).unwrap(), before);
        assert_eq!(
            apply("mode = \"default\"\n", PresetName::Careful, true),
            "mode = \"default\"\n"
        );
    }

    #[test]
    fn comments_of_the_user_next_to_a_setting_are_kept() {
        let text = apply("", PresetName::Balanced, true);
        let text = format!("# my policy\n{text}");
        let text = text
            .replace("auto_allow", "# why\nauto_allow")
            .replace("\"project\"", "\"project\" # mine");
        assert_eq!(text.matches("init --preset").count(), 2, "{text}");
        let left = remove_preset(&text).unwrap();
        assert_eq!(
            left.lines().collect::<Vec<_>>().join("|"),
            "# my policy||[sandbox]|# why|# mine"
        );
    }

    #[test]
    fn a_setting_that_was_changed_since_then_is_kept() {
        let text = apply("", PresetName::HandsOff, true).replace("accept_edits", "dont_ask");
        let left = remove_preset(&text).unwrap();
        assert!(left.contains("mode = \"dont_ask\"") && !left.contains("auto_allow"), "{left}");
    }
}
