//! Records that are about the same call.
//!
//! Claude Code calls its hook before a tool, and again where it would ask a person. The second
//! payload does not name the call. A request that another terminal answers is recorded by both
//! programs. The journal keeps all of these records.

use std::{
    collections::HashMap,
    hash::{BuildHasher as _, RandomState},
};

use openoxide_store::audit::{AnsweredEvent, DecisionRecord};

/// The commands that answer a request of another program.
const ANSWERING_VERBS: [&str; 2] = ["approve", "deny"];

/// The identifiers of a call in its records.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RecordNames<'a> {
    pub(super) via: &'a str,
    pub(super) session: &'a str,
    pub(super) tool: &'a str,
    pub(super) title: &'a str,
    /// The agent's identifier of the call.
    pub(super) call: &'a str,
    pub(super) event: Option<AnsweredEvent>,
    /// The id of the answered request.
    pub(super) request: &'a str,
}

/// The relation of a record to the records before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallState {
    /// The first record of its call.
    New,
    /// A later state of the call that this record is about.
    After(u64),
    /// A later state of a call of a hook that has the first record, with the answer that the second
    /// one contains.
    AfterBoth(u64, u64),
    /// A record of the call with more details was already found.
    Known,
}

/// Finds the earlier record of a call.
#[derive(Debug, Default)]
pub(super) struct CallTracker {
    // The keys are random, so an agent cannot choose texts that make two calls look like one.
    hasher: RandomState,
    /// The last record of each call that has a name.
    named: HashMap<u64, u64>,
    /// The calls without a permission request so far, the newest last.
    announced: HashMap<u64, Vec<u64>>,
    /// The record of each answered request, and whether it is that of the program that asked.
    requests: HashMap<u64, (u64, bool)>,
}

impl<'a> RecordNames<'a> {
    pub(super) fn from_record(record: &'a DecisionRecord) -> Self {
        let answer = record.answer.as_ref();
        Self {
            via: &record.via,
            session: &record.session,
            tool: &record.tool,
            title: &record.title,
            call: &record.call,
            event: record.event,
            request: answer.and_then(|answer| answer.request.as_deref()).unwrap_or_default(),
        }
    }

    /// Returns whether the record is that of a command which answered the request of another
    /// program.
    pub(super) fn is_answer(&self) -> bool {
        ANSWERING_VERBS.contains(&self.via)
    }

    /// Earlier versions did not record the event. A permission request does not name its call.
    fn is_permission_request(&self) -> bool {
        match self.event {
            Some(event) => event == AnsweredEvent::PermissionRequest,
            None => self.call.is_empty(),
        }
    }
}

impl CallTracker {
    /// Adds the next record with its number.
    pub(super) fn add(&mut self, seq: u64, names: &RecordNames<'_>) -> CallState {
        if !names.request.is_empty() {
            let answered = self.add_answered(seq, names);
            if names.via != "hook" {
                return answered;
            }
            return match (self.add_hook(seq, names), answered) {
                (CallState::After(call), CallState::After(answer)) => {
                    CallState::AfterBoth(call, answer)
                }
                (CallState::New, answered) => answered,
                (call, _) => call,
            };
        }
        match names.via {
            "hook" if !names.tool.is_empty() => self.add_hook(seq, names),
            _ => CallState::New,
        }
    }

    fn add_answered(&mut self, seq: u64, names: &RecordNames<'_>) -> CallState {
        let (key, is_own) = (self.hasher.hash_one(names.request), !names.is_answer());
        match self.requests.get(&key).copied() {
            Some((_, true)) if !is_own => CallState::Known,
            earlier => {
                self.requests.insert(key, (seq, is_own));
                earlier.map_or(CallState::New, |(earlier, _)| CallState::After(earlier))
            }
        }
    }

