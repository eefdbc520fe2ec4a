//! The journal: appending to it, and opening it to read.

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
    /// When the environment names no directory for it.
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

    /// Returns the journal in this directory, which need not be there yet.
    #[must_use]
    pub fn new(directory: PathBuf, limits: JournalLimits) -> Self {
        let anchor = JournalAnchor::without_second(directory.join("anchor"));
        Self { directory: JournalDirectory::new(directory), anchor, limits }
    }

    /// Writes a record; returns its number. It is in the hands of the system then, but not yet on the disk.
    ///
    /// A record that its writer left unfinished is cut off before, which is recorded. Where the journal is not whole, the
    /// chain goes on from the last record that can be read.
    ///
    /// # Errors
    /// When it was not written. The journal is then as it was.
    pub fn append(&self, entry: &AuditEvent) -> Result<u64, AuditError> {
        let body = entry.to_redacted_json()?;
        self.directory.ensure_exists()?;
        let _lock = self.directory.lock(self.limits.patience)?;
        let (mut writer, anchored) = self.open_writer()?;
        let longest = body.len() as u64 + 512; // What stands around a body is shorter.
        if writer.length > 0 && writer.length + longest > self.limits.segment {
            writer = writer.rotate()?;
        }
        writer.push_record(entry.kind(), &body);
        let newest = writer.commit()?;
        if anchored {
            // The record is written; that the anchor is not is found by the next `verify`, and costs nothing else.
            drop(self.anchor.write(&newest));
        }
        Ok(newest.seq)
    }

    /// Opens the journal to write, behind the record that the anchor names. Where the end of the journal is missing, the number and the
    /// hash of the missing record are followed, so that the gap stays visible. Returns whether the anchor may be written: one that names
    /// a record which the journal does not have stays as it is, as the evidence.
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

    /// Returns whether a record is in one of the two newest segments: others wrote behind it, and died before they noted that.
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

    /// Opens the segments that have records after `seq`, the oldest first; those before may be among them.
    ///
    /// Where nothing has been written yet there are none.
    ///
    /// # Errors
    /// When a segment cannot be opened, or others could have written it.
    pub fn open_segments_with_records_after(
        &self,
        seq: u64,
    ) -> Result<Vec<JournalSegment>, AuditError> {
        if !self.directory.exists() {
            return Ok(Vec::new());
        }
        self.directory.ensure_exists()?;
        // The lock ensures that no record is half written and no segment is moved. If it cannot be
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
        // Read before the journal: a writer that comes between the two adds to the journal alone.
        let anchored = self.anchor.read_all();
        verify_chain(&self.open_segments_with_records_after(0)?, &anchored)
    }
}

/// The records that are written together, and the segment that they are written to.
struct JournalWriter<'a> {
    directory: &'a JournalDirectory,
    limits: JournalLimits,
    file: File,
    length: u64,
    previous: JournalPosition,
    text: String,
    /// Closed segments that are removed once it is written that they are.
    segments_to_remove: Vec<u64>,
    /// The length in bytes of the unfinished record at the end of the file.
    unfinished: u64,
}

impl<'a> JournalWriter<'a> {
    fn open(place: &'a JournalDirectory, limits: JournalLimits) -> Result<Self, AuditError> {
        let file = place.open_append(ACTIVE_SEGMENT_NAME)?;
        let length = file.metadata().map_err(AuditError::io_error("cannot be looked at"))?.len();
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

    /// Closes the segment and begins a new one. What no longer has to be kept leaves, the oldest first.
    fn rotate(mut self) -> Result<Self, AuditError> {
        if !self.text.is_empty() {
            self.flush()?;
        }
        // A journal that is not whole may have come back to a number that was there before: nothing is written over.
        let mut names =
            (self.previous.seq..).map(|seq| self.directory.file_path(&closed_segment_name(seq)));
        let to = names.find(|name| name.symlink_metadata().is_err()).unwrap_or_default();
        fs::rename(self.directory.file_path(ACTIVE_SEGMENT_NAME), to)
            .map_err(AuditError::io_error("cannot be rotated"))?;
        let leaving = find_outdated_segments(self.directory, self.limits)?;
        let mut next = Self::open(self.directory, self.limits)?;
        // The same, unless the end of the journal is missing.
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
            // What could not be removed now is removed next time.
            drop(fs::remove_file(self.directory.file_path(&closed_segment_name(*last))));
        }
        Ok(self.previous)
    }

    /// Writes everything in one go, or nothing.
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

/// Returns the place of the newest record in closed segments; that of the beginning if there is none.
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
    let length = file.metadata().map_err(AuditError::io_error("cannot be looked at"))?.len();
    Ok(read_segment_tail(&file, length)?.link)
}

/// Returns the closed segments that are too old, or too much, the oldest first.
fn find_outdated_segments(
    place: &JournalDirectory,
    limits: JournalLimits,
) -> Result<Vec<u64>, AuditError> {
    let oldest = UtcTimestamp::now().0.saturating_sub(limits.age);
    let mut total = limits.segment; // What the new segment may grow to.
    let mut found = Vec::new();
    for last in list_closed_segments(place)?.into_iter().rev() {
        let meta = fs::symlink_metadata(place.file_path(&closed_segment_name(last)));
        let meta = meta.map_err(AuditError::io_error("cannot be looked at"))?;
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
