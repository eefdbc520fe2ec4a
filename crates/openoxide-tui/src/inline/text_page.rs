//! The text of a question, assembled row by row.

use crate::{
    inline::render_options::RenderOptions,
    style::{TextStyle, TextTone},
    text_wrap::{display_width, wrap_words},
};

/// The minimum width. In a narrower terminal, the terminal itself wraps the rows.
const MIN_WIDTH: u16 = 24;

/// Text that is assembled row by row.
pub(crate) struct TextPage {
    pub(crate) text: String,
    pub(crate) style: TextStyle,
    pub(crate) width: usize,
}

impl TextPage {
    pub(crate) fn new(options: &RenderOptions<'_>) -> Self {
        let width = options.width.max(MIN_WIDTH).into();
        Self { text: String::new(), style: options.style, width }
    }

    /// Adds an empty row.
    pub(crate) fn push_blank_row(&mut self) {
        self.text.push('\n');
    }

    /// Adds a row of pieces, which must be safe to show and must fit.
    pub(crate) fn push_row(&mut self, pieces: &[(TextTone, &str)]) {
        for (tone, piece) in pieces {
            self.text.push_str(&self.style.paint(*tone, piece));
        }
        self.push_blank_row();
    }

    /// Adds `text`, escaped, in as many rows as needed. `first` is the gutter of the first row,
    /// `other` that of the others.
    pub(crate) fn push_block(&mut self, tone: TextTone, [first, other]: [&str; 2], text: &str) {
        self.push_marked_block((TextTone::Body, first), other, tone, text);
    }

    /// Adds a block whose first gutter has a separate tone.
    pub(crate) fn push_marked_block(
        &mut self,
        first: (TextTone, &str),
        other: &str,
        tone: TextTone,
        text: &str,
    ) {
        let room =
            self.width - display_width(first.1).max(display_width(other)).min(self.width / 2);
        for (at, words) in wrap_words(text, room).iter().enumerate() {
            let gutter = if at == 0 { first } else { (TextTone::Body, other) };
            self.push_row(&[gutter, (tone, words)]);
        }
    }
}
