//! The editor for a message to the model, which is one line.

use unicode_width::UnicodeWidthChar as _;

use openoxide_protocol::escape::is_visible_after;

use crate::text_wrap::display_width;

/// The maximum length of a message. A longer text is a document and not a correction.
const MAX_MESSAGE_LEN: usize = 4000;

/// One line of text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LineEditor {
    text: String, // INVARIANT: visible characters only, so that the text can be shown unchanged.
}

impl LineEditor {
    /// Adds a character at the end, if it is visible.
    pub(crate) fn push(&mut self, c: char) {
        if is_visible_after(&self.text, c) && self.text.len() < MAX_MESSAGE_LEN {
            self.text.push(c);
        }
    }

    /// Adds pasted text. Characters that end or move the line become spaces; invisible characters
    /// are dropped.
    pub(crate) fn paste(&mut self, text: &str) {
        text.chars().for_each(|c| self.push(if c.is_whitespace() { ' ' } else { c }));
    }

    /// Removes the last character.
    pub(crate) fn backspace(&mut self) {
        self.text.pop();
    }

    /// Removes all text.
    pub(crate) fn clear(&mut self) {
        self.text.clear();
    }

    /// Returns the message, or `None` if it is empty.
    pub(crate) fn message(&self) -> Option<String> {
        let text = self.text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// Returns the end of the text that fits into `width` columns.
    pub(crate) fn visible_tail(&self, width: usize) -> String {
        if display_width(&self.text) <= width {
            return self.text.clone();
        }
        let mut room = width.saturating_sub(1);
        let kept: Vec<char> =
            self.text.chars().rev().take_while(|c| fits_width(*c, &mut room)).collect();
        std::iter::once('…').chain(kept.into_iter().rev()).collect()
    }
}

fn fits_width(c: char, room: &mut usize) -> bool {
    let width = c.width().unwrap_or(0);
    let fits = width <= *room;
    *room = room.saturating_sub(width);
    fits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(text: &str) -> LineEditor {
        let mut editor = LineEditor::default();
        editor.paste(text);
        editor
    }

    #[test]
    fn a_paste_loses_its_controls() {
        let editor = with("use\r\n\x1b[31mmake\x07 \u{202e}now\t!");
        assert_eq!(editor.message().unwrap(), "use  [31mmake now !");
    }

    #[test]
    fn the_marks_of_a_script_are_kept() {
        for text in ["ไม่ใช่ที่นี่", "हिन्दी", "re\u{301}sume\u{301}"]
        {
            assert_eq!(with(text).message().unwrap(), text);
        }
        assert_eq!(with("a\u{301}\u{301}\u{301}\u{301}").message().unwrap(), "a\u{301}\u{301}");
    }

    #[test]
    fn blank_text_is_not_a_message() {
        assert_eq!(with("  \n ").message(), None);
        assert_eq!(LineEditor::default().message(), None);
    }

    #[test]
    fn a_long_text_shows_its_end() {
        assert_eq!(with("abcdef").visible_tail(6), "abcdef");
        assert_eq!(with("abcdefg").visible_tail(6), "…cdefg");
        assert_eq!(with("世界世界").visible_tail(6), "…世界");
    }

    #[test]
    fn it_does_not_grow_without_end() {
        assert_eq!(with(&"x".repeat(9000)).message().unwrap().len(), MAX_MESSAGE_LEN);
    }
}
