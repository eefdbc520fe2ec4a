//! Layers: the rules of one source, its precedence, and its match for a subject.

use openoxide_protocol::{Effect, PermissionMode};

use crate::{combining_algorithm::CombiningAlgorithm, rule::Rule};

/// The source of a layer's rules, the most precedent first (DECISIONS 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LayerKind {
    /// Administered for the machine.
    Managed,
    /// Given on the command line.
    Cli,
    /// The project's, kept by this user.
    Local,
    /// The project's, shared by all who work on it.
    Project,
    /// The user's.
    User,
    /// Built in.
    Default,
}

impl LayerKind {
    /// Returns its name.
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
    /// The file that it was read from.
    pub file: Option<String>,
    /// The rule by which the matches of the layer become one effect.
    pub combining_algorithm: CombiningAlgorithm,
    /// The rules of the layer, in their original order.
    pub rules: Vec<Rule>,
    /// The mode that it sets.
    pub mode: Option<PermissionMode>,
}

/// The answer of the rules to one subject: which rule spoke, and what it asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleMatch {
    /// The effect of the rule.
    pub effect: Effect,
    /// Its number, for [`crate::PolicyStack::rule_ref`].
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
