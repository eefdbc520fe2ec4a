//! The confirmation prompts of Aider (`confirm_ask`, observed on 0.86.2). They are reproduced
//! exactly, with one exception: Aider treats the end of the input as Enter, and Enter mostly as
//! yes. Here the end of the input is never an approval.

/// An answer that applies to a whole group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupPreference {
    /// Approves all following questions of the group.
    All,
    /// Denies all following questions of the group.
    Skip,
}

/// Questions that can be answered together. A single question is not a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConfirmGroup {
    /// The answer for the whole group.
    pub preference: Option<GroupPreference>,
}

/// A question to confirm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "they are the arguments of `confirm_ask`")]
pub struct ConfirmRequest<'a> {
    /// The text of the question.
    pub text: &'a str,
    /// The answer that Enter gives.
    pub default: bool,
    /// True if only an approval of exactly this question is valid. `--yes-always` then means no.
    pub explicit_yes_required: bool,
    /// True if the question can be answered permanently with "don't ask again", which means no.
    /// Groups always allow this answer.
    pub allow_never: bool,
    /// True if the question was answered with "don't ask again" before.
    pub never_prompted: bool,
    /// The group that the question belongs to.
    pub group: Option<ConfirmGroup>,
}

/// The result of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfirmOutcome {
    /// The answer.
    pub approved: bool,
    /// The number of prompts that were shown. It is more than one if an answer was not valid.
    pub prompt_count: u32,
    /// The answer that applies to the rest of the group.
    pub preference: Option<GroupPreference>,
    /// True if the question must not be asked again.
    pub suppress_future: bool,
}

/// Asks a question. `always` is `--yes-always` or its opposite; if it is set, no prompt is shown.
/// `input` shows a line and returns the typed line without its line feed, or `None` at the end of
/// the input.
pub fn confirm_ask(
    question: ConfirmRequest<'_>,
    always: Option<bool>,
    mut input: impl FnMut(&str) -> Option<String>,
) -> ConfirmOutcome {
    let preference = question.group.and_then(|group| group.preference);
    let mut confirmed = ConfirmOutcome {
        approved: false,
        prompt_count: 0,
        preference,
        suppress_future: question.never_prompted,
    };
    if question.never_prompted {
        return confirmed;
    }
    let letter = match (always, preference) {
        (Some(yes), _) => reply_letter(yes && !question.explicit_yes_required),
        (None, Some(GroupPreference::All)) => 'a',
        (None, Some(GroupPreference::Skip)) => 's',
        (None, None) => question.prompt_until_valid(&mut confirmed.prompt_count, &mut input),
    };
    confirmed.suppress_future = letter == 'd' && question.allows_never();
    confirmed.approved = letter == 'y' || letter == 'a' && !question.explicit_yes_required;
    if question.group.is_some() && always.is_none() {
        confirmed.preference = match letter {
            'a' if !question.explicit_yes_required => Some(GroupPreference::All),
            's' => Some(GroupPreference::Skip),
            _ => preference,
        };
    }
    confirmed
}

const fn reply_letter(yes: bool) -> char {
    if yes { 'y' } else { 'n' }
}

impl ConfirmRequest<'_> {
    /// Returns the line that is shown to a person.
    #[must_use]
    pub fn prompt_line(&self) -> String {
        let all = if self.explicit_yes_required { "" } else { "/(A)ll" };
        let group = self.group.map_or(String::new(), |_| format!("{all}/(S)kip all"));
        let never = if self.allows_never() { "/(D)on't ask again" } else { "" };
        let default = if self.default { "Yes" } else { "No" };
        format!("{} (Y)es/(N)o{group}{never} [{default}]: ", self.text)
    }

    const fn allows_never(&self) -> bool {
        self.allow_never || self.group.is_some()
    }

    /// Asks until the beginning of a valid word is typed, and returns its first letter.
    fn prompt_until_valid(
        &self,
        prompts: &mut u32,
        input: &mut impl FnMut(&str) -> Option<String>,
    ) -> char {
        loop {
            *prompts += 1;
            let Some(typed) = input(&self.prompt_line()) else { return 'n' };
            if typed.is_empty() {
                return reply_letter(self.default);
            }
            if let Some(letter) = self.match_reply(&typed.to_lowercase()) {
                return letter;
            }
        }
    }

    /// Returns the first letter of the word that begins with the typed text, whether or not that
    /// word was offered. Blanks are not skipped.
    fn match_reply(&self, typed: &str) -> Option<char> {
        let words = ["yes", "no", "skip", "all"].into_iter();
        let mut words = words.chain(self.allows_never().then_some("don't"));
        words.find(|word| word.starts_with(typed))?.chars().next()
    }
}
