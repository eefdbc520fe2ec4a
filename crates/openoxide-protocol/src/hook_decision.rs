//! What a hook said of one operation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::RuleRef;

/// What a hook said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HookDecision {
    /// Nothing: the rules decide.
    #[default]
    Pass,
    /// It may pass without a question.
    Allow,
    /// A person is asked.
    Ask,
    /// It may not pass.
    Deny,
    /// Nothing that can be relied on: it crashed, took too long, or was not understood. It counts as a question.
    Failed,
}

impl HookDecision {
    /// Returns its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
            Self::Failed => "failed",
        }
    }
}

/// The answer of one hook, with its grounds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HookAnswer {
    /// The hook: where it stands, and the name of its program.
    pub hook: RuleRef,
    /// What it said.
    pub said: HookDecision,
    /// Why, in its own words or in ours. It comes from another program: who shows it escapes it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Whether its allow leaves alone what a rule asks about, as that of Claude Code's hooks does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub below_rules: bool,
}
