//! The anchor: the number and the hash of the newest record, stored outside the journal.
//!
//! A hash chain cannot show that its end was removed or that it was replaced with another journal.
//! The anchor can. It is one line that each writer overwrites under the journal's lock. A second
//! anchor can be stored elsewhere (`OPENOXIDE_AUDIT_ANCHOR`). It is a file to which each writer
//! appends a line, so that it can be on an append-only disk.

use std::{
    fs::{File, OpenOptions},
    io::Write as _,
    os::unix::fs::{FileExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use super::{error::AuditError, sealed_line::JournalPosition};
use crate::file_access::{FileReadError, read_regular_file};

/// The variable that names the file of the second anchor.
const SECOND_ANCHOR_VARIABLE: &str = "OPENOXIDE_AUDIT_ANCHOR";
/// The length of a line: a number of 20 digits, a space, a hash of 64 digits and a line feed.
const LINE_LENGTH: usize = 86;
const MAX_ANCHOR_BYTES: u64 = 1 << 30;

/// The files that store the number and the hash of the newest record.
#[derive(Clone, Debug)]
pub(super) struct JournalAnchor {
    path: PathBuf,
    second: Option<PathBuf>,
}

/// The content of all anchors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct AnchorState {
    /// True if any anchor exists.
    pub(super) exists: bool,
    /// The newest records, each with the anchor file that names it.
    pub(super) links: Vec<(PathBuf, JournalPosition)>,
    /// The first anchor that exists but cannot be read.
    pub(super) damaged: Option<PathBuf>,
}

impl JournalAnchor {
    /// Creates an anchor in this file and in the file that the environment names.
    pub(super) fn new(path: PathBuf) -> Self {
        let second = std::env::var_os(SECOND_ANCHOR_VARIABLE).filter(|name| !name.is_empty());
        Self { path, second: second.map(PathBuf::from) }
    }

    #[cfg(test)]
    pub(super) const fn with_second(path: PathBuf, second: PathBuf) -> Self {
        Self { path, second: Some(second) }
    }

    /// Creates an anchor only in this file.
    pub(super) const fn without_second(path: PathBuf) -> Self {
        Self { path, second: None }
    }

    /// Returns the newest record according to the first anchor.
    ///
    /// # Errors
    /// Returns an error if an anchor exists but cannot be read.
    pub(super) fn read_newest(&self) -> Result<Option<JournalPosition>, AuditError> {
        match read_regular_file(&self.path, MAX_ANCHOR_BYTES) {
            Ok(bytes) if bytes.is_empty() => Ok(None),
            Ok(bytes) => parse_link(&bytes).map(Some).ok_or_else(|| self.damaged_error()),
            Err(FileReadError::Missing) => Ok(None),
            Err(_) => Err(self.damaged_error()),
        }
    }

    fn damaged_error(&self) -> AuditError {
        let why = "is corrupt: the newest record of the audit journal is unknown";
        AuditError::Unsafe { path: self.path.clone(), why }
    }

    /// Stores the number and the hash of the newest record.
    ///
    /// # Errors
    /// Returns an error if they cannot be written.
    pub(super) fn write(&self, newest: &JournalPosition) -> Result<(), AuditError> {
        let line = format!("{:020} {}\n", newest.seq, newest.hash);
        let failed = || AuditError::io_error("has an anchor that cannot be written");
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

    /// Reads all anchors.
    pub(super) fn read_all(&self) -> AnchorState {
        let mut all = AnchorState::default();
        for path in std::iter::once(&self.path).chain(&self.second) {
            all.add_file(path);
        }
        all
    }
}

impl AnchorState {
    fn add_file(&mut self, path: &Path) {
        let bytes = match read_regular_file(path, MAX_ANCHOR_BYTES) {
            Ok(bytes) => bytes,
            Err(FileReadError::Missing) => return,
            Err(_) => return self.mark_damaged(path),
        };
        self.exists |= !bytes.is_empty();
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            match parse_link(line) {
                Some(link) => self.links.push((path.to_owned(), link)),
                None => self.mark_damaged(path),
            }
        }
    }

    fn mark_damaged(&mut self, path: &Path) {
        self.damaged = self.damaged.take().or_else(|| Some(path.to_owned()));
    }
}

fn parse_link(line: &[u8]) -> Option<JournalPosition> {
    let line = std::str::from_utf8(line).ok()?.strip_suffix('\n')?;
    let (seq, hash) = line.split_once(' ')?;
    let is_hash = hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    (line.len() + 1 == LINE_LENGTH && is_hash)
        .then_some(JournalPosition { seq: seq.parse().ok()?, hash: hash.to_owned() })
}
