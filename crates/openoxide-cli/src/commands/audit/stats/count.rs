//! Counting decisions.

use std::{cmp::Reverse, collections::BTreeMap};

use openoxide_protocol::{Effect, RuleRef};
use openoxide_store::audit::{AuditError, Decided, Entry, Journal, Moment, Record, lines};

/// What was counted.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// How many records the journal has, those outside of the days included.
    pub(super) records: u64,
    pub(super) allow: u64,
    pub(super) ask: u64,
    pub(super) deny: u64,
    questions: BTreeMap<u64, u64>,
    prefixes: BTreeMap<String, u64>,
    /// Each rule by its layer, file and text, with its line when it decided last, and how often it decided.
    rules: BTreeMap<(String, Option<String>, String), (RuleRef, u64)>,
}

impl Counts {
    /// Counts the decisions since `from`.
    pub(super) fn of(journal: &Journal, from: Moment) -> Result<Self, AuditError> {
        let mut counts = Self::default();
        for segment in journal.segments_after(0)? {
            for record in lines(&segment.bytes()?).0.filter_map(Record::read) {
                counts.records += 1;
                if let (Entry::Decision(decided), true) = (&record.entry, record.time >= from) {
                    counts.decision(record.time, decided);
                }
            }
        }
        Ok(counts)
    }

    fn decision(&mut self, time: Moment, decided: &Decided) {
        match decided.decision {
            Some(Effect::Allow) => self.allow += 1,
            Some(Effect::Deny) => self.deny += 1,
            Some(Effect::Ask) => {
                self.ask += 1;
                *self.questions.entry(time.day()).or_default() += 1;
                self.asked(decided);
            }
            None => {}
        }
        let mut rules: Vec<_> = decided.accesses.iter().filter_map(|a| a.rule.as_ref()).collect();
        rules.extend(&decided.rule);
        rules.sort_unstable_by_key(|rule| (&rule.layer, &rule.file, &rule.text));
        rules.dedup();
        rules.into_iter().for_each(|rule| self.rule(rule));
    }

    /// What "always" would have added is the prefix; where it would add nothing, the first word has to do.
    fn asked(&mut self, decided: &Decided) {
        for prefix in &decided.always {
            *self.prefixes.entry(prefix.clone()).or_default() += 1;
        }
        let asked = decided.accesses.iter().find(|access| access.decision == Some(Effect::Ask));
        if let (Some(access), true) = (asked, decided.always.is_empty()) {
            let word = access.what.split_whitespace().next().unwrap_or_default();
            *self.prefixes.entry(format!("{} {word}", access.access)).or_default() += 1;
        }
    }

    fn rule(&mut self, rule: &RuleRef) {
        let key = (rule.layer.clone(), rule.file.clone(), rule.text.clone());
        let entry = self.rules.entry(key).or_insert_with(|| (rule.clone(), 0));
        entry.0.line = rule.line;
        entry.1 += 1;
    }

    pub(super) fn questions_on(&self, day: u64) -> u64 {
        self.questions.get(&day).copied().unwrap_or_default()
    }

    /// Says whether a rule has decided, wherever in its file it stood then.
    pub(super) fn has_used(&self, layer: &str, file: Option<&str>, text: &str) -> bool {
        self.rules.contains_key(&(layer.to_owned(), file.map(str::to_owned), text.to_owned()))
    }

    /// Returns what was asked about, the most frequent first.
    pub(super) fn prefixes(&self) -> Vec<(&str, u64)> {
        let all = self.prefixes.iter().map(|(prefix, count)| (prefix.as_str(), *count));
        most_first(all.collect())
    }

    /// Returns the rules that decided, the busiest first.
    pub(super) fn rules(&self) -> Vec<(&RuleRef, u64)> {
        most_first(self.rules.values().map(|(rule, count)| (rule, *count)).collect())
    }
}

fn most_first<T>(mut rows: Vec<(T, u64)>) -> Vec<(T, u64)> {
    rows.sort_by_key(|(_, count)| Reverse(*count));
    rows
}
