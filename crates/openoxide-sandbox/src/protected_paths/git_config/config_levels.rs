//! The configuration that applies to every repository: that of the system, of the user, and of the
//! environment (git-config(1), "FILES" and "ENVIRONMENT").

use std::{
    env,
    path::{Path, PathBuf},
};

use crate::protected_paths::{
    account::home_directories,
    git_config::{GitSetting, read_file},
};

/// The maximum number of files that are read, including those that they include.
const MAX_INCLUDES: usize = 64;
/// The maximum number of settings that the environment may contain.
const MAX_VARIABLES: usize = 256;
/// Variables of the environment whose values are commands.
const COMMAND_VARIABLES: &[&str] = &[
    "EDITOR",
    "GIT_ASKPASS",
    "GIT_EDITOR",
    "GIT_EXTERNAL_DIFF",
    "GIT_PAGER",
    "GIT_PROXY_COMMAND",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "PAGER",
    "SSH_ASKPASS",
    "VISUAL",
];

/// Returns the settings of the system, the user and the environment.
pub(crate) fn read_global_settings() -> Vec<GitSetting> {
    let (mut settings, _) = read_with_includes(config_files());
    settings.extend(read_environment());
    settings
}

/// Returns the files that the configuration of the system and of the user includes, even if they do
/// not exist.
pub(crate) fn find_included_files() -> Vec<PathBuf> {
    let (_, included) = read_with_includes(config_files());
    included
}

/// Reads these files and those that they include. Returns their settings, and the paths of the
/// included files.
fn read_with_includes(mut open: Vec<PathBuf>) -> (Vec<GitSetting>, Vec<PathBuf>) {
    let (mut settings, mut included, mut read_files) = (Vec::new(), Vec::new(), 0);
    while let Some(file) = open.pop() {
        read_files += 1;
        if read_files > MAX_INCLUDES {
            break;
        }
        for setting in read_file(&file).unwrap_or_default() {
            // A condition may be true in some repository.
            if matches!(setting.name().as_str(), "include.path" | "includeif.*.path") {
                let path = resolve_path(file.parent().unwrap_or(Path::new("/")), &setting.value);
                included.push(path.clone());
                open.push(path);
            }
            settings.push(setting);
        }
    }
    (settings, included)
}

/// Resolves a path of a setting. `~/` is the home directory, and a relative path is below `base`.
pub(crate) fn resolve_path(base: &Path, path: &str) -> PathBuf {
    match (path.strip_prefix("~/"), env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => base.join(path),
    }
}

fn config_files() -> Vec<PathBuf> {
    let variable = |name: &str| env::var_os(name).map(PathBuf::from);
    let homes = home_directories().into_iter();
    // The variables may be set in one shell of the user and not in another.
    let own = homes.flat_map(|home| [home.join(".config/git/config"), home.join(".gitconfig")]);
    let config = variable("XDG_CONFIG_HOME").map(|config| config.join("git/config"));
    let named = [config, variable("GIT_CONFIG_GLOBAL"), variable("GIT_CONFIG_SYSTEM")];
    let systems = ["/etc/gitconfig", "/usr/local/etc/gitconfig"].map(PathBuf::from);
    own.chain(named.into_iter().flatten()).chain(systems).collect()
}

/// Returns `GIT_CONFIG_COUNT` and its pairs, and commands in variables, as settings that are not
/// harmless.
fn read_environment() -> Vec<GitSetting> {
    let value = |name: String| env::var(name).ok();
    let count = value("GIT_CONFIG_COUNT".to_owned()).and_then(|count| count.parse().ok());
    let pairs = (0..count.unwrap_or(0_usize).min(MAX_VARIABLES)).filter_map(|number| {
        let key = value(format!("GIT_CONFIG_KEY_{number}"))?;
        Some((key, value(format!("GIT_CONFIG_VALUE_{number}"))?))
    });
    let commands = COMMAND_VARIABLES.iter().filter_map(|name| {
        Some((format!("environment.{}", name.to_lowercase()), value((*name).to_owned())?))
    });
    pairs.chain(commands).filter_map(|(key, value)| parse_setting(&key, value)).collect()
}

/// Parses `section.key`, or `section.subsection.key`.
fn parse_setting(key: &str, value: String) -> Option<GitSetting> {
    let (section, rest) = key.split_once('.')?;
    let (subsection, key) = match rest.rsplit_once('.') {
        Some((subsection, key)) => (Some(subsection.to_owned()), key),
        None => (None, rest),
    };
    let (section, key) = (section.to_ascii_lowercase(), key.to_ascii_lowercase());
    Some(GitSetting { section, subsection, key, value })
}