    fn add_hook(&mut self, seq: u64, names: &RecordNames<'_>) -> CallState {
        let RecordNames { session, tool, title, call, .. } = *names;
        let text = self.hasher.hash_one((session, tool, title));
        let earlier = match call.is_empty() {
            true => None,
            false => self.named.insert(self.hasher.hash_one((session, tool, title, call)), seq),
        };
        let waiting = self.announced.entry(text).or_default();
        if let Some(earlier) = earlier {
            // The agent calls a hook for each of its events, and two identical hooks for one event.
            waiting.retain(|waiting| *waiting != earlier);
        }
        if !names.is_permission_request() {
            waiting.push(seq);
            return earlier.map_or(CallState::New, CallState::After);
        }
        let earlier = earlier.or_else(|| call.is_empty().then(|| waiting.pop()).flatten());
        earlier.map_or(CallState::New, CallState::After)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: Option<AnsweredEvent> = Some(AnsweredEvent::PreToolUse);
    const ASKED: Option<AnsweredEvent> = Some(AnsweredEvent::PermissionRequest);

    fn hook<'a>(event: Option<AnsweredEvent>, title: &'a str, call: &'a str) -> RecordNames<'a> {
        let (via, session, tool) = ("hook", "s", "Bash");
        RecordNames { via, session, tool, title, call, event, request: "" }
    }

    fn states(records: &[RecordNames<'_>]) -> Vec<CallState> {
        let mut tracker = CallTracker::default();
        (1..).zip(records).map(|(seq, names)| tracker.add(seq, names)).collect()
    }

    #[test]
    fn a_permission_request_belongs_to_the_announced_call() {
        use CallState::{After, New};
        let records = [
            hook(BEFORE, "a", "1"),
            hook(ASKED, "a", ""),
            hook(BEFORE, "a", "2"),
            hook(BEFORE, "b", "3"),
            hook(ASKED, "a", ""),
            hook(ASKED, "a", ""),
            hook(ASKED, "b", "3"),
            hook(ASKED, "b", ""),
        ];
        let expected = [New, After(1), New, New, After(3), New, After(4), New];
        assert_eq!(states(&records), expected);
    }

    #[test]
    fn calls_at_the_same_time_and_of_other_sessions_are_told_apart() {
        use CallState::{After, New};
        let other = RecordNames { session: "t", ..hook(ASKED, "a", "") };
        let records = [
            hook(BEFORE, "a", "1"),
            hook(BEFORE, "a", "2"),
            other,
            RecordNames { tool: "Edit", ..hook(ASKED, "a", "") },
            hook(ASKED, "a", ""),
            hook(ASKED, "a", ""),
            // Two OpenOxide hooks are called for the same call.
            hook(BEFORE, "c", "4"),
            hook(BEFORE, "c", "4"),
            hook(ASKED, "c", ""),
        ];
        let expected = [New, New, New, New, After(2), After(1), New, After(7), After(8)];
        assert_eq!(states(&records), expected);
    }

    #[test]
    fn records_of_earlier_versions_have_no_event() {
        use CallState::{After, New};
        let records = [hook(None, "a", "1"), hook(None, "a", ""), hook(None, "a", "")];
        assert_eq!(states(&records), [New, After(1), New]);
        let unnamed = [hook(BEFORE, "a", ""), hook(BEFORE, "a", ""), hook(ASKED, "a", "")];
        assert_eq!(states(&unnamed), [New, New, After(2)]);
    }

    #[test]
    fn an_answer_from_elsewhere_belongs_to_the_record_of_the_program_that_asked() {
        use CallState::{After, Known, New};
        let answered = |via, request| RecordNames { via, request, ..hook(None, "a", "") };
        let records = [
            answered("approve", "1"),
            answered("run", "1"),
            answered("run", "2"),
            answered("deny", "2"),
            answered("approve", "3"),
            answered("run", ""),
            answered("run", ""),
        ];
        assert_eq!(states(&records), [New, After(1), New, Known, New, New, New]);
    }

    #[test]
    fn a_hook_whose_question_is_answered_elsewhere_has_one_call() {
        use CallState::{After, AfterBoth, Known, New};
        let answered = |request| RecordNames { request, ..hook(ASKED, "a", "") };
        let answering = |request| RecordNames { via: "approve", request, ..hook(None, "a", "") };
        let records = [
            hook(BEFORE, "a", "1"),
            answering("1"),
            answered("1"),
            hook(BEFORE, "a", "2"),
            answered("2"),
            answering("2"),
        ];
        assert_eq!(states(&records), [New, New, AfterBoth(1, 2), New, After(4), Known]);
    }
}
