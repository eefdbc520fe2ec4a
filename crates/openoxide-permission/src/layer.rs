//! Layers: the rules of one source, where it ranks, and what it says of a subject.

use openoxide_protocol::{Effect, PermissionMode};

use crate::{combining_algorithm::CombiningAlgorithm, rule::Rule};

/// Which layer of settings rules come from, the most precedent first (DECISIONS 2).
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
    /// Which layer it is.
    pub kind: LayerKind,
    /// The file that it was read from.
    pub file: Option<String>,
    /// How its matches become one answer.
    pub combining_algorithm: CombiningAlgorithm,
    /// Its rules, in the order in which they stand.
    pub rules: Vec<Rule>,
    /// The mode that it sets.
    pub mode: Option<PermissionMode>,
}

/// The answer of the rules to one subject: which rule spoke, and what it asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleMatch {
    /// What the rule asks for.
    pub effect: Effect,
    /// Its number, for [`crate::PolicyStack::rule_ref`].
    pub rule: u32,
    /// The layer that it stands in.
    pub layer: LayerKind,
    /// Whether it names one thing and no wildcard.
    pub is_literal: bool,
    /// Whether it is about every path there is.
    pub matches_everything: bool,
    /// Whether only a person answers it.
    pub requires_human: bool,
}
