//! Wrapping of text into rows that fit the terminal, without loss of text.

use std::{collections::VecDeque, iter::Peekable};

use unicode_width::UnicodeWidthChar as _;

use openoxide_protocol::escape::{
    DisplayGlyph, GlyphContent, LineMode, escape_text, escaped_glyphs,
};

/// One row of content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WrappedRow {
    pub(crate) glyphs: Vec<DisplayGlyph>,
    /// True if a line of the text begins in this row. Otherwise the row continues the line above.
    pub(crate) starts_line: bool,
    /// The byte offset of the text at which the row ends. For the last row, it is beyond the end of
    /// the text.
    pub(crate) end: usize,
}

/// Returns the rows of `text`, each at most `width` columns wide. A row is filled to the last
/// column, or ends after a space if one is near. Every character of the text is in some row, and
/// there is always at least one row.
pub(crate) fn wrap_rows(text: &str, width: usize) -> impl Iterator<Item = WrappedRow> {
    let mut source = GlyphSource {
        glyphs: escaped_glyphs(text, LineMode::MultiLine).peekable(),
        pushed_back: VecDeque::new(),
    };
    let mut next = Some(true);
    std::iter::from_fn(move || {
        let begins = next?;
        let glyphs = source.take_row(width);
        let (after, end) = match source.peek() {
            Some(DisplayGlyph { content: GlyphContent::LineBreak, end, .. }) => (Some(true), *end),
            Some(glyph) => (Some(false), glyph.start),
            None => (None, usize::MAX),
        };
        if after == Some(true) {
            source.next();
        }
        next = after;
        Some(WrappedRow { glyphs, starts_line: begins, end })
    })
}

/// A source of glyphs to which glyphs can be returned.
struct GlyphSource<I: Iterator<Item = DisplayGlyph>> {
    glyphs: Peekable<I>,
    pushed_back: VecDeque<DisplayGlyph>,
}

impl<I: Iterator<Item = DisplayGlyph>> GlyphSource<I> {
    fn peek(&mut self) -> Option<&DisplayGlyph> {
        self.pushed_back.front().or_else(|| self.glyphs.peek())
    }

    fn next(&mut self) -> Option<DisplayGlyph> {
        self.pushed_back.pop_front().or_else(|| self.glyphs.next())
    }

    fn take_row(&mut self, width: usize) -> Vec<DisplayGlyph> {
        let mut row = self.fill_row(width);
        if self.peek().is_some_and(|next| next.content != GlyphContent::LineBreak) {
            let keep = row.iter().rposition(|glyph| glyph.content == GlyphContent::Char(' '));
            if let Some(keep) = keep.filter(|at| *at > row.len() / 2) {
                self.pushed_back =
                    row.split_off(keep + 1).into_iter().chain(self.pushed_back.drain(..)).collect();
            }
        }
        row
    }

    fn fill_row(&mut self, width: usize) -> Vec<DisplayGlyph> {
        let (mut row, mut used) = (Vec::new(), 0);
        // The first glyph is taken even if it is too wide. A row without glyphs would cause an
        // endless loop.
        while let Some(next) = self.peek()
            && next.content != GlyphContent::LineBreak
            && (used == 0 || used + next.content.width() <= width)
        {
            used += next.content.width();
            row.extend(self.next());
        }
        row
    }
}

/// Returns `text` in rows of at most `width` columns, broken between words where possible. The text
/// is escaped for display, and a line feed does not start a row.
pub(crate) fn wrap_words(text: &str, width: usize) -> Vec<String> {
    let mut rows = vec![String::new()];
    for word in escape_text(text, LineMode::SingleLine).split(' ') {
        add_word(&mut rows, word, width);
    }
    rows
}

fn add_word(rows: &mut Vec<String>, word: &str, width: usize) {
    let Some(row) = rows.last_mut() else { return };
    let blank = if row.is_empty() { "" } else { " " };
    if display_width(row) + blank.len() + display_width(word) <= width {
        row.push_str(blank);
        row.push_str(word);
        return;
    }
    if row.is_empty() {
        rows.pop();
    }
    rows.extend(self::wrap_rows(word, width).map(|row| glyphs_to_text(&row.glyphs)));
}

/// Returns the width in columns of `text`, which must be safe to show.
pub(crate) fn display_width(text: &str) -> usize {
    text.chars().filter_map(|c| c.width()).sum()
}

fn glyphs_to_text(glyphs: &[DisplayGlyph]) -> String {
    let mut out = String::new();
    glyphs.iter().for_each(|glyph| glyph.content.write_to(&mut out));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(content: &str, width: usize) -> Vec<(String, bool)> {
        wrap_rows(content, width)
            .map(|row| (glyphs_to_text(&row.glyphs), row.starts_line))
            .collect()
    }

    #[test]
    fn rows_break_by_column() {
        let row = |text: &str, begins| (text.to_owned(), begins);
        assert_eq!(cut("", 4), [row("", true)]);
        assert_eq!(cut("abcdef", 4), [row("abcd", true), row("ef", false)]);
        assert_eq!(cut("abcd\n\nx", 4), [row("abcd", true), row("", true), row("x", true)]);
        assert_eq!(cut("世界x", 4), [row("世界", true), row("x", false)]);
        assert_eq!(cut("a世界", 4), [row("a世", true), row("界", false)]);
        assert_eq!(
            cut("abcdef gh", 8),
            [row("abcdef ", true), row("gh", false)],
            "a blank is near"
        );
        assert_eq!(cut("ab cdefghij", 8), [row("ab cdefg", true), row("hij", false)], "it is far");
        assert_eq!(
            cut("abcdefg h\ni", 8),
            [row("abcdefg ", true), row("h", false), row("i", true)]
        );
        assert_eq!(
            cut("ab\x1b", 4),
            [row("ab", true), row("\\x1b", false)],
            "an escape stays whole"
        );
        assert_eq!(cut("\u{202e}x", 4), [row("\\u{202e}", true), row("x", false)]);
    }

    #[test]
    fn no_character_is_lost() {
        for width in 1..30 {
            let text = "git  push --force\t  origin\x1b[2Jmain 世界 x";
            let all: String =
                wrap_rows(text, width).map(|row| self::glyphs_to_text(&row.glyphs)).collect();
            assert_eq!(all, escape_text(text, LineMode::MultiLine));
        }
    }

    #[test]
    fn words_break_between_words() {
        assert_eq!(wrap_words("", 8), [""]);
        assert_eq!(wrap_words("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap_words("abcdefghijkl", 8), ["abcdefgh", "ijkl"]);
        assert_eq!(wrap_words("x abcdefghijkl y", 8), ["x", "abcdefgh", "ijkl y"]);
        assert_eq!(wrap_words("a\nb", 8), ["a\\nb"]);
    }
}
