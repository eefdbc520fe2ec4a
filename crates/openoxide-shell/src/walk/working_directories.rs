//! The directories that may be the working directory.

use std::borrow::Cow;

use openoxide_protocol::AbsPath;

/// The maximum number of possible directories. If there are more, the directory is unknown.
const MAX_DIRECTORIES: usize = 4;

/// The directories that may be the working directory at one point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CwdSet {
    /// Whether the directory in which the script starts is possible.
    includes_start: bool,
    others: Vec<AbsPath>,
    is_unknown: bool,
}

impl Default for CwdSet {
    fn default() -> Self {
        Self { includes_start: true, others: Vec::new(), is_unknown: false }
    }
}

impl CwdSet {
    /// Returns the possible directories, or `None` if they are unknown.
    pub(super) fn known_directories<'b>(
        &'b self,
        start: &'b AbsPath,
    ) -> Option<impl Iterator<Item = &'b AbsPath>> {
        (!self.is_unknown)
            .then(|| self.includes_start.then_some(start).into_iter().chain(&self.others))
    }

    /// Returns the possible directories as a slice, which is empty if they are unknown.
    pub(super) fn candidate_directories<'b>(&'b self, start: &'b AbsPath) -> Cow<'b, [AbsPath]> {
        match (self.includes_start, self.others.as_slice()) {
            (true, []) => Cow::Borrowed(std::slice::from_ref(start)),
            (false, others) => Cow::Borrowed(others),
            (true, others) => Cow::Owned([std::slice::from_ref(start), others].concat()),
        }
    }

    /// Records that the working directory is unknown from here on.
    pub(super) fn set_unknown(&mut self) {
        *self = Self { includes_start: false, others: Vec::new(), is_unknown: true };
    }

    /// Records that the working directory is one of `directories` from here on. The script starts
    /// in `start`.
    pub(super) fn set_directories(&mut self, directories: Vec<AbsPath>, start: &AbsPath) {
        *self = Self {
            includes_start: directories.contains(start),
            others: Vec::new(),
            is_unknown: false,
        };
        let others = directories.into_iter().filter(|directory| directory != start);
        others.for_each(|directory| self.add_directory(directory));
    }

    /// Adds the possible directories of another branch.
    pub(super) fn merge_branch(&mut self, other: Self) {
        if self.is_unknown || other.is_unknown {
            self.set_unknown();
            return;
        }
        self.includes_start |= other.includes_start;
        other.others.into_iter().for_each(|directory| self.add_directory(directory));
    }

    fn add_directory(&mut self, directory: AbsPath) {
        if self.is_unknown || self.others.contains(&directory) {
            return;
        }
        if self.others.len() + usize::from(self.includes_start) >= MAX_DIRECTORIES {
            self.set_unknown();
            return;
        }
        self.others.push(directory);
    }
}
