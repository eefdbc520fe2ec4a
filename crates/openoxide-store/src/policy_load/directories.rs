//! Additional directories: where they lead, and which of them count.
//!
//! Whoever can change a link can change what a directory means. So a directory that lies in a project's file, and in any other file one
//! that is reached over a link, counts once a person has vouched for it with the place that it leads to.

use std::{
    fs,
    path::{Path, PathBuf},
};

use openoxide_permission::{AdditionalDirectory, LayerKind, forbidden_root_reason};
use openoxide_protocol::AbsPath;

use crate::{
    policy_sources::{MANAGED_POLICY_PATH, PolicySource, UserEnvironment},
    trust_store::relative_name,
};

/// A directory that a policy file names, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedDirectory {
    /// The directory.
    pub directory: AdditionalDirectory,
    /// Where it leads, if it is there.
    pub resolved_path: Option<AbsPath>,
    /// What became of it.
    pub state: DirectoryState,
}

/// What became of a directory that a policy file names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectoryState {
    /// It counts as the project's.
    Active,
    /// It is not there.
    Missing,
    /// It leads to what may not be one.
    Refused(&'static str),
    /// Nobody vouched for it.
    Untrusted,
    /// The administrator's alone count.
    Ignored,
}

impl DirectoryState {
    /// Returns it in a word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "counts",
            Self::Missing => "missing",
            Self::Refused(_) => "refused",
            Self::Untrusted => "untrusted",
            Self::Ignored => "ignored",
        }
    }
}

impl ResolvedDirectory {
    /// Looks where a directory leads. Whether somebody has to vouch for it is another matter.
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

    /// Says under which directory a person has to vouch for it, if somebody has to.
    pub(super) fn required_trust_root(
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

    /// Says whether no link lies on the way from a place that a person set up: home, or what the path counts from.
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

    /// Returns what a person vouches for: the directory, `what` it is for, and the place that it leads to.
    pub(super) fn describe_setting(&self, what: &str, checkouts: &[&AbsPath]) -> Option<String> {
        let real = self.resolved_path.as_ref().filter(|_| self.state == DirectoryState::Active)?;
        let file = relative_name(&self.directory.file, checkouts);
        Some(format!("{file}: {what} {} ({real})", self.directory.text))
    }

    /// Nobody vouched for it.
    pub(super) fn mark_untrusted(&mut self) {
        if self.state == DirectoryState::Active {
            self.state = DirectoryState::Untrusted;
        }
    }

    /// Leaves it out if it is not the administrator's.
    pub(super) fn ignore_unless_managed(&mut self) {
        if self.directory.layer != LayerKind::Managed {
            self.state = DirectoryState::Ignored;
        }
    }

    /// Returns the place that it leads to, if it counts.
    pub(super) fn active_path(&self) -> Option<&AbsPath> {
        self.resolved_path.as_ref().filter(|_| self.state == DirectoryState::Active)
    }

    /// Returns what counts as the project's: both spellings, as with the project itself.
    pub(super) fn active_spellings(&self) -> impl Iterator<Item = AbsPath> {
        let counts = self.state == DirectoryState::Active;
        let path = Some(self.directory.path.clone());
        let real = self.resolved_path.clone().filter(|real| *real != self.directory.path);
        [path, real].into_iter().flatten().filter(move |_| counts)
    }

    /// Returns what a person should know of one that leads where none may.
    pub(super) fn forbidden_note(&self) -> Option<String> {
        let (DirectoryState::Refused(why), Some(real)) = (self.state, &self.resolved_path) else {
            return None;
        };
        let AdditionalDirectory { file, line, text, .. } = &self.directory;
        Some(format!(
            "{file}:{line}: additional directory `{text}` ignored: it resolves to {real}; {why}"
        ))
    }
}

/// Returns where a path leads, if a directory is there.
pub(crate) fn resolve_directory(path: &AbsPath) -> Option<AbsPath> {
    let real = fs::canonicalize(path.as_str()).ok().filter(|real| real.is_dir())?;
    AbsPath::new(real.to_str()?).ok()
}

/// Says whether a directory holds what this program keeps, or lies in it: policies, trust, keys, the audit.
fn own_directory_reason(environment: &UserEnvironment, real: &AbsPath) -> Option<&'static str> {
    let own = environment.openoxide_directories().into_iter();
    let own = own.map(|place| PathBuf::from(place.as_str()));
    let managed = Path::new(MANAGED_POLICY_PATH).parent().map(Path::to_owned);
    let mut all = own.chain(managed).map(|place| place.canonicalize().unwrap_or(place));
    let real = Path::new(real.as_str());
    let touches = all.any(|place| place.starts_with(real) || real.starts_with(&place));
    touches.then_some("OpenOxide keeps its own there")
}

#[cfg(test)]
mod tests;
