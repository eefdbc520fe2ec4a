//! Additional directories: the paths that they resolve to, and which of them are active.
//!
//! Anyone who can change a link can change the target of a directory. Trust is therefore required
//! for every directory in a project's file, and for a directory in any other file if its path
//! contains a link. The trust record includes the resolved path.

use std::{
    fs,
    path::{Path, PathBuf},
};

use openoxide_permission::{AdditionalDirectory, LayerKind, forbidden_root_reason};
use openoxide_protocol::AbsPath;

use crate::{
    policy_sources::{MANAGED_POLICY_PATH, PolicySource},
    trust_store::relative_name,
    user_environment::UserEnvironment,
};

/// A directory that a policy file names, and its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedDirectory {
    /// The directory.
    pub directory: AdditionalDirectory,
    /// The path that the directory resolves to, if it exists.
    pub resolved_path: Option<AbsPath>,
    /// The state of the directory.
    pub state: DirectoryState,
}

/// The state of a directory that a policy file names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectoryState {
    /// The directory is treated as part of the project.
    Active,
    /// The directory does not exist.
    Missing,
    /// The directory resolves to a path that must not be added, for this reason.
    Refused(&'static str),
    /// The directory is not trusted.
    Untrusted,
    /// The directory is ignored because only those of the managed policy apply.
    Ignored,
}

impl DirectoryState {
    /// Returns the state as one word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "applies",
            Self::Missing => "missing",
            Self::Refused(_) => "refused",
            Self::Untrusted => "untrusted",
            Self::Ignored => "ignored",
        }
    }
}

impl ResolvedDirectory {
    /// Resolves a directory. Does not check whether trust is required.
    #[must_use]
    pub fn resolve(directory: AdditionalDirectory, environment: &UserEnvironment) -> Self {
        let resolved_path = resolve_directory(&directory.path);
        let state = match &resolved_path {
            None => DirectoryState::Missing,
            Some(real) => {
                let why = forbidden_root_reason(real, environment.home.as_ref());
                let why = why.or_else(|| own_directory_reason(environment, real));
                why.map_or(DirectoryState::Active, DirectoryState::Refused)
            }
        };
        Self { directory, resolved_path, state }
    }

    /// Returns the directory for which a trust record is required, if any.
    pub(crate) fn required_trust_root(
        &self,
        source: &PolicySource,
        environment: &UserEnvironment,
    ) -> Option<AbsPath> {
        let needed = match (source.may_loosen, source.kind) {
            (false, _) => true,
            (true, LayerKind::Cli) => false,
            (true, _) => !self.is_free_of_links(&source.base, environment.home.as_ref()),
        };
        needed.then(|| source.base.clone())
    }

    /// Returns whether the path contains no link below a base: the directory that it is relative
    /// to, the home directory, or the root.
    fn is_free_of_links(&self, base: &AbsPath, home: Option<&AbsPath>) -> bool {
        let (path, real) = (&self.directory.path, self.resolved_path.as_ref());
        let from = |place: &AbsPath| {
            let rest = path.strip_prefix(place)?;
            Some(resolve_directory(place)?.join(rest))
        };
        let root = AbsPath::root();
        let places = [Some(base), home, Some(&root)];
        places.into_iter().flatten().any(|place| from(place).as_ref() == real)
    }

    /// Returns the permissive setting that requires trust: the directory, `what` it is for, and the
    /// path that it resolves to.
    pub(crate) fn describe_setting(&self, what: &str, checkouts: &[&AbsPath]) -> Option<String> {
        let real = self.resolved_path.as_ref().filter(|_| self.state == DirectoryState::Active)?;
        let file = relative_name(&self.directory.file, checkouts);
        Some(format!("{file}: {what} {} ({real})", self.directory.text))
    }

    /// Marks an active directory as untrusted.
    pub(crate) fn mark_untrusted(&mut self) {
        if self.state == DirectoryState::Active {
            self.state = DirectoryState::Untrusted;
        }
    }

    /// Ignores the directory unless the managed policy names it.
    pub(crate) fn ignore_unless_managed(&mut self) {
        if self.directory.layer != LayerKind::Managed {
            self.state = DirectoryState::Ignored;
        }
    }

    /// Returns the resolved path if the directory is active.
    pub(crate) fn active_path(&self) -> Option<&AbsPath> {
        self.resolved_path.as_ref().filter(|_| self.state == DirectoryState::Active)
    }

    /// Returns the paths that are treated as part of the project: the path as written and the
    /// resolved path, as for the project itself. Empty unless the directory is active.
    pub(crate) fn active_spellings(&self) -> impl Iterator<Item = AbsPath> {
        let counts = self.state == DirectoryState::Active;
        let path = Some(self.directory.path.clone());
        let real = self.resolved_path.clone().filter(|real| *real != self.directory.path);
        [path, real].into_iter().flatten().filter(move |_| counts)
    }

    /// Returns a note for the user if the directory resolves to a forbidden path.
    pub(crate) fn forbidden_note(&self) -> Option<String> {
        let (DirectoryState::Refused(why), Some(real)) = (self.state, &self.resolved_path) else {
            return None;
        };
        let AdditionalDirectory { file, line, text, .. } = &self.directory;
        Some(format!(
            "{file}:{line}: additional directory `{text}` ignored: it resolves to {real}; {why}"
        ))
    }
}

/// Returns the path that a directory resolves to, or `None` if it is not a directory.
pub(crate) fn resolve_directory(path: &AbsPath) -> Option<AbsPath> {
    let real = fs::canonicalize(path.as_str()).ok().filter(|real| real.is_dir())?;
    AbsPath::new(real.to_str()?).ok()
}

/// Returns the reason why a directory is refused if it contains or is inside a directory of this
/// program: policies, trust, keys, the audit journal.
fn own_directory_reason(environment: &UserEnvironment, real: &AbsPath) -> Option<&'static str> {
    let own = environment.openoxide_directories().into_iter();
    let own = own.map(|place| PathBuf::from(place.as_str()));
    let managed = Path::new(MANAGED_POLICY_PATH).parent().map(Path::to_owned);
    let mut all = own.chain(managed).map(|place| place.canonicalize().unwrap_or(place));
    let real = Path::new(real.as_str());
    let touches = all.any(|place| place.starts_with(real) || real.starts_with(&place));
    touches.then_some("OpenOxide keeps its own files there")
}

#[cfg(test)]
mod tests;
