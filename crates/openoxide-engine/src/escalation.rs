//! What follows an attempt that the sandbox may have stopped: the table of seed 002 §3.1, as one pure function.
//!
//! Three things are stricter than in Codex. What stopped it is known and not guessed from words. The smallest widening comes first, and
//! running without the sandbox last. And each retry is asked about: Codex skips the question where the call was said yes to before,
//! but a yes counts once and for what was shown, and that was a confined run.

use openoxide_protocol::{AbsPath, PermissionMode};

/// Why a person is asked to run something without the sandbox (seed 002 §3.1, to the letter).
pub const WITHOUT_SANDBOX: &str = "command failed; retry without sandbox?";
/// So often is something tried again.
pub const MOST_RETRIES: u8 = 3;

/// What is known after an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a column of the table")]
pub struct Attempted {
    /// Whether it was confined.
    pub confined: bool,
    /// Whether the sandbox is known to have refused something, and it failed.
    pub confirmed: bool,
    /// Whether the tool is one that tries again (`escalate_on_failure`).
    pub escalates: bool,
    /// Whether the policy has people asked about running without the sandbox (`wants_no_sandbox_approval`).
    pub asks_without: bool,
    /// What would let it pass.
    pub remedy: Remedied,
    /// Whether a rule denies reading something: without the sandbox it would be read.
    pub reads_denied: bool,
    /// Whether somebody demands a sandbox.
    pub required: bool,
    /// How often it was tried again.
    pub retries: u8,
}

/// What would let pass what the sandbox refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedied {
    /// A wider profile.
    Wider,
    /// Nothing may: a rule, the safety floor or the protected list enforces all of it, or a person has said no.
    Held,
    /// No profile says it.
    Beyond,
}

/// What follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// That was it.
    Return,
    /// A person is asked, and it runs under a wider profile.
    AskWider,
    /// A person is asked, and it runs without the sandbox.
    AskWithout,
}

impl Attempted {
    /// Returns what follows.
    #[must_use]
    pub const fn next(self) -> Next {
        if !self.confined || !self.confirmed || !self.escalates || self.retries >= MOST_RETRIES {
            return Next::Return;
        }
        let held = self.reads_denied || self.required || !self.asks_without;
        match self.remedy {
            Remedied::Wider => Next::AskWider,
            Remedied::Beyond if !held => Next::AskWithout,
            Remedied::Beyond | Remedied::Held => Next::Return,
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
    const REMEDIES: [Remedied; 3] = [Remedied::Wider, Remedied::Held, Remedied::Beyond];

    fn rows() -> Vec<Attempted> {
        let mut rows = Vec::new();
        for bits in 0..64_u8 {
            let bit = |at: u8| bits & (1 << at) != 0;
            for (remedy, retries) in REMEDIES.iter().flat_map(|one| (0..5).map(move |n| (*one, n)))
            {
                rows.push(Attempted {
                    confined: bit(0),
                    confirmed: bit(1),
                    escalates: bit(2),
                    asks_without: bit(3),
                    reads_denied: bit(4),
                    required: bit(5),
                    remedy,
                    retries,
                });
            }
        }
        rows
    }

    /// Seed 002 §3.1 step 4 and codex.md §7, sentence by sentence.
    fn as_written(row: Attempted) -> Next {
        let denied = row.confined && row.confirmed;
        if !denied {
            return Next::Return; // 3: anything else is returned.
        }
        if !row.escalates {
            return Next::Return; // 4: escalate_on_failure() == false.
        }
        if row.retries == 3 || row.retries == 4 {
            return Next::Return;
        }
        if row.remedy == Remedied::Wider {
            return Next::AskWider; // DECISIONS 14, issue 5 §4: the smallest widening first.
        }
        if !row.asks_without {
            return Next::Return; // 4: wants_no_sandbox_approval(policy) == false.
        }
        if row.reads_denied || row.required || row.remedy == Remedied::Held {
            return Next::Return; // A profile that denies reading blocks the retry without sandbox.
        }
        Next::AskWithout
    }

    /// Guards I32.
    #[test]
    fn every_row_of_the_table_is_as_it_is_written() {
        let rows = rows();
        assert_eq!(rows.len(), 64 * 15);
        for row in rows {
            assert_eq!(row.next(), as_written(row), "{row:?}");
        }
    }

    #[test]
    fn without_sandbox_is_asked_in_few_rows_and_never_while_something_holds() {
        let without: Vec<_> =
            rows().into_iter().filter(|row| row.next() == Next::AskWithout).collect();
        assert_eq!(without.len(), 3, "one for each retry that is left");
        for row in without {
            assert!(row.confirmed && !row.required && !row.reads_denied && row.asks_without);
        }
        for [reads_denied, required] in BOTH.iter().flat_map(|a| BOTH.map(|b| [*a, b])) {
            let row = Attempted {
                confined: true,
                confirmed: true,
                escalates: true,
                asks_without: true,
                remedy: Remedied::Beyond,
                reads_denied,
                required,
                retries: 0,
            };
            assert_eq!(row.next() == Next::AskWithout, !reads_denied && !required);
        }
    }
}
