//! The output of a command: the beginning and the end of it, within a limit.

use std::collections::VecDeque;

/// The kept parts of an output. The rest is counted.
#[derive(Debug, Default)]
pub(crate) struct OutputBuffer {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    omitted: u64,
    half: usize,
}

impl OutputBuffer {
    /// Returns an empty buffer that keeps at most `limit` bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self { half: limit.div_ceil(2), ..Self::default() }
    }

    /// Adds bytes. What exceeds the limit is discarded.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let room = self.half.saturating_sub(self.head.len()).min(bytes.len());
        let (first, rest) = bytes.split_at(room);
        self.head.extend_from_slice(first);
        self.tail.extend(rest);
        let excess = self.tail.len().saturating_sub(self.half);
        self.tail.drain(..excess);
        self.omitted += u64::try_from(excess).unwrap_or(u64::MAX);
    }

    /// Returns the beginning, the number of omitted bytes, and the end.
    pub(crate) fn into_parts(self) -> (Vec<u8>, u64, Vec<u8>) {
        (self.head, self.omitted, self.tail.into())
    }
}
