//! The home directories of one user: `HOME` may differ from the home directory of the account.

use openoxide_protocol::{AbsPath, steering_files::protected_home_paths};

/// The directories that contain a user's files: the home directories, and the directories elsewhere
/// that replace a directory below home, as in the XDG base directory specification.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HomeDirectories {
    /// The directory that `HOME` names, and the home directory of the account if it is another one.
    pub homes: Vec<AbsPath>,
    /// The directories below home (`.config`) that a variable replaces, each with the directory
    /// that the variable names. Both contain files of the user.
    pub relocated: Vec<(&'static str, AbsPath)>,
}

impl HomeDirectories {
    /// Returns the possible locations of a path that is relative to home: below each home
    /// directory, and in the directories that replace a part of it.
    ///
    /// ```
    /// # use openoxide_permission::HomeDirectories;
    /// # use openoxide_protocol::AbsPath;
    /// let path = |text| AbsPath::new(text).unwrap();
    /// let user = HomeDirectories {
    ///     homes: vec![path("/home/ann"), path("/srv/ann")],
    ///     relocated: vec![(".config", path("/etc/ann"))],
    /// };
    /// let places = ["/home/ann/.config/gh", "/srv/ann/.config/gh", "/etc/ann/gh"].map(path);
    /// assert_eq!(user.resolve_relative(".config/gh"), places);
    /// ```
    #[must_use]
    pub fn resolve_relative(&self, relative: &str) -> Vec<AbsPath> {
        let below_homes = self.homes.iter().map(|home| home.join(relative));
        let elsewhere = self.relocated.iter().filter_map(|(name, directory)| {
            let rest = relative.strip_prefix(name)?;
            if rest.is_empty() {
                return Some(directory.clone());
            }
            Some(directory.join(rest.strip_prefix('/')?))
        });
        below_homes.chain(elsewhere).collect()
    }

    /// Returns the user's files that programs execute or read as configuration when they start.
    #[must_use]
    pub fn protected_paths(&self) -> Vec<AbsPath> {
        let relative = protected_home_paths(&AbsPath::root());
        let relative = relative.iter().map(|path| path.as_str().trim_start_matches('/'));
        relative.flat_map(|path| self.resolve_relative(path)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> AbsPath {
        AbsPath::new(text).unwrap()
    }

    #[test]
    fn each_home_has_its_own_protected_files() {
        let relocated = vec![(".config", path("/c"))];
        let user = HomeDirectories { homes: vec![path("/a"), path("/b")], relocated };
        let paths = user.protected_paths();
        for expected in ["/a/.bashrc", "/b/.bashrc", "/c/nvim", "/b/.config/nvim"] {
            assert!(paths.contains(&path(expected)), "{expected}");
        }
        assert_eq!(HomeDirectories::default().protected_paths(), []);
    }

    #[test]
    fn a_name_that_only_begins_alike_is_not_relocated() {
        let user = HomeDirectories { homes: vec![], relocated: vec![(".config", path("/c"))] };
        assert_eq!(user.resolve_relative(".configuration/x"), []);
        assert_eq!(user.resolve_relative(".config"), [path("/c")]);
    }
}
