//! The second step of "always": what it would allow, narrower and wider choices, and the duration.

use std::{fmt, sync::Arc};

use crossterm::event::KeyCode;
use openoxide_protocol::{
    AbsPath, Access, ApprovalRequest, ApprovalResponse, ChoiceHistory, GrantScope, GrantTerms,
    PathAccess, RuleBreadth, RuleChoice,
};

use crate::{
    inline::{prompt_options::KeyHints, text_page::TextPage},
    style::TextTone,
};

/// The indentation of the lines below a rule: the width of its number and its word.
const INDENT: &str = "                 ";
const HALF_HOUR_SECONDS: u64 = 30 * 60;
const LIMITED_USES: u32 = 5;

/// A callback that returns, for each of a request's choices in order, the past questions that it
/// would have answered. It is called on demand and may take a moment.
#[derive(Clone)]
pub struct HistoryLookup(Arc<HistoryCallback>);

type HistoryCallback = dyn Fn(&ApprovalRequest) -> Vec<ChoiceHistory> + Send + Sync;

impl HistoryLookup {
    /// Creates a lookup that calls `recall`.
    pub fn new(
        recall: impl Fn(&ApprovalRequest) -> Vec<ChoiceHistory> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(recall))
    }

    pub(crate) fn lookup(&self, request: &ApprovalRequest) -> Vec<ChoiceHistory> {
        (self.0)(request)
    }
}

impl fmt::Debug for HistoryLookup {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("HistoryLookup")
    }
}

/// The choices of one request, and the selected one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GrantMenu {
    choices: Vec<RuleChoice>,
    selected: RuleBreadth,
    /// True once a choice was selected. From then on, only a key that sets a duration approves.
    has_selection: bool,
    /// The directory that a grant can be limited to.
    directory_limit: Option<AbsPath>,
    /// True if a grant can be limited to the current task.
    allows_task_limit: bool,
}

/// The result of a key press in the second step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GrantMenuStep {
    Answer(ApprovalResponse),
    /// Another choice is selected.
    Selected,
    Back,
    /// The key has no effect.
    Unknown,
}

impl GrantMenu {
    /// Returns the second step of a request, with the suggested rules selected.
    pub(crate) fn from_request(request: &ApprovalRequest) -> Self {
        Self {
            choices: request.choices(),
            selected: RuleBreadth::Suggested,
            has_selection: false,
            directory_limit: grant_directory(request),
            allows_task_limit: request.task.is_some(),
        }
    }

    /// Handles a key. Enter never approves.
    pub(crate) fn handle_key(&mut self, key: KeyCode) -> GrantMenuStep {
        match key {
            KeyCode::Esc => GrantMenuStep::Back,
            KeyCode::Char(c) => self.handle_letter(c.to_ascii_lowercase()),
            _ => GrantMenuStep::Unknown,
        }
    }

    fn handle_letter(&mut self, c: char) -> GrantMenuStep {
        if let Some(choice) = self.choices.iter().find(|choice| breadth_key(choice.breadth) == c) {
            (self.selected, self.has_selection) = (choice.breadth, true);
            return GrantMenuStep::Selected;
        }
        match self.parse_terms(c) {
            Some(terms) => GrantMenuStep::Answer(self.build_approval(terms)),
            None if c == 'p' && !self.has_selection => {
                GrantMenuStep::Answer(self.build_approval(GrantTerms::default()))
            }
            None => GrantMenuStep::Unknown,
        }
    }

    /// Returns the grant terms that a letter selects.
    fn parse_terms(&self, c: char) -> Option<GrantTerms> {
        let terms = GrantTerms::default();
        match (c, &self.directory_limit) {
            ('f', _) => Some(terms),
            ('t', _) => Some(GrantTerms { expires_in_seconds: Some(HALF_HOUR_SECONDS), ..terms }),
            ('5', _) => Some(GrantTerms { max_uses: Some(LIMITED_USES), ..terms }),
            ('b', Some(below)) => Some(GrantTerms { directory: Some(below.clone()), ..terms }),
            ('k', _) if self.allows_task_limit => {
                Some(GrantTerms { until_task_end: true, ..terms })
            }
            _ => None,
        }
    }

    /// Returns an approval with the selected choice. The suggested rules are not listed explicitly.
    fn build_approval(&self, terms: GrantTerms) -> ApprovalResponse {
        let other = |choice: &&RuleChoice| {
            choice.breadth == self.selected && self.selected != RuleBreadth::Suggested
        };
        let rules = self.choices.iter().find(other);
        let rules = rules.map(|choice| choice.rules.clone()).unwrap_or_default();
        let terms = GrantTerms { rules, ..terms };
        let terms = (terms != GrantTerms::default()).then_some(terms);
        ApprovalResponse::Approved { scope: GrantScope::Project, terms }
    }

