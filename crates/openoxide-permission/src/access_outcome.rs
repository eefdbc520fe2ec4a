//! The decision on one access, before it is put into words.

use openoxide_protocol::{Effect, PermissionMode};

use crate::layer::RuleMatch;

/// Why one access got its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReasonCode {
    /// A rule spoke.
    Rule,
    /// A rule of the last good version of the policy denies it ([`crate::PolicyStack::with_fallback_denies`]).
    LastGoodDeny,
    /// A rule that asks or denies could match what is not known of the command.
    PartialMatch(Effect),
    /// No rule spoke.
    NoRule,
    /// It changes nothing by itself; what it reads or runs is listed beside it.
    Harmless,
    /// It is harmless as far as manuals say, and the policy asks about programs that were not run to check that.
    Unproved,
    /// It lies inside the project.
    InsideProject,
    /// It lies outside the project.
    OutsideProject,
    /// A program touches it that is judged by itself.
    CheckedSeparately,
    /// It was not understood.
    Opaque,
    /// A hook said that nobody need be asked.
    Hook,
    /// The mode decided.
    Mode(PermissionMode),
    /// It usually holds secrets.
    SecretFile,
    /// It steers shells, tools or agents.
    SteeringFile,
    /// It would answer in a person's place.
    SelfApproval,
}

/// The decision on one access, before it is put into words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessOutcome {
    /// The answer.
    pub effect: Effect,
    /// The rule that spoke, even if something else decided.
    pub rule_match: Option<RuleMatch>,
    /// Why.
    pub reason: ReasonCode,
}
