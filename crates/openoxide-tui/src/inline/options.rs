//! What can be answered, and the lines that say so.

use openoxide_protocol::ApprovalRequest;

use super::{
    Input,
    render::{Batch, Page, RenderOptions},
};
use crate::{
    style::Tone,
    wrap::{columns, words},
};

/// Where the gate puts what a yes for the session covers.
pub(crate) const COVERS: &str = "covers";

/// The answers that a request takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a key that is there or not")]
pub(crate) struct Offers {
    /// Yes for the rest of the session.
    pub(crate) session: bool,
    /// Yes for the rules that are shown.
    pub(crate) always: bool,
    /// Yes to the others too.
    pub(crate) all: bool,
    /// No to the others too.
    pub(crate) skip: bool,
    /// A yes for the session covers more than this very request: what is listed.
    pub(crate) listed: bool,
}

impl Offers {
    /// Returns what `request` takes: where only a yes to this very request counts, there is no other.
    pub(crate) fn of(request: &ApprovalRequest, batch: Option<Batch<'_>>) -> Self {
        let lasting = !request.explicit_yes_required;
        Self {
            session: lasting,
            always: lasting && !request.decision.always.is_empty(),
            all: lasting && batch.is_some_and(|batch| batch.covered().next().is_some()),
            skip: batch.is_some_and(|batch| !batch.rest.is_empty()),
            listed: lasting && covered(request).next().is_some(),
        }
    }

    /// Returns each key or word with what it means.
    fn list(self, input: Input) -> impl Iterator<Item = (&'static str, &'static str)> {
        let (message, stop, as_above) = match input {
            Input::Keys => ("m", "Esc", "always"),
            Input::Lines => ("m TEXT", "Ctrl-D", "yes, as above"),
        };
        [
            (true, "y", "yes, once"),
            (self.session && !self.listed, "a", "yes, this exact action for the session"),
            (self.session && self.listed, "a", "yes, everything listed for the session"),
            (self.always, "p", as_above),
            (self.always && input == Input::Lines, "p?", "what that allows"),
            (self.all, input.all(), "yes to all"),
            (true, "n", if self.skip { "no to all pending" } else { "no" }),
            (true, message, "no, with a message"),
            (self.skip, "s", "no to this group only"),
            (true, "v", "view all"),
            (true, stop, "stop the agent"),
        ]
        .into_iter()
        .filter_map(|(offered, key, meaning)| offered.then_some((key, meaning)))
    }

    /// Adds the line of keys.
    pub(crate) fn keys(self, input: Input, page: &mut Page) {
        Keys(self.list(input).collect()).show(page);
    }

    /// Returns the line of keys as text.
    pub(crate) fn text(self, options: &RenderOptions<'_>) -> String {
        let mut page = Page::new(options);
        self.keys(options.input, &mut page);
        page.text
    }

    /// Returns the keys alone, for a hint.
    pub(crate) fn names(self) -> String {
        self.list(Input::Keys).map(|(key, _)| key).collect::<Vec<_>>().join(" ")
    }
}

/// Keys, each with what it means.
pub(crate) struct Keys(pub(crate) Vec<(&'static str, &'static str)>);

impl Keys {
    /// Adds the keys, broken between two of them.
    pub(crate) fn show(self, page: &mut Page) {
        let mut used = 0;
        for (key, meaning) in self.0 {
            let width = columns(key) + columns(meaning) + 3;
            if used > 0 && used + 2 + width > page.width {
                page.blank();
                used = 0;
            }
            let gap = if used == 0 { "" } else { "  " };
            used += gap.len() + width;
            let key = page.style.paint(Tone::Strong, &format!("[{key}]"));
            let meaning = words(meaning, page.width.saturating_sub(width - columns(meaning)));
            page.text.extend([gap, &key, " ", &meaning.join("\n    ")]);
        }
        page.blank();
    }
}

/// Returns what a yes for the session covers beyond this very request, as the gate has it.
pub(crate) fn covered(request: &ApprovalRequest) -> impl Iterator<Item = &str> {
    let listed = request.presentation.metadata.get(COVERS).and_then(|covers| covers.as_array());
    listed.into_iter().flatten().filter_map(|key| key.as_str())
}

impl Input {
    /// Returns how a yes to all is given: a capital where keys are read, a word where lines are.
    pub(crate) const fn all(self) -> &'static str {
        match self {
            Self::Keys => "A",
            Self::Lines => "all",
        }
    }
}
