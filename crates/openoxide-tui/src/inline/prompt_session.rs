//! The dialog from a question to its answer, where keys are read.

use openoxide_protocol::{ApprovalRequest, ApprovalResponse, ChoiceHistory};

use crate::inline::{
    ask_error::AskError,
    ask_options::AskOptions,
    batch::{PromptAnswer, answer_each},
    console::{ConsoleInput, PromptConsole, discard_input},
    grant_menu::{GrantMenu, HistoryLookup},
    hidden_content::HiddenContent,
    input_mode::InputMode,
    prompt_options::PromptOptions,
    prompt_state::{PromptState, PromptStep},
    render::render_prompt,
    render_options::{BatchPosition, RenderOptions},
    terminal::{RawTerminal, TerminalIo},
    text_page::TextPage,
};

/// Asks about each of `requests` at the terminal of this process.
pub(crate) fn ask_group(
    requests: &[ApprovalRequest],
    options: &AskOptions,
) -> Result<Vec<ApprovalResponse>, AskError> {
    let mut terminal = RawTerminal::open(options.withdrawn.as_deref(), true)?;
    answer_each(requests, |request, batch| {
        PromptSession::new(&mut terminal, request, options, batch).run()
    })
}

/// A question at a terminal.
struct PromptSession<'a, T> {
    console: PromptConsole<'a, T>,
    request: &'a ApprovalRequest,
    options: RenderOptions<'a>,
    prompt: PromptState,
    history_lookup: Option<HistoryLookup>,
    /// The history of the choices. `None` until it is requested.
    history: Option<Vec<ChoiceHistory>>,
    /// True if the whole summary was on the screen. It is sufficient for an approval.
    has_shown_summary: bool,
}

impl<'a, T: TerminalIo> PromptSession<'a, T> {
    fn new(
        terminal: &'a mut T,
        request: &'a ApprovalRequest,
        options: &AskOptions,
        batch: Option<BatchPosition<'a>>,
    ) -> Self {
        let width = terminal.width();
        let (style, history_lookup) = (options.style, options.history_lookup.clone());
        let options =
            RenderOptions { width, style, show_all: false, input: InputMode::Keys, batch };
        let prompt = PromptState::new(
            PromptOptions::from_request(request, batch),
            GrantMenu::from_request(request),
        );
        let console = PromptConsole::new(terminal);
        Self {
            console,
            request,
            options,
            prompt,
            history_lookup,
            history: None,
            has_shown_summary: false,
        }
    }

    fn run(mut self) -> Result<PromptAnswer, AskError> {
        if discard_input(self.console.terminal)? {
            return Ok(PromptAnswer::Single(ApprovalResponse::Cancelled));
        }
        self.draw(false)?;
        let outcome = self.read_answer();
        let last = match &outcome {
            Ok(choice) => self.show_status(&choice.describe()),
            Err(error) => self.show_status(&error.to_string()),
        };
        // The answer is valid even if it could not be shown on the screen.
        last.and_then(|()| self.console.terminal.write("\n")).ok();
        outcome
    }

    fn read_answer(&mut self) -> Result<PromptAnswer, AskError> {
        loop {
            self.prompt.set_unread_pages(self.console.has_unread_pages());
            let step = match self.console.next_input(self.prompt.editor().is_some())? {
                ConsoleInput::Key(key) => self.prompt.handle_key(key),
                ConsoleInput::Paste(text) => self.prompt.handle_paste(&text),
                ConsoleInput::Burst => self.prompt.reject_burst(),
                ConsoleInput::Early => self.prompt.reject_early_key(),
                ConsoleInput::Resized => {
                    self.redraw()?;
                    continue;
                }
            };
            if let PromptStep::Answer(choice) = step {
                return Ok(choice);
            }
            self.show_step(&step)?;
        }
    }

