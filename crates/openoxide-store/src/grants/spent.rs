//! What became of each grant: how often it counted, and whether revoked. It is kept in the state directory, so that who
//! restores the project's file restores no grant.
//!
//! Counts are kept in a directory of their own. A grant that is taken back changes the directory above, and so ends every compiled
//! policy that enforces all of it; a grant that is used does not, because who takes a policy from the cache looks at each count.

use std::{
    fs,
    io::{self, Write as _},
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

use crate::file::{metadata_if_present, read_text};

const REVOKED: &str = "revoked";
/// The directory of the counts.
const COUNTS: &str = "counts";
/// A number or a word.
const LONGEST: u64 = 32;

/// The directory of what became of grants. Its caller holds the lock when it writes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spent<'a>(pub(super) &'a Path);

/// What became of one grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It counted so often.
    Used(u32),
    /// It was withdrawn, or nobody can tell.
    Gone,
}

impl Spent<'_> {
    /// Returns what became of a grant. What cannot be read is gone.
    pub(super) fn fate(self, id: &str) -> Fate {
        if !is_id(id) {
            return Fate::Gone;
        }
        // Earlier versions wrote the count into the file that says whether a grant was revoked.
        let fates = [self.0.join(id), self.count_path(id)].map(|path| fate_at(&path));
        match fates {
            [Fate::Used(before), Fate::Used(now)] => Fate::Used(before.max(now)),
            _ => Fate::Gone,
        }
    }

    pub(super) fn count(self, id: &str, used: u32) -> io::Result<()> {
        self.write(id, &self.count_path(id), &used.to_string())
    }

    pub(super) fn revoke(self, id: &str) -> io::Result<()> {
        // An entry without a name never counted.
        if is_id(id) { self.write(id, &self.0.join(id), REVOKED) } else { Ok(()) }
    }

    fn write(self, id: &str, path: &Path, text: &str) -> io::Result<()> {
        let directory = path.parent().filter(|_| is_id(id));
        let directory = directory.ok_or_else(|| io::Error::other("a grant without a name"))?;
        fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        let mut file = tempfile::NamedTempFile::new_in(directory)?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    }

    fn count_path(self, id: &str) -> PathBuf {
        self.0.join(COUNTS).join(id)
    }
}

/// An id is made of hexadecimal digits: as a file name it leads nowhere else.
fn is_id(id: &str) -> bool {
    id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns what a file says of a grant. A file that is not there says that it was not used.
fn fate_at(path: &Path) -> Fate {
    if matches!(metadata_if_present(path), Ok(None)) {
        return Fate::Used(0);
    }
    let text = read_text(path, LONGEST).ok();
    text.and_then(|text| text.parse().ok()).map_or(Fate::Gone, Fate::Used)
}
