//! Whether the chain is whole.
//!
//! What a chain cannot show by itself: that its end was cut off between two records, and that somebody who could write it
//! has sealed everything anew from some record on. The anchor shows both, as long as it was not changed with the journal.

use std::path::Path;

use super::{
    anchor::Anchored,
    entry::{Entry, Record, Removed},
    error::AuditError,
    seal::{Frame, Link, newer},
    segments::{Segment, lines},
};

/// What was found of the chain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// How many records were read and found whole.
    pub records: u64,
    /// The number of the first; more than 1 where older ones were removed.
    pub first: Option<u64>,
    /// The last record that was found whole.
    pub head: Option<Link>,
    /// So many bytes follow the last record: its writer died, or is still writing. The next writer cuts them off.
    pub unfinished: u64,
    /// Whether an anchor outside of the journal says which record is the newest. Without one, a missing end is not noticed.
    pub anchored: bool,
    /// The first thing that is wrong.
    pub fault: Option<Fault>,
}

/// Something that is wrong with the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The segment's file name.
    pub segment: String,
    /// The line, from 1.
    pub line: u64,
    /// The number that the record has or should have.
    pub seq: u64,
    /// What is wrong with it.
    pub what: String,
}

/// Follows the chain.
pub(super) fn verify(segments: &[Segment], anchored: &Anchored) -> Result<Verdict, AuditError> {
    let expected = anchored.links.iter().map(|(_, link)| link.clone()).collect();
    let mut walk = Walk { expected, ..Walk::default() };
    for segment in segments {
        let bytes = segment.bytes()?;
        walk.segment(&segment.name, segment.last.is_some(), &bytes);
        if walk.verdict.fault.is_some() {
            break;
        }
    }
    walk.beginning();
    walk.end(anchored);
    Ok(walk.verdict)
}

#[derive(Default)]
struct Walk {
    verdict: Verdict,
    /// Where the first record stands, and what it says that it follows.
    first: Option<(String, String)>,
    removed: Option<Removed>,
    /// The records that anchors name; those that were found are taken out.
    expected: Vec<Link>,
}

impl Walk {
    fn segment(&mut self, name: &str, is_closed: bool, bytes: &[u8]) {
        let (lines, rest) = lines(bytes);
        let mut number = 0;
        for line in lines {
            number += 1;
            if let Err(what) = self.line(name, line) {
                return self.fault(name, number, what);
            }
        }
        if is_closed && !rest.is_empty() {
            self.fault(name, number + 1, "its end is missing".to_owned());
        } else if holds_a_record(rest) {
            self.fault(name, number + 1, "record modified: wrong line ending".to_owned());
        } else {
            self.verdict.unfinished = rest.len() as u64;
        }
    }

    fn line(&mut self, name: &str, line: &[u8]) -> Result<(), String> {
        let frame = Frame::of(line).ok_or_else(|| match newer(line) {
            Some(version) => {
                format!("written by a newer version of OpenOxide (schema {version})")
            }
            None => "not an audit record".to_owned(),
        })?;
        if !frame.is_whole() {
            return Err("record modified: hash mismatch".to_owned());
        }
        match &self.verdict.head {
            Some(head) => follows(&frame, head)?,
            None => {
                self.verdict.first = Some(frame.seq);
                self.first = Some((name.to_owned(), frame.prev.to_owned()));
            }
        }
        if frame.kind == "removed"
            && let Some(Record { entry: Entry::Removed(removed), .. }) = Record::read(line)
        {
            self.removed = Some(removed);
        }
        let link = frame.link();
        self.expected.retain(|expected| *expected != link);
        self.verdict.head = Some(link);
        self.verdict.records += 1;
        Ok(())
    }

    /// Compares the newest records with what the anchors say.
    fn end(&mut self, anchored: &Anchored) {
        self.verdict.anchored = anchored.exists;
        if self.verdict.fault.is_some() {
            return;
        }
        let head = self.verdict.head.as_ref().map_or(0, |head| head.seq);
        let first = self.verdict.first.unwrap_or(0);
        // What was removed in good order is not missed.
        let missing = self.expected.iter().filter(|link| link.seq >= first);
        let wrong = |at: &Path, seq, what: String| {
            Some(Fault { segment: at.display().to_string(), line: 1, seq, what })
        };
        let place = |link: &Link| {
            let named = anchored.links.iter().find(|(_, named)| named == link);
            named.map(|(path, _)| path.as_path()).unwrap_or_else(|| Path::new(""))
        };
        self.verdict.fault = match missing.max_by_key(|link| link.seq) {
            Some(last) if last.seq > head => {
                let what = match last.seq - head {
                    1 => format!("1 record is missing: record {}, at the end of the journal", last.seq),
                    count => format!(
                        "{count} records are missing: {} to {}, at the end of the journal",
                        head + 1,
                        last.seq
                    ),
                };
                wrong(place(last), head + 1, what)
            }
            Some(other) => {
                let seq = other.seq;
                let what = format!("record {seq} differs from the one that was written: the journal was replaced");
                wrong(place(other), seq, what)
            }
            None => anchored.damaged.as_ref().and_then(|path| {
                let what = "the anchor is corrupt, so missing records at the end cannot be detected; review the journal, then delete this file";
                wrong(path, head, what.to_owned())
            }),
        };
    }

    fn fault(&mut self, segment: &str, line: u64, what: String) {
        let seq = match &self.verdict.head {
            Some(head) => head.seq + 1,
            None => 1,
        };
        self.verdict.fault = Some(Fault { segment: segment.to_owned(), line, seq, what });
    }

    /// What the first record says it follows must not be there, or must have been removed in good order.
    fn beginning(&mut self) {
        let (Some(first), Some((segment, prev))) = (self.verdict.first, self.first.take()) else {
            return;
        };
        let start = Link::default();
        let is_known = match &self.removed {
            _ if first == 1 => prev == start.hash,
            Some(removed) if removed.through + 1 == first => {
                removed.link == prev || removed.link == start.hash
            }
            Some(removed) => removed.through >= first,
            // Behind a fault there may be the record that would say so.
            None => self.verdict.fault.is_some(),
        };
        if !is_known {
            let what = match first - 1 {
                0 => "earlier records are missing, and no removal was recorded".to_owned(),
                count => {
                    format!("{count} earlier records are missing, and no removal was recorded")
                }
            };
            self.verdict.fault = Some(Fault { segment, line: 1, seq: first, what });
        }
    }
}

fn follows(frame: &Frame<'_>, head: &Link) -> Result<(), String> {
    let (seq, before) = (frame.seq, head.seq);
    if seq <= before {
        return Err(format!(
            "record {seq} appears after record {before}: records were reordered or duplicated"
        ));
    }
    match seq - before - 1 {
        0 if frame.prev == head.hash => Ok(()),
        0 => Err(format!("the chain is broken between this record and record {before}")),
        1 => Err(format!("record {} is missing", before + 1)),
        _ => Err(format!("records {} to {} are missing", before + 1, seq - 1)),
    }
}

/// Says whether a whole record and something more stands in what should be the beginning of one: no writer leaves that.
fn holds_a_record(rest: &[u8]) -> bool {
    const MARK: &[u8] = br#","hash":""#;
    let at = rest.windows(MARK.len()).position(|window| window == MARK);
    let end = at.map(|at| at + MARK.len() + 66).filter(|end| *end < rest.len());
    let record = end.and_then(|end| rest.get(..end)).and_then(Frame::of);
    record.is_some_and(|frame| frame.is_whole())
}
