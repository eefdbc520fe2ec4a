//! What follows an attempt that the sandbox may have stopped: the table of seed 002 §3.1, as one pure function.
//!
//! Three things are stricter than in Codex. What stopped it is known and not guessed from words. The smallest widening comes first, and
//! running without the sandbox last. And each retry is asked about: Codex skips the question where the call was said yes to before,
//! but a yes counts once and for what was shown, and that was a confined run.

use openoxide_protocol::{AbsPath, PermissionMode};

/// Why a person is asked to run something without the sandbox (seed 002 §3.1, to the letter).
pub const RETRY_WITHOUT_SANDBOX_TITLE: &str = "command failed; retry without sandbox?";
/// So often is something tried again.
pub const MAX_RETRIES: u8 = 3;

/// What is known after an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a column of the table")]
pub struct AttemptState {
    /// Whether it was confined.
    pub is_confined: bool,
    /// Whether the sandbox is known to have refused something, and it failed.
    pub is_denial_confirmed: bool,
    /// Whether the tool is one that tries again (`escalate_on_failure`).
    pub escalates_on_failure: bool,
    /// Whether the policy has people asked about running without the sandbox (`wants_no_sandbox_approval`).
    pub asks_without_sandbox: bool,
    /// What would let it pass.
    pub remedy: RemedyKind,
    /// Whether a rule denies reading something: without the sandbox it would be read.
    pub denies_reading: bool,
    /// Whether somebody demands a sandbox.
    pub requires_sandbox: bool,
    /// How often it was tried again.
    pub retries: u8,
}

/// What would let pass what the sandbox refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemedyKind {
    /// A wider profile.
    WiderProfile,
    /// Nothing may: a rule, the safety floor or the protected list enforces all of it, or a person has said no.
    Forbidden,
    /// No profile says it.
    Inexpressible,
}

/// What follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EscalationStep {
    /// That was it.
    Return,
    /// A person is asked, and it runs under a wider profile.
    AskWiderProfile,
    /// A person is asked, and it runs without the sandbox.
    AskWithoutSandbox,
}

impl AttemptState {
    /// Returns what follows.
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

/// Says whether a mode has people asked about running without the sandbox: those that ask at all (`UnlessTrusted`). A mode under which
/// nobody is asked is Codex's `Never`, and `plan` its read-only `OnRequest`.
#[must_use]
pub const fn asks_without_sandbox(mode: PermissionMode) -> bool {
    match mode {
        PermissionMode::Default | PermissionMode::AcceptEdits => true,
        PermissionMode::Plan | PermissionMode::DontAsk | PermissionMode::BypassPermissions => false,
    }
}

/// Returns the title of the question whether a path may be writable in the next attempt.
#[must_use]
pub fn with_path(path: &AbsPath) -> String {
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

    /// Seed 002 §3.1 step 4 and codex.md §7, sentence by sentence.
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
    fn every_row_of_the_table_is_as_it_is_written() {
        let rows = rows();
        assert_eq!(rows.len(), 64 * 15);
        for row in rows {
            assert_eq!(row.next_step(), as_written(row), "{row:?}");
        }
    }

    #[test]
    fn without_sandbox_is_asked_in_few_rows_and_never_while_something_holds() {
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
