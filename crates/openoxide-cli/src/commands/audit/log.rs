//! `audit log`: the records, one after the other.

use std::{
    collections::{HashSet, VecDeque},
    io::Write as _,
    time::Duration,
};

use openoxide_store::audit::{AuditError, Entry, Journal, Record, Segment, lines};

use super::{NOTHING, row::row};
use crate::{
    args::{Global, LogArgs},
    color,
    exit::Exit,
    report,
};

/// A person is shown so many records at first.
const USUAL: usize = 50;
/// How often is looked for new records.
const POLL: Duration = Duration::from_millis(200);

/// Shows the records that are asked for.
pub(super) fn log(args: &LogArgs, journal: &Journal, global: Global) -> Result<Exit, AuditError> {
    let colored = color::wanted(global.color, &std::io::stdout());
    let mut reader = Reader { args, colored, seq: 0, shown: HashSet::new() };
    let segments = journal.segments_after(0)?;
    let limit = args.limit.unwrap_or(if args.json { usize::MAX } else { USUAL });
    let mut kept = VecDeque::new();
    let mut left = 0;
    for segment in &segments {
        for shown in reader.read(segment)? {
            kept.push_back(shown);
            if kept.len() > limit {
                kept.pop_front();
                left += 1;
            }
        }
    }
    if reader.seq == 0 && !args.follow && !args.json {
        return Ok(report::data(format!("{NOTHING}\n").as_bytes(), Exit::Success));
    }
    if left > 0 && args.limit.is_none() {
        report::note(&format!("{left} older records omitted; see --limit and --since"));
    }
    if kept.is_empty() && !args.follow && !args.json {
        report::note(&"no record matches");
    }
    let text: String = kept.iter().map(|shown| reader.text(shown)).collect();
    if !args.follow {
        return Ok(report::data(text.as_bytes(), Exit::Success));
    }
    follow(&mut reader, journal, &text, stamp(&segments))
}

/// Shows what is written from now on, until nobody reads it any more.
fn follow(
    reader: &mut Reader<'_>,
    journal: &Journal,
    first: &str,
    mut seen: Vec<(String, u64)>,
) -> Result<Exit, AuditError> {
    let mut output = std::io::stdout().lock();
    let mut text = first.to_owned();
    loop {
        if output.write_all(text.as_bytes()).and_then(|()| output.flush()).is_err() {
            return Ok(Exit::Success);
        }
        text.clear();
        std::thread::sleep(POLL);
        let segments = journal.segments_after(reader.seq)?;
        let now = stamp(&segments);
        if now != seen {
            for segment in &segments {
                let new = reader.read(segment)?;
                text.extend(new.iter().map(|shown| reader.text(shown)));
            }
            seen = now;
        }
    }
}

fn stamp(segments: &[Segment]) -> Vec<(String, u64)> {
    segments.iter().map(|segment| (segment.name.clone(), segment.length())).collect()
}

/// A record as it will be shown.
enum Shown {
    /// As it stands in the journal.
    Line(String),
    /// For a person.
    Row(Box<Record>),
}

struct Reader<'a> {
    args: &'a LogArgs,
    colored: bool,
    /// The last record that was read.
    seq: u64,
    /// The decisions that were shown: their outcomes are, too.
    shown: HashSet<u64>,
}

impl Reader<'_> {
    /// Returns the new records of a segment that are asked for. What is no record is left out: `verify` names it.
    fn read(&mut self, segment: &Segment) -> Result<Vec<Shown>, AuditError> {
        let bytes = segment.bytes()?;
        let mut found = Vec::new();
        for line in lines(&bytes).0 {
            let Some(record) = Record::read(line) else { continue };
            let is_new = record.seq > self.seq;
            self.seq = self.seq.max(record.seq);
            if is_new && self.wants(&record) {
                found.push(match self.args.json {
                    true => Shown::Line(String::from_utf8_lossy(line).into_owned()),
                    false => Shown::Row(Box::new(record)),
                });
            }
        }
        Ok(found)
    }

    fn text(&self, shown: &Shown) -> String {
        match shown {
            Shown::Line(line) => format!("{line}\n"),
            Shown::Row(record) => row(record, self.colored),
        }
    }

    fn wants(&mut self, record: &Record) -> bool {
        let args = self.args;
        if args.since.is_some_and(|since| record.time < since) {
            return false;
        }
        match &record.entry {
            Entry::Decision(decided) => {
                let wanted = args.decision.is_none_or(|effect| decided.decision == Some(effect))
                    && args
                        .tool
                        .as_ref()
                        .is_none_or(|tool| decided.tool.eq_ignore_ascii_case(tool))
                    && args.session.as_ref().is_none_or(|id| decided.session.starts_with(id));
                if wanted {
                    self.shown.insert(record.seq);
                }
                wanted
            }
            Entry::Outcome(outcome) => self.shown.contains(&outcome.of),
            Entry::Removed(_) | Entry::Repaired(_) => {
                args.decision.is_none() && args.tool.is_none() && args.session.is_none()
            }
        }
    }
}
