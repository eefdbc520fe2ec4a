//! The end of what a program has printed. It stays in the supervisor's memory: secrets may stand in it.

/// So many bytes are kept.
const MOST: usize = 8192;

/// The last bytes that were printed.
#[derive(Default)]
pub(crate) struct Tail {
    bytes: Vec<u8>,
    cut: bool,
}

impl Tail {
    /// Adds what was printed next.
    pub(crate) fn add(&mut self, more: &[u8]) {
        self.bytes.extend_from_slice(more);
        let over = self.bytes.len().saturating_sub(MOST);
        self.cut |= over > 0;
        self.bytes.drain(..over);
    }

    /// Returns it as text, from the first whole line: half a path would be another one.
    pub(crate) fn text(&self) -> String {
        let text = String::from_utf8_lossy(&self.bytes);
        match text.split_once('\n') {
            Some((_, whole)) if self.cut => whole.to_owned(),
            None if self.cut => String::new(),
            _ => text.into_owned(),
        }
    }
}

impl std::fmt::Debug for Tail {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Tail({} bytes)", self.bytes.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_kept_from_its_first_whole_line() {
        let mut tail = Tail::default();
        tail.add(b"one\ntwo");
        assert_eq!(tail.text(), "one\ntwo");
        tail.add(&[b'x'; MOST]);
        assert_eq!(tail.text(), "", "no line is whole");
        tail.add(b"\nthe last one: \xff\n");
        assert_eq!(tail.text(), "the last one: \u{fffd}\n");
    }
}
