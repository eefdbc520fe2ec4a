//! Counting questions by their answers, and allowed calls by what allowed them.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
};

use openoxide_protocol::ReviewDecision;
use openoxide_store::audit::{AnswerChannel, OutcomeRecord};
use serde::Deserialize;
use serde_json::{Value, json};

/// The maximum number of calls that are listed as the most asked ones.
pub(super) const MAX_TITLES: usize = 10;

/// The maximum number of characters of a title.
const MAX_TITLE_CHARS: usize = 200;

/// The reason why a call was allowed without a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AllowCause {
    /// Nothing but the built-in policy: the call is known to be harmless.
    BuiltIn,
    /// A rule of a policy file.
    Rule,
    /// A saved approval.
    Grant,
    /// The sandbox, which confines the call.
    Sandbox,
    /// An approval of the identical call earlier in the session.
    EarlierApproval,
}

/// The number of allowed calls for each cause.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AllowedCounts {
    built_in: u64,
    rule: u64,
    grant: u64,
    sandbox: u64,
    earlier_approval: u64,
}

impl AllowedCounts {
    pub(super) const fn add(&mut self, cause: AllowCause) {
        match cause {
            AllowCause::BuiltIn => self.built_in += 1,
            AllowCause::Rule => self.rule += 1,
            AllowCause::Grant => self.grant += 1,
            AllowCause::Sandbox => self.sandbox += 1,
            AllowCause::EarlierApproval => self.earlier_approval += 1,
        }
    }

    pub(super) fn to_json(self) -> Value {
        json!({
            "built_in": self.built_in,
            "rule": self.rule,
            "grant": self.grant,
            "sandbox": self.sandbox,
            "earlier_approval": self.earlier_approval,
        })
    }

    /// Returns the counts above zero, in words.
    pub(super) fn rows(self) -> Vec<(u64, &'static str)> {
        let rows = [
            (self.built_in, "known to be harmless"),
            (self.rule, "allowed by a rule"),
            (self.grant, "allowed by a saved approval"),
            (self.sandbox, "allowed because the sandbox confines them"),
            (self.earlier_approval, "approved earlier in the session"),
        ];
        rows.into_iter().filter(|(count, _)| *count > 0).collect()
    }
}

/// The fields of an answer that are counted.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct CountedAnswer {
    channel: AnswerChannel,
    #[serde(alias = "choice")]
    decision: ReviewDecision,
    #[serde(default)]
    waited_ms: Option<u64>,
}

/// A question, with its answer if there is one.
#[derive(Clone, Copy, Debug, Default)]
struct Question {
    answer: Option<CountedAnswer>,
    has_failed: bool,
}

/// The questions of a period.
#[derive(Debug, Default)]
pub(crate) struct QuestionCounts {
    questions: Vec<Question>,
    /// The index of a question by the number of each of its records.
    by_record: HashMap<u64, usize>,
    titles: BTreeMap<String, u64>,
}

/// The number of questions for each way of answering.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct AnswerCounts {
    agent_dialog: u64,
    terminal: u64,
    other_terminal: u64,
    application: u64,
    policy: u64,
    unanswered: u64,
    approved: u64,
    denied: u64,
    approved_and_failed: u64,
    median_wait_ms: Option<u64>,
}

impl QuestionCounts {
    pub(super) fn add_question(&mut self, seq: u64, title: &str, answer: Option<&CountedAnswer>) {
        self.by_record.insert(seq, self.questions.len());
        self.questions.push(Question { answer: answer.copied(), has_failed: false });
        let title: String = title.chars().take(MAX_TITLE_CHARS).collect();
        *self.titles.entry(title).or_default() += 1;
    }

    /// Adds a later record of a call.
    pub(super) fn add_later_record(
        &mut self,
        earlier: u64,
        seq: u64,
        answer: Option<&CountedAnswer>,
    ) {
        let Some(index) = self.by_record.get(&earlier).copied() else { return };
        self.by_record.insert(seq, index);
        if let (Some(question), Some(answer)) = (self.questions.get_mut(index), answer) {
            question.answer = Some(*answer);
        }
    }

    /// Adds the outcome that a line of the journal contains. Other lines are ignored.
    pub(super) fn add_outcome(&mut self, line: &[u8]) {
        let Ok(ended) = serde_json::from_slice::<OutcomeRecord>(line) else { return };
        let index = self.by_record.get(&ended.decision_seq).copied();
        let Some(question) = index.and_then(|index| self.questions.get_mut(index)) else { return };
        question.has_failed = ended.status.is_some_and(|status| status != 0)
            || ended.signal.is_some()
            || ended.error.is_some()
            || ended.failure.is_some();
        if let Some(answer) = ended.answer {
            let (channel, decision) = (answer.channel, answer.decision);
            question.answer =
                Some(CountedAnswer { channel, decision, waited_ms: answer.waited_ms });
        }
    }

