//! The journal: appending to it, and opening it to read.

use std::{
    fs::{self, File},
    io::Write as _,
    path::PathBuf,
};

use super::{
    anchor::Anchor,
    entry::{Entry, Removed, Repaired},
    error::AuditError,
    limits::Limits,
    place::{ACTIVE, Place},
    seal::{Frame, Link, seal},
    segments::{Segment, closed, lines, list, open_after, tail},
    time::Moment,
    verify::{Verdict, verify},
};
use crate::locations::Environment;

/// The audit journal of one user.
#[derive(Clone, Debug)]
pub struct Journal {
    place: Place,
    anchor: Anchor,
    limits: Limits,
}

impl Journal {
    /// Returns the journal of this user.
    ///
    /// # Errors
    /// When the environment names no directory for it.
    pub fn of(environment: &Environment) -> Result<Self, AuditError> {
        let state = environment.state.as_ref().ok_or(AuditError::Nowhere)?;
        let own = state.join("openoxide");
        // Beside the journal's directory: who removes that one leaves the anchor.
        let anchor = Anchor::new(own.join("audit-anchor"));
        Ok(Self { anchor, ..Self::new(own.join("audit"), Limits::read()) })
    }

    /// Returns the journal in this directory, which need not be there yet.
    #[must_use]
    pub fn new(directory: PathBuf, limits: Limits) -> Self {
        let anchor = Anchor::single(directory.join("anchor"));
        Self { place: Place::new(directory), anchor, limits }
    }

    /// Writes a record; returns its number. It is in the hands of the system then, but not yet on the disk.
    ///
    /// A record that its writer left unfinished is cut off before, which is recorded. Where the journal is not whole, the
    /// chain goes on from the last record that can be read.
    ///
    /// # Errors
    /// When it was not written. The journal is then as it was.
    pub fn append(&self, entry: &Entry) -> Result<u64, AuditError> {
        let body = entry.body()?;
        self.place.ready()?;
        let _lock = self.place.lock(self.limits.patience)?;
        let (mut writer, anchored) = self.open_anchored()?;
        let longest = body.len() as u64 + 512; // What stands around a body is shorter.
        if writer.length > 0 && writer.length + longest > self.limits.segment {
            writer = writer.rotate()?;
        }
        writer.add(entry.kind(), &body);
        let newest = writer.write()?;
        if anchored {
            // The record is written; that the anchor is not is found by the next `verify`, and costs nothing else.
            drop(self.anchor.write(&newest));
        }
        Ok(newest.seq)
    }

    /// Opens the journal to write, behind the record that the anchor names. Where the end of the journal is missing, the number and the
    /// hash of the missing record are followed, so that the gap stays visible. Returns whether the anchor may be written: one that names
    /// a record which the journal does not have stays as it is, as the evidence.
    fn open_anchored(&self) -> Result<(Writer<'_>, bool), AuditError> {
        let anchor = self.anchor.newest();
        let mut writer = Writer::open(&self.place, self.limits)?;
        let fits = match anchor {
            Err(_) => false,
            Ok(None) => true,
            Ok(Some(newest)) if newest.seq > writer.before.seq => {
                writer.before = newest;
                true
            }
            Ok(Some(newest)) => newest == writer.before || self.holds(&newest)?,
        };
        if writer.unfinished > 0 {
            writer.cut()?;
        }
        Ok((writer, fits))
    }

