//! Counting decisions.

use std::{borrow::Cow, collections::BTreeMap};

use openoxide_engine::APPROVED_EARLIER;
use openoxide_permission::LayerKind;
use openoxide_protocol::{Effect, RuleRef};
use openoxide_store::GRANT_FILE_ENDING;
use openoxide_store::audit::{
    AnsweredEvent, AuditError, Journal, JournalSegment, RecordHeader, RequestedConfinement,
    UtcTimestamp, split_lines,
};
use serde::Deserialize;

use super::question_counts::{
    AllowCause, AllowedCounts, CountedAnswer, QuestionCounts, sort_by_count,
};
use crate::commands::audit::call_tracker::{CallState, CallTracker, RecordNames};

/// The beginning of the reason of a call that is allowed because the sandbox confines it.
const SANDBOXED_PREFIX: &str = "sandboxed: ";

/// The bytes at the end of a segment in which its last record is searched for.
const TAIL_BYTES: u64 = 64 << 10;

/// The fields of a decision record that are counted. They borrow from the journal, because copies
/// would take most of the time.
#[derive(Deserialize)]
struct CountedDecision<'a> {
    #[serde(borrow, default)]
    via: Option<BorrowedText<'a>>,
    #[serde(borrow, default)]
    session: Option<BorrowedText<'a>>,
    #[serde(borrow, default)]
    call: Option<BorrowedText<'a>>,
    #[serde(default)]
    event: Option<AnsweredEvent>,
    #[serde(borrow, default)]
    tool: Option<BorrowedText<'a>>,
    #[serde(borrow, default)]
    title: Option<BorrowedText<'a>>,
    decision: Option<Effect>,
    #[serde(borrow, default)]
    rule: Option<CountedRule<'a>>,
    #[serde(borrow, default)]
    accesses: Vec<CountedAccess<'a>>,
    #[serde(borrow, default)]
    always: Vec<BorrowedText<'a>>,
    #[serde(default, alias = "enforced")]
    confinement: RequestedConfinement,
    #[serde(borrow, default)]
    reason: Option<BorrowedText<'a>>,
    #[serde(default)]
    answer: Option<CountedAnswer>,
}

impl CountedDecision<'_> {
    fn names(&self) -> RecordNames<'_> {
        RecordNames {
            via: text_or_empty(self.via.as_ref()),
            session: text_or_empty(self.session.as_ref()),
            tool: text_or_empty(self.tool.as_ref()),
            title: text_or_empty(self.title.as_ref()),
            call: text_or_empty(self.call.as_ref()),
            event: self.event,
            request: "",
        }
    }
}

impl CountedDecision<'_> {
    /// Returns what allowed a call without a question.
    fn allow_cause(&self) -> AllowCause {
        let rules = || self.rule.iter().chain(self.accesses.iter().filter_map(|a| a.rule.as_ref()));
        let is_grant = |rule: &CountedRule<'_>| {
            rule.file.as_ref().is_some_and(|file| file.0.ends_with(GRANT_FILE_ENDING))
        };
        match text_or_empty(self.reason.as_ref()) {
            reason if reason.starts_with(SANDBOXED_PREFIX) => AllowCause::Sandbox,
            APPROVED_EARLIER => AllowCause::EarlierApproval,
            _ if rules().any(is_grant) => AllowCause::Grant,
            _ if rules().any(|rule| rule.layer != LayerKind::Default.as_str()) => AllowCause::Rule,
            _ => AllowCause::BuiltIn,
        }
    }
}

#[derive(Deserialize)]
struct CountedAccess<'a> {
    decision: Option<Effect>,
    #[serde(borrow)]
    access: Cow<'a, str>,
    #[serde(borrow, alias = "what")]
    summary: Cow<'a, str>,
    #[serde(borrow, default)]
    rule: Option<CountedRule<'a>>,
}

#[derive(Deserialize, PartialEq, Eq, PartialOrd, Ord)]
struct CountedRule<'a> {
    #[serde(borrow)]
    layer: Cow<'a, str>,
    #[serde(borrow, default)]
    file: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    text: Cow<'a, str>,
    #[serde(default)]
    line: Option<u32>,
}

/// A borrowed text that also works inside of other types.
#[derive(Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(transparent)]
struct BorrowedText<'a>(#[serde(borrow)] Cow<'a, str>);

/// The counts of decisions.
#[derive(Debug, Default)]
pub(crate) struct DecisionCounts {
    /// The number of records that were read, including those outside of the period.
    pub(super) total_records: u64,
    pub(crate) allow: u64,
    /// The allowed calls that were confined.
    pub(crate) sandboxed: u64,
    pub(crate) ask: u64,
    pub(crate) deny: u64,
    questions_per_day: BTreeMap<u64, u64>,
    prefix_counts: BTreeMap<String, u64>,
    /// Each rule by its key, with its line when it decided last, and how often it decided.
    rule_counts: BTreeMap<String, (RuleRef, u64)>,
    calls: CallTracker,
    /// The allowed calls by what allowed them.
    pub(super) allowed: AllowedCounts,
    /// The questions with their answers.
    pub(super) questions: QuestionCounts,
}

