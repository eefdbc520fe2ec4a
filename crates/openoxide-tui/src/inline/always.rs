//! The second step of "always": what it would allow, narrower, wider, and for how long.

use std::{fmt, sync::Arc};

use crossterm::event::KeyCode;
use openoxide_protocol::{
    AbsPath, Access, ApprovalRequest, ApprovalResponse, Choice, GrantScope, GrantTerms, PathAccess,
    Recalled, Width,
};

use super::{options::Keys, render::Page};
use crate::style::Tone;

/// Below a rule: the columns that its number and its word take.
const INDENT: &str = "                 ";
const HALF_AN_HOUR: u64 = 30 * 60;
const FEW: u32 = 5;

/// Says of each of a request's choices what it would have answered before, in their order. It is called when somebody wants to
/// know, and may take a moment.
#[derive(Clone)]
pub struct Recall(Arc<Recaller>);

type Recaller = dyn Fn(&ApprovalRequest) -> Vec<Recalled> + Send + Sync;

impl Recall {
    /// Returns what asks `recall`.
    pub fn new(recall: impl Fn(&ApprovalRequest) -> Vec<Recalled> + Send + Sync + 'static) -> Self {
        Self(Arc::new(recall))
    }

    pub(crate) fn of(&self, request: &ApprovalRequest) -> Vec<Recalled> {
        (self.0)(request)
    }
}

impl fmt::Debug for Recall {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Recall")
    }
}

/// The choices of one request, and the one that is marked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Always {
    choices: Vec<Choice>,
    marked: Width,
    /// Somebody marked one: then only a key that says for how long is a yes.
    touched: bool,
    /// The directory that a yes can be bound to.
    below: Option<AbsPath>,
    /// Whether a yes can hold until the task ends.
    task: bool,
}

/// What a key of the second step led to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    Answer(ApprovalResponse),
    /// Another choice is marked.
    Marked,
    Back,
    /// Nothing.
    Unknown,
}

impl Always {
    /// Returns the second step of a request. What was offered is marked.
    pub(crate) fn of(request: &ApprovalRequest) -> Self {
        Self {
            choices: request.choices(),
            marked: Width::AsOffered,
            touched: false,
            below: below(request),
            task: request.task.is_some(),
        }
    }

    /// Takes one key. Enter is none of those that answer.
    pub(crate) fn key(&mut self, key: KeyCode) -> Taken {
        match key {
            KeyCode::Esc => Taken::Back,
            KeyCode::Char(c) => self.letter(c.to_ascii_lowercase()),
            _ => Taken::Unknown,
        }
    }

    fn letter(&mut self, c: char) -> Taken {
        if let Some(choice) = self.choices.iter().find(|choice| number(choice.width) == c) {
            (self.marked, self.touched) = (choice.width, true);
            return Taken::Marked;
        }
        match self.terms(c) {
            Some(terms) => Taken::Answer(self.yes(terms)),
            None if c == 'p' && !self.touched => Taken::Answer(self.yes(GrantTerms::default())),
            None => Taken::Unknown,
        }
    }

    /// Returns how far a yes reaches, by its letter.
    fn terms(&self, c: char) -> Option<GrantTerms> {
        let terms = GrantTerms::default();
        match (c, &self.below) {
            ('f', _) => Some(terms),
            ('t', _) => Some(GrantTerms { seconds: Some(HALF_AN_HOUR), ..terms }),
            ('5', _) => Some(GrantTerms { times: Some(FEW), ..terms }),
            ('b', Some(below)) => Some(GrantTerms { below: Some(below.clone()), ..terms }),
            ('k', _) if self.task => Some(GrantTerms { task: true, ..terms }),
            _ => None,
        }
    }

    /// Returns a yes to what is marked. The rules that are offered anyway need not be said.
    fn yes(&self, terms: GrantTerms) -> ApprovalResponse {
        let other =
            |choice: &&Choice| choice.width == self.marked && self.marked != Width::AsOffered;
        let rules = self.choices.iter().find(other);
        let rules = rules.map(|choice| choice.rules.clone()).unwrap_or_default();
        let terms = GrantTerms { rules, ..terms };
        let terms = (terms != GrantTerms::default()).then_some(terms);
        ApprovalResponse::Approved { scope: GrantScope::Project, terms }
    }

