//! From facts to a decision: pure, total, deterministic.

use openoxide_protocol::{
    AbsPath, Access, CommandClass, Decision, Effect, Facts, Finding, FindingKind, Obligation, Part,
    PathAccess, PermissionMode, Touch, Words,
};

use crate::{
    always, hook,
    index::{MAX_LAYERS, Ranks, Subject},
    layer::{LayerKind, Ruling},
    outcome::{Outcome, Why},
    possible,
    reason::part,
    rule::Space,
    safety_floor,
    stack::PolicyStack,
    subject,
};

/// The facts of the moment.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The mode in force.
    pub mode: PermissionMode,
    /// The directory that relative path rules count from.
    pub cwd: &'a AbsPath,
    /// The directories of the project.
    pub roots: &'a [AbsPath],
    /// Why the policy itself is in doubt: rules that ask or deny may be missing, so nothing is allowed.
    pub doubt: Option<&'a str>,
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

/// Turns an allow into an ask where a finding wants it.
fn under_the_floor(decision: Decision, mode: PermissionMode) -> Decision {
    let Some(finding) = escalation(&decision.findings, mode) else { return decision };
    let always = Vec::new(); // A remembered yes would not lift the floor.
    if decision.effect != Effect::Allow {
        return Decision { always, ..decision };
    }
    let reason = format!("{} ({})", finding.message, finding.code);
    Decision { effect: after_mode(Effect::Ask, mode), reason, rule: None, always, ..decision }
}

/// Turns an allow into an ask where a rule that holds back may be missing.
fn in_doubt(decision: Decision, context: &Context<'_>) -> Decision {
    match context.doubt {
        Some(doubt) if decision.effect == Effect::Allow => Decision {
            effect: after_mode(Effect::Ask, context.mode),
            reason: doubt.to_owned(),
            rule: None,
            always: Vec::new(),
            ..decision
        },
        Some(doubt) => {
            let reason = format!("{}; {doubt}", decision.reason);
            Decision { reason, always: Vec::new(), ..decision }
        }
        None => decision,
    }
}

