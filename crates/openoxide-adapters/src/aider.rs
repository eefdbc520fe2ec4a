//! Aider's way of asking (`confirm_ask`, measured on 0.86.2), to the letter but for one thing: there, the end of the input
//! counts as Enter, and Enter mostly as yes. Here it is never a yes.

/// What was answered for a whole group, once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preference {
    /// Yes to all that follow.
    All,
    /// No to all that follow.
    Skip,
}

/// Questions that can be answered together. A group of one is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// What was answered for all of it.
    pub preference: Option<Preference>,
}

/// One question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "they are the arguments of `confirm_ask`")]
pub struct Question<'a> {
    /// What is asked.
    pub text: &'a str,
    /// What Enter means.
    pub default: bool,
    /// Whether only a yes to this very question counts. `--yes-always` then means no.
    pub explicit_yes_required: bool,
    /// Whether it can be answered once and for all with "don't ask again", which is a no. Groups always allow it.
    pub allow_never: bool,
    /// Whether somebody has answered it so before.
    pub never: bool,
    /// The group that it belongs to.
    pub group: Option<Group>,
}

/// How a question ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confirmed {
    /// The answer.
    pub yes: bool,
    /// How often a person was asked: more than once where an answer was none of the words.
    pub prompts: u32,
    /// What counts for the rest of the group from now on.
    pub preference: Option<Preference>,
    /// Whether the question is not to be asked again.
    pub never: bool,
}

/// Asks. `always` is `--yes-always` (or its opposite): then nobody is asked. `input` shows a line and returns what was typed,
/// without its line feed; nothing at the end of the input.
pub fn confirm(
    question: Question<'_>,
    always: Option<bool>,
    mut input: impl FnMut(&str) -> Option<String>,
) -> Confirmed {
    let preference = question.group.and_then(|group| group.preference);
    let mut confirmed = Confirmed { yes: false, prompts: 0, preference, never: question.never };
    if question.never {
        return confirmed;
    }
    let letter = match (always, preference) {
        (Some(yes), _) => letter_of(yes && !question.explicit_yes_required),
        (None, Some(Preference::All)) => 'a',
        (None, Some(Preference::Skip)) => 's',
        (None, None) => question.prompt(&mut confirmed.prompts, &mut input),
    };
    confirmed.never = letter == 'd' && question.allows_never();
    confirmed.yes = letter == 'y' || letter == 'a' && !question.explicit_yes_required;
    if question.group.is_some() && always.is_none() {
        confirmed.preference = match letter {
            'a' if !question.explicit_yes_required => Some(Preference::All),
            's' => Some(Preference::Skip),
            _ => preference,
        };
    }
    confirmed
}

const fn letter_of(yes: bool) -> char {
    if yes { 'y' } else { 'n' }
}

impl Question<'_> {
    /// Returns the line that a person is shown.
    #[must_use]
    pub fn line(&self) -> String {
        let all = if self.explicit_yes_required { "" } else { "/(A)ll" };
        let group = self.group.map_or(String::new(), |_| format!("{all}/(S)kip all"));
        let never = if self.allows_never() { "/(D)on't ask again" } else { "" };
        let default = if self.default { "Yes" } else { "No" };
        format!("{} (Y)es/(N)o{group}{never} [{default}]: ", self.text)
    }

    const fn allows_never(&self) -> bool {
        self.allow_never || self.group.is_some()
    }

    /// Asks until one of the words was begun, and returns its first letter.
    fn prompt(&self, prompts: &mut u32, input: &mut impl FnMut(&str) -> Option<String>) -> char {
        loop {
            *prompts += 1;
            let Some(typed) = input(&self.line()) else { return 'n' };
            if typed.is_empty() {
                return letter_of(self.default);
            }
            if let Some(letter) = self.understood(&typed.to_lowercase()) {
                return letter;
            }
        }
    }

    /// Whoever begins a word means it, whether it was offered or not; blanks are not passed over.
    fn understood(&self, typed: &str) -> Option<char> {
        let words = ["yes", "no", "skip", "all"].into_iter();
        let mut words = words.chain(self.allows_never().then_some("don't"));
        words.find(|word| word.starts_with(typed))?.chars().next()
    }
}
