//! The journal: appending records, and opening it for reading.

use std::{
    fs::{self, File},
    io::Write as _,
    path::PathBuf,
};

use super::{
    anchor::JournalAnchor,
    audit_record::{AuditEvent, PruneRecord, RepairRecord},
    error::AuditError,
    journal_directory::{ACTIVE_SEGMENT_NAME, JournalDirectory},
    limits::JournalLimits,
    sealed_line::{JournalPosition, SealedLine, append_sealed},
    segments::{
        JournalSegment, closed_segment_name, list_closed_segments,
        open_segments_with_records_after, read_segment_tail, split_lines,
    },
    timestamp::UtcTimestamp,
    verification::{VerificationReport, verify_chain},
};
use crate::user_environment::UserEnvironment;

/// The audit journal of one user.
#[derive(Clone, Debug)]
pub struct Journal {
    directory: JournalDirectory,
    anchor: JournalAnchor,
    limits: JournalLimits,
}

impl Journal {
    /// Returns the journal of this user.
    ///
    /// # Errors
    /// Returns an error if the environment names no directory for it.
    pub fn for_user(environment: &UserEnvironment) -> Result<Self, AuditError> {
        let state = environment.state.as_ref().ok_or(AuditError::NoStateDirectory)?;
        let own = state.join("openoxide");
        // The anchor is next to the journal's directory, so removing the directory leaves it in
        // place.
        let anchor = JournalAnchor::new(own.join("audit-anchor"));
        Ok(Self {
            anchor,
            ..Self::new(own.join("audit"), JournalLimits::from_process_environment())
        })
    }

    /// Returns the journal in this directory, which does not have to exist.
    #[must_use]
    pub fn new(directory: PathBuf, limits: JournalLimits) -> Self {
        let anchor = JournalAnchor::without_second(directory.join("anchor"));
        Self { directory: JournalDirectory::new(directory), anchor, limits }
    }

    /// Writes a record and returns its number. The record is then passed to the operating system
    /// but may not be on disk.
    ///
    /// An incomplete record of another writer is removed first, and the removal is recorded. If the
    /// journal is damaged, the chain continues from the last record that can be read.
    ///
    /// # Errors
    /// Returns an error if the record was not written. The journal is unchanged then.
    pub fn append(&self, entry: &AuditEvent) -> Result<u64, AuditError> {
        let body = entry.to_redacted_json()?;
        self.directory.ensure_exists()?;
        let _lock = self.directory.lock(self.limits.patience)?;
        let (mut writer, anchored) = self.open_writer()?;
        let longest = body.len() as u64 + 512; // The text around a body is shorter.
        if writer.length > 0 && writer.length + longest > self.limits.segment {
            writer = writer.rotate()?;
        }
        writer.push_record(entry.kind(), &body);
        let newest = writer.commit()?;
        if anchored {
            // The record is written. The next `verify` detects that the anchor is outdated; there
            // is no other effect.
            drop(self.anchor.write(&newest));
        }
        Ok(newest.seq)
    }

    /// Opens the journal for writing after the record that the anchor names. If the end of the
    /// journal is missing, the new records follow the number and the hash of the missing record, so
    /// that the gap stays visible. Returns whether the anchor may be written. An anchor that names
    /// a record which the journal does not contain stays unchanged as evidence.
    fn open_writer(&self) -> Result<(JournalWriter<'_>, bool), AuditError> {
        let anchor = self.anchor.read_newest();
        let mut writer = JournalWriter::open(&self.directory, self.limits)?;
        let fits = match anchor {
            Err(_) => false,
            Ok(None) => true,
            Ok(Some(newest)) if newest.seq > writer.previous.seq => {
                writer.previous = newest;
                true
            }
            Ok(Some(newest)) => newest == writer.previous || self.contains_recent(&newest)?,
        };
        if writer.unfinished > 0 {
            writer.truncate_unfinished()?;
        }
        Ok((writer, fits))
    }

    /// Returns whether a record is in one of the two newest segments. Other writers may have added
    /// records after it and been killed before they wrote the anchor.
    fn contains_recent(&self, record: &JournalPosition) -> Result<bool, AuditError> {
        let mut segments =
            open_segments_with_records_after(&self.directory, record.seq.saturating_sub(1))?;
        segments.truncate(2);
        for segment in &segments {
            let bytes = segment.read_all()?;
            let (mut lines, _) = split_lines(&bytes);
            if lines
                .any(|line| SealedLine::parse(line).is_some_and(|frame| frame.link() == *record))
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Opens the segments that contain records after `seq`, oldest first. They may also contain
    /// earlier records.
    ///
    /// Returns no segments if nothing has been written yet.
    ///
    /// # Errors
    /// Returns an error if a segment cannot be opened, or if another user could have written it.
    pub fn open_segments_with_records_after(
        &self,
        seq: u64,
    ) -> Result<Vec<JournalSegment>, AuditError> {
        if !self.directory.exists() {
            return Ok(Vec::new());
        }
        self.directory.ensure_exists()?;
        // The lock ensures that no record is incomplete and no segment is moved. If it cannot be
        // acquired, the journal is read anyway.
        let _lock = self.directory.lock(self.limits.patience).ok();
        let segments = open_segments_with_records_after(&self.directory, seq)?;
        segments.last().map(JournalSegment::check_version).transpose()?;
        Ok(segments)
    }

    /// Verifies the hash chain through all segments.
    ///
    /// # Errors
    /// Returns an error if a segment cannot be read. A modified journal is not an error but a fault
    /// in the report.
    pub fn verify(&self) -> Result<VerificationReport, AuditError> {
        // Read before the journal, so that a concurrent writer can only make the journal newer than
        // the anchor.
        let anchored = self.anchor.read_all();
        verify_chain(&self.open_segments_with_records_after(0)?, &anchored)
    }
}

/// Records that are written together, and the segment that they are written to.
struct JournalWriter<'a> {
    directory: &'a JournalDirectory,
    limits: JournalLimits,
    file: File,
    length: u64,
    previous: JournalPosition,
    text: String,
    /// Closed segments that are removed after the removal is recorded.
    segments_to_remove: Vec<u64>,
    /// The length in bytes of the incomplete record at the end of the file.
    unfinished: u64,
}

impl<'a> JournalWriter<'a> {
    fn open(place: &'a JournalDirectory, limits: JournalLimits) -> Result<Self, AuditError> {
        let file = place.open_append(ACTIVE_SEGMENT_NAME)?;
        let length = file.metadata().map_err(AuditError::io_error("cannot be accessed"))?.len();
        let end = read_segment_tail(&file, length)?;
        let before = match end.link {
            Some(link) => link,
            None => find_last_closed_link(place)?,
        };
        let text = String::with_capacity(1024);
        let (leaving, unfinished) = (Vec::new(), end.unfinished);
        Ok(Self {
            directory: place,
            limits,
            file,
            length,
            previous: before,
            text,
            segments_to_remove: leaving,
            unfinished,
        })
    }

