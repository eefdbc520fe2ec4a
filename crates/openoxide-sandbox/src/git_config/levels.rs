//! The configuration that counts in every repository: of the system, of the user, and of the environment (git-config(1),
//! "FILES" and "ENVIRONMENT").

use std::{
    env,
    path::{Path, PathBuf},
};

use super::{Setting, read};

/// How many files a configuration may include, one after the other.
const INCLUDES: usize = 64;
/// How many settings the environment may hold.
const VARIABLES: usize = 256;
/// Variables of the environment whose values are commands.
const COMMANDS: &[&str] = &[
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
pub(crate) fn of_every_repository() -> Vec<Setting> {
    let mut open = files();
    let (mut settings, mut read_files) = (in_environment(), 0);
    while let Some(file) = open.pop() {
        read_files += 1;
        if read_files > INCLUDES {
            break;
        }
        for setting in read(&file).unwrap_or_default() {
            // A condition may hold in some repository.
            if matches!(setting.name().as_str(), "include.path" | "includeif.*.path") {
                open.push(at(file.parent().unwrap_or(Path::new("/")), &setting.value));
            }
            settings.push(setting);
        }
    }
    settings
}

/// Returns a path of a setting: `~/` is the home directory, and what is relative is below `base`.
pub(crate) fn at(base: &Path, path: &str) -> PathBuf {
    match (path.strip_prefix("~/"), env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => base.join(path),
    }
}

fn files() -> Vec<PathBuf> {
    let variable = |name: &str| env::var_os(name).map(PathBuf::from);
    let home = env::home_dir();
    let below = |name: &str| home.as_ref().map(|home| home.join(name));
    let config = variable("XDG_CONFIG_HOME").or_else(|| below(".config"));
    let own = match variable("GIT_CONFIG_GLOBAL") {
        Some(file) => vec![Some(file)],
        None => vec![config.map(|config| config.join("git/config")), below(".gitconfig")],
    };
    let system = variable("GIT_CONFIG_SYSTEM");
    let systems = ["/etc/gitconfig", "/usr/local/etc/gitconfig"].map(|path| Some(path.into()));
    own.into_iter().chain([system]).chain(systems).flatten().collect()
}

/// `GIT_CONFIG_COUNT` and its pairs, and commands in variables, as settings that are not harmless.
fn in_environment() -> Vec<Setting> {
    let value = |name: String| env::var(name).ok();
    let count = value("GIT_CONFIG_COUNT".to_owned()).and_then(|count| count.parse().ok());
    let pairs = (0..count.unwrap_or(0_usize).min(VARIABLES)).filter_map(|number| {
        let key = value(format!("GIT_CONFIG_KEY_{number}"))?;
        Some((key, value(format!("GIT_CONFIG_VALUE_{number}"))?))
    });
    let commands = COMMANDS.iter().filter_map(|name| {
        Some((format!("environment.{}", name.to_lowercase()), value((*name).to_owned())?))
    });
    pairs.chain(commands).filter_map(|(key, value)| setting(&key, value)).collect()
}

/// `section.key`, or `section.subsection.key`.
fn setting(key: &str, value: String) -> Option<Setting> {
    let (section, rest) = key.split_once('.')?;
    let (subsection, key) = match rest.rsplit_once('.') {
        Some((subsection, key)) => (Some(subsection.to_owned()), key),
        None => (None, rest),
    };
    let (section, key) = (section.to_ascii_lowercase(), key.to_ascii_lowercase());
    Some(Setting { section, subsection, key, value })
}
