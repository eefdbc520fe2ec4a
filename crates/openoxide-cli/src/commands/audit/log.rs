//! `audit log`: the recorded calls.

use std::{
    collections::{BTreeMap, HashMap},
    io::Write as _,
    time::Duration,
};

use openoxide_protocol::{Effect, ReviewDecision, escape::escape_json};
use openoxide_store::audit::{
    AuditError, AuditEvent, AuditRecord, DecisionRecord, Journal, JournalSegment, OutcomeRecord,
    split_lines,
};

use super::{
    call_tracker::{CallState, CallTracker, RecordNames},
    journal_text::{NO_RECORDS, print_fault_note},
    record_row::{render_outcome_line, render_row},
};
use crate::{
    args::{GlobalArgs, LogArgs},
    program_exit::ProgramExit,
    terminal_color, user_messages,
};

/// The number of calls that a person is shown by default.
const DEFAULT_LIMIT: usize = 50;
/// The interval between two checks for new records.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Prints the selected records.
pub(super) fn show_log(
    args: &LogArgs,
    journal: &Journal,
    global: GlobalArgs,
) -> Result<ProgramExit, AuditError> {
    let colored = terminal_color::use_color(global.color, &std::io::stdout());
    let limit = args.limit.unwrap_or(if args.json { usize::MAX } else { DEFAULT_LIMIT });
    let mut reader = LogReader::new(args, limit);
    let segments = journal.open_segments_with_records_after(0)?;
    for segment in &segments {
        reader.read_segment(segment)?;
    }
    let is_intact = print_fault_note(journal)?;
    if reader.last_seq == 0 && is_intact && !args.follow && !args.json {
        return Ok(user_messages::print_data(&format!("{NO_RECORDS}\n"), ProgramExit::Success));
    }
    if reader.omitted > 0 && args.limit.is_none() {
        user_messages::print_note(&format!(
            "{} older records omitted; see --limit and --since",
            reader.omitted
        ));
    }
    if reader.entries.is_empty() && reader.last_seq > 0 && !args.follow && !args.json {
        user_messages::print_note(&"no record matches");
    }
    let text = reader.take_text(colored);
    if !args.follow {
        return Ok(user_messages::print_data(&text, ProgramExit::Success));
    }
    follow_log(&mut reader, journal, text, (segment_lengths(&segments), colored))
}

/// Prints new records until the reader of the output closes it.
fn follow_log(
    reader: &mut LogReader<'_>,
    journal: &Journal,
    mut text: String,
    (mut seen, colored): (Vec<(String, u64)>, bool),
) -> Result<ProgramExit, AuditError> {
    let mut output = std::io::stdout().lock();
    reader.limit = usize::MAX;
    loop {
        if output.write_all(escape_json(&text).as_bytes()).and_then(|()| output.flush()).is_err() {
            return Ok(ProgramExit::Success);
        }
        std::thread::sleep(POLL_INTERVAL);
        let segments = journal.open_segments_with_records_after(reader.last_seq)?;
        let now = segment_lengths(&segments);
        if now != seen {
            for segment in &segments {
                reader.read_segment(segment)?;
            }
            seen = now;
        }
        text = reader.take_text(colored);
    }
}

fn segment_lengths(segments: &[JournalSegment]) -> Vec<(String, u64)> {
    segments.iter().map(|segment| (segment.name.clone(), segment.byte_count())).collect()
}

/// A record to print.
enum LogEntry {
    /// The line of the journal.
    Line(String),
    /// The row of a decision, with the outcome of the call.
    Row(Box<AuditRecord>, Option<OutcomeRecord>),
}

/// The state of a call that is shown: the decision, and the answer of a person.
type ShownState = (Option<Effect>, Option<ReviewDecision>);

struct LogReader<'a> {
    args: &'a LogArgs,
    /// The maximum number of entries.
    limit: usize,
    /// The last record that was read.
    last_seq: u64,
    calls: CallTracker,
    /// The entries that were not printed yet.
    entries: BTreeMap<u64, LogEntry>,
    /// The number of entries that were left out because of the limit.
    omitted: usize,
    /// The numbers of the selected decisions. Their outcomes are selected with them.
    shown: HashMap<u64, ShownState>,
    /// The later record of a call, by the number of an earlier one.
    later_records: HashMap<u64, u64>,
}

impl<'a> LogReader<'a> {
    fn new(args: &'a LogArgs, limit: usize) -> Self {
        Self {
            args,
            limit,
            last_seq: 0,
            calls: CallTracker::default(),
            entries: BTreeMap::new(),
            omitted: 0,
            shown: HashMap::new(),
            later_records: HashMap::new(),
        }
    }

