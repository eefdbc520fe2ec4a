//! The text of a question, built row by row.

use crate::{
    inline::render_options::RenderOptions,
    style::{TextStyle, TextTone},
    text_wrap::{display_width, wrap_words},
};

/// Narrower than this, the terminal breaks the rows itself.
const MIN_WIDTH: u16 = 24;

/// Text that grows row by row.
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

    /// Adds a row of pieces that are safe to show and fit.
    pub(crate) fn push_row(&mut self, pieces: &[(TextTone, &str)]) {
        for (tone, piece) in pieces {
            self.text.push_str(&self.style.paint(*tone, piece));
        }
        self.push_blank_row();
    }

    /// Adds `text`, whatever it holds, in as many rows as it takes; the first begins with one gutter, the others with
    /// the other.
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
