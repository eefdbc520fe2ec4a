//! The decision of a hook on one operation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::RuleRef;

/// The decision of a hook.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HookDecision {
    /// No decision: the rules decide.
    #[default]
    Pass,
    /// The operation is allowed without a question.
    Allow,
    /// A person is asked.
    Ask,
    /// The operation is denied.
    Deny,
    /// The hook gave no reliable answer: it crashed, took too long, or its answer was not
    /// understood. This is treated as an ask.
    Failed,
}

impl HookDecision {
    /// Returns the name of the decision.
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

/// The answer of one hook, with its reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HookAnswer {
    /// The hook: its location and the name of its program.
    pub hook: RuleRef,
    /// The decision of the hook.
    #[serde(rename = "hook_decision", alias = "said")]
    pub decision: HookDecision,
    /// The reason, in the words of the hook or of OpenOxide. It comes from another program. Escape
    /// it before showing it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// True if an allow of the hook does not override rules that ask, as in Claude Code.
    #[serde(default, alias = "below_rules", skip_serializing_if = "std::ops::Not::not")]
    pub respects_ask_rules: bool,
}
