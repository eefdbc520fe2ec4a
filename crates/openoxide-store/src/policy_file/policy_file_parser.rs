//! The state of parsing a policy file, and methods that all of its tables need.

use std::ops::Range;

use openoxide_permission::{AdditionalDirectory, Hook, LayerKind, PathAnchors, Rule};
use toml::{Spanned, de::DeValue};

use super::{policy_problem::PolicyProblem, sandbox_settings::SandboxSettings};
use crate::line_numbers::LineNumbers;

/// A value of a policy file, with its position.
pub(super) type TomlValue<'a> = Spanned<DeValue<'a>>;

/// A policy file that is being parsed: its text, and the results so far.
pub(super) struct PolicyFileParser<'a> {
    pub(super) text: &'a str,
    pub(super) lines: LineNumbers,
    pub(super) anchors: PathAnchors<'a>,
    pub(super) kind: LayerKind,
    pub(super) name: &'a str,
    pub(super) problems: Vec<PolicyProblem>,
    /// The rules, each with its position.
    pub(super) rules: Vec<(usize, Rule)>,
    pub(super) hooks: Vec<Hook>,
    pub(super) directories: Vec<AdditionalDirectory>,
    pub(super) sandbox: SandboxSettings,
    pub(super) writable: Vec<AdditionalDirectory>,
}

impl<'a> PolicyFileParser<'a> {
    pub(super) fn new(
        text: &'a str,
        kind: LayerKind,
        name: &'a str,
        anchors: PathAnchors<'a>,
    ) -> Self {
        let (problems, rules) = (Vec::new(), Vec::new());
        let (hooks, directories, writable) = (Vec::new(), Vec::new(), Vec::new());
        let sandbox = SandboxSettings::default();
        let lines = LineNumbers::new(text);
        Self {
            text,
            lines,
            anchors,
            kind,
            name,
            problems,
            rules,
            hooks,
            directories,
            sandbox,
            writable,
        }
    }
}

impl PolicyFileParser<'_> {
    pub(super) fn push_problem(
        &mut self,
        message: impl Into<String>,
        span: Range<usize>,
        help: Option<String>,
        loses_restraint: bool,
    ) {
        self.problems.push(PolicyProblem {
            message: message.into(),
            help,
            span,
            loses_restriction: loses_restraint,
        });
    }

    pub(super) fn push_unknown_key(&mut self, key: &str, span: Range<usize>, known: &[&str]) {
        let help = format!("known keys are `{}`", known.join("`, `"));
        self.push_problem(format!("unknown key `{key}`"), span, Some(help), true);
    }

    /// Parses one of several allowed words.
    pub(super) fn parse_word<T>(
        &mut self,
        value: &TomlValue<'_>,
        key: &str,
        parse: impl Fn(&str) -> Option<T>,
        known: &str,
    ) -> Option<T> {
        let found = value.get_ref().as_str().and_then(parse);
        if found.is_none() {
            let help = format!("write one of `{known}`");
            self.push_problem(format!("invalid value for `{key}`"), value.span(), Some(help), true);
        }
        found
    }

    /// Returns the range in the file of a part of a string's content. If escapes shift the offsets,
    /// returns the range of the whole string.
    pub(super) fn inner_span(&self, string: &Range<usize>, part: &Range<usize>) -> Range<usize> {
        let raw = self.text.get(string.clone()).unwrap_or_default();
        let one_line = raw.len() >= 2 && !raw.starts_with("\"\"\"") && !raw.starts_with("'''");
        let at = string.start + 1 + part.start..string.start + 1 + part.end;
        let fits = at.end < string.end && self.text.get(at.clone()).is_some();
        if one_line && !raw.contains('\\') && fits { at } else { string.clone() }
    }

    /// Returns the line of a position, starting at 1.
    pub(super) fn line_at(&self, at: usize) -> u32 {
        self.lines.line_at(at)
    }
}