    /// Reads the new records of a segment. Lines that are not records are skipped; `verify` reports
    /// them.
    fn read_segment(&mut self, segment: &JournalSegment) -> Result<(), AuditError> {
        let bytes = segment.read_all()?;
        for line in split_lines(&bytes).0 {
            let Some(record) = AuditRecord::parse(line) else { continue };
            if record.seq > self.last_seq {
                self.last_seq = record.seq;
                self.add_record(record, line);
            }
        }
        Ok(())
    }

    fn add_record(&mut self, record: AuditRecord, line: &[u8]) {
        let is_new_state = self.supersede_earlier(&record);
        if !is_new_state || !self.is_selected(&record) {
            return;
        }
        let seq = record.seq;
        let entry = match (self.args.json, record) {
            (true, _) => LogEntry::Line(String::from_utf8_lossy(line).into_owned()),
            (false, AuditRecord { entry: AuditEvent::Outcome(outcome), .. })
                if self.has_row(self.last_record(outcome.decision_seq)) =>
            {
                return self.add_outcome(outcome);
            }
            (false, record) => LogEntry::Row(Box::new(record), None),
        };
        self.entries.insert(seq, entry);
        if self.entries.len() > self.limit {
            self.entries.pop_first();
            self.omitted += 1;
        }
    }

    /// Removes the entry of an earlier record of the same call. Returns whether the record adds
    /// anything to what is shown.
    fn supersede_earlier(&mut self, record: &AuditRecord) -> bool {
        let AuditEvent::Decision(decided) = &record.entry else { return true };
        if self.args.all_records {
            return true;
        }
        match self.calls.add(record.seq, &RecordNames::from_record(decided)) {
            CallState::New => true,
            CallState::Known => false,
            CallState::After(earlier) => self.replace_entry(earlier, record.seq, decided),
            CallState::AfterBoth(call, answer) => {
                let changes_call = self.replace_entry(call, record.seq, decided);
                self.replace_entry(answer, record.seq, decided) || changes_call
            }
        }
    }

    /// Removes an earlier entry of a call. If it was already printed, the later one is printed only
    /// if the state changed.
    fn replace_entry(&mut self, earlier: u64, later: u64, decided: &DecisionRecord) -> bool {
        self.later_records.insert(earlier, later);
        let before = self.shown.remove(&earlier);
        self.entries.remove(&earlier).is_some() || before != Some(shown_state(decided))
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
                    self.shown.insert(record.seq, shown_state(decided));
                }
                wanted
            }
            AuditEvent::Outcome(outcome) => {
                self.shown.contains_key(&self.last_record(outcome.decision_seq))
            }
            AuditEvent::Prune(_) | AuditEvent::Repair(_) => {
                args.decision.is_none() && args.tool.is_none() && args.session.is_none()
            }
        }
    }

    /// Returns whether the outcome can be added to the row of its decision.
    fn has_row(&self, decision_seq: u64) -> bool {
        !self.args.all_records
            && matches!(self.entries.get(&decision_seq), Some(LogEntry::Row(_, None)))
    }

    /// Returns the number of the last record of a call.
    fn last_record(&self, mut seq: u64) -> u64 {
        // A later record has a higher number, so this ends.
        while let Some(later) = self.later_records.get(&seq).filter(|later| **later > seq) {
            seq = *later;
        }
        seq
    }

    fn add_outcome(&mut self, outcome: OutcomeRecord) {
        let seq = self.last_record(outcome.decision_seq);
        if let Some(LogEntry::Row(_, ended)) = self.entries.get_mut(&seq) {
            *ended = Some(outcome);
        }
    }

    /// Returns the text of the entries, and removes them.
    fn take_text(&mut self, colored: bool) -> String {
        let entries = std::mem::take(&mut self.entries);
        entries.into_values().map(|entry| render_entry(&entry, colored)).collect()
    }
}

fn shown_state(decided: &DecisionRecord) -> ShownState {
    (decided.decision, decided.answer.as_ref().map(|answer| answer.decision))
}

fn render_entry(entry: &LogEntry, colored: bool) -> String {
    match entry {
        LogEntry::Line(line) => format!("{line}\n"),
        LogEntry::Row(record, None) => render_row(record, None, colored),
        LogEntry::Row(record, Some(outcome)) => {
            render_row(record, outcome.answer.as_deref(), colored)
                + &render_outcome_line(outcome, colored)
        }
    }
}