/// Returns a key of a rule from its layer, file and text. The line in the file is not part of it.
fn rule_key(layer: &str, file: Option<&str>, text: &str) -> String {
    [layer, file.unwrap_or_default(), text].join("\0")
}

impl DecisionCounts {
    /// Counts the decisions made since `from`.
    pub(crate) fn from_journal(journal: &Journal, from: UtcTimestamp) -> Result<Self, AuditError> {
        let mut counts = Self::default();
        for segment in journal.open_segments_with_records_after(0)? {
            if is_older(&segment, from)? {
                counts.total_records += 1;
                continue;
            }
            for line in split_lines(&segment.read_all()?).0 {
                let Some(head) = RecordHeader::parse(line) else { continue };
                counts.total_records += 1;
                if head.time < from {
                    continue;
                }
                if !head.is_decision {
                    counts.questions.add_outcome(line);
                } else if let Ok(decided) = serde_json::from_slice(line) {
                    counts.count_decision(&head, &decided);
                }
            }
        }
        Ok(counts)
    }

    fn count_decision(&mut self, head: &RecordHeader, decided: &CountedDecision<'_>) {
        let RecordHeader { seq, time, .. } = *head;
        let names = decided.names();
        // The program that asked has recorded the same question.
        if names.is_answer() {
            return;
        }
        match self.calls.add(seq, &names) {
            CallState::New => {}
            CallState::After(earlier) | CallState::AfterBoth(earlier, _) => {
                return self.questions.add_later_record(earlier, seq, decided.answer.as_ref());
            }
            CallState::Known => return,
        }
        match decided.decision {
            Some(Effect::Allow) => {
                self.allow += 1;
                let is_confined = decided.confinement == RequestedConfinement::Confined;
                self.sandboxed += u64::from(is_confined);
                self.allowed.add(decided.allow_cause());
            }
            Some(Effect::Deny) => self.deny += 1,
            Some(Effect::Ask) => {
                self.ask += 1;
                *self.questions_per_day.entry(time.day_number()).or_default() += 1;
                self.count_question(decided);
                let title = text_or_empty(decided.title.as_ref());
                self.questions.add_question(seq, title, decided.answer.as_ref());
            }
            None => {}
        }
        let mut rules: Vec<_> = decided.accesses.iter().filter_map(|a| a.rule.as_ref()).collect();
        rules.extend(&decided.rule);
        rules.sort_unstable();
        rules.dedup();
        rules.into_iter().for_each(|rule| self.count_rule(rule));
    }

    /// Counts a question by the rules that "always" would have added, or by the first word of the
    /// access if there are none.
    fn count_question(&mut self, decided: &CountedDecision<'_>) {
        for prefix in &decided.always {
            self.count_prefix(&prefix.0);
        }
        let asked = decided.accesses.iter().find(|access| access.decision == Some(Effect::Ask));
        if let (Some(access), true) = (asked, decided.always.is_empty()) {
            let word = access.summary.split_whitespace().next().unwrap_or_default();
            self.count_prefix(&format!("{} {word}", access.access));
        }
    }

    fn count_prefix(&mut self, prefix: &str) {
        match self.prefix_counts.get_mut(prefix) {
            Some(count) => *count += 1,
            None => drop(self.prefix_counts.insert(prefix.to_owned(), 1)),
        }
    }

    fn count_rule(&mut self, rule: &CountedRule<'_>) {
        let file = rule.file.as_ref().map(|file| &*file.0);
        let entry =
            self.rule_counts.entry(rule_key(&rule.layer, file, &rule.text)).or_insert_with(|| {
                let (layer, text) = (rule.layer.to_string(), rule.text.to_string());
                let file = file.map(str::to_owned);
                (RuleRef { layer, file, line: None, text, reason: None }, 0)
            });
        entry.0.line = rule.line;
        entry.1 += 1;
    }

    pub(super) fn questions_on_day(&self, day: u64) -> u64 {
        self.questions_per_day.get(&day).copied().unwrap_or_default()
    }

    /// Returns whether a rule has decided, at any line of its file.
    pub(super) fn has_decided(&self, layer: &str, file: Option<&str>, text: &str) -> bool {
        self.rule_counts.contains_key(&rule_key(layer, file, text))
    }

    /// Returns the prefixes of the questions, the most frequent first.
    pub(super) fn prefixes_by_count(&self) -> Vec<(&str, u64)> {
        let all = self.prefix_counts.iter().map(|(prefix, count)| (prefix.as_str(), *count));
        sort_by_count(all.collect())
    }

    /// Returns the rules that decided, the most frequent first.
    pub(super) fn rules_by_count(&self) -> Vec<(&RuleRef, u64)> {
        sort_by_count(self.rule_counts.values().map(|(rule, count)| (rule, *count)).collect())
    }
}

/// Returns whether the last record of a segment is older than `from`. If the record is too long to
/// be found in the end of the segment, this is false.
fn is_older(segment: &JournalSegment, from: UtcTimestamp) -> Result<bool, AuditError> {
    let end = segment.read_tail(TAIL_BYTES)?;
    let last = split_lines(&end).0.last().and_then(RecordHeader::parse);
    Ok(last.is_some_and(|head| head.time < from))
}

fn text_or_empty<'a>(text: Option<&'a BorrowedText<'_>>) -> &'a str {
    text.map_or("", |text| &text.0)
}
