//! The layout of a question, and its position among other questions.

use openoxide_protocol::ApprovalRequest;

use crate::{inline::input_mode::InputMode, style::TextStyle};

/// The layout of a question.
#[derive(Clone, Copy, Debug)]
pub struct RenderOptions<'a> {
    /// The width of the terminal in columns.
    pub width: u16,
    /// The text style.
    pub style: TextStyle,
    /// True if everything is shown, regardless of its length.
    pub show_all: bool,
    /// The way the answer is read, which determines the names of the answers.
    pub input: InputMode,
    /// The position of the request among those that can be answered together.
    pub batch: Option<BatchPosition<'a>>,
}

/// The position of a request among those that can be answered together.
#[derive(Clone, Copy, Debug)]
pub struct BatchPosition<'a> {
    /// The number of the request, starting at 1.
    pub index: usize,
    /// The total number of requests.
    pub total: usize,
    /// The requests after this one.
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
    /// Returns the position of the request at `at`, if all of `requests` can be answered together.
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
