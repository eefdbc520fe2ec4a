//! A question that is written line by line, with the pages of it that did not fit the screen.

use std::io::{self, Write};

use crate::inline::screen_pages::{ScreenPages, ScreenSize};

/// The output of a prompt where lines are read.
pub(super) struct PagedLines<'a> {
    writer: &'a mut dyn Write,
    /// The size of the screen without the row in which the answer is typed. `None` if the output is
    /// not a screen.
    size: Option<ScreenSize>,
    pages: ScreenPages,
}

impl<'a> PagedLines<'a> {
    pub(super) fn new(writer: &'a mut dyn Write, size: Option<ScreenSize>) -> Self {
        let without_answer =
            |size: ScreenSize| ScreenSize { rows: size.rows.saturating_sub(1).max(1), ..size };
        Self { writer, size: size.map(without_answer), pages: ScreenPages::default() }
    }

    /// Writes a question, or a part of one, below a line that introduces it.
    pub(super) fn show_question(&mut self, introduction: &str, text: &str) -> io::Result<()> {
        self.pages = self.size.map(|size| ScreenPages::new(text, size)).unwrap_or_default();
        write!(self.writer, "\n{introduction}{text}")
    }

    /// Returns whether the question does not fit the screen and not all of its pages were shown.
    pub(super) fn has_unread_pages(&self) -> bool {
        !self.pages.is_empty()
    }

    /// Writes the next page of a question that does not fit the screen.
    pub(super) fn show_next_page(&mut self) -> io::Result<()> {
        let columns = self.size.map_or(u16::MAX, |size| size.columns);
        let page = self.pages.next_page(columns);
        page.map_or(Ok(()), |page| writeln!(self.writer, "{page}"))
    }

    /// Forgets the pages that need not be read.
    pub(super) fn discard_pages(&mut self) {
        self.pages = ScreenPages::default();
    }

    /// Writes a line that is not part of the question.
    pub(super) fn show_line(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.writer, "{text}")
    }

    /// Writes the mark behind which the answer is typed.
    pub(super) fn show_mark(&mut self) -> io::Result<()> {
        write!(self.writer, "> ")?;
        self.writer.flush()
    }
}
