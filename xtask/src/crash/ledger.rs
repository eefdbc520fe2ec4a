//! The observed results of the processes, which the stored data must agree with.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

/// An acknowledged answer: the command exited with 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Once,
    Project,
    No,
}

/// One request, from its question to its end.
#[derive(Clone, Debug, Default)]
pub(super) struct Entry {
    pub(super) number: u64,
    pub(super) id: Option<String>,
    pub(super) acknowledged: Vec<Answer>,
    /// The exit status of the asking process; `None` if it was killed.
    pub(super) status: Option<i32>,
}

/// All observations.
#[derive(Default)]
pub(super) struct Ledger {
    kills: AtomicU64,
    busy: AtomicU64,
    entries: Mutex<Vec<Entry>>,
}

impl Ledger {
    pub(super) fn killed(&self) {
        self.kills.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn was_busy(&self) {
        self.busy.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn kills(&self) -> u64 {
        self.kills.load(Ordering::Relaxed)
    }

    pub(super) fn add(&self, entry: Entry) {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
    }

    pub(super) fn entries(&self) -> Vec<Entry> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn summary(&self) -> String {
        let entries = self.entries();
        let answers = |wanted: &[Answer]| {
            let all = entries.iter().flat_map(|entry| &entry.acknowledged);
            all.filter(|answer| wanted.contains(answer)).count()
        };
        format!(
            "{} kills, {} requests seen, {} approvals and {} denials acknowledged, {} of them grants, {} lists given up because others held the lock",
            self.kills(),
            entries.iter().filter(|entry| entry.id.is_some()).count(),
            answers(&[Answer::Once, Answer::Project]),
            answers(&[Answer::No]),
            answers(&[Answer::Project]),
            self.busy.load(Ordering::Relaxed),
        )
    }
}
