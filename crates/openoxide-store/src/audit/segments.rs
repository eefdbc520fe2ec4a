//! The segments of the journal, and the records in them.

use std::{
    fs::{self, File},
    io::Read as _,
    os::unix::fs::FileExt as _,
};

use super::{
    error::AuditError,
    journal_directory::{ACTIVE_SEGMENT_NAME, JournalDirectory},
    sealed_line::{JournalPosition, SealedLine, newer_schema_version},
};

/// The number of bytes that are read first to find the last record.
const INITIAL_READ_BYTES: u64 = 4 << 10;

/// A segment of the journal, with the length that it had when it was opened.
#[derive(Debug)]
pub struct JournalSegment {
    /// The name of the file.
    pub name: String,
    /// The number of its last record. `None` if the segment is not closed.
    pub last: Option<u64>,
    file: File,
    length: u64,
}

impl JournalSegment {
    /// Returns the length in bytes when the segment was opened.
    #[must_use]
    pub const fn byte_count(&self) -> u64 {
        self.length
    }

    /// Checks that no newer version has written the segment.
    ///
    /// # Errors
    /// Returns an error if a newer version has written it, or if it cannot be read.
    pub(super) fn check_version(&self) -> Result<(), AuditError> {
        read_segment_tail(&self.file, self.length).map(drop)
    }

    /// Returns the content of the segment.
    ///
    /// # Errors
    /// Returns an error if the segment cannot be read.
    pub fn read_all(&self) -> Result<Vec<u8>, AuditError> {
        let mut bytes = Vec::with_capacity(usize::try_from(self.length).unwrap_or(0) + 1);
        let read = (&self.file).take(self.length).read_to_end(&mut bytes);
        read.map_err(AuditError::io_error("cannot be read"))?;
        Ok(bytes)
    }

    /// Returns the end of the segment, at most `most` bytes. It begins with a complete line.
    ///
    /// # Errors
    /// Returns an error if the segment cannot be read.
    pub fn read_tail(&self, most: u64) -> Result<Vec<u8>, AuditError> {
        let start = self.length.saturating_sub(most);
        let mut bytes = vec![0; usize::try_from(self.length - start).unwrap_or(0)];
        self.file
            .read_exact_at(&mut bytes, start)
            .map_err(AuditError::io_error("cannot be read"))?;
        if start == 0 {
            return Ok(bytes);
        }
        let begun = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |at| at + 1);
        Ok(bytes.split_off(begun))
    }
}

/// Returns the complete lines of a segment without their line feeds, and the bytes after the last
/// line feed.
pub fn split_lines(bytes: &[u8]) -> (impl Iterator<Item = &[u8]>, &[u8]) {
    let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let (finished, rest) = bytes.split_at_checked(end).unwrap_or((bytes, &[]));
    let finished = finished.strip_suffix(b"\n").unwrap_or(finished);
    // An empty text has no line, but an empty line is a line.
    let lines = finished.split(|byte| *byte == b'\n').skip(usize::from(end == 0));
    (lines, rest)
}

/// Returns the name of a closed segment whose last record has this number.
pub(super) fn closed_segment_name(last: u64) -> String {
    format!("journal-{last:012}.ndjson")
}

fn parse_segment_name(name: &str) -> Option<u64> {
    name.strip_prefix("journal-")?.strip_suffix(".ndjson")?.parse().ok()
}

/// Returns the numbers of the last records of the closed segments, oldest first.
pub(super) fn list_closed_segments(place: &JournalDirectory) -> Result<Vec<u64>, AuditError> {
    let entries = fs::read_dir(place.as_path());
    let entries = entries.map_err(AuditError::io_error("has a directory that cannot be listed"))?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut found: Vec<_> = names.filter_map(|name| parse_segment_name(&name)).collect();
    found.sort_unstable();
    Ok(found)
}

/// Opens every segment that contains records after `seq`, oldest first.
pub(super) fn open_segments_with_records_after(
    place: &JournalDirectory,
    seq: u64,
) -> Result<Vec<JournalSegment>, AuditError> {
    let last = list_closed_segments(place)?.into_iter().filter(|last| *last > seq);
    let names = last.map(|last| (closed_segment_name(last), Some(last)));
    let active = place
        .file_path(ACTIVE_SEGMENT_NAME)
        .symlink_metadata()
        .is_ok()
        .then(|| (ACTIVE_SEGMENT_NAME.to_owned(), None));
    names.chain(active).map(|(name, last)| open_segment(place, name, last)).collect()
}

fn open_segment(
    place: &JournalDirectory,
    name: String,
    last: Option<u64>,
) -> Result<JournalSegment, AuditError> {
    let file = place.open_read(&name)?;
    let length = file.metadata().map_err(AuditError::io_error("cannot be accessed"))?.len();
    Ok(JournalSegment { name, last, file, length })
}

/// The end of a segment.
#[derive(Debug, Default)]
pub(super) struct SegmentTail {
    /// The last record that can be read.
    pub(super) link: Option<JournalPosition>,
    /// The number of bytes after the last line feed.
    pub(super) unfinished: u64,
}

/// Reads the end of a segment of this length.
///
/// # Errors
/// Returns an error if it cannot be read, or if a newer version has written it.
pub(super) fn read_segment_tail(file: &File, length: u64) -> Result<SegmentTail, AuditError> {
    let mut size = INITIAL_READ_BYTES;
    loop {
        let start = length.saturating_sub(size);
        let mut bytes = vec![0; usize::try_from(length - start).unwrap_or(0)];
        file.read_exact_at(&mut bytes, start).map_err(AuditError::io_error("cannot be read"))?;
        let found = parse_tail(&bytes, start == 0)?;
        if found.link.is_some() || start == 0 {
            return Ok(found);
        }
        size *= 16;
    }
}

/// Parses the end of a segment. Unless `is_whole` is set, the text before the first line feed may
/// be an incomplete line and is skipped.
fn parse_tail(bytes: &[u8], is_whole: bool) -> Result<SegmentTail, AuditError> {
    let (lines, rest) = split_lines(bytes);
    let mut lines: Vec<_> = lines.collect();
    if !is_whole && !lines.is_empty() {
        lines.remove(0);
    }
    if let Some(version) = lines.last().and_then(|line| newer_schema_version(line)) {
        return Err(AuditError::Newer(version));
    }
    let link =
        lines.iter().rev().find_map(|line| SealedLine::parse(line)).map(|frame| frame.link());
    Ok(SegmentTail { link, unfinished: rest.len() as u64 })
}
