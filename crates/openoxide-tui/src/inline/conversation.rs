//! The way from a question to its answer, key by key.

use openoxide_protocol::{ApprovalRequest, ApprovalResponse, Recalled};

use super::{
    AskError, AskOptions, Input, Recall,
    always::Always,
    batch::{Choice, answer_each},
    console::{Console, Typed, settle},
    keys::{Prompt, Step},
    options::Offers,
    render::{Batch, Page, RenderOptions, render},
    terminal::{RawTerminal, Terminal},
    unseen::Unseen,
};

/// Asks about each of `requests` at the terminal of this process.
pub(crate) fn ask_group(
    requests: &[ApprovalRequest],
    options: &AskOptions,
) -> Result<Vec<ApprovalResponse>, AskError> {
    let mut terminal = RawTerminal::open(options.withdrawn.as_deref(), true)?;
    answer_each(requests, |request, batch| {
        Conversation::new(&mut terminal, request, options, batch).run()
    })
}

/// One question at one terminal.
struct Conversation<'a, T> {
    console: Console<'a, T>,
    request: &'a ApprovalRequest,
    options: RenderOptions<'a>,
    prompt: Prompt,
    recall: Option<Recall>,
    /// What was recalled, once somebody wanted to know.
    recalled: Option<Vec<Recalled>>,
}

impl<'a, T: Terminal> Conversation<'a, T> {
    fn new(
        terminal: &'a mut T,
        request: &'a ApprovalRequest,
        options: &AskOptions,
        batch: Option<Batch<'a>>,
    ) -> Self {
        let width = terminal.width();
        let (style, recall) = (options.style, options.recall.clone());
        let options = RenderOptions { width, style, whole: false, input: Input::Keys, batch };
        let prompt = Prompt::new(Offers::of(request, batch), Always::of(request));
        let console = Console::new(terminal);
        Self { console, request, options, prompt, recall, recalled: None }
    }

    fn run(mut self) -> Result<Choice, AskError> {
        if settle(self.console.terminal)? {
            return Ok(Choice::This(ApprovalResponse::Cancelled));
        }
        self.draw(false)?;
        let outcome = self.talk();
        let last = match &outcome {
            Ok(choice) => self.status(&choice.describe()),
            Err(error) => self.status(&error.to_string()),
        };
        // The answer stands even if it could not be repeated on the screen.
        last.and_then(|()| self.console.terminal.write("\n")).ok();
        outcome
    }

    fn talk(&mut self) -> Result<Choice, AskError> {
        loop {
            let step = match self.console.next(self.prompt.editor().is_some())? {
                Typed::Key(key) => self.prompt.key(key),
                Typed::Paste(text) => self.prompt.paste(&text),
                Typed::Burst => self.prompt.burst(),
                Typed::Early => self.prompt.early(),
                Typed::Resized => {
                    self.redraw()?;
                    continue;
                }
            };
            if let Step::Answer(choice) = step {
                return Ok(choice);
            }
            self.show(&step)?;
        }
    }

    fn show(&mut self, step: &Step) -> Result<(), AskError> {
        match step {
            Step::Hint(hint) => self.status(hint),
            Step::Keys => self.repeat_keys("Enter does not select an answer. Press one of:"),
            Step::Back => self.repeat_keys("No message. Press one of:"),
            Step::Always => self.draw_always(),
            Step::Unkept => self.repeat_keys("No rule saved. Press one of:"),
            Step::View => self.draw(true),
            Step::ViewFirst => {
                self.draw(true)?;
                self.status("the request was not fully visible; review it and press the key again")
            }
            Step::Message => self.draw_message(),
            Step::Answer(_) | Step::Nothing => Ok(()),
        }
    }

    /// Draws the question below what is there.
    fn draw(&mut self, whole: bool) -> Result<(), AskError> {
        let question = self.question(whole);
        self.console.show_question(&question)
    }

    /// Returns the question for the width that the terminal has now.
    fn question(&mut self, whole: bool) -> String {
        self.options.width = self.console.terminal.width();
        self.options.whole = whole;
        self.prompt.set_unseen(Unseen::new(self.request, &self.options));
        format!("\n{}> ", render(self.request, &self.options))
    }

    fn redraw(&mut self) -> Result<(), AskError> {
        if self.console.terminal.width() == self.options.width {
            return Ok(());
        }
        // It says what it said before: who has read it need not wait again.
        let question = self.question(self.options.whole);
        self.console.terminal.write(&question)?;
        match (self.prompt.editor(), self.prompt.always()) {
            (Some(_), _) => self.draw_message(),
            (None, Some(_)) => self.draw_always(),
            (None, None) => Ok(()),
        }
    }

    fn status(&mut self, text: &str) -> Result<(), AskError> {
        self.console.status(text, self.options.width)
    }

    fn repeat_keys(&mut self, why: &str) -> Result<(), AskError> {
        let keys = Offers::of(self.request, self.options.batch).text(&self.options);
        self.console.terminal.write(&format!("\r\x1b[K{why}\n{keys}> "))
    }

    /// Draws the second step of `p` in the place of the last row. Only here is looked what was asked before.
    fn draw_always(&mut self) -> Result<(), AskError> {
        let Some(always) = self.prompt.always() else { return Ok(()) };
        let recall = || self.recall.as_ref().map(|recall| recall.of(self.request));
        let recalled = self.recalled.get_or_insert_with(|| recall().unwrap_or_default());
        let mut page = Page::new(&self.options);
        always.show(recalled, &mut page);
        page.blank();
        always.keys(&mut page);
        self.console.show_question(&format!("\r\x1b[K\n{}> ", page.text))
    }

    fn draw_message(&mut self) -> Result<(), AskError> {
        const LABEL: &str = "message (Enter sends, Esc goes back): ";
        let width = usize::from(self.options.width);
        let label = if width > LABEL.len() * 2 { LABEL } else { "message: " };
        let room = width.saturating_sub(label.len() + 1).max(4);
        let text = self.prompt.editor().map(|editor| editor.tail(room)).unwrap_or_default();
        self.console.terminal.write(&format!("\r\x1b[K{label}{text}"))
    }
}

#[cfg(test)]
mod tests;
