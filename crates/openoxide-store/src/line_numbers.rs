//! Line numbers of byte positions in a text.

/// The positions of the line feeds in a text.
#[derive(Clone, Debug, Default)]
pub(crate) struct LineNumbers(Vec<usize>);

impl LineNumbers {
    /// Finds the line feeds of a text.
    pub(crate) fn new(text: &str) -> Self {
        Self(
            text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect(),
        )
    }

    /// Returns the number of the line that contains this byte, starting at 1.
    pub(crate) fn line_at(&self, at: usize) -> u32 {
        let before = self.0.partition_point(|end| *end < at);
        u32::try_from(before + 1).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_number_that_counting_gives() {
        for text in ["", "a", "\n", "a\nb\n\nc", "\n\n"] {
            let lines = LineNumbers::new(text);
            for at in 0..=text.len() {
                let counted = text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1;
                assert_eq!(lines.line_at(at) as usize, counted, "{text:?} {at}");
            }
        }
    }
}