fn escalation(findings: &[Finding], mode: PermissionMode) -> Option<&Finding> {
    let escalates = |finding: &&Finding| match finding.kind {
        FindingKind::Note => false,
        FindingKind::Escalate => mode != PermissionMode::BypassPermissions,
        FindingKind::CircuitBreaker => true,
    };
    findings.iter().filter(escalates).max_by_key(|finding| finding.kind)
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
        Access::Exec(exec) => {
            let bytes = exec.argv.as_bytes();
            let known = exec.argv.is_known();
            let has_many = !known && exec.argv.has_many();
            let subject = Subject { space: Space::Exec, bytes, has_many };
            let default = match exec.class {
                CommandClass::Harmless => (Effect::Allow, Why::Harmless),
                CommandClass::Edits | CommandClass::Unknown => (Effect::Ask, Why::NoRule),
            };
            let outcome = by_rule_or(ruling(policy, subject), default);
            let outcome = by_base_name(policy, subject, outcome);
            let outcome = match &exec.plain {
                Some(plain) => by_plain_spelling(policy, plain, outcome),
                None => outcome,
            };
            match &exec.plain {
                _ if known => outcome,
                Some(plain) => {
                    let outcome = held_back(policy, subject.bytes, outcome, hook);
                    held_back(policy, plain.as_bytes(), outcome, hook)
                }
                None => held_back(policy, subject.bytes, outcome, hook),
            }
        }
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

/// A rule that holds a program back holds it back in whichever directory it lies: `/bin/rm` is `rm`. A rule that allows
/// does not: `./ls` is not `ls`.
#[inline]
fn by_base_name(policy: &PolicyStack, subject: Subject<'_>, outcome: Outcome) -> Outcome {
    let Some(bytes) = base_name(subject.bytes) else { return outcome };
    match ruling(policy, Subject { bytes, ..subject }) {
        Some(found) => stricter(found, outcome),
        None => outcome,
    }
}

/// A rule that holds a subcommand back holds it back behind whatever options: `git -C . push` is `git push`.
fn by_plain_spelling(policy: &PolicyStack, plain: &Words, outcome: Outcome) -> Outcome {
    let subject =
        Subject { space: Space::Exec, bytes: plain.as_bytes(), has_many: plain.has_many() };
    let outcome = match ruling(policy, subject) {
        Some(found) => stricter(found, outcome),
        None => outcome,
    };
    by_base_name(policy, subject, outcome)
}

/// What was not understood is asked about, and denied where a rule denies every command: one that nobody could have named.
fn not_understood(policy: &PolicyStack) -> Outcome {
    let subject = Subject { space: Space::Exec, bytes: b"\x01\0", has_many: false };
    match ruling(policy, subject) {
        Some(found) if found.effect == Effect::Deny => {
            Outcome { effect: Effect::Deny, ruling: Some(found), why: Why::Rule }
        }
        _ => Outcome { effect: Effect::Ask, ruling: None, why: Why::Opaque },
    }
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

/// A rule that holds back and could match counts as an ask: it may not be passed by, and it may not be meant. What is asked
/// about anyway needs no such look, unless a hook would save the question.
fn held_back(
    policy: &PolicyStack,
    argv: &[u8],
    outcome: Outcome,
    hook: Option<hook::Lift>,
) -> Outcome {
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

/// Judges every spelling of a path; the strictest counts.
fn by_path(
    policy: &PolicyStack,
    context: &Context<'_>,
    path: &PathAccess,
    space: Space,
) -> Outcome {
    let inside = is_inside(context.roots, path);
    let one = |spelling: &AbsPath| {
        let by_default = |effect, why| Outcome { effect, ruling: None, why };
        let default = match (space, inside) {
            (Space::Read | Space::External, true) => by_default(Effect::Allow, Why::Inside),
            (Space::Read, false) => outside(policy, spelling, context),
            (Space::Edit, true) if path.touch == Touch::Program => CARRIED,
            (_, true) => by_default(Effect::Ask, Why::NoRule),
            (_, false) => by_default(Effect::Ask, Why::Outside),
        };
        let ruling = path_ruling(policy, context, spelling, space);
        // What the built-in rules say of secrets is about what is in them, not about their names.
        let ruling = ruling
            .filter(|ruling| path.touch != Touch::Names || ruling.layer != LayerKind::Default);
        let ruling = ruling.filter(|ruling| inside || !reaches_too_far(*ruling, space));
        ruling.map_or(default, |found| by_rule_or(Some(found), (default.effect, default.why)))
    };
    let written = one(&path.path);
    match path.resolved.as_ref().map(one) {
        Some(resolved) if resolved.effect > written.effect => resolved,
        // Between two that ask, the one that a person wants to ask counts: a mode does not answer it.
        Some(resolved) if resolved.effect == written.effect && outspeaks(&resolved, &written) => {
            resolved
        }
        _ => written,
    }
}

/// A rule that allows every edit means those inside the project: to leave it is asked about by itself, as with Claude Code
/// and OpenCode. A rule that names a place outside is meant; and so is one for every read, since inside they are free.
const fn reaches_too_far(ruling: Ruling, space: Space) -> bool {
    matches!((ruling.effect, space), (Effect::Allow, Space::Edit)) && ruling.bare
}

/// A read outside the project is as free as `external_directory` says. A rule that holds it back is a rule about it: no mode answers it.
fn outside(policy: &PolicyStack, path: &AbsPath, context: &Context<'_>) -> Outcome {
    match path_ruling(policy, context, path, Space::External) {
        Some(found) if found.effect == Effect::Allow => {
            Outcome { effect: Effect::Allow, ruling: None, why: Why::Outside }
        }
        Some(found) => Outcome { effect: found.effect, ruling: Some(found), why: Why::Rule },
        None => Outcome { effect: Effect::Ask, ruling: None, why: Why::Outside },
    }
}

fn path_ruling(
    policy: &PolicyStack,
    context: &Context<'_>,
    path: &AbsPath,
    space: Space,
) -> Option<Ruling> {
    let mut ranks: Ranks = [0; MAX_LAYERS];
    subject::of_path(path.as_str().trim_start_matches('/'), |bytes| {
        policy.ask(Subject { space, bytes, has_many: false }, &mut ranks);
    });
    if let Some(below) = path.below(context.cwd) {
        let here = match space {
            Space::Read => Space::ReadHere,
            Space::Edit => Space::EditHere,
            _ => Space::ExternalHere,
        };
        subject::of_path(below, |bytes| {
            policy.ask(Subject { space: here, bytes, has_many: false }, &mut ranks);
        });
    }
    policy.combine(&ranks)
}

fn is_inside(roots: &[AbsPath], path: &PathAccess) -> bool {
    path.spellings().all(|spelling| roots.iter().any(|root| spelling.below(root).is_some()))
}

/// What the mode makes of an answer that no rule of a person gave.
fn in_mode(
    policy: &PolicyStack,
    context: &Context<'_>,
    access: &Access,
    outcome: Outcome,
) -> Outcome {
    let by_mode = |effect| Outcome { effect, why: Why::Mode(context.mode), ..outcome };
    let asked_by_nobody = outcome.effect == Effect::Ask && !spoken(&outcome);
    match context.mode {
        PermissionMode::Default | PermissionMode::DontAsk => outcome,
        PermissionMode::AcceptEdits => match access {
            Access::Edit(path) if asked_by_nobody && is_inside(context.roots, path) => {
                by_mode(Effect::Allow)
            }
            Access::Exec(exec) if asked_by_nobody && exec.class == CommandClass::Edits => {
                by_mode(Effect::Allow)
            }
            _ => outcome,
        },
        PermissionMode::Plan if outcome.effect < Effect::Deny && changes(access, &outcome) => {
            by_mode(Effect::Deny)
        }
        PermissionMode::Plan => outcome,
        PermissionMode::BypassPermissions if outcome.why == Why::Opaque && policy.holds_back() => {
            outcome
        }
        PermissionMode::BypassPermissions if asked_by_nobody => by_mode(Effect::Allow),
        PermissionMode::BypassPermissions => outcome,
    }
}

/// Says whether a rule of a person decided, or could have.
const fn spoken(outcome: &Outcome) -> bool {
    match (outcome.why, outcome.ruling) {
        (Why::Possible(_), _) => true,
        (Why::Rule, Some(ruling)) => !matches!(ruling.layer, LayerKind::Default),
        _ => false,
    }
}

/// Says whether an access changes anything, as far as is known.
fn changes(access: &Access, outcome: &Outcome) -> bool {
    match access {
        Access::Exec(exec) => exec.class != CommandClass::Harmless,
        Access::Edit(_) | Access::Opaque { .. } => true,
        Access::CallTool { .. } => {
            !matches!(outcome.ruling, Some(ruling) if ruling.layer == LayerKind::Default)
        }
        Access::Read(_)
        | Access::Fetch { .. }
        | Access::Delegate { .. }
        | Access::DoomLoop { .. }
        | Access::ExternalDirectory(_) => false,
    }
}

/// Says whether of two spellings that ask this one speaks: a person's rule does, unless the other is more binding.
fn outspeaks(outcome: &Outcome, other: &Outcome) -> bool {
    let binds = |one: &Outcome| {
        one.ruling.is_some_and(|ruling| ruling.human || ruling.layer == LayerKind::Managed)
    };
    (spoken(outcome) || binds(outcome)) && (is_for_a_person(outcome) || !binds(other))
}

/// Says whether a rule that only a person answers has decided.
fn is_for_a_person(outcome: &Outcome) -> bool {
    outcome.effect == Effect::Ask && matches!(outcome.ruling, Some(ruling) if ruling.human)
}

/// Turns an allow into an ask where a path wants it. Secrets may be read by a rule that names this very path.
fn above_the_floor(mode: PermissionMode, access: &Access, outcome: Outcome) -> Outcome {
    if outcome.effect != Effect::Allow {
        return outcome;
    }
    let ask = |why| Outcome { effect: Effect::Ask, why, ..outcome };
    match access {
        Access::Edit(path) if path.spellings().any(safety_floor::is_protected) => {
            ask(Why::Protected)
        }
        Access::Exec(exec) if safety_floor::answers_for_a_person(&exec.argv) => {
            ask(Why::ForAPerson)
        }
        Access::Read(path)
            if path.touch != Touch::Names
                && mode != PermissionMode::BypassPermissions
                && !(path.resolved.is_none()
                    && matches!(outcome.ruling, Some(ruling) if ruling.exact))
                && path.spellings().any(safety_floor::is_secret) =>
        {
            ask(Why::Secret)
        }
        _ => outcome,
    }
}
