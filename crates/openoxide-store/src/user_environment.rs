//! The directories of a user according to the environment and the account.

use std::path::PathBuf;

use openoxide_permission::HomeDirectories;
use openoxide_protocol::AbsPath;

use crate::account;

const DATA_DIRECTORY: &str = ".local/share";

/// The directories below the home directory that variables can relocate, in the order of
/// [`UserEnvironment::home_directories`].
const RELOCATABLE: [&str; 4] = [".config", ".cache", ".local/state", DATA_DIRECTORY];

/// The user's directories and task.
#[derive(Clone, Debug, Default)]
pub struct UserEnvironment {
    /// The directory that `~` expands to: `HOME` if it is absolute, otherwise the home directory of
    /// the account.
    pub home: Option<AbsPath>,
    /// `XDG_CONFIG_HOME`, or `~/.config`.
    pub config: Option<PathBuf>,
    /// `XDG_CACHE_HOME`, or `~/.cache`.
    pub cache: Option<PathBuf>,
    /// `XDG_STATE_HOME`, or `~/.local/state`.
    pub state: Option<PathBuf>,
    /// `XDG_DATA_HOME`, or `~/.local/share`.
    pub data: Option<PathBuf>,
    /// The home directory of the account in `/etc/passwd`.
    pub account_home: Option<AbsPath>,
    /// The reason why the user's policy cannot be located.
    pub problem: Option<String>,
    /// The current task, if its end can be detected. Grants for this task are valid.
    pub task: Option<String>,
}

impl UserEnvironment {
    /// Reads the environment. Relative paths are ignored, as the XDG base directory specification
    /// requires.
    ///
    /// If `HOME` is unset, empty, relative or does not exist, the account's entry in `/etc/passwd`
    /// is used. If there is no such entry either, the user's policy cannot be located, which is a
    /// problem.
    #[must_use]
    pub fn from_process() -> Self {
        let absolute = |name: &str| {
            std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
        };
        let account = account::home_directory();
        let named = absolute("HOME").or_else(|| account.clone());
        let homes = [&named, &account].into_iter().flatten();
        let home = homes.into_iter().find(|home| account::may_be_home(home));
        let below = |directory: &str| home.map(|home| home.join(directory));
        let config = absolute("XDG_CONFIG_HOME").or_else(|| below(".config"));
        let (cache, state) = (below(".cache"), below(".local/state"));
        let data = absolute("XDG_DATA_HOME").or_else(|| below(".local/share"));
        let problem = config.is_none().then(|| {
            "no home directory is known, so your policy cannot be located; set HOME to an existing directory".to_owned()
        });
        let path = |home: PathBuf| AbsPath::new(home.to_str()?).ok();
        Self {
            problem,
            config,
            cache: absolute("XDG_CACHE_HOME").or(cache),
            state: absolute("XDG_STATE_HOME").or(state),
            data,
            task: None,
            home: named.and_then(path),
            account_home: account.and_then(path),
        }
    }

    /// Returns the home directories of the user: `HOME`, the account's home directory, and the
    /// directories that variables name instead of parts of them. Setting a variable changes where
    /// files are searched, not where they are.
    #[must_use]
    pub fn home_directories(&self) -> HomeDirectories {
        let mut homes: Vec<_> = self.home.iter().chain(&self.account_home).cloned().collect();
        homes.dedup();
        let directories = [&self.config, &self.cache, &self.state, &self.data];
        let relocated = RELOCATABLE.into_iter().zip(directories).filter_map(|(name, directory)| {
            let directory = AbsPath::new(directory.as_ref()?.to_str()?).ok()?;
            let is_usual = homes.iter().any(|home| home.join(name) == directory);
            (!is_usual).then_some((name, directory))
        });
        let relocated = relocated.collect();
        HomeDirectories { homes, relocated }
    }

    /// Returns the directories in which this program stores settings, caches and state, whether
    /// they exist or not: those in use, and those in every home directory of the user.
    #[must_use]
    pub fn openoxide_directories(&self) -> Vec<AbsPath> {
        let user = self.home_directories();
        let with_state = RELOCATABLE.iter().filter(|name| **name != DATA_DIRECTORY);
        with_state.flat_map(|name| user.resolve_relative(&format!("{name}/openoxide"))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_homes_and_named_directories_are_the_users() {
        let path = |text: &str| AbsPath::new(text).unwrap();
        let environment = UserEnvironment {
            home: Some(path("/other")),
            account_home: Some(path("/home/ann")),
            config: Some("/other/.config".into()),
            state: Some("/state".into()),
            ..UserEnvironment::default()
        };
        let user = environment.home_directories();
        assert_eq!(user.homes, ["/other", "/home/ann"].map(path));
        assert_eq!(user.relocated, [(".local/state", path("/state"))]);
        let own = environment.openoxide_directories();
        for expected in [
            "/other/.config/openoxide",
            "/home/ann/.config/openoxide",
            "/home/ann/.local/state/openoxide",
            "/other/.local/state/openoxide",
            "/state/openoxide",
            "/home/ann/.cache/openoxide",
        ] {
            assert!(own.contains(&path(expected)), "{expected}: {own:?}");
        }
        let home = Some(path("/home/ann"));
        let same =
            UserEnvironment { account_home: home.clone(), home, ..UserEnvironment::default() };
        assert_eq!(same.home_directories().homes, [path("/home/ann")]);
    }
}
