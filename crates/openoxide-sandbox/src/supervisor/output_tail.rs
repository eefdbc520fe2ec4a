//! The last part of a program's output. It stays in the supervisor's memory, because it may contain
//! secrets.

/// The maximum number of bytes that are kept.
const MAX_BYTES: usize = 8192;

/// The last bytes that were printed.
#[derive(Default)]
pub(crate) struct OutputTail {
    bytes: Vec<u8>,
    is_truncated: bool,
}

impl OutputTail {
    /// Appends output.
    pub(crate) fn push(&mut self, more: &[u8]) {
        self.bytes.extend_from_slice(more);
        let over = self.bytes.len().saturating_sub(MAX_BYTES);
        self.is_truncated |= over > 0;
        self.bytes.drain(..over);
    }

    /// Returns the output as text, starting at the first complete line, because a truncated path
    /// would be a different path.
    pub(crate) fn to_text(&self) -> String {
        let text = String::from_utf8_lossy(&self.bytes);
        match text.split_once('\n') {
            Some((_, whole)) if self.is_truncated => whole.to_owned(),
            None if self.is_truncated => String::new(),
            _ => text.into_owned(),
        }
    }
}

impl std::fmt::Debug for OutputTail {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "OutputTail({} bytes)", self.bytes.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_kept_from_its_first_whole_line() {
        let mut tail = OutputTail::default();
        tail.push(b"one\ntwo");
        assert_eq!(tail.to_text(), "one\ntwo");
        tail.push(&[b'x'; MAX_BYTES]);
        assert_eq!(tail.to_text(), "", "no line is whole");
        tail.push(b"\nthe last one: \xff\n");
        assert_eq!(tail.to_text(), "the last one: \u{fffd}\n");
    }
}
