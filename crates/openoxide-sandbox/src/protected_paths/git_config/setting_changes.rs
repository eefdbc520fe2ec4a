//! Changes of single settings of an existing repository: those that are applied without a question.

use std::{ffi::OsStr, path::Path};

use openoxide_protocol::git_settings::{GitSettingEffect, git_setting_effect};

use super::GitSetting;

/// A configuration file before its change.
#[derive(Debug)]
pub(super) struct ConfigContext<'a> {
    directory: &'a Path,
    settings: Vec<GitSetting>,
    /// True if the file is the configuration of a repository, and not one that overrides it
    /// (`config.worktree`), whose remotes are in another file.
    is_repository: bool,
}

impl<'a> ConfigContext<'a> {
    /// Returns the context of a file with these settings.
    pub(super) fn new(file: &'a Path, settings: &[GitSetting]) -> Self {
        Self {
            directory: file.parent().unwrap_or(Path::new("/")),
            settings: settings.to_vec(),
            is_repository: file.file_name() == Some(OsStr::new("config")),
        }
    }

    /// Returns whether this setting may be added: afterwards, every command runs, contacts, sends,
    /// overwrites and deletes the same things as before, except for commands that name a new remote
    /// or all remotes.
    pub(super) fn is_harmless_change(&self, setting: &GitSetting) -> bool {
        setting.is_harmless(self.directory)
            && match git_setting_effect(&setting.name()) {
                Some(GitSettingEffect::Local) => true,
                Some(GitSettingEffect::Reach) => self.keeps_reach(setting),
                Some(GitSettingEffect::Protection) => {
                    setting.name() == "core.logallrefupdates" && setting.value == "true"
                }
                None => false,
            }
    }

    /// Returns whether a setting that can change the reach of commands does not: it has the value
    /// that applies without it, or concerns a remote or a submodule that commands reach only if
    /// they name it.
    fn keeps_reach(&self, setting: &GitSetting) -> bool {
        let value = setting.value.as_str();
        match setting.name().as_str() {
            _ if !self.is_repository => false,
            "push.default" => value == "simple",
            "gc.auto" | "gc.autopacklimit" => value == "0",
            "maintenance.auto" => value == "false",
            "remote.*.url" | "remote.*.pushurl" => self.is_new_remote(setting),
            "remote.*.fetch" => self.is_new_remote(setting) && fetches_own_branches(setting),
            "branch.*.remote" => value == "." || self.is_default_remote(value),
            "branch.*.merge" => is_upstream_of_own_name(setting) || self.is_first_value(setting),
            "submodule.*.url" | "submodule.*.active" => self.is_new_section(setting),
            _ => false,
        }
    }

    /// Returns whether the remote is new and does not become the default remote in place of another
    /// one (git-fetch(1)): that is the only one, or `origin` if there are several. A remote whose name
    /// is a URL or a path would replace that URL or path in later commands.
    fn is_new_remote(&self, setting: &GitSetting) -> bool {
        let name = setting.subsection.as_deref().unwrap_or_default();
        is_remote_name(name)
            && self.is_new_section(setting)
            && (name != "origin" || self.remotes().next().is_none())
    }

    /// Returns whether commands use this remote for a branch without a remote of its own. The first
    /// remote that a repository gets is the default one.
    fn is_default_remote(&self, name: &str) -> bool {
        let mut remotes = self.remotes();
        match (remotes.next(), remotes.next()) {
            (None, _) => is_remote_name(name),
            (Some(only), None) => only == name,
            _ => name == "origin" && self.remotes().any(|remote| remote == name),
        }
    }

    /// Returns the names of the remotes, each once.
    fn remotes(&self) -> impl Iterator<Item = &str> {
        let names = self.settings.iter().filter(|one| one.section == "remote" && one.key == "url");
        let mut names: Vec<_> = names.filter_map(|one| one.subsection.as_deref()).collect();
        names.sort_unstable();
        names.dedup();
        names.into_iter()
    }

    fn is_new_section(&self, setting: &GitSetting) -> bool {
        let is_same = |one: &GitSetting| {
            one.section == setting.section && one.subsection == setting.subsection
        };
        !self.settings.iter().any(is_same)
    }

    fn is_first_value(&self, setting: &GitSetting) -> bool {
        let is_same = |one: &GitSetting| {
            one.key == setting.key
                && one.section == setting.section
                && one.subsection == setting.subsection
                && one.value != setting.value
        };
        !self.settings.iter().any(is_same)
    }
}

/// Returns whether a text is a name that git does not treat as a URL or as a path elsewhere.
fn is_remote_name(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}

/// Returns whether a refspec writes only the branches of its own remote (`refs/remotes/NAME/`).
fn fetches_own_branches(setting: &GitSetting) -> bool {
    let Some(name) = &setting.subsection else { return false };
    let refspec = setting.value.trim_start_matches('+');
    let own = format!("refs/remotes/{name}/");
    refspec.split_once(':').is_some_and(|(from, to)| {
        from.starts_with("refs/heads/") && to.starts_with(&own) && !to.contains("..")
    })
}

/// Returns whether a branch follows the branch with the same name.
fn is_upstream_of_own_name(setting: &GitSetting) -> bool {
    let name = setting.subsection.as_deref();
    name.is_some_and(|name| setting.value.strip_prefix("refs/heads/") == Some(name))
}

#[cfg(test)]
mod tests;