    /// Returns whether a record is in one of the two newest segments: others wrote behind it, and died before they noted that.
    fn holds(&self, record: &Link) -> Result<bool, AuditError> {
        let mut segments = open_after(&self.place, record.seq.saturating_sub(1))?;
        segments.truncate(2);
        for segment in &segments {
            let bytes = segment.bytes()?;
            let (mut lines, _) = lines(&bytes);
            if lines.any(|line| Frame::of(line).is_some_and(|frame| frame.link() == *record)) {
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
    pub fn segments_after(&self, seq: u64) -> Result<Vec<Segment>, AuditError> {
        if !self.place.is_there() {
            return Ok(Vec::new());
        }
        self.place.ready()?;
        // Held, so that no record is half written and no segment moves. Who cannot hold it reads all the same.
        let _lock = self.place.lock(self.limits.patience).ok();
        let segments = open_after(&self.place, seq)?;
        segments.last().map(Segment::check_version).transpose()?;
        Ok(segments)
    }

    /// Follows the chain through all segments.
    ///
    /// # Errors
    /// When a segment cannot be read. That something was changed is no error but the verdict.
    pub fn verify(&self) -> Result<Verdict, AuditError> {
        // Read before the journal: a writer that comes between the two adds to the journal alone.
        let anchored = self.anchor.read();
        verify(&self.segments_after(0)?, &anchored)
    }
}

/// What is to be written at once, and where.
struct Writer<'a> {
    place: &'a Place,
    limits: Limits,
    file: File,
    length: u64,
    before: Link,
    text: String,
    /// Closed segments that are removed once it is written that they are.
    leaving: Vec<u64>,
    /// So many bytes at the end of the file are an unfinished record.
    unfinished: u64,
}

impl<'a> Writer<'a> {
    fn open(place: &'a Place, limits: Limits) -> Result<Self, AuditError> {
        let file = place.open(ACTIVE)?;
        let length = file.metadata().map_err(AuditError::io("cannot be looked at"))?.len();
        let end = tail(&file, length)?;
        let before = match end.link {
            Some(link) => link,
            None => last_closed(place)?,
        };
        let text = String::with_capacity(1024);
        let (leaving, unfinished) = (Vec::new(), end.unfinished);
        Ok(Self { place, limits, file, length, before, text, leaving, unfinished })
    }

    fn cut(&mut self) -> Result<(), AuditError> {
        let unfinished = std::mem::take(&mut self.unfinished);
        let length = self.length - unfinished;
        self.file.set_len(length).map_err(AuditError::io("cannot be repaired"))?;
        self.length = length;
        let entry = Entry::Repaired(Repaired { cut: unfinished });
        self.add(entry.kind(), &entry.body()?);
        Ok(())
    }

    fn add(&mut self, kind: &str, body: &str) {
        self.before = seal(&self.before, Moment::now(), kind, body, &mut self.text);
    }

    /// Closes the segment and begins a new one. What no longer has to be kept leaves, the oldest first.
    fn rotate(mut self) -> Result<Self, AuditError> {
        if !self.text.is_empty() {
            self.flush()?;
        }
        // A journal that is not whole may have come back to a number that was there before: nothing is written over.
        let mut names = (self.before.seq..).map(|seq| self.place.path(&closed(seq)));
        let to = names.find(|name| name.symlink_metadata().is_err()).unwrap_or_default();
        fs::rename(self.place.path(ACTIVE), to).map_err(AuditError::io("cannot be rotated"))?;
        let leaving = outdated(self.place, self.limits)?;
        let mut next = Self::open(self.place, self.limits)?;
        // The same, unless the end of the journal is missing.
        next.before = self.before;
        if let Some(last) = leaving.last() {
            let link = closed_link(self.place, *last)?;
            let link = link.unwrap_or(Link { seq: *last, ..Link::default() });
            let entry = Entry::Removed(Removed::up_to(link));
            next.add(entry.kind(), &entry.body()?);
        }
        next.leaving = leaving;
        Ok(next)
    }

    fn write(mut self) -> Result<Link, AuditError> {
        self.flush()?;
        for last in &self.leaving {
            // What could not be removed now is removed next time.
            drop(fs::remove_file(self.place.path(&closed(*last))));
        }
        Ok(self.before)
    }

    /// Writes everything in one go, or nothing.
    fn flush(&mut self) -> Result<(), AuditError> {
        let text = std::mem::take(&mut self.text);
        if let Err(error) = self.file.write_all(text.as_bytes()) {
            drop(self.file.set_len(self.length));
            return Err(AuditError::io("cannot be written")(error));
        }
        self.length += text.len() as u64;
        Ok(())
    }
}

/// Returns the place of the newest record in closed segments; that of the beginning if there is none.
fn last_closed(place: &Place) -> Result<Link, AuditError> {
    for last in list(place)?.into_iter().rev() {
        if let Some(link) = closed_link(place, last)? {
            return Ok(link);
        }
    }
    Ok(Link::default())
}

fn closed_link(place: &Place, last: u64) -> Result<Option<Link>, AuditError> {
    let file = place.open_to_read(&closed(last))?;
    let length = file.metadata().map_err(AuditError::io("cannot be looked at"))?.len();
    Ok(tail(&file, length)?.link)
}

/// Returns the closed segments that are too old, or too much, the oldest first.
fn outdated(place: &Place, limits: Limits) -> Result<Vec<u64>, AuditError> {
    let oldest = Moment::now().0.saturating_sub(limits.age);
    let mut total = limits.segment; // What the new segment may grow to.
    let mut found = Vec::new();
    for last in list(place)?.into_iter().rev() {
        let meta = fs::symlink_metadata(place.path(&closed(last)));
        let meta = meta.map_err(AuditError::io("cannot be looked at"))?;
        total += meta.len();
        let changed = meta.modified().ok().map(Moment::from);
        if !found.is_empty() || total > limits.total || changed.is_some_and(|at| at.0 < oldest) {
            found.insert(0, last);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
