//! The whole of a question, as text.

use openoxide_protocol::ApprovalRequest;

use super::{InputMode, content, decision_reasons, prompt_options::PromptOptions};
use crate::{
    TextStyle,
    style::TextTone,
    text_wrap::{display_width, wrap_words},
};

/// Narrower than this, the terminal breaks the rows itself.
const MIN_WIDTH: u16 = 24;

/// The layout of a question.
#[derive(Clone, Copy, Debug)]
pub struct RenderOptions<'a> {
    /// The columns of the terminal.
    pub width: u16,
    /// The text style.
    pub style: TextStyle,
    /// True if everything is shown, however long it is.
    pub show_all: bool,
    /// The way the answer is read, which determines the names of the answers.
    pub input: InputMode,
    /// The position of the request among those that can be answered together.
    pub batch: Option<BatchPosition<'a>>,
}

/// The place of a request among those that can be answered together.
#[derive(Clone, Copy, Debug)]
pub struct BatchPosition<'a> {
    /// Its number, counted from 1.
    pub index: usize,
    /// The total number of requests.
    pub total: usize,
    /// Those that come after it.
    pub remaining: &'a [ApprovalRequest],
}

impl Default for RenderOptions<'_> {
    fn default() -> Self {
        Self {
            width: 80,
            style: TextStyle::Plain,
            show_all: false,
            input: InputMode::Keys,
            batch: None,
        }
    }
}

impl<'a> BatchPosition<'a> {
    /// Returns the place of the request at `at`, if all of `requests` can be answered together.
    #[must_use]
    pub fn from_requests(requests: &'a [ApprovalRequest], at: usize) -> Option<Self> {
        let group = requests.first()?.group.as_ref()?;
        let together = requests.iter().all(|request| request.group.as_ref() == Some(group));
        let rest = requests.get(at + 1..)?;
        (together && requests.len() > 1).then_some(Self {
            index: at + 1,
            total: requests.len(),
            remaining: rest,
        })
    }

    /// Returns the following requests that "all" approves.
    pub(crate) fn covered_requests(self) -> impl Iterator<Item = &'a ApprovalRequest> {
        self.remaining.iter().filter(|request| !request.requires_explicit_approval)
    }
}

/// Returns the question as text: the operation, the reason for the question, and the keys that
/// answer.
///
/// The text contains no terminal control sequences except for colours, if `options` request them.
/// The number of omitted lines and items is shown.
#[must_use]
pub fn render_prompt(request: &ApprovalRequest, options: &RenderOptions<'_>) -> String {
    let offers = PromptOptions::from_request(request, options.batch);
    let mut page = TextPage::new(options);
    show_body(request, options, &mut page);
    page.push_blank_row();
    offers.show_keys(options.input, &mut page);
    page.text
}

/// Returns the question without the keys: what waits for an answer that is given elsewhere.
#[must_use]
pub fn render_request(request: &ApprovalRequest, options: &RenderOptions<'_>) -> String {
    let mut page = TextPage::new(options);
    show_body(request, options, &mut page);
    page.text
}

/// Adds all but the keys.
pub(crate) fn show_body(
    request: &ApprovalRequest,
    options: &RenderOptions<'_>,
    page: &mut TextPage,
) {
    let place = options
        .batch
        .map(|batch| format!(" ({} of {})", batch.index, batch.total))
        .unwrap_or_default();
    let title = format!("OpenOxide asks{place}: {} ({})", request.title, request.tool);
    page.push_block(TextTone::Strong, ["", "  "], &title);
    page.push_blank_row();
    content::show_content(request, options, page);
    page.push_blank_row();
    decision_reasons::show_reasons(request, options, page);
}

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

#[cfg(test)]
mod tests;
