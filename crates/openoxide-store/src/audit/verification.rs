//! Verification of the hash chain.
//!
//! A chain alone cannot show two things: that its end was cut off between two records, or that all
//! records from some point on were replaced and hashed again by someone who can write the journal.
//! The anchor shows both, unless it was changed together with the journal.

use std::path::Path;

use super::{
    anchor::AnchorState,
    audit_record::{AuditEvent, AuditRecord, PruneRecord},
    error::AuditError,
    sealed_line::{JournalPosition, SealedLine, newer_schema_version},
    segments::{JournalSegment, split_lines},
};

/// The result of verifying the chain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerificationReport {
    /// The number of records that were read and found intact.
    pub records: u64,
    /// The number of the first; more than 1 where older ones were removed.
    pub first: Option<u64>,
    /// The last record that was found whole.
    pub head: Option<JournalPosition>,
    /// The number of bytes after the last record. Its writer died or is still writing. The next
    /// writer removes them.
    pub unfinished: u64,
    /// True if an anchor outside of the journal names the newest record. Without an anchor, a
    /// missing end cannot be detected.
    pub has_anchor: bool,
    /// The first thing that is wrong.
    pub fault: Option<JournalFault>,
}

/// Something that is wrong with the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalFault {
    /// The segment's file name.
    pub segment: String,
    /// The line, from 1.
    pub line: u64,
    /// The number that the record has or should have.
    pub seq: u64,
    /// A description of the problem.
    pub message: String,
}

/// Follows the chain.
pub(super) fn verify_chain(
    segments: &[JournalSegment],
    anchored: &AnchorState,
) -> Result<VerificationReport, AuditError> {
    let expected = anchored.links.iter().map(|(_, link)| link.clone()).collect();
    let mut walk = ChainVerifier { expected, ..ChainVerifier::default() };
    for segment in segments {
        let bytes = segment.read_all()?;
        walk.verify_segment(&segment.name, segment.last.is_some(), &bytes);
        if walk.verdict.fault.is_some() {
            break;
        }
    }
    walk.verify_start();
    walk.verify_anchors(anchored);
    Ok(walk.verdict)
}

#[derive(Default)]
struct ChainVerifier {
    verdict: VerificationReport,
    /// The segment of the first record, and the hash that the record names as its predecessor.
    first: Option<(String, String)>,
    removed: Option<PruneRecord>,
    /// The records that anchors name; those that were found are taken out.
    expected: Vec<JournalPosition>,
}

impl ChainVerifier {
    fn verify_segment(&mut self, name: &str, is_closed: bool, bytes: &[u8]) {
        let (lines, rest) = split_lines(bytes);
        let mut number = 0;
        for line in lines {
            number += 1;
            if let Err(what) = self.verify_line(name, line) {
                return self.record_fault(name, number, what);
            }
        }
        if is_closed && !rest.is_empty() {
            self.record_fault(name, number + 1, "its end is missing".to_owned());
        } else if contains_whole_record(rest) {
            self.record_fault(name, number + 1, "record modified: wrong line ending".to_owned());
        } else {
            self.verdict.unfinished = rest.len() as u64;
        }
    }

    fn verify_line(&mut self, name: &str, line: &[u8]) -> Result<(), String> {
        let frame = SealedLine::parse(line).ok_or_else(|| match newer_schema_version(line) {
            Some(version) => {
                format!("written by a newer version of OpenOxide (schema {version})")
            }
            None => "not an audit record".to_owned(),
        })?;
        if !frame.has_valid_hash() {
            return Err("record modified: hash mismatch".to_owned());
        }
        match &self.verdict.head {
            Some(head) => check_link(&frame, head)?,
            None => {
                self.verdict.first = Some(frame.seq);
                self.first = Some((name.to_owned(), frame.prev.to_owned()));
            }
        }
        if frame.kind == "removed"
            && let Some(AuditRecord { entry: AuditEvent::Prune(removed), .. }) =
                AuditRecord::parse(line)
        {
            self.removed = Some(removed);
        }
        let link = frame.link();
        self.expected.retain(|expected| *expected != link);
        self.verdict.head = Some(link);
        self.verdict.records += 1;
        Ok(())
    }

    /// Compares the newest records with the anchors.
    fn verify_anchors(&mut self, anchored: &AnchorState) {
        self.verdict.has_anchor = anchored.exists;
        if self.verdict.fault.is_some() {
            return;
        }
        let head = self.verdict.head.as_ref().map_or(0, |head| head.seq);
        let first = self.verdict.first.unwrap_or(0);
        // Records that were removed with a prune record are not missing.
        let missing = self.expected.iter().filter(|link| link.seq >= first);
        let wrong = |at: &Path, seq, what: String| {
            Some(JournalFault { segment: at.display().to_string(), line: 1, seq, message: what })
        };
        let place = |link: &JournalPosition| {
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

    fn record_fault(&mut self, segment: &str, line: u64, what: String) {
        let seq = match &self.verdict.head {
            Some(head) => head.seq + 1,
            None => 1,
        };
        self.verdict.fault =
            Some(JournalFault { segment: segment.to_owned(), line, seq, message: what });
    }

    /// Checks that the first record has no predecessor, or that its predecessor was removed with a
    /// prune record.
    fn verify_start(&mut self) {
        let (Some(first), Some((segment, prev))) = (self.verdict.first, self.first.take()) else {
            return;
        };
        let start = JournalPosition::default();
        let is_known = match &self.removed {
            _ if first == 1 => prev == start.hash,
            Some(removed) if removed.last_seq + 1 == first => {
                removed.last_hash == prev || removed.last_hash == start.hash
            }
            Some(removed) => removed.last_seq >= first,
            // After a fault, the prune record may not have been read.
            None => self.verdict.fault.is_some(),
        };
        if !is_known {
            let what = match first - 1 {
                0 => "earlier records are missing, and no removal was recorded".to_owned(),
                count => {
                    format!("{count} earlier records are missing, and no removal was recorded")
                }
            };
            self.verdict.fault = Some(JournalFault { segment, line: 1, seq: first, message: what });
        }
    }
}

fn check_link(frame: &SealedLine<'_>, head: &JournalPosition) -> Result<(), String> {
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

/// Returns whether a complete record and further bytes are found where an unfinished record is
/// expected. No writer leaves the journal in this state.
fn contains_whole_record(rest: &[u8]) -> bool {
    const MARK: &[u8] = br#","hash":""#;
    let at = rest.windows(MARK.len()).position(|window| window == MARK);
    let end = at.map(|at| at + MARK.len() + 66).filter(|end| *end < rest.len());
    let record = end.and_then(|end| rest.get(..end)).and_then(SealedLine::parse);
    record.is_some_and(|frame| frame.has_valid_hash())
}
