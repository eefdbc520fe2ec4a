//! From facts to a decision: pure, total, deterministic.

mod command;
mod floor;
mod in_mode;
mod path;

use openoxide_protocol::{
    AbsPath, Access, Decision, Effect, Facts, Obligation, Part, PermissionMode, Touch,
};

pub(crate) use self::command::base_name;
use self::{
    command::{by_command, not_understood},
    floor::{above_the_floor, escalation, in_doubt, under_the_floor},
    in_mode::in_mode,
    path::by_path,
};
use crate::{
    always, hook,
    index::{MAX_LAYERS, Ranks, Subject},
    layer::{LayerKind, Ruling},
    outcome::{Outcome, Why},
    reason::part,
    rule::Space,
    stack::PolicyStack,
    subject,
};

/// The facts of the moment.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The mode in force.
    pub mode: PermissionMode,
    /// The working directory. Relative rules that ask or deny count from it, from the project, and from the directories of the
    /// project between them; relative rules that allow count from the project alone.
    pub cwd: &'a AbsPath,
    /// The directories of the project.
    pub roots: &'a [AbsPath],
    /// Why the policy itself is in doubt: rules that ask or deny may be missing, so nothing is allowed.
    pub doubt: Option<&'a str>,
}

impl<'a> Context<'a> {
    /// Returns the directory that relative rules count from: the project, so that a `cd` widens no rule that allows. Where there
    /// is no project, it is the working directory.
    pub(crate) fn base(&self) -> &'a AbsPath {
        self.roots.first().unwrap_or(self.cwd)
    }

    /// Returns the other directories that relative rules which ask or deny count from: the working directory, and the directories
    /// of the project above it.
    pub(crate) fn other_bases(&self) -> impl Iterator<Item = &'a AbsPath> {
        let (cwd, roots, base) = (self.cwd, self.roots, self.base());
        let above = roots.iter().filter(move |root| *root != cwd && cwd.below(root).is_some());
        above.chain([cwd]).filter(move |each| *each != base)
    }
}

/// Returns the decision on an operation: the strictest among its accesses, under the safety floor.
///
/// An operation without any access does nothing, and is allowed.
pub fn evaluate(policy: &PolicyStack, context: &Context<'_>, facts: &Facts) -> Decision {
    evaluate_lifted(policy, context, facts, None)
}

/// As [`evaluate`], where hooks have said that nobody need be asked.
pub(crate) fn evaluate_lifted(
    policy: &PolicyStack,
    context: &Context<'_>,
    facts: &Facts,
    hook: Option<hook::Lift>,
) -> Decision {
    let outcomes: Vec<_> = each(policy, context, facts, hook).collect();
    let parts: Vec<_> = facts
        .accesses
        .iter()
        .zip(&outcomes)
        .map(|(access, outcome)| part(policy, access, outcome))
        .collect();
    let strictest = strictest(&parts);
    let (effect, reason, rule) = match strictest {
        Some(part) => (part.decision, part.reason.clone(), part.rule.clone()),
        None => (Effect::Allow, "it does nothing".to_owned(), None),
    };
    let always = always::rules(&facts.accesses, &outcomes);
    let decision = Decision {
        effect,
        reason,
        rule,
        parts,
        findings: facts.findings.clone(),
        always,
        obligations: obligations(policy, &outcomes),
    };
    in_doubt(under_the_floor(decision, context.mode), context)
}

fn obligations(policy: &PolicyStack, outcomes: &[Outcome]) -> Vec<Obligation> {
    let human = outcomes.iter().any(is_for_a_person).then_some(Obligation::Human);
    let audit = policy.wants_audit().then_some(Obligation::Audit);
    human.into_iter().chain(audit).collect()
}

/// Returns the effect on an operation alone. It allocates nothing.
#[must_use]
pub fn effect(policy: &PolicyStack, context: &Context<'_>, facts: &Facts) -> Effect {
    let accesses = each(policy, context, facts, None).map(|outcome| outcome.effect);
    let effect = accesses.max().unwrap_or(Effect::Allow);
    let floor =
        escalation(&facts.findings, context.mode).map(|_| after_mode(Effect::Ask, context.mode));
    let doubt = context.doubt.map(|_| after_mode(Effect::Ask, context.mode));
    effect.max(floor.unwrap_or(Effect::Allow)).max(doubt.unwrap_or(Effect::Allow))
}

/// Decides on each access in turn. Where a rule allows every command, it is meant wherever a command writes: what the last
/// program changes outside the project is then no question of its own. The safety floor holds all the same.
fn each<'a>(
    policy: &'a PolicyStack,
    context: &'a Context<'a>,
    facts: &'a Facts,
    hook: Option<hook::Lift>,
) -> impl Iterator<Item = Outcome> + 'a {
    let mut anywhere = false;
    facts.accesses.iter().map(move |access| {
        let outcome = decide_lifted(policy, context, access, hook);
        match access {
            Access::Exec(_) => anywhere = allows_everything(&outcome),
            Access::Edit(path)
                if anywhere && path.touch == Touch::Program && outcome.why == Why::Outside =>
            {
                return above_the_floor(context.mode, access, CARRIED);
            }
            _ => {}
        }
        outcome
    })
}

/// Says whether a command is allowed by a rule that allows every command.
fn allows_everything(outcome: &Outcome) -> bool {
    matches!(outcome.ruling, Some(ruling) if ruling.bare) && outcome.effect == Effect::Allow
}

