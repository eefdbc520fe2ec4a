//! Verification of the hash chain.
//!
//! A chain alone cannot show two things: that its end was removed between two records, or that all
//! records from some point on were replaced and hashed again by someone who can write the journal.
//! The anchor shows both, unless it was changed together with the journal.

use std::path::Path;

use super::{
    anchor::AnchorState,
    audit_record::{AuditEvent, AuditRecord, PruneRecord},
    error::AuditError,
    journal_fault::{JournalFault, JournalProblem},
    sealed_line::{JournalPosition, SealedLine, newer_schema_version},
    segments::{JournalSegment, split_lines},
};

/// The result of verifying the chain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerificationReport {
    /// The number of records that were read and found intact.
    pub records: u64,
    /// The number of the first record. It is more than 1 if older records were removed.
    pub first: Option<u64>,
    /// The last intact record.
    pub head: Option<JournalPosition>,
    /// The number of bytes after the last record. Its writer was killed or is still writing. The
    /// next writer removes them.
    pub unfinished: u64,
    /// True if an anchor outside the journal names the newest record. Without an anchor, a missing
    /// end cannot be detected.
    pub has_anchor: bool,
    /// The first fault.
    pub fault: Option<JournalFault>,
}

/// Verifies the chain of all records in these segments.
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
    /// The records that anchors name and that were not found so far.
    expected: Vec<JournalPosition>,
}

impl ChainVerifier {
    fn verify_segment(&mut self, name: &str, is_closed: bool, bytes: &[u8]) {
        let (lines, rest) = split_lines(bytes);
        let mut number = 0;
        for line in lines {
            number += 1;
            if let Err(problem) = self.verify_line(name, line) {
                return self.record_fault(name, number, problem);
            }
        }
        if is_closed && !rest.is_empty() {
            self.record_fault(name, number + 1, JournalProblem::EndMissing);
        } else if contains_whole_record(rest) {
            self.record_fault(name, number + 1, JournalProblem::WrongLineEnding);
        } else {
            self.verdict.unfinished = rest.len() as u64;
        }
    }

    fn verify_line(&mut self, name: &str, line: &[u8]) -> Result<(), JournalProblem> {
        let frame = SealedLine::parse(line).ok_or_else(|| {
            newer_schema_version(line)
                .map_or(JournalProblem::NotRecord, JournalProblem::NewerSchema)
        })?;
        if !frame.has_valid_hash() {
            return Err(JournalProblem::HashMismatch);
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
        let wrong = |at: &Path, seq, problem| {
            Some(JournalFault { segment: at.display().to_string(), line: 1, seq, problem })
        };
        let place = |link: &JournalPosition| {
            let named = anchored.links.iter().find(|(_, named)| named == link);
            named.map(|(path, _)| path.as_path()).unwrap_or_else(|| Path::new(""))
        };
        self.verdict.fault = match missing.max_by_key(|link| link.seq) {
            Some(last) if last.seq > head => {
                let problem = JournalProblem::MissingAtEnd { first: head + 1, last: last.seq };
                wrong(place(last), head + 1, problem)
            }
            Some(other) => wrong(place(other), other.seq, JournalProblem::Replaced(other.seq)),
            None => anchored
                .damaged
                .as_ref()
                .and_then(|path| wrong(path, head, JournalProblem::CorruptAnchor)),
        };
    }

    fn record_fault(&mut self, segment: &str, line: u64, problem: JournalProblem) {
        let seq = match &self.verdict.head {
            Some(head) => head.seq + 1,
            None => 1,
        };
        self.verdict.fault = Some(JournalFault { segment: segment.to_owned(), line, seq, problem });
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
            let count = Some(first - 1).filter(|count| *count > 0);
            let problem = JournalProblem::MissingAtStart(count);
            self.verdict.fault = Some(JournalFault { segment, line: 1, seq: first, problem });
        }
    }
}

fn check_link(frame: &SealedLine<'_>, head: &JournalPosition) -> Result<(), JournalProblem> {
    let (seq, before) = (frame.seq, head.seq);
    if seq <= before {
        return Err(JournalProblem::WrongOrder { seq, before });
    }
    match seq - before - 1 {
        0 if frame.prev == head.hash => Ok(()),
        0 => Err(JournalProblem::BrokenChain(before)),
        _ => Err(JournalProblem::Missing { first: before + 1, last: seq - 1 }),
    }
}

/// Returns whether the bytes after the last record contain a complete record and further bytes. No
/// writer leaves the journal in this state.
fn contains_whole_record(rest: &[u8]) -> bool {
    const MARK: &[u8] = br#","hash":""#;
    let at = rest.windows(MARK.len()).position(|window| window == MARK);
    let end = at.map(|at| at + MARK.len() + 66).filter(|end| *end < rest.len());
    let record = end.and_then(|end| rest.get(..end)).and_then(SealedLine::parse);
    record.is_some_and(|frame| frame.has_valid_hash())
}
