//! The available answers, and the lines that describe them.

use openoxide_protocol::ApprovalRequest;

use crate::{
    inline::{
        input_mode::InputMode,
        render_options::{BatchPosition, RenderOptions},
        text_page::TextPage,
    },
    style::TextTone,
    text_wrap::{display_width, wrap_words},
};

/// The metadata key under which the gate lists the coverage of a session grant.
pub(crate) const COVERS_KEY: &str = "covers";

/// The answers that a request accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a key that is there or not")]
pub(crate) struct PromptOptions {
    /// True if the request can be approved for the rest of the session.
    pub(crate) session: bool,
    /// True if changes in a directory can be approved for the rest of the session.
    pub(crate) directory: bool,
    /// True if an approval can save the rules that are shown.
    pub(crate) always: bool,
    /// True if the other requests can be approved, too.
    pub(crate) all: bool,
    /// True if the other requests can be rejected, too.
    pub(crate) skip: bool,
    /// True if a session grant covers more than this request. Its coverage is listed then.
    pub(crate) lists_coverage: bool,
}

impl PromptOptions {
    /// Returns the answers that `request` accepts. If it requires explicit approval, only an
    /// approval of this request is offered.
    pub(crate) fn from_request(
        request: &ApprovalRequest,
        batch: Option<BatchPosition<'_>>,
    ) -> Self {
        let lasting = !request.requires_explicit_approval;
        Self {
            session: lasting,
            directory: lasting && request.directory.is_some(),
            always: !request.choices().is_empty(),
            all: lasting && batch.is_some_and(|batch| batch.covered_requests().next().is_some()),
            skip: batch.is_some_and(|batch| !batch.remaining.is_empty()),
            lists_coverage: lasting && session_coverage(request).next().is_some(),
        }
    }

    /// Returns each key or word with its meaning.
    fn key_hints(self, input: InputMode) -> impl Iterator<Item = (&'static str, &'static str)> {
        let (message, stop, as_above) = match input {
            InputMode::Keys => ("m", "Esc", "always"),
            InputMode::Lines => ("m TEXT", "Ctrl-D", "yes, as above"),
        };
        [
            (true, "y", "yes, once"),
            (self.session && !self.lists_coverage, "a", "yes, this exact action for the session"),
            (self.session && self.lists_coverage, "a", "yes, everything listed for the session"),
            (self.directory, "d", "yes, in this directory"),
            (self.always, "p", as_above),
            (self.always && input == InputMode::Lines, "p?", "what that allows"),
            (self.all, input.approve_all_key(), "yes to all"),
            (true, "n", if self.skip { "no to all pending" } else { "no" }),
            (true, message, "no, with a message"),
            (self.skip, "s", "no to this group only"),
            (true, "v", "view all"),
            (true, stop, "stop the agent"),
        ]
        .into_iter()
        .filter_map(|(offered, key, meaning)| offered.then_some((key, meaning)))
    }

    /// Adds the line that lists the keys.
    pub(crate) fn show_keys(self, input: InputMode, page: &mut TextPage) {
        KeyHints(self.key_hints(input).collect()).show(page);
    }

    /// Returns the line that lists the keys as text.
    pub(crate) fn render_keys(self, options: &RenderOptions<'_>) -> String {
        let mut page = TextPage::new(options);
        self.show_keys(options.input, &mut page);
        page.text
    }

    /// Returns only the keys, for a hint.
    pub(crate) fn key_names(self) -> String {
        self.key_hints(InputMode::Keys).map(|(key, _)| key).collect::<Vec<_>>().join(" ")
    }
}

/// Keys with their meanings.
pub(crate) struct KeyHints(pub(crate) Vec<(&'static str, &'static str)>);

impl KeyHints {
    /// Adds the keys. Lines are only broken between two of them.
    pub(crate) fn show(self, page: &mut TextPage) {
        let mut used = 0;
        for (key, meaning) in self.0 {
            let width = display_width(key) + display_width(meaning) + 3;
            if used > 0 && used + 2 + width > page.width {
                page.push_blank_row();
                used = 0;
            }
            let gap = if used == 0 { "" } else { "  " };
            used += gap.len() + width;
            let key = page.style.paint(TextTone::Strong, &format!("[{key}]"));
            let meaning =
                wrap_words(meaning, page.width.saturating_sub(width - display_width(meaning)));
            page.text.extend([gap, &key, " ", &meaning.join("\n    ")]);
        }
        page.push_blank_row();
    }
}

/// Returns the coverage of a session grant beyond this request, as the gate lists it.
pub(crate) fn session_coverage(request: &ApprovalRequest) -> impl Iterator<Item = &str> {
    let listed = request.presentation.metadata.get(COVERS_KEY).and_then(|covers| covers.as_array());
    listed.into_iter().flatten().filter_map(|key| key.as_str())
}