    fn truncate_unfinished(&mut self) -> Result<(), AuditError> {
        let unfinished = std::mem::take(&mut self.unfinished);
        let length = self.length - unfinished;
        self.file.set_len(length).map_err(AuditError::io_error("cannot be repaired"))?;
        self.length = length;
        let entry = AuditEvent::Repair(RepairRecord { removed_bytes: unfinished });
        self.push_record(entry.kind(), &entry.to_redacted_json()?);
        Ok(())
    }

    fn push_record(&mut self, kind: &str, body: &str) {
        self.previous =
            append_sealed(&self.previous, UtcTimestamp::now(), kind, body, &mut self.text);
    }

    /// Closes the segment and starts a new one. Outdated segments are removed, oldest first.
    fn rotate(mut self) -> Result<Self, AuditError> {
        if !self.text.is_empty() {
            self.flush()?;
        }
        // A damaged journal may reach a number that was already used. Existing segments are not
        // overwritten.
        let mut names =
            (self.previous.seq..).map(|seq| self.directory.file_path(&closed_segment_name(seq)));
        let to = names.find(|name| name.symlink_metadata().is_err()).unwrap_or_default();
        fs::rename(self.directory.file_path(ACTIVE_SEGMENT_NAME), to)
            .map_err(AuditError::io_error("cannot be rotated"))?;
        let leaving = find_outdated_segments(self.directory, self.limits)?;
        let mut next = Self::open(self.directory, self.limits)?;
        // This is the same value unless the end of the journal is missing.
        next.previous = self.previous;
        if let Some(last) = leaving.last() {
            let link = read_closed_link(self.directory, *last)?;
            let link = link.unwrap_or(JournalPosition { seq: *last, ..JournalPosition::default() });
            let entry = AuditEvent::Prune(PruneRecord::from_link(link));
            next.push_record(entry.kind(), &entry.to_redacted_json()?);
        }
        next.segments_to_remove = leaving;
        Ok(next)
    }

    fn commit(mut self) -> Result<JournalPosition, AuditError> {
        self.flush()?;
        for last in &self.segments_to_remove {
            // A segment that cannot be removed now is removed next time.
            drop(fs::remove_file(self.directory.file_path(&closed_segment_name(*last))));
        }
        Ok(self.previous)
    }

    /// Writes all records in one operation, or none of them.
    fn flush(&mut self) -> Result<(), AuditError> {
        let text = std::mem::take(&mut self.text);
        if let Err(error) = self.file.write_all(text.as_bytes()) {
            drop(self.file.set_len(self.length));
            return Err(AuditError::io_error("cannot be written")(error));
        }
        self.length += text.len() as u64;
        Ok(())
    }
}

/// Returns the position of the newest record in closed segments, or the initial position if there
/// is none.
fn find_last_closed_link(place: &JournalDirectory) -> Result<JournalPosition, AuditError> {
    for last in list_closed_segments(place)?.into_iter().rev() {
        if let Some(link) = read_closed_link(place, last)? {
            return Ok(link);
        }
    }
    Ok(JournalPosition::default())
}

fn read_closed_link(
    place: &JournalDirectory,
    last: u64,
) -> Result<Option<JournalPosition>, AuditError> {
    let file = place.open_read(&closed_segment_name(last))?;
    let length = file.metadata().map_err(AuditError::io_error("cannot be accessed"))?.len();
    Ok(read_segment_tail(&file, length)?.link)
}

/// Returns the closed segments that exceed the maximum age or the maximum total size, oldest first.
fn find_outdated_segments(
    place: &JournalDirectory,
    limits: JournalLimits,
) -> Result<Vec<u64>, AuditError> {
    let oldest = UtcTimestamp::now().0.saturating_sub(limits.age);
    let mut total = limits.segment; // The maximum length of the new segment.
    let mut found = Vec::new();
    for last in list_closed_segments(place)?.into_iter().rev() {
        let meta = fs::symlink_metadata(place.file_path(&closed_segment_name(last)));
        let meta = meta.map_err(AuditError::io_error("cannot be accessed"))?;
        total += meta.len();
        let changed = meta.modified().ok().map(UtcTimestamp::from);
        if !found.is_empty() || total > limits.total || changed.is_some_and(|at| at.0 < oldest) {
            found.insert(0, last);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
