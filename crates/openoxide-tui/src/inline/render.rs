//! The whole of a question, as text.

use openoxide_protocol::ApprovalRequest;

use super::{Input, content, grounds, options::Offers};
use crate::{
    Style,
    style::Tone,
    wrap::{columns, words},
};

/// Narrower than this, the terminal breaks the rows itself.
const NARROWEST: u16 = 24;

/// How a question is laid out.
#[derive(Clone, Copy, Debug)]
pub struct RenderOptions<'a> {
    /// The columns of the terminal.
    pub width: u16,
    /// How text is set off.
    pub style: Style,
    /// Whether everything is shown, however long it is.
    pub whole: bool,
    /// How the answer is read, and so how the answers are named.
    pub input: Input,
    /// Where the request stands among those that can be answered together.
    pub batch: Option<Batch<'a>>,
}

/// The place of a request among those that can be answered together.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// Its number, counted from 1.
    pub index: usize,
    /// How many there are.
    pub total: usize,
    /// Those that come after it.
    pub rest: &'a [ApprovalRequest],
}

impl Default for RenderOptions<'_> {
    fn default() -> Self {
        Self { width: 80, style: Style::Plain, whole: false, input: Input::Keys, batch: None }
    }
}

impl<'a> Batch<'a> {
    /// Returns the place of the request at `at`, if all of `requests` can be answered together.
    #[must_use]
    pub fn at(requests: &'a [ApprovalRequest], at: usize) -> Option<Self> {
        let group = requests.first()?.group.as_ref()?;
        let together = requests.iter().all(|request| request.group.as_ref() == Some(group));
        let rest = requests.get(at + 1..)?;
        (together && requests.len() > 1).then_some(Self {
            index: at + 1,
            total: requests.len(),
            rest,
        })
    }

    /// Returns those that a yes to all covers.
    pub(crate) fn covered(self) -> impl Iterator<Item = &'a ApprovalRequest> {
        self.rest.iter().filter(|request| !request.explicit_yes_required)
    }
}

/// Returns the question as text: what is wanted, why it is asked, and the keys that answer.
///
/// Nothing in it can drive the terminal but, if `options` want it, colours. What is left out for its length is counted.
#[must_use]
pub fn render(request: &ApprovalRequest, options: &RenderOptions<'_>) -> String {
    let offers = Offers::of(request, options.batch);
    let mut page = Page::new(options);
    body(request, options, &mut page);
    page.blank();
    offers.keys(options.input, &mut page);
    page.text
}

/// Returns the question without the keys: what waits for an answer that is given elsewhere.
#[must_use]
pub fn describe(request: &ApprovalRequest, options: &RenderOptions<'_>) -> String {
    let mut page = Page::new(options);
    body(request, options, &mut page);
    page.text
}

/// Adds all but the keys.
pub(crate) fn body(request: &ApprovalRequest, options: &RenderOptions<'_>, page: &mut Page) {
    let place = options
        .batch
        .map(|batch| format!(" ({} of {})", batch.index, batch.total))
        .unwrap_or_default();
    let title = format!("OpenOxide asks{place}: {} ({})", request.title, request.tool);
    page.block(Tone::Strong, ["", "  "], &title);
    page.blank();
    content::show(request, options, page);
    page.blank();
    grounds::show(request, options, page);
}

/// Text that grows row by row.
pub(crate) struct Page {
    pub(crate) text: String,
    pub(crate) style: Style,
    pub(crate) width: usize,
}

impl Page {
    pub(crate) fn new(options: &RenderOptions<'_>) -> Self {
        let width = options.width.max(NARROWEST).into();
        Self { text: String::new(), style: options.style, width }
    }

    /// Adds an empty row.
    pub(crate) fn blank(&mut self) {
        self.text.push('\n');
    }

    /// Adds a row of pieces that are safe to show and fit.
    pub(crate) fn row(&mut self, pieces: &[(Tone, &str)]) {
        for (tone, piece) in pieces {
            self.text.push_str(&self.style.paint(*tone, piece));
        }
        self.blank();
    }

    /// Adds `text`, whatever it holds, in as many rows as it takes; the first begins with one gutter, the others with
    /// the other.
    pub(crate) fn block(&mut self, tone: Tone, [first, other]: [&str; 2], text: &str) {
        self.marked((Tone::Body, first), other, tone, text);
    }

    /// Adds a block whose first gutter has a tone of its own.
    pub(crate) fn marked(&mut self, first: (Tone, &str), other: &str, tone: Tone, text: &str) {
        let room = self.width - columns(first.1).max(columns(other)).min(self.width / 2);
        for (at, words) in words(text, room).iter().enumerate() {
            let gutter = if at == 0 { first } else { (Tone::Body, other) };
            self.row(&[gutter, (tone, words)]);
        }
    }
}

#[cfg(test)]
mod tests;
