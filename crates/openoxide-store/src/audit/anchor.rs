//! The anchor: the number and the hash of the newest record, kept outside of the journal.
//!
//! A chain of hashes cannot show that its end was cut off, or that another journal was put in its place. The anchor can. It is one
//! line that each writer writes over, under the journal's lock. A second one may be kept elsewhere (`OPENOXIDE_AUDIT_ANCHOR`): a file to
//! which each writer adds a line, so that it may be on a disk that only takes additions.

use std::{
    fs::{File, OpenOptions},
    io::Write as _,
    os::unix::fs::{FileExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use super::{error::AuditError, seal::Link};
use crate::file::{ReadError, read_regular};

/// The variable that names the file of the second anchor.
const SECOND: &str = "OPENOXIDE_AUDIT_ANCHOR";
/// A number of 20 digits, a blank, 64 digits of a hash and a line feed.
const LINE: usize = 86;
const LONGEST: u64 = 1 << 30;

/// Where the newest record is noted.
#[derive(Clone, Debug)]
pub(super) struct Anchor {
    path: PathBuf,
    second: Option<PathBuf>,
}

/// What the anchors say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Anchored {
    /// Whether there is an anchor.
    pub(super) exists: bool,
    /// The newest records, each with the file that says so.
    pub(super) links: Vec<(PathBuf, Link)>,
    /// The first anchor that is there and cannot be read.
    pub(super) damaged: Option<PathBuf>,
}

impl Anchor {
    /// Returns an anchor in this file, and in the one that the environment names.
    pub(super) fn new(path: PathBuf) -> Self {
        let second = std::env::var_os(SECOND).filter(|name| !name.is_empty());
        Self { path, second: second.map(PathBuf::from) }
    }

    #[cfg(test)]
    pub(super) const fn with_second(path: PathBuf, second: PathBuf) -> Self {
        Self { path, second: Some(second) }
    }

    /// Returns an anchor in this file alone.
    pub(super) const fn single(path: PathBuf) -> Self {
        Self { path, second: None }
    }

    /// Returns the newest record, as the first anchor has it.
    ///
    /// # Errors
    /// When there is an anchor that cannot be read.
    pub(super) fn newest(&self) -> Result<Option<Link>, AuditError> {
        match read_regular(&self.path, LONGEST) {
            Ok(bytes) if bytes.is_empty() => Ok(None),
            Ok(bytes) => link(&bytes).map(Some).ok_or_else(|| self.damaged()),
            Err(ReadError::Missing) => Ok(None),
            Err(_) => Err(self.damaged()),
        }
    }

    fn damaged(&self) -> AuditError {
        let why = "is corrupt: the newest record of the audit journal is unknown";
        AuditError::Unsafe { path: self.path.clone(), why }
    }

    /// Notes the newest record.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn write(&self, newest: &Link) -> Result<(), AuditError> {
        let line = format!("{:020} {}\n", newest.seq, newest.hash);
        let failed = || AuditError::io("has an anchor that cannot be written");
        let mut options = OpenOptions::new();
        options.create(true).mode(0o600);
        let file = options.clone().write(true).truncate(false).open(&self.path).map_err(failed())?;
        file.write_all_at(line.as_bytes(), 0).map_err(failed())?;
        if let Some(second) = &self.second {
            let file: Result<File, _> = options.append(true).open(second);
            file.and_then(|mut file| file.write_all(line.as_bytes())).map_err(failed())?;
        }
        Ok(())
    }

    /// Returns everything that the anchors say.
    pub(super) fn read(&self) -> Anchored {
        let mut all = Anchored::default();
        for path in std::iter::once(&self.path).chain(&self.second) {
            all.add(path);
        }
        all
    }
}

impl Anchored {
    fn add(&mut self, path: &Path) {
        let bytes = match read_regular(path, LONGEST) {
            Ok(bytes) => bytes,
            Err(ReadError::Missing) => return,
            Err(_) => return self.damage(path),
        };
        self.exists |= !bytes.is_empty();
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            match link(line) {
                Some(link) => self.links.push((path.to_owned(), link)),
                None => self.damage(path),
            }
        }
    }

    fn damage(&mut self, path: &Path) {
        self.damaged = self.damaged.take().or_else(|| Some(path.to_owned()));
    }
}

fn link(line: &[u8]) -> Option<Link> {
    let line = std::str::from_utf8(line).ok()?.strip_suffix('\n')?;
    let (seq, hash) = line.split_once(' ')?;
    let is_hash = hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    (line.len() + 1 == LINE && is_hash)
        .then_some(Link { seq: seq.parse().ok()?, hash: hash.to_owned() })
}
