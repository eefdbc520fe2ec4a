//! The limits on how much of the journal is kept.

use std::time::Duration;

use super::timestamp::MILLIS_PER_DAY;

/// The limits on how much of the journal is kept, and on how long a writer waits for the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JournalLimits {
    /// The maximum length of a segment, in bytes. A segment that would exceed it is closed, and a
    /// new one is started.
    pub segment: u64,
    /// The maximum total length of all segments, in bytes. If it is exceeded, the oldest segments
    /// are removed.
    pub total: u64,
    /// The maximum age of a segment's newest record, in milliseconds. Older segments are removed.
    pub age: u64,
    /// The maximum time that a writer waits for another writer.
    pub patience: Duration,
}

impl Default for JournalLimits {
    /// Returns the default limits: segments of 8 MiB, 256 MiB in total, one year, one second.
    fn default() -> Self {
        Self {
            segment: 8 << 20,
            total: 256 << 20,
            age: 365 * MILLIS_PER_DAY,
            patience: Duration::from_secs(1),
        }
    }
}

impl JournalLimits {
    /// Returns the limits that the environment sets with `OPENOXIDE_AUDIT_MIB` and
    /// `OPENOXIDE_AUDIT_DAYS`. They can only raise the defaults: a project that sets variables for
    /// its agents must not shorten the history.
    #[must_use]
    pub fn from_process_environment() -> Self {
        let set = |name: &str| std::env::var(name).ok()?.parse::<u64>().ok();
        Self::default().with_minimums(set("OPENOXIDE_AUDIT_MIB"), set("OPENOXIDE_AUDIT_DAYS"))
    }

    fn with_minimums(self, mib: Option<u64>, days: Option<u64>) -> Self {
        let total = self.total.max(mib.unwrap_or(0).saturating_mul(1 << 20));
        let age = self.age.max(days.unwrap_or(0).saturating_mul(MILLIS_PER_DAY));
        Self { total, age, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_only_has_more_kept() {
        let usual = JournalLimits::default();
        assert_eq!(usual.with_minimums(Some(1), Some(1)), usual);
        let raised = usual.with_minimums(Some(1_024), Some(u64::MAX));
        assert_eq!((raised.total, raised.age), (1 << 30, u64::MAX));
    }
}
