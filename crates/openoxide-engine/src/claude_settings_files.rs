//! The files with the settings of Claude Code, and its record of the projects that its user trusts.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use openoxide_permission::LayerKind;
use openoxide_protocol::AbsPath;
use openoxide_store::{FileReadError, read_text};
use serde_json::Value;

/// The maximum size of a settings file.
const MAX_SETTINGS_BYTES: u64 = 4 << 20;

/// The maximum size of the record of trusted projects, which also contains the user's history.
const MAX_STATE_BYTES: u64 = 64 << 20;

/// The directory of the administrator's settings.
pub(crate) const CLAUDE_MANAGED_DIRECTORY: &str = "/etc/claude-code";

/// The setting with which only the administrator's rules apply.
const ONLY_MANAGED_RULES: &str = "allowManagedPermissionRulesOnly";

/// The directory of the settings in a home directory and in a project.
const SETTINGS_DIRECTORY: &str = ".claude";

/// The directory that replaces `~/.claude`.
fn named_directory() -> Option<PathBuf> {
    std::env::var_os("CLAUDE_CONFIG_DIR").filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Returns the settings files, each with its layer.
pub(crate) fn claude_settings_files(
    home: Option<&AbsPath>,
    project: &AbsPath,
) -> Vec<(LayerKind, PathBuf)> {
    let home = home.map(|home| PathBuf::from(home.as_str()).join(SETTINGS_DIRECTORY));
    let user = [home, named_directory()]
        .into_iter()
        .flatten()
        .map(|directory| (LayerKind::User, directory.join("settings.json")));
    let managed = claude_managed_files(Path::new(CLAUDE_MANAGED_DIRECTORY)).into_iter();
    user.chain(managed.map(|path| (LayerKind::Managed, path)))
        .chain(claude_project_files(project))
        .collect()
}

/// Returns the settings files of the administrator in their directory.
fn claude_managed_files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory.join("managed-settings.d")).into_iter().flatten();
    let entries = entries.flatten().map(|entry| entry.path());
    entries.chain([directory.join("managed-settings.json")]).collect()
}

/// Returns whether Claude Code applies only the rules of the administrator. It treats every value
/// but false as true. A file that cannot be read or parsed may set it.
pub(crate) fn applies_only_managed_rules(directory: &Path) -> bool {
    claude_managed_files(directory).iter().any(|path| {
        let Ok(text) = read_settings(path) else { return true };
        let settings = text.map(|text| serde_json::from_str::<Value>(&text));
        settings.is_some_and(|settings| {
            let value = settings.map(|settings| settings.get(ONLY_MANAGED_RULES).cloned());
            !matches!(value, Ok(None | Some(Value::Bool(false))))
        })
    })
}

/// Returns the settings files of a project, each with its layer.
pub(crate) fn claude_project_files(project: &AbsPath) -> [(LayerKind, PathBuf); 2] {
    let directory = PathBuf::from(project.as_str()).join(SETTINGS_DIRECTORY);
    [
        (LayerKind::Project, directory.join("settings.json")),
        (LayerKind::Local, directory.join("settings.local.json")),
    ]
}

/// Returns the settings file of the user that Claude Code itself reads.
pub(crate) fn claude_user_file(home: Option<&AbsPath>) -> Option<PathBuf> {
    let usual = || Some(PathBuf::from(home?.as_str()).join(SETTINGS_DIRECTORY));
    named_directory().or_else(usual).map(|directory| directory.join("settings.json"))
}

/// Reads a settings file. Returns `None` if it does not exist.
///
/// # Errors
/// If it cannot be read, is not a regular file or is too long.
pub(crate) fn read_settings(path: &Path) -> io::Result<Option<String>> {
    read_limited(path, MAX_SETTINGS_BYTES)
}

fn read_limited(path: &Path, most: u64) -> io::Result<Option<String>> {
    match read_text(path, most) {
        Ok(text) => Ok(Some(text)),
        Err(FileReadError::Missing) => Ok(None),
        Err(FileReadError::Io(error)) => Err(error),
        Err(_) => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// Returns whether the user trusts a project in Claude Code, which ignores the allow rules of
/// others. It records the repository, not its subdirectories.
pub(crate) fn is_trusted_in_claude(home: Option<&AbsPath>, project: &AbsPath) -> bool {
    let usual = || Some(PathBuf::from(home?.as_str()));
    let Some(directory) = named_directory().or_else(usual) else { return false };
    let state = read_limited(&directory.join(".claude.json"), MAX_STATE_BYTES).ok().flatten();
    let state = state.and_then(|text| serde_json::from_str::<Value>(&text).ok());
    let repository = Path::new(project.as_str()).ancestors().find(|at| at.join(".git").exists());
    let repository = repository.and_then(Path::to_str).unwrap_or(project.as_str());
    state.is_some_and(|state| {
        let project = state.get("projects").and_then(|projects| projects.get(repository));
        let accepted = project.and_then(|project| project.get("hasTrustDialogAccepted"));
        accepted == Some(&Value::Bool(true))
    })
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn only_the_rules_of_the_administrator_apply_if_a_managed_file_may_say_so() {
        let directory = TempDir::new().unwrap();
        let applies = || applies_only_managed_rules(directory.path());
        assert!(!applies(), "there is no file");
        fs::create_dir(directory.path().join("managed-settings.d")).unwrap();
        for name in ["managed-settings.json", "managed-settings.d/10-rules.json"] {
            let file = directory.path().join(name);
            for (text, expected) in [
                ("{}", false),
                (r#"{"allowManagedPermissionRulesOnly": false}"#, false),
                (r#"{"allowManagedPermissionRulesOnly": true}"#, true),
                (r#"{"allowManagedPermissionRulesOnly": "no"}"#, true),
                ("{", true),
            ] {
                fs::write(&file, text).unwrap();
                assert_eq!(applies(), expected, "{name}: {text}");
            }
            fs::remove_file(file).unwrap();
        }
    }
}