/// Returns the part that speaks for the whole: among the strictest the first that a rule decided, or else the first.
fn strictest(parts: &[Part]) -> Option<&Part> {
    let worst = parts.iter().map(|part| part.decision).max()?;
    let mut strictest = parts.iter().filter(|part| part.decision == worst);
    strictest.clone().find(|part| part.rule.is_some()).or_else(|| strictest.next())
}

/// What would be asked is denied where nobody may be asked.
pub(crate) const fn after_mode(effect: Effect, mode: PermissionMode) -> Effect {
    match (effect, mode) {
        (Effect::Ask, PermissionMode::DontAsk) => Effect::Deny,
        (effect, _) => effect,
    }
}

/// Returns the decision on one access. It allocates nothing, but for paths and hosts of unusual length and for commands
/// that are only partly known.
#[must_use]
pub fn decide(policy: &PolicyStack, context: &Context<'_>, access: &Access) -> Outcome {
    decide_lifted(policy, context, access, None)
}

/// What a rule of the last good version denies stays denied.
fn decide_lifted(
    policy: &PolicyStack,
    context: &Context<'_>,
    access: &Access,
    hook: Option<hook::Lift>,
) -> Outcome {
    let outcome = by_policy(policy, context, access, hook);
    let Some(before) = policy.before() else { return outcome };
    let earlier = by_policy(before, context, access, None);
    let denies = |outcome: &Outcome| outcome.effect == Effect::Deny && outcome.why == Why::Rule;
    if denies(&earlier) && !denies(&outcome) {
        Outcome { why: Why::Before, ..earlier }
    } else {
        outcome
    }
}

/// A hook's allow comes behind the rules and the mode, which may deny, and before the safety floor, which may ask all the same.
fn by_policy(
    policy: &PolicyStack,
    context: &Context<'_>,
    access: &Access,
    hook: Option<hook::Lift>,
) -> Outcome {
    let outcome = match access {
        Access::Exec(exec) => by_command(policy, exec, hook),
        Access::Read(path) => by_path(policy, context, path, Space::Read),
        Access::Edit(path) => by_path(policy, context, path, Space::Edit),
        Access::ExternalDirectory(path) => by_path(policy, context, path, Space::External),
        Access::Fetch { host, touch, .. } => {
            subject::of_host(host, |bytes| by_host(policy, *touch, bytes))
        }
        Access::CallTool { tool } => {
            subject::of_name(tool, |bytes| by_name(policy, Space::Tool, bytes))
        }
        Access::Delegate { agent } => {
            subject::of_name(agent, |bytes| by_name(policy, Space::Delegate, bytes))
        }
        Access::DoomLoop { tool } => {
            subject::of_name(tool, |bytes| by_name(policy, Space::DoomLoop, bytes))
        }
        Access::Opaque { .. } => not_understood(policy),
    };
    let outcome = in_mode(policy, context, access, outcome);
    let outcome = match hook {
        Some(lift) => hook::lift(lift, access, outcome),
        None => outcome,
    };
    let outcome = above_the_floor(context.mode, access, outcome);
    match after_mode(outcome.effect, context.mode) {
        effect if effect == outcome.effect => outcome,
        effect => Outcome { effect, why: Why::Mode(context.mode), ..outcome },
    }
}

#[inline]
fn ruling(policy: &PolicyStack, subject: Subject<'_>) -> Option<Ruling> {
    let mut ranks: Ranks = [0; MAX_LAYERS];
    policy.ask(subject, &mut ranks);
    policy.combine(&ranks)
}

fn by_rule_or(ruling: Option<Ruling>, default: (Effect, Why)) -> Outcome {
    match ruling {
        Some(found) => Outcome { effect: found.effect, ruling, why: Why::Rule },
        None => Outcome { effect: default.0, ruling: None, why: default.1 },
    }
}

/// Returns what holds back more. Between two rules that ask, one that only a person answers counts, and then the more precedent.
fn stricter(found: Ruling, outcome: Outcome) -> Outcome {
    let outranks = |ruling: Ruling| {
        ruling.human && !found.human || ruling.human == found.human && ruling.layer < found.layer
    };
    let stays = outcome.effect == found.effect && outcome.ruling.is_some_and(outranks);
    if found.effect == Effect::Allow || found.effect < outcome.effect || stays {
        return outcome;
    }
    Outcome { effect: found.effect, ruling: Some(found), why: Why::Rule }
}

fn by_name(policy: &PolicyStack, space: Space, bytes: &[u8]) -> Outcome {
    let subject = Subject { space, bytes, has_many: false };
    by_rule_or(ruling(policy, subject), (Effect::Ask, Why::NoRule))
}

/// Whether a program may reach a host is asked of the program, unless a rule speaks of the host.
fn by_host(policy: &PolicyStack, touch: Touch, bytes: &[u8]) -> Outcome {
    match by_name(policy, Space::Fetch, bytes) {
        Outcome { why: Why::NoRule, .. } if touch != Touch::Itself => CARRIED,
        outcome => outcome,
    }
}

/// What a program touches that no rule speaks of: whether the program may run is asked of the program.
const CARRIED: Outcome = Outcome { effect: Effect::Allow, ruling: None, why: Why::Carried };

/// Says whether a rule of a person decided, or could have.
const fn spoken(outcome: &Outcome) -> bool {
    match (outcome.why, outcome.ruling) {
        (Why::Possible(_), _) => true,
        (Why::Rule, Some(ruling)) => !matches!(ruling.layer, LayerKind::Default),
        _ => false,
    }
}

/// Says whether a rule that only a person answers has decided.
fn is_for_a_person(outcome: &Outcome) -> bool {
    outcome.effect == Effect::Ask && matches!(outcome.ruling, Some(ruling) if ruling.human)
}

#[cfg(test)]
mod tests;
