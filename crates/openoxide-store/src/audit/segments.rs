//! The segments of the journal, and the records in them.

use std::{
    fs::{self, File},
    io::Read as _,
    os::unix::fs::FileExt as _,
};

use super::{
    error::AuditError,
    place::{ACTIVE, Place},
    seal::{Frame, Link, newer},
};

/// At first, so many bytes are read to find the last record.
const FIRST_READ: u64 = 4 << 10;

/// A segment of the journal, as long as it was when it was opened.
#[derive(Debug)]
pub struct Segment {
    /// Its file's name.
    pub name: String,
    /// The number of its last record, if it is closed.
    pub last: Option<u64>,
    file: File,
    length: u64,
}

impl Segment {
    /// Returns how long it was when it was opened.
    #[must_use]
    pub const fn length(&self) -> u64 {
        self.length
    }

    /// Checks that no newer version has written it.
    ///
    /// # Errors
    /// When one has, or it cannot be read.
    pub(super) fn check_version(&self) -> Result<(), AuditError> {
        tail(&self.file, self.length).map(drop)
    }

    /// Returns what it holds.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn bytes(&self) -> Result<Vec<u8>, AuditError> {
        let mut bytes = Vec::with_capacity(usize::try_from(self.length).unwrap_or(0) + 1);
        let read = (&self.file).take(self.length).read_to_end(&mut bytes);
        read.map_err(AuditError::io("cannot be read"))?;
        Ok(bytes)
    }

    /// Returns the end of what it holds, at most so many bytes; it begins with a whole line.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn newest(&self, most: u64) -> Result<Vec<u8>, AuditError> {
        let start = self.length.saturating_sub(most);
        let mut bytes = vec![0; usize::try_from(self.length - start).unwrap_or(0)];
        self.file.read_exact_at(&mut bytes, start).map_err(AuditError::io("cannot be read"))?;
        if start == 0 {
            return Ok(bytes);
        }
        let begun = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |at| at + 1);
        Ok(bytes.split_off(begun))
    }
}

/// Returns the finished lines of a segment, without their line feeds, and what follows the last one.
pub fn lines(bytes: &[u8]) -> (impl Iterator<Item = &[u8]>, &[u8]) {
    let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let (finished, rest) = bytes.split_at_checked(end).unwrap_or((bytes, &[]));
    let finished = finished.strip_suffix(b"\n").unwrap_or(finished);
    // Nothing at all is no line; an empty line is one.
    let lines = finished.split(|byte| *byte == b'\n').skip(usize::from(end == 0));
    (lines, rest)
}

/// Returns the name of a closed segment whose last record has this number.
pub(super) fn closed(last: u64) -> String {
    format!("journal-{last:012}.ndjson")
}

fn last_of(name: &str) -> Option<u64> {
    name.strip_prefix("journal-")?.strip_suffix(".ndjson")?.parse().ok()
}

/// Returns the numbers of the closed segments' last records, the oldest first.
pub(super) fn list(place: &Place) -> Result<Vec<u64>, AuditError> {
    let entries = fs::read_dir(place.directory());
    let entries = entries.map_err(AuditError::io("has a directory that cannot be listed"))?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut found: Vec<_> = names.filter_map(|name| last_of(&name)).collect();
    found.sort_unstable();
    Ok(found)
}

/// Opens every segment that has records after `seq`, the oldest first.
pub(super) fn open_after(place: &Place, seq: u64) -> Result<Vec<Segment>, AuditError> {
    let last = list(place)?.into_iter().filter(|last| *last > seq);
    let names = last.map(|last| (closed(last), Some(last)));
    let active = place.path(ACTIVE).symlink_metadata().is_ok().then(|| (ACTIVE.to_owned(), None));
    names.chain(active).map(|(name, last)| open(place, name, last)).collect()
}

fn open(place: &Place, name: String, last: Option<u64>) -> Result<Segment, AuditError> {
    let file = place.open_to_read(&name)?;
    let length = file.metadata().map_err(AuditError::io("cannot be looked at"))?.len();
    Ok(Segment { name, last, file, length })
}

/// The end of a segment.
#[derive(Debug, Default)]
pub(super) struct Tail {
    /// The last record that can be read.
    pub(super) link: Option<Link>,
    /// How many bytes follow the last line feed.
    pub(super) unfinished: u64,
}

/// Returns the end of a segment of this length.
///
/// # Errors
/// When it cannot be read, or a newer version has written it.
pub(super) fn tail(file: &File, length: u64) -> Result<Tail, AuditError> {
    let mut size = FIRST_READ;
    loop {
        let start = length.saturating_sub(size);
        let mut bytes = vec![0; usize::try_from(length - start).unwrap_or(0)];
        file.read_exact_at(&mut bytes, start).map_err(AuditError::io("cannot be read"))?;
        let found = tail_of(&bytes, start == 0)?;
        if found.link.is_some() || start == 0 {
            return Ok(found);
        }
        size *= 16;
    }
}

/// What lies between an unknown beginning and the first line feed may be half a line.
fn tail_of(bytes: &[u8], is_whole: bool) -> Result<Tail, AuditError> {
    let (lines, rest) = lines(bytes);
    let mut lines: Vec<_> = lines.collect();
    if !is_whole && !lines.is_empty() {
        lines.remove(0);
    }
    if let Some(version) = lines.last().and_then(|line| newer(line)) {
        return Err(AuditError::Newer(version));
    }
    let link = lines.iter().rev().find_map(|line| Frame::of(line)).map(|frame| frame.link());
    Ok(Tail { link, unfinished: rest.len() as u64 })
}
