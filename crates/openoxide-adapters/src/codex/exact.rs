//! Rule files of Codex to the letter: what Codex itself makes of them, with its mistakes.
//!
//! [`Policy::check`] is its `execpolicy check`: the words of one command against all rules, and nothing else. [`Judge`] is what it
//! makes of a call of its shell tool: run it, ask, or refuse. Facts: Codex 0.169,
//! observed on the program (`corpus/codex`, and `cargo xtask codex-diff`). Our own reading of the same rules is
//! [`translate`](super::translate).

mod amend;
mod approval;
mod attempt;
mod banned;
mod cached;
mod danger;
mod decide;
mod dialect;
pub mod events;
mod example;
mod judge;
mod managed;
mod network;
mod patch;
mod place;
mod policy;
mod quick;
mod reach;
mod read;
mod refusal;
mod requirement;
mod review;
mod rule;
mod safe;
mod said;
mod shell;
mod together;

pub use amend::{DEFAULT_RULES, LivePolicy, apply, network_line, prefix_line, validated};
pub use approval::{AskForApproval, GranularApprovalConfig, SandboxMode};
pub use attempt::{Follows, RETRY, Runtime, Stopped, is_denial};
pub use banned::{banned_beginning, is_banned};
pub use cached::{ApprovalStore, CommandKey, FileKey, with_cached_approval};
pub use decide::{Answer, Call, SandboxPermissions, Verdict};
pub use dialect::Dialect;
pub use judge::{Judge, ShellCall};
pub use network::NetworkRule;
pub use patch::{FileChange, Writable};
pub use place::Place;
pub use policy::{Evaluation, Hosts, Policy, RuleMatch};
pub use reach::{HostKey, NetworkApprovals, NetworkProtocol, Reach};
pub use read::{Language, Source};
pub use refusal::{Refusal, Unreadable};
pub use requirement::Requirement;
pub use review::{NetworkAction, NetworkAmendment, ReviewDecision};
pub use rule::{
    AbsolutePathBuf, Decision, PatternToken, PrefixPattern, PrefixRule, PrefixRuleMatch,
};
pub use said::{Given, NetworkCall, PrefixCall, Said};

/// A longer rule file is not read.
pub const LONGEST: usize = 1 << 20;

/// What `prefix_rule` takes, in the order in which arguments may stand without their names.
pub(super) const PREFIX: [&str; 6] =
    ["pattern", "decision", "match", "not_match", "justification", "canonical_matching"];
/// What `network_rule` takes.
pub(super) const NETWORK: [&str; 4] = ["host", "protocol", "decision", "justification"];

#[cfg(test)]
mod tests;