    /// Parses the words after `p` where lines are read: a number, a letter, or both.
    pub(crate) fn parse_words(mut self, words: &str) -> Option<ApprovalResponse> {
        let mut answer = None;
        for word in words.split_ascii_whitespace() {
            let mut letters = word.chars();
            let (Some(c), None) = (letters.next(), letters.next()) else { return None };
            match self.handle_letter(c) {
                GrantMenuStep::Selected if answer.is_none() => {}
                GrantMenuStep::Answer(response) if answer.is_none() && c != 'p' => {
                    answer = Some(response);
                }
                _ => return None,
            }
        }
        Some(answer.unwrap_or_else(|| self.build_approval(GrantTerms::default())))
    }

    /// Adds the choices, each with the past questions that it would have answered.
    pub(crate) fn show(&self, recalled: &[ChoiceHistory], page: &mut TextPage) {
        page.push_block(TextTone::Strong, ["", "  "], "Always, in this project:");
        let mut recalled = recalled.iter();
        for choice in &self.choices {
            self.show_choice(choice, page);
            if let Some(recalled) = recalled.next() {
                show_history(recalled, page);
            }
        }
    }

    fn show_choice(&self, choice: &RuleChoice, page: &mut TextPage) {
        let mark = if choice.breadth == self.selected { '>' } else { ' ' };
        let (number, name) = (breadth_key(choice.breadth), breadth_name(choice.breadth));
        let first = format!("{mark} [{number}] {name:<11}");
        let gutters = std::iter::once(first.as_str()).chain(std::iter::repeat(INDENT));
        for (rule, gutter) in choice.rules.iter().zip(gutters) {
            page.push_marked_block((TextTone::Strong, gutter), INDENT, TextTone::Body, rule);
        }
    }

    /// Adds the keys of the second step.
    pub(crate) fn show_keys(&self, page: &mut TextPage) {
        KeyHints(self.key_hints()).show(page);
    }

    /// Returns only the keys, for a hint.
    pub(crate) fn key_names(&self) -> String {
        self.key_hints().iter().map(|(key, _)| *key).collect::<Vec<_>>().join(" ")
    }

    fn key_hints(&self) -> Vec<(&'static str, &'static str)> {
        let has = |width| self.choices.iter().any(|choice| choice.breadth == width);
        let narrower = has(RuleBreadth::Narrower).then_some(("1", "this command"));
        let wider = has(RuleBreadth::Wider).then_some(("3", "a word less"));
        let several = narrower.or(wider).map(|_| ("2", "as offered"));
        let last = if self.has_selection { None } else { Some(("p", "2, until revoked")) };
        let bounds = [("f", "forever"), ("t", "for 30 minutes"), ("5", "five times")];
        let below = self.directory_limit.as_ref().map(|_| ("b", "below this directory"));
        let task = self.allows_task_limit.then_some(("k", "for this task"));
        let marks = [narrower, several, wider].into_iter().flatten();
        marks.chain(bounds).chain(below).chain(task).chain(last).chain([("Esc", "back")]).collect()
    }
}

/// Returns the working directory if the request accesses files and all of them are below it.
/// Otherwise such a limit would never apply.
fn grant_directory(request: &ApprovalRequest) -> Option<AbsPath> {
    let mut paths = request.decision.parts.iter().filter_map(|part| match &part.access {
        Access::Read(path) | Access::Edit(path) | Access::ExternalDirectory(path) => Some(path),
        _ => None,
    });
    let lies = |path: &AbsPath| path.strip_prefix(&request.cwd).is_some();
    let all = |path: &PathAccess| path.paths().all(lies);
    let some = paths.next().is_some_and(all);
    (some && paths.all(all)).then(|| request.cwd.clone())
}

const fn breadth_key(width: RuleBreadth) -> char {
    match width {
        RuleBreadth::Narrower => '1',
        RuleBreadth::Suggested => '2',
        RuleBreadth::Wider => '3',
    }
}

const fn breadth_name(width: RuleBreadth) -> &'static str {
    match width {
        RuleBreadth::Narrower => "narrower",
        RuleBreadth::Suggested => "as offered",
        RuleBreadth::Wider => "wider",
    }
}

fn show_history(recalled: &ChoiceHistory, page: &mut TextPage) {
    let ChoiceHistory { would_have_answered, total, examples } = recalled;
    let text = match (would_have_answered, total) {
        (_, 0) => "no question of the last 30 days is on record".to_owned(),
        (0, total) => {
            format!("would have answered none of {total} (questions of the last 30 days)")
        }
        (answered, total) => {
            format!("would have answered {answered} of {total} (questions of the last 30 days)")
        }
    };
    page.push_block(TextTone::Dim, [INDENT, INDENT], &text);
    let mut first = "else: ";
    for example in examples {
        let gutter = format!("{INDENT}{first}");
        let indent = format!("{INDENT}      ");
        page.push_marked_block((TextTone::Dim, &gutter), &indent, TextTone::Dim, example);
        first = "      ";
    }
}

#[cfg(test)]
mod tests;
