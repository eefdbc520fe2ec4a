//! Staging: a program changes an overlay of its writable directories, and a person says afterwards what becomes of that.
//!
//! The upper layers lie with this program's state, for this user alone. Nothing in them is believed but what the kernel itself wrote
//! there: a whiteout is a device that nobody in a user namespace can make, and marks of directories are attributes that an overlay
//! hides from who writes into it.

mod apply;
mod compare;
mod hands;
mod place;
mod seen;
#[cfg(test)]
mod tests;
mod tree;

use std::{
    cell::RefCell,
    collections::BTreeMap,
    fs::File,
    io::{self, Read as _},
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use openoxide_protocol::{AbsPath, Confined};

pub use apply::Committed;
pub(crate) use place::{Layer, sweep};
pub use seen::{Kind, Thing};

use crate::{
    Guarded,
    error::{SandboxError, Step as _},
    protect::outermost,
};
use place::Place;
use seen::Moment;
use tree::Tree;

/// What a staged run changes, as long as nothing has been done about it. Dropping it takes it all away; after a crash, the next
/// [`Registry::sweep`](crate::Registry::sweep) does.
#[derive(Debug)]
#[must_use = "what was staged is gone when this is dropped"]
pub struct Stage {
    profile: Confined,
    roots: Vec<Root>,
    place: Place,
    /// Directories that the program closed and that were opened to look into them, by their numbers, and the modes that they had.
    closed: RefCell<BTreeMap<u64, u32>>,
}

/// One writable directory.
#[derive(Debug)]
struct Root {
    path: PathBuf,
    /// Itself, whatever its name leads to by now.
    directory: OwnedFd,
    upper: OwnedFd,
    /// When it was staged, by the clock of its file system.
    began: Moment,
}

/// What a staged run would change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// In the order of their paths.
    pub changes: Vec<Change>,
    /// What is not changed, whatever is said of the rest.
    pub left_out: Vec<LeftOut>,
}

/// One path that would be made, changed or removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The path.
    pub path: AbsPath,
    /// What lies there.
    pub before: Option<Thing>,
    /// What would lie there.
    pub after: Option<Thing>,
    /// Whether it is a file that only gets another mode.
    pub same_content: bool,
    /// Which writable directory it lies in, and where.
    root: usize,
    rest: PathBuf,
}

/// Something that is not changed, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The path. It may hold any character; bytes that are none are replaced.
    pub path: String,
    /// Why.
    pub why: String,
}

impl Stage {
    /// Makes a place for what a run under this profile changes, beside the registry.
    ///
    /// # Errors
    /// Where a writable directory cannot be staged: it is a file, another file system is mounted below it, the place lies in it.
    pub fn prepare(registry: &AbsPath, profile: &Confined) -> Result<Self, SandboxError> {
        let paths = outermost(&profile.writable);
        place::check(Path::new(registry.as_str()), &paths).step(|| "staging".to_owned())?;
        let place = Place::make(Path::new(registry.as_str()));
        let place = place.step(|| "making a place for what is staged".to_owned())?;
        let root = |(number, path): (usize, &PathBuf)| {
            let staged = Root::stage(path, &Layer::of(place.path(), number));
            staged.step(|| format!("staging `{}`", path.display()))
        };
        let roots = paths.iter().enumerate().map(root).collect::<Result<_, _>>()?;
        Ok(Self { profile: profile.clone(), roots, place, closed: RefCell::default() })
    }

    /// The place, for [`Launch::staged`](crate::Launch::staged).
    ///
    /// # Errors
    /// Where it cannot be said in UTF-8.
    pub fn place(&self) -> Result<AbsPath, SandboxError> {
        let path = self.place.path().to_str().ok_or(io::ErrorKind::InvalidFilename);
        let path = path.map_err(io::Error::from);
        path.and_then(|path| AbsPath::new(path).map_err(io::Error::other))
            .step(|| "naming a place for what is staged".to_owned())
    }

    /// Compares what was staged with what lies there now. Nothing may run in it any more.
    ///
    /// What was changed by somebody else since the run began is left out, and so is what is protected, what no rule could name, and
    /// what is neither file nor directory nor symbolic link.
    ///
    /// # Errors
    /// Where it cannot be looked at, or is more than is looked at: then nothing is known of it.
    pub fn changes(&self) -> io::Result<Changes> {
        compare::changes(self, &Guarded::find(&self.profile)?)
    }

    /// Does what was shown to a person, path by path: nothing that is not as it was shown is touched. Of what the run left that a
    /// program of the host would run by itself, new hooks are put aside, as after any run.
    ///
    /// # Errors
    /// Where it cannot be said what is protected: then nothing was done.
    pub fn commit(&self, changes: &Changes) -> io::Result<Committed> {
        apply::apply(self, changes, &Guarded::find(&self.profile)?)
    }

    /// Reads at most so many bytes of the file that a change would replace.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn before(&self, change: &Change, most: u64) -> io::Result<Vec<u8>> {
        let root = self.root(change)?;
        beginning(tree::file_at(Tree::Host, &root.directory, &change.rest)?, most)
    }

    /// Reads at most so many bytes of the file that a change would put there.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn after(&self, change: &Change, most: u64) -> io::Result<Vec<u8>> {
        beginning(self.staged_file(change)?, most)
    }

    fn staged_file(&self, change: &Change) -> io::Result<File> {
        tree::file_at(Tree::Staged, &self.root(change)?.upper, &change.rest)
    }

    fn root(&self, change: &Change) -> io::Result<&Root> {
        self.roots.get(change.root).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

fn beginning(file: File, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

impl Root {
    fn stage(path: &Path, layer: &Layer) -> io::Result<Self> {
        let directory = tree::root(path)?;
        layer.make(&directory)?;
        let began = Moment::next(&directory)?;
        Ok(Self { path: path.to_owned(), directory, upper: tree::root(&layer.upper)?, began })
    }
}

impl Change {
    /// Says whether a directory takes the place of something else, or something else its place.
    fn turns(&self) -> bool {
        let directory = |thing: &Option<Thing>| thing.as_ref().map(Thing::is_directory);
        matches!((directory(&self.before), directory(&self.after)), (Some(a), Some(b)) if a != b)
    }
}
