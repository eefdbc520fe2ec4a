//! Layers: the rules of one source, its precedence, and its match for a subject.

use openoxide_protocol::{Effect, PermissionMode};

use crate::{combining_algorithm::CombiningAlgorithm, rule::Rule};

/// The source of a layer's rules, highest precedence first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LayerKind {
    /// The rules that an administrator sets for the machine.
    Managed,
    /// The rules that are given on the command line.
    Cli,
    /// The user's own rules for the project.
    Local,
    /// The rules of the project, shared by everyone who works on it.
    Project,
    /// The rules of the user for all projects.
    User,
    /// The built-in rules.
    Default,
}

impl LayerKind {
    /// Returns the name of the layer.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Managed => "managed",
            Self::Cli => "cli",
            Self::Local => "local",
            Self::Project => "project",
            Self::User => "user",
            Self::Default => "default",
        }
    }

    pub(crate) fn from_code(code: u32) -> Self {
        let all = [Self::Managed, Self::Cli, Self::Local, Self::Project, Self::User];
        all.into_iter().find(|kind| *kind as u32 == code).unwrap_or(Self::Default)
    }
}

/// The rules of one source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// The kind of the layer.
    pub kind: LayerKind,
    /// The file that the layer was read from.
    pub file: Option<String>,
    /// The algorithm that combines the matches of the layer into one effect.
    pub combining_algorithm: CombiningAlgorithm,
    /// The rules of the layer, in their original order.
    pub rules: Vec<Rule>,
    /// The mode that the layer sets.
    pub mode: Option<PermissionMode>,
}

/// The rule that matched one subject, with the properties that a decision needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleMatch {
    /// The effect of the rule.
    pub effect: Effect,
    /// The number of the rule, for [`crate::PolicyStack::rule_ref`].
    pub rule: u32,
    /// The layer of the rule.
    pub layer: LayerKind,
    /// True if the rule names exactly one thing, without a wildcard.
    pub is_literal: bool,
    /// True if the rule matches every path.
    pub matches_everything: bool,
    /// True if only a person can answer the rule's question.
    pub requires_human: bool,
}
