//! Common types for the policies of other programs.

use std::{ops::Range, sync::Arc};

use openoxide_permission::{AdditionalDirectory, Hook, Layer, Pattern, Rule};
use openoxide_protocol::{
    AbsPath, Access, AccessDecision, CommandClass, Decision, Effect, ExecAccess, RuleRef, Span,
};

/// An error in the text of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyTextError {
    /// The error message: lower case, the user's words in backticks, no full stop.
    pub message: String,
    /// A suggestion of what was probably meant.
    pub help: Option<String>,
    /// The location as byte offsets in the text.
    pub span: Range<usize>,
    /// True if the error may cause a rule that asks or denies to be lost.
    pub loses_restriction: bool,
}

impl PolicyTextError {
    /// Returns an error without a suggestion, which may cause a restriction to be lost.
    pub fn new(message: impl Into<String>, span: Range<usize>) -> Self {
        Self { message: message.into(), help: None, span, loses_restriction: true }
    }

    /// Adds a suggestion.
    #[must_use]
    pub fn with_help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }
}

/// A policy of another program, translated into OpenOxide rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyTranslation {
    /// The translated rules. If there are errors, the allow rules must not be used.
    pub layer: Layer,
    /// The directories that are added to the project.
    pub directories: Vec<AdditionalDirectory>,
    /// The parts that could not be parsed, and restrictive rules that could not be translated.
    pub errors: Vec<PolicyTextError>,
    /// Notes about allow rules that were left out, and about hooks that cannot be run.
    pub notes: Vec<String>,
    /// The hooks. If there are errors, the allows of hooks must not be used.
    pub hooks: Vec<Hook>,
    /// True if hooks of other files must not run. It applies only if this file is the
    /// administrator's.
    pub managed_hooks_only: bool,
}

impl PolicyTranslation {
    /// Returns the translation of a file that cannot be parsed: a layer without rules.
    #[must_use]
    pub const fn new_empty(layer: Layer, faults: Vec<PolicyTextError>) -> Self {
        Self::new(layer, faults, Vec::new())
    }

    /// Returns a translation without hooks and directories.
    pub const fn new(layer: Layer, errors: Vec<PolicyTextError>, notes: Vec<String>) -> Self {
        Self {
            layer,
            directories: Vec::new(),
            errors,
            notes,
            hooks: Vec::new(),
            managed_hooks_only: false,
        }
    }
}

/// Returns a rule with these patterns, without a reason and without the properties that only
/// OpenOxide's own rules have.
#[must_use]
pub const fn new_rule(effect: Effect, text: String, patterns: Vec<Pattern>, line: u32) -> Rule {
    Rule {
        effect,
        text,
        patterns,
        is_literal: false,
        matches_everything: false,
        requires_human: false,
        line,
        reason: None,
    }
}

/// Lookups on the disk.
pub trait DiskLookup {
    /// Returns whether the path is a directory. Links are followed.
    fn is_directory(&self, path: &AbsPath) -> bool;
    /// Returns a path with symbolic links resolved, as far as the path exists.
    fn resolve_links(&self, path: &AbsPath) -> AbsPath;
}

/// The context of a tool call.
#[derive(Clone, Copy)]
pub struct CallContext<'a> {
    /// The directory that the program was started in.
    pub cwd: &'a AbsPath,
    /// The home directory, if it is known.
    pub home: Option<&'a AbsPath>,
    /// The root of the repository that contains `cwd`, if there is one.
    pub worktree: Option<&'a AbsPath>,
    /// The lookups on the disk.
    pub disk: &'a dyn DiskLookup,
}

impl std::fmt::Debug for CallContext<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "CallContext({})", self.cwd)
    }
}

/// The origin of a rule of another program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleOrigin {
    /// The file, or `None` for a rule that is built into the program.
    pub file: Option<Arc<str>>,
    /// The line, from 1, or 0 if the rule is not from a file.
    pub line: u32,
}

impl RuleOrigin {
    /// Returns the reference to a rule of this origin.
    pub fn to_rule_ref(&self, text: String) -> RuleRef {
        RuleRef {
            layer: if self.file.is_some() { "cli" } else { "default" }.to_owned(),
            file: self.file.as_deref().map(str::to_owned),
            line: (self.line != 0).then_some(self.line),
            text,
            reason: None,
        }
    }
}

/// Returns the line of a byte offset in a text, counted from 1.
pub fn line_number(text: &str, at: usize) -> u32 {
    let before = text.as_bytes().get(..at).unwrap_or_default();
    let lines = before.iter().filter(|byte| **byte == b'\n').count();
    u32::try_from(lines + 1).unwrap_or(u32::MAX)
}

/// Returns a command as an access. It is split at blanks, because the other program has no notion
/// of words.
pub fn build_exec_access(text: &str) -> Access {
    Access::Exec(ExecAccess {
        argv: text.split_whitespace().collect(),
        text: text.to_owned(),
        class: CommandClass::Unknown,
        span: Span::default(),
        arity: 0,
        ..ExecAccess::default()
    })
}

/// Combines the decisions about all parts. The strictest effect applies, and the first part with
/// this effect determines the reason.
pub fn combine_parts(parts: Vec<AccessDecision>, always: Vec<String>) -> Decision {
    let worst = parts.iter().map(|part| part.decision).max().unwrap_or(Effect::Allow);
    let first = parts.iter().find(|part| part.decision == worst);
    Decision {
        effect: worst,
        reason: first.map_or_else(|| "nothing is asked".to_owned(), |part| part.reason.clone()),
        rule: first.and_then(|part| part.rule.clone()),
        suggested_rules: if worst == Effect::Ask { always } else { Vec::new() },
        parts,
        findings: Vec::new(),
        obligations: Vec::new(),
    }
}
