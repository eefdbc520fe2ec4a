//! The step after an attempt that the sandbox may have stopped. The table is implemented as one
//! pure function.
//!
//! Three rules are stricter than in Codex:
//!
//! - The cause of the failure is known. It is not guessed from the output.
//! - The smallest change of the profile is tried first. Running without the sandbox comes last.
//! - Each retry requires approval. Codex skips the question if the call was approved before. Here
//!   an approval is valid once and for the request that was shown, which was a confined run.

use openoxide_protocol::{AbsPath, PermissionMode};

/// The title of the question about running a command without the sandbox. The text is the same as
/// in Codex.
pub const RETRY_WITHOUT_SANDBOX_TITLE: &str = "command failed; retry without sandbox?";
/// The maximum number of retries.
pub const MAX_RETRIES: u8 = 3;

/// The facts that are known after an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a column of the table")]
pub struct AttemptState {
    /// True if the attempt was confined.
    pub is_confined: bool,
    /// True if the attempt failed and the sandbox is known to have refused something.
    pub is_denial_confirmed: bool,
    /// True if the tool retries after a failure (`escalate_on_failure`).
    pub escalates_on_failure: bool,
    /// True if the policy allows asking a person about running without the sandbox
    /// (`wants_no_sandbox_approval`).
    pub asks_without_sandbox: bool,
    /// The change that would let the command pass.
    pub remedy: RemedyKind,
    /// True if a rule denies reading some path. Without the sandbox, that path could be read.
    pub denies_reading: bool,
    /// True if a sandbox is required.
    pub requires_sandbox: bool,
    /// The number of retries so far.
    pub retries: u8,
}

/// The kind of change that would let a refused access pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemedyKind {
    /// A wider profile.
    WiderProfile,
    /// No change is permitted. A rule, the safety floor or the list of protected paths forbids the
    /// access, or a person has rejected it.
    Forbidden,
    /// The change cannot be expressed in a profile.
    Inexpressible,
}

/// The next step after an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EscalationStep {
    /// The result is final.
    Return,
    /// A person is asked, and it runs under a wider profile.
    AskWiderProfile,
    /// A person is asked, and it runs without the sandbox.
    AskWithoutSandbox,
}

impl AttemptState {
    /// Returns the next step.
    #[must_use]
    pub const fn next_step(self) -> EscalationStep {
        if !self.is_confined
            || !self.is_denial_confirmed
            || !self.escalates_on_failure
            || self.retries >= MAX_RETRIES
        {
            return EscalationStep::Return;
        }
        let held = self.denies_reading || self.requires_sandbox || !self.asks_without_sandbox;
        match self.remedy {
            RemedyKind::WiderProfile => EscalationStep::AskWiderProfile,
            RemedyKind::Inexpressible if !held => EscalationStep::AskWithoutSandbox,
            RemedyKind::Inexpressible | RemedyKind::Forbidden => EscalationStep::Return,
        }
    }
}

/// Returns whether a person is asked about running without the sandbox in this mode. This applies
/// to the modes that ask a person (`UnlessTrusted`). A mode that never asks corresponds to Codex's
/// `Never`, and `plan` to its read-only `OnRequest`.
#[must_use]
pub const fn asks_about_unsandboxed_run(mode: PermissionMode) -> bool {
    match mode {
        PermissionMode::Default | PermissionMode::AcceptEdits | PermissionMode::Sandboxed => true,
        PermissionMode::Plan | PermissionMode::DontAsk | PermissionMode::BypassPermissions => false,
    }
}

/// Returns the title of the question whether a path may be writable in the next attempt.
#[must_use]
pub fn path_question_title(path: &AbsPath) -> String {
    format!("command failed; retry with `{path}` writable?")
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: [bool; 2] = [false, true];
    const REMEDIES: [RemedyKind; 3] =
        [RemedyKind::WiderProfile, RemedyKind::Forbidden, RemedyKind::Inexpressible];

    fn rows() -> Vec<AttemptState> {
        let mut rows = Vec::new();
        for bits in 0..64_u8 {
            let bit = |at: u8| bits & (1 << at) != 0;
            for (remedy, retries) in REMEDIES.iter().flat_map(|one| (0..5).map(move |n| (*one, n)))
            {
                rows.push(AttemptState {
                    is_confined: bit(0),
                    is_denial_confirmed: bit(1),
                    escalates_on_failure: bit(2),
                    asks_without_sandbox: bit(3),
                    denies_reading: bit(4),
                    requires_sandbox: bit(5),
                    remedy,
                    retries,
                });
            }
        }
        rows
    }

    /// Each row is a rule of the module documentation.
    fn as_written(row: AttemptState) -> EscalationStep {
        let denied = row.is_confined && row.is_denial_confirmed;
        if !denied {
            return EscalationStep::Return; // 3: anything else is returned.
        }
        if !row.escalates_on_failure {
            return EscalationStep::Return; // 4: escalate_on_failure() == false.
        }
        if row.retries == 3 || row.retries == 4 {
            return EscalationStep::Return;
        }
        if row.remedy == RemedyKind::WiderProfile {
            return EscalationStep::AskWiderProfile; // DECISIONS 14, issue 5 §4: the smallest widening first.
        }
        if !row.asks_without_sandbox {
            return EscalationStep::Return; // 4: wants_no_sandbox_approval(policy) == false.
        }
        if row.denies_reading || row.requires_sandbox || row.remedy == RemedyKind::Forbidden {
            return EscalationStep::Return; // A profile that denies reading blocks the retry without sandbox.
        }
        EscalationStep::AskWithoutSandbox
    }

    /// Guards I32.
    #[test]
    fn every_row_of_the_table_has_its_next_step() {
        let rows = rows();
        assert_eq!(rows.len(), 64 * 15);
        for row in rows {
            assert_eq!(row.next_step(), as_written(row), "{row:?}");
        }
    }

    #[test]
    fn running_without_a_sandbox_is_rarely_offered_and_never_against_a_restriction() {
        let without: Vec<_> = rows()
            .into_iter()
            .filter(|row| row.next_step() == EscalationStep::AskWithoutSandbox)
            .collect();
        assert_eq!(without.len(), 3, "one for each retry that is left");
        for row in without {
            assert!(
                row.is_denial_confirmed
                    && !row.requires_sandbox
                    && !row.denies_reading
                    && row.asks_without_sandbox
            );
        }
        for [reads_denied, required] in BOTH.iter().flat_map(|a| BOTH.map(|b| [*a, b])) {
            let row = AttemptState {
                is_confined: true,
                is_denial_confirmed: true,
                escalates_on_failure: true,
                asks_without_sandbox: true,
                remedy: RemedyKind::Inexpressible,
                denies_reading: reads_denied,
                requires_sandbox: required,
                retries: 0,
            };
            assert_eq!(
                row.next_step() == EscalationStep::AskWithoutSandbox,
                !reads_denied && !required
            );
        }
    }
}
