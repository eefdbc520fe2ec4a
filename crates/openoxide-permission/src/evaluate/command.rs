//! What the rules say of a command.

use openoxide_protocol::{CommandClass, Effect, Exec, Words};

use super::{by_rule_or, ruling, stricter};
use crate::{
    hook::Lift,
    index::Subject,
    outcome::{Outcome, Why},
    possible,
    rule::Space,
    stack::PolicyStack,
};

/// Asks the rules about a command, in each spelling that it has.
pub(super) fn by_command(policy: &PolicyStack, exec: &Exec, hook: Option<Lift>) -> Outcome {
    let bytes = exec.argv.as_bytes();
    let known = exec.argv.is_known();
    let has_many = !known && exec.argv.has_many();
    let subject = Subject { space: Space::Exec, bytes, has_many };
    let default = match exec.class {
        CommandClass::Harmless if exec.unproved && policy.asks_unproved() => {
            (Effect::Ask, Why::Unproved)
        }
        CommandClass::Harmless => (Effect::Allow, Why::Harmless),
        CommandClass::Edits | CommandClass::Unknown => (Effect::Ask, Why::NoRule),
    };
    let outcome = by_rule_or(ruling(policy, subject), default);
    let outcome = by_base_name(policy, subject, outcome);
    let others = || exec.plain.iter().chain(&exec.carried);
    let outcome = others().fold(outcome, |outcome, words| by_other_words(policy, words, outcome));
    std::iter::once(&exec.argv)
        .chain(others())
        .filter(|words| !words.is_known())
        .fold(outcome, |outcome, words| held_back(policy, words.as_bytes(), outcome, hook))
}

/// What was not understood is asked about, and denied where a rule denies every command: one that nobody could have named.
pub(super) fn not_understood(policy: &PolicyStack) -> Outcome {
    let subject = Subject { space: Space::Exec, bytes: b"\x01\0", has_many: false };
    match ruling(policy, subject) {
        Some(found) if found.effect == Effect::Deny => {
            Outcome { effect: Effect::Deny, ruling: Some(found), why: Why::Rule }
        }
        _ => Outcome { effect: Effect::Ask, ruling: None, why: Why::Opaque },
    }
}

/// A rule that holds a program back enforces all of it back in whichever directory it lies: `/bin/rm` is `rm`. A rule that allows
/// does not: `./ls` is not `ls`.
#[inline]
fn by_base_name(policy: &PolicyStack, subject: Subject<'_>, outcome: Outcome) -> Outcome {
    let Some(bytes) = base_name(subject.bytes) else { return outcome };
    match ruling(policy, Subject { bytes, ..subject }) {
        Some(found) => stricter(found, outcome),
        None => outcome,
    }
}

/// A rule that holds a subcommand back enforces all of it back behind whatever options: `git -C . push` is `git push`. The same holds for a
/// command that another one carries: `npx rm x` is `rm x`.
fn by_other_words(policy: &PolicyStack, words: &Words, outcome: Outcome) -> Outcome {
    let subject =
        Subject { space: Space::Exec, bytes: words.as_bytes(), has_many: words.has_many() };
    let outcome = match ruling(policy, subject) {
        Some(found) => stricter(found, outcome),
        None => outcome,
    };
    by_base_name(policy, subject, outcome)
}

/// A rule that holds back and could match counts as an ask: it may not be passed by, and it may not be meant. What is asked
/// about anyway needs no such look, unless a hook would save the question.
fn held_back(policy: &PolicyStack, argv: &[u8], outcome: Outcome, hook: Option<Lift>) -> Outcome {
    let may_pass =
        outcome.effect == Effect::Allow || outcome.effect == Effect::Ask && hook.is_some();
    let possible = possible::strictest(policy, argv)
        .max(base_name(argv).and_then(|argv| possible::strictest(policy, argv)));
    match possible {
        Some(effect) if may_pass => {
            Outcome { effect: Effect::Ask, ruling: outcome.ruling, why: Why::Possible(effect) }
        }
        _ => outcome,
    }
}

/// Returns a command with its program's name alone, where it is given with a directory.
pub(crate) fn base_name(argv: &[u8]) -> Option<&[u8]> {
    let name = argv.split(|byte| *byte == 0).next()?;
    let slash = name.iter().rposition(|byte| *byte == b'/')?;
    argv.get(slash + 1..)
}
