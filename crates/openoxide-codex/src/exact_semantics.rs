//! Evaluation of Codex's rule files exactly as Codex evaluates them, including its defects.
//!
//! [`ExecPolicy::check`] is `codex execpolicy check`: it matches the words of one command against
//! all rules. [`CallEvaluator`] decides a call of the shell tool as Codex does: run, ask or reject.
//! The facts were observed on Codex 0.169 (`corpus/codex`, and `cargo xtask codex-diff`).
//! [`translate_rule_file`](super::translate_rule_file) converts the same rules to OpenOxide's.

mod apply_patch;
mod approval_cache;
pub mod approval_events;
mod approval_policy;
mod approval_requirement;
mod banned_prefixes;
mod call_decision;
mod call_evaluator;
mod dangerous_commands;
mod dialect;
mod exec_policy;
mod fast_split;
pub(crate) mod launch_context;
mod network_approvals;
pub(crate) mod network_rules;
mod policy_amendment;
mod policy_stage;
pub(crate) mod prefix_rule;
pub(crate) mod prefix_rule_index;
mod prompt_coalescing;
mod requirements_toml;
mod rule_errors;
pub(crate) mod rule_examples;
pub(crate) mod rule_file;
pub(crate) mod rule_parser;
mod safe_commands;
mod sandbox_retry;
mod script_commands;

pub use apply_patch::patch_change::{PatchedFile, WritableRoots};
pub use approval_cache::{
    ApprovalStore, CommandApprovalKey, FileApprovalKey, with_cached_approval,
};
pub use approval_policy::{
    ApprovalPolicyError, AskForApproval, GranularApprovalConfig, SandboxMode,
    UnknownSandboxModeError,
};
pub use approval_requirement::ExecApprovalRequirement;
pub use banned_prefixes::{is_banned_prefix, longest_banned_prefix};
pub use call_decision::{CallOutcome, CallVerdict, SandboxPermissions, ShellToolCall};
pub use call_evaluator::{CallEvaluator, ShellInvocation};
pub use dialect::{CodexDialect, UnknownDialectError};
pub use exec_policy::{CodexRuleMatch, CommandEvaluation, ExecPolicy};
pub use launch_context::LaunchContext;
pub use network_approvals::{HostApprovalKey, HostDecision, NetworkApprovals, NetworkProtocol};
pub use network_rules::NetworkRule;
pub use policy_amendment::{
    AmendmentError, DEFAULT_RULES, EmptyPrefixError, SessionPolicy, apply_amendment,
    is_valid_amendment, render_network_rule, render_prefix_rule,
};
pub use prefix_rule::{
    AbsolutePathBuf, CodexDecision, PatternToken, PrefixPattern, PrefixRule, PrefixRuleMatch,
};
pub use prefix_rule_index::HostExecutables;
pub use requirements_toml::{ManagedRuleError, RequirementsError, RuleListError};
pub use rule_errors::{RuleCallError, RuleFileError};
pub use rule_file::{NetworkRuleCall, ParsedRuleFile, PrefixRuleCall, RuleArgument};
pub use rule_parser::{MAX_RULE_FILE_SIZE, RuleFileEvaluator, RuleFileSource};
pub use sandbox_retry::{BlockedAttempt, CodexRuntime, NextStep, RETRY_PROMPT, looks_like_denial};

#[cfg(test)]
mod tests;
