//! The directories that may be the working directory.

use std::borrow::Cow;

use openoxide_protocol::AbsPath;

/// More possible directories than this are as good as none.
const MOST: usize = 4;

/// The directories that may be the working directory at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bases {
    /// The one that the script starts in.
    start: bool,
    others: Vec<AbsPath>,
    lost: bool,
}

impl Default for Bases {
    fn default() -> Self {
        Self { start: true, others: Vec::new(), lost: false }
    }
}

impl Bases {
    /// Returns the possible directories, or nothing when they are not known.
    pub(super) fn known<'b>(
        &'b self,
        start: &'b AbsPath,
    ) -> Option<impl Iterator<Item = &'b AbsPath>> {
        (!self.lost).then(|| self.start.then_some(start).into_iter().chain(&self.others))
    }

    /// Returns the possible directories in a row; none when they are not known.
    pub(super) fn all<'b>(&'b self, start: &'b AbsPath) -> Cow<'b, [AbsPath]> {
        match (self.start, self.others.as_slice()) {
            (true, []) => Cow::Borrowed(std::slice::from_ref(start)),
            (false, others) => Cow::Borrowed(others),
            (true, others) => Cow::Owned([std::slice::from_ref(start), others].concat()),
        }
    }

    /// Any directory may be the working directory from here on.
    pub(super) fn lose(&mut self) {
        *self = Self { start: false, others: Vec::new(), lost: true };
    }

    /// The working directory is one of `directories` from here on. The script starts in `start`.
    pub(super) fn set(&mut self, directories: Vec<AbsPath>, start: &AbsPath) {
        *self = Self { start: directories.contains(start), others: Vec::new(), lost: false };
        let others = directories.into_iter().filter(|directory| directory != start);
        others.for_each(|directory| self.add(directory));
    }

    /// Adds the possibilities of another branch.
    pub(super) fn merge(&mut self, other: Self) {
        if self.lost || other.lost {
            self.lose();
            return;
        }
        self.start |= other.start;
        other.others.into_iter().for_each(|directory| self.add(directory));
    }

    fn add(&mut self, directory: AbsPath) {
        if self.lost || self.others.contains(&directory) {
            return;
        }
        if self.others.len() + usize::from(self.start) >= MOST {
            self.lose();
            return;
        }
        self.others.push(directory);
    }
}