    /// Returns the questions by the way in which they were answered.
    pub(super) fn answers(&self) -> AnswerCounts {
        let mut counts = AnswerCounts::default();
        self.questions.iter().for_each(|question| counts.add(*question));
        let answers = self.questions.iter().filter_map(|question| question.answer);
        let answers = answers.filter(|answer| answer.channel != AnswerChannel::Policy);
        let mut waits: Vec<u64> = answers.filter_map(|answer| answer.waited_ms).collect();
        waits.sort_unstable();
        counts.median_wait_ms = waits.get(waits.len() / 2).copied();
        counts
    }

    /// Returns the titles of the calls that were asked about, the most frequent first.
    pub(super) fn titles_by_count(&self) -> Vec<(&str, u64)> {
        sort_by_count(self.titles.iter().map(|(title, count)| (title.as_str(), *count)).collect())
    }
}

impl AnswerCounts {
    fn add(&mut self, question: Question) {
        let Some(answer) = question.answer else {
            self.unanswered += 1;
            return;
        };
        match answer.channel {
            AnswerChannel::Agent => self.agent_dialog += 1,
            AnswerChannel::Terminal => self.terminal += 1,
            AnswerChannel::Command => self.other_terminal += 1,
            AnswerChannel::Application => self.application += 1,
            AnswerChannel::Policy => {
                self.policy += 1;
                return;
            }
        }
        if is_approval(answer.decision) {
            self.approved += 1;
            self.approved_and_failed += u64::from(question.has_failed);
        } else {
            self.denied += 1;
        }
    }

    pub(super) fn to_json(self) -> Value {
        json!({
            "agent_dialog": self.agent_dialog,
            "terminal": self.terminal,
            "other_terminal": self.other_terminal,
            "application": self.application,
            "policy": self.policy,
            "unanswered": self.unanswered,
            "approved": self.approved,
            "denied": self.denied,
            "approved_and_failed": self.approved_and_failed,
            "median_wait_ms": self.median_wait_ms,
        })
    }

    /// Returns the counts above zero, in words.
    pub(super) fn rows(self) -> Vec<(u64, &'static str)> {
        let rows = [
            (self.agent_dialog, "answered in the agent's dialog"),
            (self.terminal, "answered in the terminal"),
            (self.other_terminal, "answered in another terminal"),
            (self.application, "answered in the program that asked"),
            (self.policy, "answered by a change of the policy"),
            (self.unanswered, "without a recorded answer"),
            (self.approved_and_failed, "approved, and the call failed"),
        ];
        rows.into_iter().filter(|(count, _)| *count > 0).collect()
    }

    /// Returns the median time from a question to its answer, in milliseconds.
    pub(super) const fn median_wait_ms(self) -> Option<u64> {
        self.median_wait_ms
    }
}

/// Sorts rows by their count, the highest first.
pub(super) fn sort_by_count<T>(mut rows: Vec<(T, u64)>) -> Vec<(T, u64)> {
    rows.sort_by_key(|(_, count)| Reverse(*count));
    rows
}

const fn is_approval(decision: ReviewDecision) -> bool {
    matches!(
        decision,
        ReviewDecision::Approved
            | ReviewDecision::ApprovedForSession
            | ReviewDecision::ApprovedExecpolicyAmendment
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(channel: AnswerChannel, decision: ReviewDecision, waited: u64) -> CountedAnswer {
        CountedAnswer { channel, decision, waited_ms: Some(waited) }
    }

    #[test]
    fn each_question_has_one_answer() {
        let mut counts = QuestionCounts::default();
        let approved = answer(AnswerChannel::Terminal, ReviewDecision::Approved, 10);
        counts.add_question(1, "make", Some(&approved));
        // A hook asks twice about the call, and another terminal answers.
        counts.add_question(2, "make", None);
        let denied = answer(AnswerChannel::Command, ReviewDecision::Denied, 30);
        counts.add_later_record(2, 4, Some(&denied));
        counts.add_later_record(99, 5, Some(&denied));
        counts.add_question(6, "rm x", None);
        counts.add_question(7, "rm y", None);
        counts.add_outcome(br#"{"decision_seq": 1, "status": 2}"#);
        counts.add_outcome(
            br#"{"decision_seq": 6, "status": 0, "answer":
                {"channel": "agent", "decision": "approved", "waited_ms": 20}}"#,
        );
        counts.add_outcome(br#"{"decision_seq": 98, "status": 2}"#);
        let by_policy = answer(AnswerChannel::Policy, ReviewDecision::Approved, 90);
        counts.add_question(8, "mkdir d", Some(&by_policy));
        let expected = AnswerCounts {
            agent_dialog: 1,
            terminal: 1,
            other_terminal: 1,
            application: 0,
            policy: 1,
            unanswered: 1,
            approved: 2,
            denied: 1,
            approved_and_failed: 1,
            median_wait_ms: Some(20),
        };
        assert_eq!(counts.answers(), expected);
        assert_eq!(counts.titles_by_count().first(), Some(&("make", 2)));
    }
}
