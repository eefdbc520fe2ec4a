//! Detection of repetition: the same call several times in a row (a doom loop).

use std::collections::VecDeque;

use openoxide_protocol::OperationDigest;

/// The number of identical calls in a row that are a repetition (OpenCode's `DOOM_LOOP_THRESHOLD`).
pub const DOOM_LOOP_THRESHOLD: usize = 3;

/// The last calls of one session: a ring buffer as long as a repetition.
///
/// A call consists of a tool and its input. The caller passes the digest of both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecentCalls {
    last: VecDeque<OperationDigest>,
}

impl RecentCalls {
    /// Records a call, whatever its outcome. Returns whether it is the third identical call in a
    /// row or a further one. Such a call is also an access of the kind `doom_loop`.
    pub fn record(&mut self, call: OperationDigest) -> bool {
        if self.last.len() == DOOM_LOOP_THRESHOLD {
            self.last.pop_front();
        }
        self.last.push_back(call);
        self.is_loop(call)
    }

    /// Returns whether the last calls are all identical to this one and form a repetition.
    #[must_use]
    pub fn is_loop(&self, call: OperationDigest) -> bool {
        self.last.len() == DOOM_LOOP_THRESHOLD && self.last.iter().all(|each| *each == call)
    }

    /// Returns the last calls, oldest first.
    pub fn calls(&self) -> impl Iterator<Item = OperationDigest> {
        self.last.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns which of these calls are repetitions.
    fn loops(calls: &[u8]) -> Vec<bool> {
        let mut repeats = RecentCalls::default();
        calls.iter().map(|call| repeats.record(OperationDigest([*call; 32]))).collect()
    }

    #[test]
    fn the_third_call_in_a_row_is_a_loop_and_so_is_the_fourth() {
        assert_eq!(loops(&[1, 1, 1, 1]), [false, false, true, true]);
        assert_eq!(loops(&[1, 1, 2, 1, 1, 1]), [false, false, false, false, false, true]);
        assert_eq!(loops(&[1, 2, 1, 2, 1, 2]), [false; 6]);
    }

    #[test]
    fn the_last_calls_are_kept_the_oldest_first() {
        let mut repeats = RecentCalls::default();
        assert_eq!(repeats.calls().count(), 0);
        for call in 1..=4 {
            repeats.record(OperationDigest([call; 32]));
        }
        let kept: Vec<_> = repeats.calls().map(|digest| digest.0[0]).collect();
        assert_eq!(kept, [2, 3, 4]);
    }
}
