//! The critical directories, and the paths that lead to them.

use openoxide_protocol::AbsPath;

/// The directories that a command runs in.
#[derive(Clone, Copy, Debug)]
pub struct DangerContext<'a> {
    /// The directories that relative paths can start from. They must not be removed.
    pub bases: &'a [AbsPath],
    /// The home directory of the user, if known.
    pub home: Option<&'a AbsPath>,
}

impl DangerContext<'_> {
    /// Returns whether a path is the root, a directory directly in it, or a home or base directory
    /// or one of their parents.
    pub(super) fn is_critical_path(&self, path: &str) -> bool {
        let absolute = match (path.strip_prefix('~'), self.home) {
            (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => {
                return self.contains_critical_path(&home.join(rest.trim_start_matches('/')));
            }
            _ => path.starts_with('/'),
        };
        match AbsPath::new(path) {
            Ok(path) if absolute => self.contains_critical_path(&path),
            _ => self.bases.iter().any(|base| self.contains_critical_path(&base.join(path))),
        }
    }

    /// Like [`Self::is_critical_path`], but ignores the base directories and those of their parents
    /// that do not contain the home directory.
    pub(super) fn is_system_path(&self, path: &str) -> bool {
        DangerContext { bases: &[], home: self.home }.is_critical_path(path)
            || (!path.starts_with(['/', '~'])
                && self.bases.iter().any(|base| {
                    DangerContext { bases: &[], home: self.home }
                        .contains_critical_path(&base.join(path))
                }))
    }

    fn contains_critical_path(&self, path: &AbsPath) -> bool {
        let top = path.parent().is_none_or(|parent| parent.parent().is_none());
        // `/x/*` is the whole content of `/x`.
        let whole = path.parent().filter(|_| path.file_name() == Some("*"));
        let holds = |held: &AbsPath| {
            held.strip_prefix(path).is_some()
                || whole.as_ref().is_some_and(|all| held.strip_prefix(all).is_some())
        };
        top || self.bases.iter().any(holds) || self.home.is_some_and(holds)
    }
}
