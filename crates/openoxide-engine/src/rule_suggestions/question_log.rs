//! The questions of the audit journal, and how a person answered them.

use std::collections::{HashMap, HashSet};

use openoxide_protocol::{Effect, HookDecision, ReviewDecision};
use openoxide_store::{
    UserEnvironment,
    audit::{
        AnsweredEvent, AuditError, AuditEvent, AuditRecord, DecisionRecord, Journal, OutcomeRecord,
        UtcTimestamp, split_lines,
    },
};

use crate::call_history::{RecordedCall, call_record, extra_tool, is_call, partial_call_record};

/// The questions of a journal.
#[derive(Debug, Default)]
pub(super) struct QuestionLog {
    /// The questions since the requested time with the number of times that each was asked.
    pub(super) questions: Vec<(RecordedCall, u64)>,
    /// The number of questions since then that no rule can answer: incomplete records, and calls
    /// that a hook asks about.
    pub(super) unanswerable: u64,
    /// The calls that a person denied, at any time.
    pub(super) denied: Vec<AnsweredCall>,
    /// The calls whose end their agent did not report, although it reports ends, and that no person
    /// approved afterwards. A person may have denied them.
    pub(super) unfinished: Vec<AnsweredCall>,
}

/// A call with the rules that were offered when it was asked about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct AnsweredCall {
    /// The call, as far as it was recorded.
    pub(super) call: Option<RecordedCall>,
    /// The rules that "always" would have saved.
    pub(super) offered_rules: Vec<String>,
}

/// A question of an agent that asks in its own dialog.
struct AgentQuestion {
    agent: String,
    call: AnsweredCall,
}

struct LogReader {
    log: QuestionLog,
    questions: HashMap<RecordedCall, u64>,
    since: UtcTimestamp,
    /// The calls that were counted: the session and the agent's name of the call.
    counted: HashSet<(String, String)>,
    agent_questions: HashMap<u64, AgentQuestion>,
    /// The agents of the decisions of hooks.
    agents: HashMap<u64, String>,
    /// The agents that report the ends of calls.
    reporting: HashSet<String>,
    /// The calls that a person approved, each with the last record of its question.
    approved: HashMap<RecordedCall, u64>,
}

impl QuestionLog {
    /// Reads the journal.
    ///
    /// # Errors
    /// Returns an error if the journal cannot be read.
    pub(super) fn read(
        environment: &UserEnvironment,
        since: UtcTimestamp,
    ) -> Result<Self, AuditError> {
        let mut reader = LogReader::new(since);
        for segment in Journal::for_user(environment)?.open_segments_with_records_after(0)? {
            let bytes = segment.read_all()?;
            split_lines(&bytes)
                .0
                .filter_map(AuditRecord::parse)
                .for_each(|record| reader.add(record));
        }
        Ok(reader.finish())
    }
}

impl LogReader {
    fn new(since: UtcTimestamp) -> Self {
        Self {
            log: QuestionLog::default(),
            questions: HashMap::new(),
            since,
            counted: HashSet::new(),
            agent_questions: HashMap::new(),
            agents: HashMap::new(),
            reporting: HashSet::new(),
            approved: HashMap::new(),
        }
    }

    fn add(&mut self, record: AuditRecord) {
        let (seq, time) = (record.seq, record.time);
        match record.entry {
            AuditEvent::Decision(decided) => self.add_decision(seq, time, &decided),
            AuditEvent::Outcome(outcome) => self.add_outcome(&outcome),
            AuditEvent::Prune(_) | AuditEvent::Repair(_) => {}
        }
    }

    fn add_decision(&mut self, seq: u64, time: UtcTimestamp, decided: &DecisionRecord) {
        if decided.via == "hook" {
            self.agents.insert(seq, decided.agent.clone());
        }
        if decided.decision != Some(Effect::Ask) {
            return;
        }
        match decided.answer.as_ref().map(|answer| answer.decision) {
            None => {}
            Some(ReviewDecision::Denied | ReviewDecision::Abort) => {
                self.log.denied.push(AnsweredCall::from_record(decided));
            }
            Some(_) => self.add_approval(seq, AnsweredCall::from_record(decided)),
        }
        if is_call(decided) && self.is_first_record(decided) {
            self.add_question(seq, time, decided);
        }
    }

    /// Returns whether the call was not counted yet. An agent calls its hook again when it asks,
    /// and each hook of its settings.
    fn is_first_record(&mut self, decided: &DecisionRecord) -> bool {
        decided.event != Some(AnsweredEvent::PermissionRequest)
            && (decided.call.is_empty()
                || self.counted.insert((decided.session.clone(), decided.call.clone())))
    }

    fn add_question(&mut self, seq: u64, time: UtcTimestamp, decided: &DecisionRecord) {
        if decided.via == "hook" {
            let (agent, call) = (decided.agent.clone(), AnsweredCall::from_record(decided));
            self.agent_questions.insert(seq, AgentQuestion { agent, call });
        }
        if time < self.since {
            return;
        }
        match call_record(decided).filter(|_| is_answerable(decided)) {
            Some(call) => *self.questions.entry(call).or_default() += 1,
            None => self.log.unanswerable += 1,
        }
    }

    fn add_outcome(&mut self, outcome: &OutcomeRecord) {
        let seq = outcome.decision_seq;
        self.reporting.extend(self.agents.get(&seq).cloned());
        if let Some(question) = self.agent_questions.remove(&seq)
            && outcome.answer.is_some()
        {
            self.add_approval(seq, question.call);
        }
    }

    fn add_approval(&mut self, seq: u64, answered: AnsweredCall) {
        if let Some(call) = answered.call {
            let last = self.approved.entry(call).or_default();
            *last = seq.max(*last);
        }
    }

    fn finish(mut self) -> QuestionLog {
        self.log.questions = self.questions.into_iter().collect();
        let approved = self.approved;
        let is_approved_later = |seq: u64, call: &AnsweredCall| {
            let last = call.call.as_ref().and_then(|call| approved.get(call));
            last.is_some_and(|last| *last > seq)
        };
        let open = self.agent_questions.into_iter().filter(|(seq, question)| {
            self.reporting.contains(&question.agent) && !is_approved_later(*seq, &question.call)
        });
        self.log.unfinished = open.map(|(_, question)| question.call).collect();
        for calls in [&mut self.log.denied, &mut self.log.unfinished] {
            let mut known = HashSet::new();
            calls.retain(|call| known.insert(call.clone()));
        }
        self.log
    }
}

/// Returns whether a rule could have answered the question: the prompt offered rules, no hook
/// asked, and the command requires nothing in addition.
fn is_answerable(decided: &DecisionRecord) -> bool {
    let is_hook = decided.hooks.iter().any(|answer| answer.decision != HookDecision::Pass);
    !is_hook && !decided.suggested_rules.is_empty() && extra_tool(decided).is_none()
}

impl AnsweredCall {
    fn from_record(decided: &DecisionRecord) -> Self {
        let offered_rules = decided.suggested_rules.clone();
        Self { call: partial_call_record(decided), offered_rules }
    }
}
