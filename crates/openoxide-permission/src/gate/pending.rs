//! The requests that wait for an answer, oldest first.
//!
//! Whoever floods the gate with requests must not slow it down: every one is found by its id, its session or what a yes for
//! the session covers, without a look at the others.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use openoxide_protocol::{ApprovalId, ApprovalRequest, SessionId};

use super::Question;
use crate::grant::Key;

/// No more requests of one session wait at once.
const MOST: usize = 1 << 16;

/// One request that waits.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) question: Question,
    pub(super) request: ApprovalRequest,
}

/// The waiting line.
#[derive(Debug, Default)]
pub(super) struct Pending {
    line: BTreeMap<u64, Waiting>,
    next: u64,
    ids: HashMap<ApprovalId, u64>,
    sessions: HashMap<SessionId, BTreeSet<u64>>,
    keys: HashMap<(SessionId, Key), BTreeSet<u64>>,
}

impl Pending {
    /// Says why no request under this id can wait.
    pub(super) fn refuses(&self, id: ApprovalId, session: SessionId) -> Option<&'static str> {
        if self.ids.contains_key(&id) {
            return Some("another request has the same id, and one answer cannot be for both");
        }
        let waiting = self.sessions.get(&session).map_or(0, BTreeSet::len);
        (waiting >= MOST).then_some("too many requests of this session wait for an answer")
    }

    pub(super) fn add(&mut self, question: Question, request: ApprovalRequest) {
        let (number, session) = (self.next, request.session);
        self.next += 1;
        self.ids.insert(request.id, number);
        self.sessions.entry(session).or_default().insert(number);
        for key in question.keys() {
            self.keys.entry((session, key)).or_default().insert(number);
        }
        self.line.insert(number, Waiting { question, request });
    }

    pub(super) fn take(&mut self, id: ApprovalId) -> Option<Waiting> {
        let number = self.ids.remove(&id)?;
        let waiting = self.line.remove(&number)?;
        let session = waiting.request.session;
        leave(&mut self.sessions, session, number);
        for key in waiting.question.keys() {
            leave(&mut self.keys, (session, key), number);
        }
        Some(waiting)
    }

    pub(super) fn get(&self, id: ApprovalId) -> Option<&Waiting> {
        self.line.get(self.ids.get(&id)?)
    }

    pub(super) fn get_mut(&mut self, id: ApprovalId) -> Option<&mut Waiting> {
        self.line.get_mut(self.ids.get(&id)?)
    }

    /// Returns what waits of a session.
    pub(super) fn of(&self, session: SessionId) -> impl Iterator<Item = &Waiting> {
        let numbers = self.sessions.get(&session).into_iter().flatten();
        numbers.filter_map(|number| self.line.get(number))
    }

    /// Returns what waits of a session and would be remembered under one of these keys.
    pub(super) fn under<'a>(
        &'a self,
        session: SessionId,
        keys: &[Key],
    ) -> impl Iterator<Item = &'a Waiting> {
        let sets = keys.iter().filter_map(|key| self.keys.get(&(session, key.clone())));
        let numbers: BTreeSet<_> = sets.flatten().copied().collect();
        numbers.into_iter().filter_map(|number| self.line.get(&number))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Waiting> {
        self.line.values()
    }
}

/// Takes a number out of the set under `key`, and the set away with the last.
fn leave<K: std::hash::Hash + Eq>(sets: &mut HashMap<K, BTreeSet<u64>>, key: K, number: u64) {
    if let std::collections::hash_map::Entry::Occupied(mut set) = sets.entry(key) {
        set.get_mut().remove(&number);
        if set.get().is_empty() {
            set.remove();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_ended_leaves_nothing_behind() {
        let mut sets = HashMap::from([("a", BTreeSet::from([1, 2])), ("b", BTreeSet::from([1]))]);
        leave(&mut sets, "a", 1);
        leave(&mut sets, "b", 1);
        leave(&mut sets, "c", 1);
        assert_eq!(sets, HashMap::from([("a", BTreeSet::from([2]))]));
    }
}
