//! Pages of a text that does not fit the screen.

use std::collections::VecDeque;

/// The start of an SGR sequence, the only terminal control sequence in a question.
const SEQUENCE_START: char = '\x1b';
/// The end of an SGR sequence.
const SEQUENCE_END: char = 'm';

/// The size of a terminal in columns and rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ScreenSize {
    pub(crate) columns: u16,
    pub(crate) rows: u16,
}

/// The pages of the text that is on the terminal but did not fit its screen. A reviewer who
/// approves has to see them first.
#[derive(Clone, Debug, Default)]
pub(crate) struct ScreenPages {
    pages: VecDeque<String>,
    total: usize,
}

impl ScreenPages {
    /// Returns the pages of `text`, or no pages if the text fits the screen.
    pub(crate) fn new(text: &str, size: ScreenSize) -> Self {
        let rows: Vec<_> = text.trim_matches(['\r', '\n']).split('\n').collect();
        let used: usize = rows.iter().map(|row| count_rows(row, size.columns)).sum();
        if used <= size.rows.into() {
            return Self::default();
        }
        // The last row of a page shows its number.
        let pages = split_pages(&rows, size.columns, usize::from(size.rows).saturating_sub(1));
        Self { total: pages.len(), pages: pages.into() }
    }

    /// Returns whether all pages were shown.
    pub(crate) fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// Returns the next page as text to write, with its number in the last row. The last page ends
    /// with the end of the text.
    pub(crate) fn next_page(&mut self, columns: u16) -> Option<String> {
        let page = self.pages.pop_front()?;
        let number = self.total - self.pages.len();
        if self.pages.is_empty() {
            return Some(format!("\n{page}"));
        }
        let footer = [
            format!("> page {number} of {}; repeat the answer to continue", self.total),
            format!("> page {number} of {}", self.total),
            format!("> {number}/{}", self.total),
        ];
        let footer = footer.iter().find(|text| text.len() < columns.into());
        Some(format!("\n{page}\n{}", footer.map_or(">", |text| text.as_str())))
    }
}

/// Returns the pages, each with at most `limit` rows of the screen.
fn split_pages(rows: &[&str], columns: u16, limit: usize) -> Vec<String> {
    let limit = limit.max(1);
    let (mut pages, mut page, mut used) = (Vec::new(), Vec::new(), 0);
    for row in rows {
        let whole = count_rows(row, columns);
        let pieces = if whole > limit { split_row(row, columns) } else { vec![(*row).to_owned()] };
        let height = if whole > limit { 1 } else { whole };
        for piece in pieces {
            if used + height > limit {
                pages.push(std::mem::take(&mut page).join("\n"));
                used = 0;
            }
            page.push(piece);
            used += height;
        }
    }
    pages.push(page.join("\n"));
    pages
}

/// Returns the maximum number of rows of the screen that `row` uses.
fn count_rows(row: &str, columns: u16) -> usize {
    split_row(row, columns).len()
}

/// Splits `row` where the terminal would continue it in the next row, or earlier.
fn split_row(row: &str, columns: u16) -> Vec<String> {
    let (mut pieces, mut piece, mut used, mut in_sequence) = (Vec::new(), String::new(), 0, false);
    for c in row.chars() {
        in_sequence |= c == SEQUENCE_START;
        let width = if in_sequence { 0 } else { max_width(c) };
        in_sequence &= c != SEQUENCE_END;
        if used > 0 && used + width > usize::from(columns) {
            pieces.push(std::mem::take(&mut piece));
            used = 0;
        }
        piece.push(c);
        used += width;
    }
    pieces.push(piece);
    pieces
}

/// Returns the maximum number of columns of a character. Terminals differ about the width of
/// characters that are not ASCII.
const fn max_width(c: char) -> usize {
    if c.is_ascii() { 1 } else { 2 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(text: &str, columns: u16, rows: u16) -> Vec<String> {
        let mut pages = ScreenPages::new(text, ScreenSize { columns, rows });
        std::iter::from_fn(|| pages.next_page(columns)).collect()
    }

    #[test]
    fn a_text_that_fits_has_no_pages() {
        assert!(pages("\na\nb\n> ", 10, 3).is_empty());
        assert_eq!(pages("\na\nb\nc\n> ", 10, 3), ["\na\nb\n> 1/2", "\nc\n> "]);
        assert!(pages("\n\x1b[31mabcd\x1b[0m", 4, 1).is_empty());
        assert_eq!(pages("abcde", 4, 1), ["\nabcd\n>", "\ne"]);
    }

    #[test]
    fn no_page_is_higher_than_the_screen_and_nothing_is_lost() {
        let text: String = (0..60).map(|n| format!("row {n} {}\n", "xé".repeat(n))).collect();
        for (columns, rows) in [(80, 24), (40, 10), (10, 3), (1, 1), (3, 200)] {
            let size = ScreenSize { columns, rows };
            let all = split_pages(&text.split('\n').collect::<Vec<_>>(), columns, rows.into());
            for page in &all {
                let used: usize = page.split('\n').map(|row| count_rows(row, columns)).sum();
                assert!(used <= rows.into(), "{size:?}: {page}");
            }
            assert_eq!(all.concat().replace('\n', ""), text.replace('\n', ""), "{size:?}");
        }
    }
}
