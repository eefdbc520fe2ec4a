//! `audit log`: the records, one after the other.

use std::{
    collections::{HashSet, VecDeque},
    io::Write as _,
    time::Duration,
};

use openoxide_store::audit::{
    AuditError, AuditEvent, AuditRecord, Journal, JournalSegment, split_lines,
};

use super::{journal_text::NO_RECORDS, record_row::render_row};
use crate::{
    args::{GlobalArgs, LogArgs},
    program_exit::ProgramExit,
    terminal_color, user_messages,
};

/// The number of records that a person is shown by default.
const DEFAULT_LIMIT: usize = 50;
/// The interval between two checks for new records.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Shows the records that are asked for.
pub(super) fn show_log(
    args: &LogArgs,
    journal: &Journal,
    global: GlobalArgs,
) -> Result<ProgramExit, AuditError> {
    let colored = terminal_color::use_color(global.color, &std::io::stdout());
    let mut reader = LogReader { args, colored, last_seq: 0, shown_decisions: HashSet::new() };
    let segments = journal.open_segments_with_records_after(0)?;
    let limit = args.limit.unwrap_or(if args.json { usize::MAX } else { DEFAULT_LIMIT });
    let mut kept = VecDeque::new();
    let mut left = 0;
    for segment in &segments {
        for shown in reader.read_new_entries(segment)? {
            kept.push_back(shown);
            if kept.len() > limit {
                kept.pop_front();
                left += 1;
            }
        }
    }
    if reader.last_seq == 0 && !args.follow && !args.json {
        return Ok(user_messages::print_data(
            format!("{NO_RECORDS}\n").as_bytes(),
            ProgramExit::Success,
        ));
    }
    if left > 0 && args.limit.is_none() {
        user_messages::print_note(&format!(
            "{left} older records omitted; see --limit and --since"
        ));
    }
    if kept.is_empty() && !args.follow && !args.json {
        user_messages::print_note(&"no record matches");
    }
    let text: String = kept.iter().map(|shown| reader.render_entry(shown)).collect();
    if !args.follow {
        return Ok(user_messages::print_data(text.as_bytes(), ProgramExit::Success));
    }
    follow_log(&mut reader, journal, &text, segment_lengths(&segments))
}

/// Prints new records until the reader of the output closes it.
fn follow_log(
    reader: &mut LogReader<'_>,
    journal: &Journal,
    first: &str,
    mut seen: Vec<(String, u64)>,
) -> Result<ProgramExit, AuditError> {
    let mut output = std::io::stdout().lock();
    let mut text = first.to_owned();
    loop {
        if output.write_all(text.as_bytes()).and_then(|()| output.flush()).is_err() {
            return Ok(ProgramExit::Success);
        }
        text.clear();
        std::thread::sleep(POLL_INTERVAL);
        let segments = journal.open_segments_with_records_after(reader.last_seq)?;
        let now = segment_lengths(&segments);
        if now != seen {
            for segment in &segments {
                let new = reader.read_new_entries(segment)?;
                text.extend(new.iter().map(|shown| reader.render_entry(shown)));
            }
            seen = now;
        }
    }
}

fn segment_lengths(segments: &[JournalSegment]) -> Vec<(String, u64)> {
    segments.iter().map(|segment| (segment.name.clone(), segment.byte_count())).collect()
}

/// A record as it will be shown.
enum LogEntry {
    /// The line of the journal, unchanged.
    Line(String),
    /// For a person.
    Row(Box<AuditRecord>),
}

struct LogReader<'a> {
    args: &'a LogArgs,
    colored: bool,
    /// The last record that was read.
    last_seq: u64,
    /// The decisions that were shown: their outcomes are, too.
    shown_decisions: HashSet<u64>,
}

impl LogReader<'_> {
    /// Returns the new records of a segment that match the arguments. Lines that are not records
    /// are skipped; `verify` reports them.
    fn read_new_entries(&mut self, segment: &JournalSegment) -> Result<Vec<LogEntry>, AuditError> {
        let bytes = segment.read_all()?;
        let mut found = Vec::new();
        for line in split_lines(&bytes).0 {
            let Some(record) = AuditRecord::parse(line) else { continue };
            let is_new = record.seq > self.last_seq;
            self.last_seq = self.last_seq.max(record.seq);
            if is_new && self.is_selected(&record) {
                found.push(match self.args.json {
                    true => LogEntry::Line(String::from_utf8_lossy(line).into_owned()),
                    false => LogEntry::Row(Box::new(record)),
                });
            }
        }
        Ok(found)
    }

    fn render_entry(&self, shown: &LogEntry) -> String {
        match shown {
            LogEntry::Line(line) => format!("{line}\n"),
            LogEntry::Row(record) => render_row(record, self.colored),
        }
    }

    fn is_selected(&mut self, record: &AuditRecord) -> bool {
        let args = self.args;
        if args.since.is_some_and(|since| record.time < since) {
            return false;
        }
        match &record.entry {
            AuditEvent::Decision(decided) => {
                let wanted = args.decision.is_none_or(|effect| decided.decision == Some(effect))
                    && args
                        .tool
                        .as_ref()
                        .is_none_or(|tool| decided.tool.eq_ignore_ascii_case(tool))
                    && args.session.as_ref().is_none_or(|id| decided.session.starts_with(id));
                if wanted {
                    self.shown_decisions.insert(record.seq);
                }
                wanted
            }
            AuditEvent::Outcome(outcome) => self.shown_decisions.contains(&outcome.decision_seq),
            AuditEvent::Prune(_) | AuditEvent::Repair(_) => {
                args.decision.is_none() && args.tool.is_none() && args.session.is_none()
            }
        }
    }
}