    fn show_step(&mut self, step: &PromptStep) -> Result<(), AskError> {
        match step {
            PromptStep::Hint(hint) => self.show_status(hint),
            PromptStep::RepeatKeys => {
                self.repeat_keys("Enter does not select an answer. Press one of:")
            }
            PromptStep::MessageDiscarded => self.repeat_keys("No message. Press one of:"),
            PromptStep::GrantMenu => self.draw_grant_menu(),
            PromptStep::GrantMenuClosed => {
                self.console.discard_pages();
                self.repeat_keys("No rule saved. Press one of:")
            }
            PromptStep::ShowAll => {
                self.has_shown_summary |= self.shows_whole_summary();
                self.draw(true)
            }
            PromptStep::ShowAllFirst => {
                self.draw(true)?;
                if self.console.has_unread_pages() {
                    return self.console.show_next_page();
                }
                self.show_status(
                    "the request was not fully visible; review it and press the key again",
                )
            }
            PromptStep::NextPage => self.console.show_next_page(),
            PromptStep::Message => self.draw_message(),
            PromptStep::Answer(_) | PromptStep::NoChange => Ok(()),
        }
    }

    /// Draws the question below the current screen content.
    fn draw(&mut self, whole: bool) -> Result<(), AskError> {
        let question = self.render_question(whole);
        self.console.show_question(&question)?;
        self.skip_pages_after_summary();
        Ok(())
    }

    /// Returns whether a summary is on the screen, with its last page.
    fn shows_whole_summary(&self) -> bool {
        let is_summary = self.request.presentation.summary.is_some() && !self.options.show_all;
        is_summary && !self.console.has_unread_pages()
    }

    /// Leaves the pages of the whole content optional if the summary was shown.
    fn skip_pages_after_summary(&mut self) {
        if self.has_shown_summary && self.options.show_all {
            self.console.discard_pages();
        }
    }

    /// Returns the question for the current width of the terminal.
    fn render_question(&mut self, whole: bool) -> String {
        self.options.width = self.console.terminal.width();
        self.options.show_all = whole;
        self.prompt.set_hidden_content(HiddenContent::new(self.request, &self.options));
        format!("\n{}> ", render_prompt(self.request, &self.options))
    }

    fn redraw(&mut self) -> Result<(), AskError> {
        if !self.console.requires_redraw() {
            return Ok(());
        }
        // The content is unchanged, so a reviewer who has read it does not have to wait again.
        let question = self.render_question(self.options.show_all);
        self.console.repeat_question(&question)?;
        self.skip_pages_after_summary();
        match (self.prompt.editor(), self.prompt.grant_menu()) {
            (Some(_), _) => self.draw_message(),
            (None, Some(_)) => self.draw_grant_menu(),
            (None, None) => Ok(()),
        }
    }

    fn show_status(&mut self, text: &str) -> Result<(), AskError> {
        self.console.show_status(text, self.options.width)
    }

    fn repeat_keys(&mut self, why: &str) -> Result<(), AskError> {
        let keys = PromptOptions::from_request(self.request, self.options.batch)
            .render_keys(&self.options);
        self.console.terminal.write(&format!("\r\x1b[K{why}\n{keys}> "))
    }

    /// Replaces the last row with the second step of `p`. The history is only looked up here.
    fn draw_grant_menu(&mut self) -> Result<(), AskError> {
        let Some(always) = self.prompt.grant_menu() else { return Ok(()) };
        let recall = || self.history_lookup.as_ref().map(|recall| recall.lookup(self.request));
        let recalled = self.history.get_or_insert_with(|| recall().unwrap_or_default());
        let mut page = TextPage::new(&self.options);
        always.show(recalled, &mut page);
        page.push_blank_row();
        always.show_keys(&mut page);
        self.console.show_question(&format!("\r\x1b[K\n{}> ", page.text))
    }

    fn draw_message(&mut self) -> Result<(), AskError> {
        const LABEL: &str = "message (Enter sends, Esc goes back): ";
        let width = usize::from(self.options.width);
        let label = if width > LABEL.len() * 2 { LABEL } else { "message: " };
        let room = width.saturating_sub(label.len() + 1).max(4);
        let text = self.prompt.editor().map(|editor| editor.visible_tail(room)).unwrap_or_default();
        self.console.terminal.write(&format!("\r\x1b[K{label}{text}"))
    }
}

#[cfg(test)]
mod tests;
