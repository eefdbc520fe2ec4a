//! The effects of keys: a state machine that neither reads nor draws.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use openoxide_protocol::{ApprovalResponse, GrantScope};

use crate::inline::{
    batch::PromptAnswer,
    grant_menu::{GrantMenu, GrantMenuStep},
    hidden_content::HiddenContent,
    line_editor::LineEditor,
    prompt_options::PromptOptions,
};

/// A question that waits for its answer.
#[derive(Clone, Debug)]
pub(crate) struct PromptState {
    options: PromptOptions,
    /// The content that an approving key shows before it approves.
    hidden_content: HiddenContent,
    /// True if the question does not fit the screen and not all of its pages were shown.
    has_unread_pages: bool,
    /// The editor of the message, while the reviewer writes one.
    editor: Option<LineEditor>,
    /// The second step that `p` opens.
    initial_grant_menu: GrantMenu,
    /// The second step of `p`, while it is open.
    grant_menu: Option<GrantMenu>,
}

/// The result of a key press.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PromptStep {
    /// The answer.
    Answer(PromptAnswer),
    /// The key has no effect. The reviewer is shown the reason.
    Hint(String),
    /// Enter without other input does not answer. The keys are shown again.
    RepeatKeys,
    /// The reviewer closed the message. The keys are shown again.
    MessageDiscarded,
    /// The rules that "always" would save are shown.
    GrantMenu,
    /// The reviewer closed the second step. The keys are shown again.
    GrantMenuClosed,
    /// Everything is shown, regardless of its length.
    ShowAll,
    /// Everything is shown, because the key would have approved content that was not on the screen.
    ShowAllFirst,
    /// The next page of the question is shown, because the key would have approved content that was
    /// not on the screen.
    NextPage,
    /// The line of the message is drawn again.
    Message,
    /// The key is ignored.
    NoChange,
}

impl PromptState {
    pub(crate) const fn new(options: PromptOptions, initial_grant_menu: GrantMenu) -> Self {
        let hidden_content = HiddenContent { parts: false, other_requests: false };
        Self {
            options,
            hidden_content,
            has_unread_pages: false,
            editor: None,
            initial_grant_menu,
            grant_menu: None,
        }
    }

    /// Sets the content that is not on the screen. Called each time the question is drawn.
    pub(crate) const fn set_hidden_content(&mut self, unseen: HiddenContent) {
        self.hidden_content = unseen;
    }

    /// Sets whether pages of the question were not shown yet. Called before each key.
    pub(crate) const fn set_unread_pages(&mut self, unread: bool) {
        self.has_unread_pages = unread;
    }

    /// Returns the second step of `p`, if it is open.
    pub(crate) const fn grant_menu(&self) -> Option<&GrantMenu> {
        self.grant_menu.as_ref()
    }

    /// Returns the editor of the message, if the reviewer is writing one.
    pub(crate) const fn editor(&self) -> Option<&LineEditor> {
        self.editor.as_ref()
    }

    /// Handles a key.
    pub(crate) fn handle_key(&mut self, key: KeyEvent) -> PromptStep {
        match self.editor {
            _ if key.kind == KeyEventKind::Release => PromptStep::NoChange,
            _ if is_cancel_key(key) => answer_with(ApprovalResponse::Cancelled),
            Some(_) => self.handle_editor_key(key),
            None if self.grant_menu.is_some() => self.handle_grant_key(key),
            None => self.handle_choice_key(key),
        }
    }

    /// Handles pasted text, which never answers.
    pub(crate) fn handle_paste(&mut self, text: &str) -> PromptStep {
        match &mut self.editor {
            Some(editor) => {
                editor.paste(text);
                PromptStep::Message
            }
            None => self.build_hint("pasted input is ignored"),
        }
    }

    /// Ignores keys that arrived faster than a person types. They are a paste that the terminal did
    /// not mark.
    pub(crate) fn reject_burst(&self) -> PromptStep {
        self.build_hint("input too fast to be a key press; ignored")
    }

    /// Ignores a key that was pressed before the question was shown.
    pub(crate) fn reject_early_key(&self) -> PromptStep {
        self.build_hint("key pressed before the question was shown; ignored")
    }

    fn handle_choice_key(&mut self, key: KeyEvent) -> PromptStep {
        let plain = (key.modifiers - KeyModifiers::SHIFT).is_empty();
        match key.code {
            KeyCode::Esc => answer_with(ApprovalResponse::Cancelled),
            _ if is_enter_key(key) => PromptStep::RepeatKeys,
            KeyCode::Char('A') if plain && self.options.all => {
                let is_hidden = self.hidden_content != HiddenContent::default();
                self.check_shown(is_hidden).unwrap_or(PromptStep::Answer(PromptAnswer::All))
            }
            // A reviewer who means all requests must not approve this one for the session instead.
            KeyCode::Char('A') => self.build_hint("A is not an answer here"),
            KeyCode::Char(c) if plain => self.handle_letter(c.to_ascii_lowercase()),
            _ => self.build_hint("unknown key"),
        }
    }