    /// Reads what stands behind `p` where lines are read: a number, a letter, or both.
    pub(crate) fn words(mut self, words: &str) -> Option<ApprovalResponse> {
        let mut answer = None;
        for word in words.split_ascii_whitespace() {
            let mut letters = word.chars();
            let (Some(c), None) = (letters.next(), letters.next()) else { return None };
            match self.letter(c) {
                Taken::Marked if answer.is_none() => {}
                Taken::Answer(response) if answer.is_none() && c != 'p' => answer = Some(response),
                _ => return None,
            }
        }
        Some(answer.unwrap_or_else(|| self.yes(GrantTerms::default())))
    }

    /// Adds the choices, each with what it would have answered.
    pub(crate) fn show(&self, recalled: &[Recalled], page: &mut Page) {
        page.block(Tone::Strong, ["", "  "], "Always, in this project:");
        let mut recalled = recalled.iter();
        for choice in &self.choices {
            self.show_choice(choice, page);
            if let Some(recalled) = recalled.next() {
                show_recalled(recalled, page);
            }
        }
    }

    fn show_choice(&self, choice: &Choice, page: &mut Page) {
        let mark = if choice.width == self.marked { '>' } else { ' ' };
        let (number, name) = (number(choice.width), name(choice.width));
        let first = format!("{mark} [{number}] {name:<11}");
        let gutters = std::iter::once(first.as_str()).chain(std::iter::repeat(INDENT));
        for (rule, gutter) in choice.rules.iter().zip(gutters) {
            page.marked((Tone::Strong, gutter), INDENT, Tone::Body, rule);
        }
    }

    /// Adds the keys of the second step.
    pub(crate) fn keys(&self, page: &mut Page) {
        Keys(self.list()).show(page);
    }

    /// Returns the keys alone, for a hint.
    pub(crate) fn names(&self) -> String {
        self.list().iter().map(|(key, _)| *key).collect::<Vec<_>>().join(" ")
    }

    fn list(&self) -> Vec<(&'static str, &'static str)> {
        let has = |width| self.choices.iter().any(|choice| choice.width == width);
        let narrower = has(Width::Narrower).then_some(("1", "this command"));
        let wider = has(Width::Wider).then_some(("3", "a word less"));
        let several = narrower.or(wider).map(|_| ("2", "as offered"));
        let last = if self.touched { None } else { Some(("p", "2, until revoked")) };
        let bounds = [("f", "for good"), ("t", "for 30 minutes"), ("5", "five times")];
        let below = self.below.as_ref().map(|_| ("b", "below this directory"));
        let task = self.task.then_some(("k", "for this task"));
        let marks = [narrower, several, wider].into_iter().flatten();
        marks.chain(bounds).chain(below).chain(task).chain(last).chain([("Esc", "back")]).collect()
    }
}

/// Returns the working directory, if the request touches files and all of them lie below it: elsewhere such a bound would answer nothing.
fn below(request: &ApprovalRequest) -> Option<AbsPath> {
    let mut paths = request.decision.parts.iter().filter_map(|part| match &part.access {
        Access::Read(path) | Access::Edit(path) | Access::ExternalDirectory(path) => Some(path),
        _ => None,
    });
    let lies = |path: &AbsPath| path.below(&request.cwd).is_some();
    let all = |path: &PathAccess| path.spellings().all(lies);
    let some = paths.next().is_some_and(all);
    (some && paths.all(all)).then(|| request.cwd.clone())
}

const fn number(width: Width) -> char {
    match width {
        Width::Narrower => '1',
        Width::AsOffered => '2',
        Width::Wider => '3',
    }
}

const fn name(width: Width) -> &'static str {
    match width {
        Width::Narrower => "narrower",
        Width::AsOffered => "as offered",
        Width::Wider => "wider",
    }
}

fn show_recalled(recalled: &Recalled, page: &mut Page) {
    let Recalled { answers, of, examples } = recalled;
    let text = match (answers, of) {
        (_, 0) => "no question of the last 30 days is on record".to_owned(),
        (0, of) => format!("would have answered none of {of} (questions of the last 30 days)"),
        (answers, of) => {
            format!("would have answered {answers} of {of} (questions of the last 30 days)")
        }
    };
    page.block(Tone::Faint, [INDENT, INDENT], &text);
    let mut first = "else: ";
    for example in examples {
        let gutter = format!("{INDENT}{first}");
        let indent = format!("{INDENT}      ");
        page.marked((Tone::Faint, &gutter), &indent, Tone::Faint, example);
        first = "      ";
    }
}

#[cfg(test)]
mod tests;
