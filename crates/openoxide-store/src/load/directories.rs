//! Additional directories: where they lead, and which of them count.
//!
//! Whoever can change a link can change what a directory means. So a directory that lies in a project's file, and in any other file one
//! that is reached over a link, counts once a person has vouched for it with the place that it leads to.

use std::{
    fs,
    path::{Path, PathBuf},
};

use openoxide_permission::{Directory, LayerKind, refused};
use openoxide_protocol::AbsPath;

use crate::{
    locations::{Environment, MANAGED, Source},
    trust::name_in,
};

/// A directory that a policy file names, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Additional {
    /// The directory.
    pub directory: Directory,
    /// Where it leads, if it is there.
    pub real: Option<AbsPath>,
    /// What became of it.
    pub state: DirectoryState,
}

/// What became of a directory that a policy file names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectoryState {
    /// It counts as the project's.
    Counts,
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
            Self::Counts => "counts",
            Self::Missing => "missing",
            Self::Refused(_) => "refused",
            Self::Untrusted => "untrusted",
            Self::Ignored => "ignored",
        }
    }
}

impl Additional {
    /// Looks where a directory leads. Whether somebody has to vouch for it is another matter.
    #[must_use]
    pub fn of(directory: Directory, environment: &Environment) -> Self {
        let real = resolved(&directory.path);
        let state = match &real {
            None => DirectoryState::Missing,
            Some(real) => {
                let why = refused(real, environment.home.as_ref());
                let why = why.or_else(|| keeps(environment, real));
                why.map_or(DirectoryState::Counts, DirectoryState::Refused)
            }
        };
        Self { directory, real, state }
    }

    /// Says under which directory a person has to vouch for it, if somebody has to.
    pub(super) fn to_be_trusted(
        &self,
        source: &Source,
        environment: &Environment,
    ) -> Option<AbsPath> {
        let needed = match (source.may_loosen, source.kind) {
            (false, _) => true,
            (true, LayerKind::Cli) => false,
            (true, _) => !self.is_direct(&source.base, environment.home.as_ref()),
        };
        needed.then(|| source.base.clone())
    }

    /// Says whether no link lies on the way from a place that a person set up: home, or what the path counts from.
    fn is_direct(&self, base: &AbsPath, home: Option<&AbsPath>) -> bool {
        let (path, real) = (&self.directory.path, self.real.as_ref());
        let from = |place: &AbsPath| {
            let rest = path.below(place)?;
            Some(resolved(place)?.join(rest))
        };
        let root = AbsPath::root();
        let places = [Some(base), home, Some(&root)];
        places.into_iter().flatten().any(|place| from(place).as_ref() == real)
    }

    /// Returns what a person vouches for: the directory, `what` it is for, and the place that it leads to.
    pub(super) fn setting(&self, what: &str, checkouts: &[&AbsPath]) -> Option<String> {
        let real = self.real.as_ref().filter(|_| self.state == DirectoryState::Counts)?;
        let file = name_in(&self.directory.file, checkouts);
        Some(format!("{file}: {what} {} ({real})", self.directory.text))
    }

    /// Nobody vouched for it.
    pub(super) fn distrust(&mut self) {
        if self.state == DirectoryState::Counts {
            self.state = DirectoryState::Untrusted;
        }
    }

    /// Leaves it out if it is not the administrator's.
    pub(super) fn leave_to_the_administrator(&mut self) {
        if self.directory.layer != LayerKind::Managed {
            self.state = DirectoryState::Ignored;
        }
    }

    /// Returns the place that it leads to, if it counts.
    pub(super) fn counting(&self) -> Option<&AbsPath> {
        self.real.as_ref().filter(|_| self.state == DirectoryState::Counts)
    }

    /// Returns what counts as the project's: both spellings, as with the project itself.
    pub(super) fn roots(&self) -> impl Iterator<Item = AbsPath> {
        let counts = self.state == DirectoryState::Counts;
        let path = Some(self.directory.path.clone());
        let real = self.real.clone().filter(|real| *real != self.directory.path);
        [path, real].into_iter().flatten().filter(move |_| counts)
    }

    /// Returns what a person should know of one that leads where none may.
    pub(super) fn note(&self) -> Option<String> {
        let (DirectoryState::Refused(why), Some(real)) = (self.state, &self.real) else {
            return None;
        };
        let Directory { file, line, text, .. } = &self.directory;
        Some(format!(
            "{file}:{line}: additional directory `{text}` ignored: it resolves to {real}; {why}"
        ))
    }
}

/// Returns where a path leads, if a directory is there.
pub(crate) fn resolved(path: &AbsPath) -> Option<AbsPath> {
    let real = fs::canonicalize(path.as_str()).ok().filter(|real| real.is_dir())?;
    AbsPath::new(real.to_str()?).ok()
}

/// Says whether a directory holds what this program keeps, or lies in it: policies, trust, keys, the audit.
fn keeps(environment: &Environment, real: &AbsPath) -> Option<&'static str> {
    let own = environment.own_directories().into_iter();
    let own = own.map(|place| PathBuf::from(place.as_str()));
    let managed = Path::new(MANAGED).parent().map(Path::to_owned);
    let mut all = own.chain(managed).map(|place| place.canonicalize().unwrap_or(place));
    let real = Path::new(real.as_str());
    let touches = all.any(|place| place.starts_with(real) || real.starts_with(&place));
    touches.then_some("OpenOxide keeps its own there")
}

#[cfg(test)]
mod tests;
