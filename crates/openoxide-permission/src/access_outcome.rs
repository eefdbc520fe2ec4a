//! The decision on one access, before it is described in words.

use openoxide_protocol::{Effect, PermissionMode};

use crate::layer::RuleMatch;

/// The reason for the outcome of one access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReasonCode {
    /// A rule matched.
    Rule,
    /// A rule of the last good version of the policy denies it
    /// ([`crate::PolicyStack::with_fallback_denies`]).
    LastGoodDeny,
    /// A rule that asks or denies may match the unknown parts of the command.
    PartialMatch(Effect),
    /// No rule matched.
    NoRule,
    /// The command changes nothing. The accesses that it causes are checked separately.
    Harmless,
    /// The command is harmless according to its manual, but its program was never run to verify
    /// that, and the policy asks about such commands.
    Unproved,
    /// The path is inside the project.
    InsideProject,
    /// The path is outside the project.
    OutsideProject,
    /// The access is made by a program that is checked separately.
    CheckedSeparately,
    /// The analysis does not understand the access.
    Opaque,
    /// A hook allowed the access.
    Hook,
    /// The sandbox confines the command to the project, and no rule decides it.
    Sandboxed,
    /// The permission mode decided.
    Mode(PermissionMode),
    /// The path usually contains secrets.
    SecretFile,
    /// The file controls the behaviour of shells, tools or agents.
    SteeringFile,
    /// The command could approve requests in place of a person.
    SelfApproval,
}

/// The decision on one access, before it is described in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessOutcome {
    /// The effect on the access.
    pub effect: Effect,
    /// The rule that matched, even if something else decided.
    pub rule_match: Option<RuleMatch>,
    /// The reason for the effect.
    pub reason: ReasonCode,
}
