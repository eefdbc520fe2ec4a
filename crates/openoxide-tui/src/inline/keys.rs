//! What each key does: a state machine that neither reads nor draws.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use openoxide_protocol::{ApprovalResponse, GrantScope};

use super::{
    always::{Always, Taken},
    batch::Choice,
    editor::Editor,
    options::Offers,
    unseen::Unseen,
};

/// One question that waits for its answer.
#[derive(Clone, Debug)]
pub(crate) struct Prompt {
    offers: Offers,
    /// What an approving key shows before it approves.
    unseen: Unseen,
    /// The message, while one is written.
    editor: Option<Editor>,
    /// What `p` leads to.
    choices: Always,
    /// The second step of `p`, while it lasts.
    always: Option<Always>,
}

/// What a key led to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The answer.
    Answer(Choice),
    /// Nothing; the reviewer is told why.
    Hint(String),
    /// Nothing, since Enter alone answers nothing; the keys are shown again.
    Keys,
    /// No message after all; the keys are shown again.
    Back,
    /// What "always" would allow is shown.
    Always,
    /// Not that after all; the keys are shown again.
    Unkept,
    /// Everything is shown, however long it is.
    View,
    /// Everything is shown, because the key would have approved more than was on the screen.
    ViewFirst,
    /// The line of the message is drawn.
    Message,
    /// Nothing at all.
    Nothing,
}

impl Prompt {
    pub(crate) const fn new(offers: Offers, choices: Always) -> Self {
        let unseen = Unseen { parts: false, others: false };
        Self { offers, unseen, editor: None, choices, always: None }
    }

    /// Sets what the screen leaves out, each time the question is drawn.
    pub(crate) const fn set_unseen(&mut self, unseen: Unseen) {
        self.unseen = unseen;
    }

    /// Returns the second step of `p`, while it lasts.
    pub(crate) const fn always(&self) -> Option<&Always> {
        self.always.as_ref()
    }

    /// Returns the line that is being written, if one is.
    pub(crate) const fn editor(&self) -> Option<&Editor> {
        self.editor.as_ref()
    }

    /// Takes one key.
    pub(crate) fn key(&mut self, key: KeyEvent) -> Step {
        match self.editor {
            _ if key.kind == KeyEventKind::Release => Step::Nothing,
            _ if is_end(key) => answer(ApprovalResponse::Cancelled),
            Some(_) => self.edit(key),
            None if self.always.is_some() => self.remember(key),
            None => self.choose(key),
        }
    }

    /// Takes pasted text, which answers nothing.
    pub(crate) fn paste(&mut self, text: &str) -> Step {
        match &mut self.editor {
            Some(editor) => {
                editor.paste(text);
                Step::Message
            }
            None => self.hint("pasted input is ignored"),
        }
    }

    /// Takes several keys that came faster than fingers are: a paste that its terminal did not mark as one.
    pub(crate) fn burst(&self) -> Step {
        self.hint("input too fast to be a key press; ignored")
    }

    /// Takes a key key pressed before the question was shown; ignored.
    pub(crate) fn early(&self) -> Step {
        self.hint("key pressed before the question was shown; ignored")
    }

    fn choose(&mut self, key: KeyEvent) -> Step {
        let plain = (key.modifiers - KeyModifiers::SHIFT).is_empty();
        match key.code {
            KeyCode::Esc => answer(ApprovalResponse::Cancelled),
            _ if is_enter(key) => Step::Keys,
            KeyCode::Char('A') if plain && self.offers.all => match self.unseen {
                Unseen { parts: false, others: false } => Step::Answer(Choice::All),
                _ => Step::ViewFirst,
            },
            // Whoever means all must not get this one for the session instead.
            KeyCode::Char('A') => self.hint("A answers nothing here"),
            KeyCode::Char(c) if plain => self.letter(c.to_ascii_lowercase()),
            _ => self.hint("unknown key"),
        }
    }

    fn letter(&mut self, c: char) -> Step {
        match c {
            'y' if self.unseen.parts => Step::ViewFirst,
            'a' if self.unseen.parts && self.offers.session => Step::ViewFirst,
            'p' if self.unseen.parts && self.offers.always => Step::ViewFirst,
            'y' => approved(GrantScope::Once),
            'n' => answer(ApprovalResponse::Rejected { message: None }),
            'a' if self.offers.session => approved(GrantScope::Session),
            'p' if self.offers.always => {
                self.always = Some(self.choices.clone());
                Step::Always
            }
            's' if self.offers.skip => Step::Answer(Choice::Skip),
            'm' => {
                self.editor = Some(Editor::default());
                Step::Message
            }
            'v' => Step::View,
            'a' | 'p' | 's' => self.hint(&format!("{c} answers nothing here")),
            _ => self.hint("unknown key"),
        }
    }

    /// Takes a key of the second step of `p`.
    fn remember(&mut self, key: KeyEvent) -> Step {
        let plain = (key.modifiers - KeyModifiers::SHIFT).is_empty();
        let Some(always) = self.always.as_mut().filter(|_| plain) else {
            return self.hint("unknown key");
        };
        match always.key(key.code) {
            Taken::Answer(response) => answer(response),
            Taken::Marked => Step::Always,
            Taken::Back => {
                self.always = None;
                Step::Unkept
            }
            Taken::Unknown => self.hint("unknown key"),
        }
    }

    fn edit(&mut self, key: KeyEvent) -> Step {
        let Some(editor) = &mut self.editor else { return Step::Nothing };
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Esc => {
                self.editor = None;
                return Step::Back;
            }
            _ if is_enter(key) => return send(editor),
            KeyCode::Backspace => editor.backspace(),
            KeyCode::Char('u') if control => editor.clear(),
            KeyCode::Char(c) if !control => editor.push(c),
            _ => return Step::Nothing,
        }
        Step::Message
    }

    fn hint(&self, why: &str) -> Step {
        let names = self.always.as_ref().map_or_else(|| self.offers.names(), Always::names);
        Step::Hint(format!("{why}; press one of: {names}"))
    }
}

/// Says whether the key ends everything: Ctrl-C, and Ctrl-D, which in raw mode is how the input ends.
pub(crate) fn is_end(key: KeyEvent) -> bool {
    key.modifiers.contains(KeyModifiers::CONTROL)
        && matches!(key.code, KeyCode::Char('c' | 'C' | 'd' | 'D'))
}

/// Says whether the key ends a line. A line feed, as scripts send it, is Ctrl-J in raw mode.
pub(crate) fn is_enter(key: KeyEvent) -> bool {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    key.code == KeyCode::Enter || (control && key.code == KeyCode::Char('j'))
}

fn send(editor: &Editor) -> Step {
    match editor.message() {
        Some(message) => answer(ApprovalResponse::Rejected { message: Some(message) }),
        None => Step::Message,
    }
}

const fn approved(scope: GrantScope) -> Step {
    answer(ApprovalResponse::approved(scope))
}

const fn answer(response: ApprovalResponse) -> Step {
    Step::Answer(Choice::This(response))
}

#[cfg(test)]
mod tests;
