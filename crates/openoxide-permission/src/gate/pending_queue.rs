//! The pending requests, oldest first.
//!
//! Many requests must not slow the gate down. Every request is found by its id, its session or the
//! keys of a session grant, without a scan of the others.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use openoxide_protocol::{ApprovalId, ApprovalRequest, SessionId};

use super::CheckRequest;
use crate::session_grants::GrantKey;

/// The maximum number of pending requests of one session.
const MAX_PENDING_PER_SESSION: usize = 1 << 16;

/// A pending request.
#[derive(Debug)]
pub(super) struct QueuedRequest {
    pub(super) check_request: CheckRequest,
    pub(super) request: ApprovalRequest,
}

/// The queue of pending requests.
#[derive(Debug, Default)]
pub(super) struct PendingQueue {
    requests: BTreeMap<u64, QueuedRequest>,
    next: u64,
    ids: HashMap<ApprovalId, u64>,
    sessions: HashMap<SessionId, BTreeSet<u64>>,
    keys: HashMap<(SessionId, GrantKey), BTreeSet<u64>>,
}

impl PendingQueue {
    /// Returns the reason why a request with this id cannot be added, if there is one.
    pub(super) fn rejection_reason(
        &self,
        id: ApprovalId,
        session: SessionId,
    ) -> Option<&'static str> {
        if self.ids.contains_key(&id) {
            return Some("another request has the same id, and one answer cannot be for both");
        }
        let waiting = self.sessions.get(&session).map_or(0, BTreeSet::len);
        (waiting >= MAX_PENDING_PER_SESSION).then_some("too many pending requests in this session")
    }

    pub(super) fn push(&mut self, question: CheckRequest, request: ApprovalRequest) {
        let (number, session) = (self.next, request.session);
        self.next += 1;
        self.ids.insert(request.id, number);
        self.sessions.entry(session).or_default().insert(number);
        for key in question.grant_keys() {
            self.keys.entry((session, key)).or_default().insert(number);
        }
        self.requests.insert(number, QueuedRequest { check_request: question, request });
    }

    pub(super) fn remove(&mut self, id: ApprovalId) -> Option<QueuedRequest> {
        let number = self.ids.remove(&id)?;
        let waiting = self.requests.remove(&number)?;
        let session = waiting.request.session;
        remove_from_set(&mut self.sessions, session, number);
        for key in waiting.check_request.grant_keys() {
            remove_from_set(&mut self.keys, (session, key), number);
        }
        Some(waiting)
    }

    pub(super) fn get(&self, id: ApprovalId) -> Option<&QueuedRequest> {
        self.requests.get(self.ids.get(&id)?)
    }

    pub(super) fn get_mut(&mut self, id: ApprovalId) -> Option<&mut QueuedRequest> {
        self.requests.get_mut(self.ids.get(&id)?)
    }

    /// Returns the pending requests of a session.
    pub(super) fn find_by_session(
        &self,
        session: SessionId,
    ) -> impl Iterator<Item = &QueuedRequest> {
        let numbers = self.sessions.get(&session).into_iter().flatten();
        numbers.filter_map(|number| self.requests.get(number))
    }

    /// Returns the pending requests of a session that would be remembered under one of these keys.
    pub(super) fn find_by_keys<'a>(
        &'a self,
        session: SessionId,
        keys: &[GrantKey],
    ) -> impl Iterator<Item = &'a QueuedRequest> {
        let sets = keys.iter().filter_map(|key| self.keys.get(&(session, key.clone())));
        let numbers: BTreeSet<_> = sets.flatten().copied().collect();
        numbers.into_iter().filter_map(|number| self.requests.get(&number))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &QueuedRequest> {
        self.requests.values()
    }
}

/// Removes a number from the set under `key`, and removes the set if it is then empty.
fn remove_from_set<K: std::hash::Hash + Eq>(
    sets: &mut HashMap<K, BTreeSet<u64>>,
    key: K,
    number: u64,
) {
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
    fn a_removed_request_leaves_no_index_entries() {
        let mut sets = HashMap::from([("a", BTreeSet::from([1, 2])), ("b", BTreeSet::from([1]))]);
        remove_from_set(&mut sets, "a", 1);
        remove_from_set(&mut sets, "b", 1);
        remove_from_set(&mut sets, "c", 1);
        assert_eq!(sets, HashMap::from([("a", BTreeSet::from([2]))]));
    }
}
