//! The state that is certain at one point of the script.

use openoxide_protocol::AbsPath;

use super::bases::Bases;
use crate::programs::Paths;

/// The certain state at one point.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    pub(super) bases: Bases,
    pub(super) variables: Variables,
    /// The shell has left: nothing comes after this place.
    pub(super) ended: bool,
}

/// The variables whose values are certain.
#[derive(Clone, Debug, Default)]
pub(super) struct Variables(Vec<(String, Certain)>);

/// The certain facts about a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Certain {
    /// This text.
    Text(String),
    /// A number.
    Number,
    /// The name of one of these files.
    Files(Paths),
    /// Text that the script has assigned, instead of the value that the script was started with.
    Own,
}

impl State {
    /// The working directory is one of `directories` from here on. The script starts in `start`.
    pub(super) fn enter(&mut self, directories: Vec<AbsPath>, start: &AbsPath) {
        self.bases.set(directories, start);
        self.variables.forget_printed();
    }

    /// Any directory may be the working directory from here on.
    pub(super) fn lose_place(&mut self) {
        self.bases.lose();
        self.variables.forget_printed();
    }

    /// Keeps the facts that are certain in both states.
    pub(super) fn merge(&mut self, other: Self) {
        if other.ended {
            return;
        }
        if self.ended {
            *self = other;
            return;
        }
        self.bases.merge(other.bases);
        self.variables.retain(|name, value| other.variables.get(name) == Some(value));
    }
}

impl Variables {
    pub(super) fn get(&self, name: &str) -> Option<&Certain> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    pub(super) fn set(&mut self, name: &str, value: Certain) {
        self.forget(name);
        self.0.push((name.to_owned(), value));
    }

    pub(super) fn forget(&mut self, name: &str) {
        self.0.retain(|(key, _)| key != name);
    }

    /// Drops names of files that a program has printed: elsewhere they are names of other files.
    fn forget_printed(&mut self) {
        self.retain(|_, value| !matches!(value, Certain::Files(paths) if !paths.is_listed()));
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn retain(&mut self, keep: impl Fn(&str, &Certain) -> bool) {
        self.0.retain(|(name, value)| keep(name, value));
    }
}
