//! What became of each grant: how often it counted, and whether it was taken back. It is kept in the state directory, so that who
//! restores the project's file restores no grant.

use std::{
    fs,
    io::{self, Write as _},
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

use crate::file::{metadata_if_present, read_text};

const REVOKED: &str = "revoked";
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
    /// It was taken back, or nobody can tell.
    Gone,
}

impl Spent<'_> {
    /// Returns what became of a grant. What cannot be read is gone.
    pub(super) fn fate(self, id: &str) -> Fate {
        let Some(path) = self.path(id) else { return Fate::Gone };
        if matches!(metadata_if_present(&path), Ok(None)) {
            return Fate::Used(0);
        }
        let text = read_text(&path, LONGEST).ok();
        text.and_then(|text| text.parse().ok()).map_or(Fate::Gone, Fate::Used)
    }

    pub(super) fn count(self, id: &str, used: u32) -> io::Result<()> {
        self.write(id, &used.to_string())
    }

    pub(super) fn revoke(self, id: &str) -> io::Result<()> {
        // An entry without a name never counted.
        if self.path(id).is_none() { Ok(()) } else { self.write(id, REVOKED) }
    }

    fn write(self, id: &str, text: &str) -> io::Result<()> {
        let path = self.path(id).ok_or_else(|| io::Error::other("a grant without a name"))?;
        fs::DirBuilder::new().recursive(true).mode(0o700).create(self.0)?;
        let mut file = tempfile::NamedTempFile::new_in(self.0)?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    }

    /// A name is made of hexadecimal digits: it leads nowhere else.
    fn path(self, id: &str) -> Option<PathBuf> {
        let is_name = id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_name.then(|| self.0.join(id))
    }
}
