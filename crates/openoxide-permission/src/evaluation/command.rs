//! Evaluation of commands.

use openoxide_protocol::{
    CommandClass, CommandWords, Effect, ExecAccess, PermissionMode, SandboxAutoAllow,
};

use super::evaluation_context::EvaluationContext;
use super::rule_outcome::{
    find_rule_match, is_decided_by_user_rule, outcome_or_default, stricter_outcome,
};
use crate::{
    access_outcome::{AccessOutcome, ReasonCode},
    hook::allow_scope::HookAllowScope,
    partial_match,
    policy_stack::PolicyStack,
    rule::SubjectKind,
    rule_index::MatchSubject,
};

/// Evaluates the rules for each form of a command.
pub(super) fn decide_command(
    policy: &PolicyStack,
    context: &EvaluationContext<'_>,
    exec: &ExecAccess,
    hook: Option<HookAllowScope>,
) -> AccessOutcome {
    let bytes = exec.argv.as_bytes();
    let known = exec.argv.is_known();
    let has_many = !known && exec.argv.is_variadic();
    let subject = MatchSubject { kind: SubjectKind::Exec, bytes, is_variadic: has_many };
    let default = match exec.class {
        CommandClass::Harmless if exec.unproved && policy.asks_about_unproved() => {
            (Effect::Ask, ReasonCode::Unproved)
        }
        CommandClass::Harmless => (Effect::Allow, ReasonCode::Harmless),
        CommandClass::Edits | CommandClass::Unknown => (Effect::Ask, ReasonCode::NoRule),
    };
    let outcome = outcome_or_default(find_rule_match(policy, subject), default);
    let outcome = apply_base_name_rules(policy, subject, outcome);
    let others = || exec.normalized_argv.iter().chain(&exec.carried_commands);
    let outcome =
        others().fold(outcome, |outcome, words| apply_alternate_words(policy, words, outcome));
    let questions_stay = hook.is_none() && !removes_questions(context);
    std::iter::once(&exec.argv)
        .chain(others())
        .filter(|words| !words.is_known())
        .fold(outcome, |outcome, words| {
            apply_partial_matches(policy, words.as_bytes(), outcome, questions_stay)
        })
}

/// Decides an opaque access. It asks, or is denied if a rule denies every command, even commands
/// that no rule could name.
pub(super) fn decide_opaque(policy: &PolicyStack) -> AccessOutcome {
    let subject = MatchSubject { kind: SubjectKind::Exec, bytes: b"\x01\0", is_variadic: false };
    match find_rule_match(policy, subject) {
        Some(found) if found.effect == Effect::Deny => AccessOutcome {
            effect: Effect::Deny,
            rule_match: Some(found),
            reason: ReasonCode::Rule,
        },
        _ => AccessOutcome { effect: Effect::Ask, rule_match: None, reason: ReasonCode::Opaque },
    }
}

/// Applies the rules to the program's name without its directory. A rule that restricts a program
/// restricts it in every directory: `/bin/rm` is `rm`. A rule that allows does not: `./ls` is not
/// `ls`.
#[inline]
fn apply_base_name_rules(
    policy: &PolicyStack,
    subject: MatchSubject<'_>,
    outcome: AccessOutcome,
) -> AccessOutcome {
    let Some(bytes) = strip_program_directory(subject.bytes) else { return outcome };
    match find_rule_match(policy, MatchSubject { bytes, ..subject }) {
        Some(found) => stricter_outcome(found, outcome),
        None => outcome,
    }
}

/// Applies the rules to alternative words of the command. A rule that restricts a subcommand
/// restricts it after any options: `git -C . push` is `git push`. The same applies to a command
/// that another one carries: `npx rm x` is `rm x`.
fn apply_alternate_words(
    policy: &PolicyStack,
    words: &CommandWords,
    outcome: AccessOutcome,
) -> AccessOutcome {
    let subject = MatchSubject {
        kind: SubjectKind::Exec,
        bytes: words.as_bytes(),
        is_variadic: words.is_variadic(),
    };
    let outcome = match find_rule_match(policy, subject) {
        Some(found) => stricter_outcome(found, outcome),
        None => outcome,
    };
    apply_base_name_rules(policy, subject, outcome)
}

/// Returns whether the mode or the sandbox removes questions that no rule asks.
fn removes_questions(context: &EvaluationContext<'_>) -> bool {
    context.auto_allow != SandboxAutoAllow::Off
        || matches!(context.mode, PermissionMode::AcceptEdits | PermissionMode::BypassPermissions)
}

/// Turns an allow into an ask if a rule that asks or denies may match the unknown parts of the
/// command. The rule must not be bypassed, but it may not apply either. If questions stay, a
/// command that is asked about anyway is not checked.
fn apply_partial_matches(
    policy: &PolicyStack,
    argv: &[u8],
    outcome: AccessOutcome,
    questions_stay: bool,
) -> AccessOutcome {
    let may_pass = outcome.effect == Effect::Allow
        || outcome.effect == Effect::Ask && !questions_stay && !is_decided_by_user_rule(&outcome);
    let possible = partial_match::find_strictest_effect(policy, argv).max(
        strip_program_directory(argv)
            .and_then(|argv| partial_match::find_strictest_effect(policy, argv)),
    );
    match possible {
        Some(effect) if may_pass => AccessOutcome {
            effect: Effect::Ask,
            rule_match: outcome.rule_match,
            reason: ReasonCode::PartialMatch(effect),
        },
        _ => outcome,
    }
}

/// Returns a command with only the name of its program, if the program is given with a directory.
pub(crate) fn strip_program_directory(argv: &[u8]) -> Option<&[u8]> {
    let name = argv.split(|byte| *byte == 0).next()?;
    let slash = name.iter().rposition(|byte| *byte == b'/')?;
    argv.get(slash + 1..)
}