    fn handle_letter(&mut self, c: char) -> PromptStep {
        let approves = match c {
            'y' => true,
            'a' => self.options.session,
            'd' => self.options.directory,
            'p' => self.options.always,
            _ => false,
        };
        if let Some(step) = self.check_shown(self.hidden_content.parts).filter(|_| approves) {
            return step;
        }
        match c {
            'y' => approve(GrantScope::Once),
            'n' => answer_with(ApprovalResponse::Rejected { message: None }),
            'a' if self.options.session => approve(GrantScope::Session),
            'd' if self.options.directory => approve(GrantScope::Directory),
            'p' if self.options.always => {
                self.grant_menu = Some(self.initial_grant_menu.clone());
                PromptStep::GrantMenu
            }
            's' if self.options.skip => PromptStep::Answer(PromptAnswer::Skip),
            'm' => {
                self.editor = Some(LineEditor::default());
                PromptStep::Message
            }
            'v' => PromptStep::ShowAll,
            'a' | 'd' | 'p' | 's' => self.build_hint(&format!("{c} is not an answer here")),
            _ => self.build_hint("unknown key"),
        }
    }

    /// Returns the step that shows content before it is approved, if not all of it was on the
    /// screen.
    fn check_shown(&self, is_hidden: bool) -> Option<PromptStep> {
        match (is_hidden, self.has_unread_pages) {
            (true, _) => Some(PromptStep::ShowAllFirst),
            (false, true) => Some(PromptStep::NextPage),
            (false, false) => None,
        }
    }

    /// Handles a key in the second step of `p`.
    fn handle_grant_key(&mut self, key: KeyEvent) -> PromptStep {
        let plain = (key.modifiers - KeyModifiers::SHIFT).is_empty();
        let Some(always) = self.grant_menu.as_mut().filter(|_| plain) else {
            return self.build_hint("unknown key");
        };
        match always.handle_key(key.code) {
            GrantMenuStep::Answer(_) if self.has_unread_pages => PromptStep::NextPage,
            GrantMenuStep::Answer(response) => answer_with(response),
            GrantMenuStep::Selected => PromptStep::GrantMenu,
            GrantMenuStep::Back => {
                self.grant_menu = None;
                PromptStep::GrantMenuClosed
            }
            GrantMenuStep::Unknown => self.build_hint("unknown key"),
        }
    }

    fn handle_editor_key(&mut self, key: KeyEvent) -> PromptStep {
        let Some(editor) = &mut self.editor else { return PromptStep::NoChange };
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Esc => {
                self.editor = None;
                return PromptStep::MessageDiscarded;
            }
            _ if is_enter_key(key) => return send_message(editor),
            KeyCode::Backspace => editor.backspace(),
            KeyCode::Char('u') if control => editor.clear(),
            KeyCode::Char(c) if !control => editor.push(c),
            _ => return PromptStep::NoChange,
        }
        PromptStep::Message
    }

    fn build_hint(&self, why: &str) -> PromptStep {
        let names =
            self.grant_menu.as_ref().map_or_else(|| self.options.key_names(), GrantMenu::key_names);
        PromptStep::Hint(format!("{why}; press one of: {names}"))
    }
}

/// Returns whether the key cancels: Ctrl-C, or Ctrl-D, which ends the input in raw mode.
pub(crate) fn is_cancel_key(key: KeyEvent) -> bool {
    key.modifiers.contains(KeyModifiers::CONTROL)
        && matches!(key.code, KeyCode::Char('c' | 'C' | 'd' | 'D'))
}

/// Returns whether the key ends a line. A line feed, as scripts send it, is Ctrl-J in raw mode.
pub(crate) fn is_enter_key(key: KeyEvent) -> bool {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    key.code == KeyCode::Enter || (control && key.code == KeyCode::Char('j'))
}

fn send_message(editor: &LineEditor) -> PromptStep {
    match editor.message() {
        Some(message) => answer_with(ApprovalResponse::Rejected { message: Some(message) }),
        None => PromptStep::Message,
    }
}

const fn approve(scope: GrantScope) -> PromptStep {
    answer_with(ApprovalResponse::new_approval(scope))
}

const fn answer_with(response: ApprovalResponse) -> PromptStep {
    PromptStep::Answer(PromptAnswer::Single(response))
}

#[cfg(test)]
mod tests;
