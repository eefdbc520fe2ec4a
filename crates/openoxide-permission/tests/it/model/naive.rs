//! A second gate: lists, and a look at everything after every step. It is slow and obviously right, and knows neither the
//! index nor the evaluator.

use Effect::{Allow, Ask, Deny};
use openoxide_permission::{GroupAnswer, inherit_mode};
use openoxide_protocol::{
    ApprovalId, ApprovalResponse, Effect, GrantScope, PermissionMode, ResolutionKind, SessionId,
};

/// A rule about one program, or about one command.
#[derive(Clone, Debug)]
pub(super) struct NaiveRule {
    pub(super) effect: Effect,
    pub(super) human: bool,
    pub(super) program: &'static str,
    pub(super) argument: Option<&'static str>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct NaivePolicy {
    pub(super) rules: Vec<NaiveRule>,
    pub(super) bars_bypass: bool,
}

/// A command that may include an opaque access and may be a repetition.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) id: ApprovalId,
    pub(super) session: SessionId,
    pub(super) program: &'static str,
    pub(super) argument: &'static str,
    pub(super) opaque: bool,
    pub(super) repeats: bool,
    pub(super) explicit: bool,
    pub(super) keys: Vec<&'static str>,
    pub(super) group: Option<&'static str>,
}

impl Call {
    /// Returns the name of the operation. It does not depend on whether the call is a repetition.
    pub(super) fn exactly(&self) -> String {
        format!("{} {} {}", self.program, self.argument, self.opaque)
    }
}

/// The result of an evaluation.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) effect: Effect,
    human: bool,
    pub(super) always: Vec<String>,
}

#[derive(Debug)]
struct Waits {
    call: Call,
    explicit: bool,
    always: Vec<String>,
}

/// The end of a request, as far as both gates report it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ended {
    pub(super) id: ApprovalId,
    pub(super) kind: String,
    pub(super) outcome: String,
}

#[derive(Debug, Default)]
pub(super) struct Naive {
    pub(super) policy: NaivePolicy,
    usual: PermissionMode,
    modes: Vec<(SessionId, PermissionMode)>,
    parents: Vec<(SessionId, SessionId)>,
    known: Vec<SessionId>,
    granted: Vec<(SessionId, String)>,
    waits: Vec<Waits>,
}

impl Naive {
    fn know(&mut self, session: SessionId) {
        if !self.known.contains(&session) {
            self.known.push(session);
        }
    }

    pub(super) fn mode(&self, session: SessionId) -> PermissionMode {
        let mode = self.chosen(session);
        let barred = self.policy.bars_bypass && mode == PermissionMode::BypassPermissions;
        if barred { PermissionMode::Default } else { mode }
    }

    fn chosen(&self, session: SessionId) -> PermissionMode {
        let own = self.modes.iter().find(|(of, _)| *of == session).map(|(_, mode)| *mode);
        match self.parents.iter().find(|(of, _)| *of == session) {
            Some((_, parent)) => inherit_mode(self.chosen(*parent), own),
            None => own.unwrap_or(self.usual),
        }
    }

    fn is_granted(&self, session: SessionId, what: &str) -> bool {
        self.granted.iter().any(|(of, granted)| *of == session && granted == what)
    }

    pub(super) fn evaluate(&self, call: &Call) -> Said {
        let mode = self.mode(call.session);
        let matches = |rule: &&NaiveRule| {
            rule.program == call.program && rule.argument.is_none_or(|word| word == call.argument)
        };
        let spoken = self.policy.rules.iter().filter(matches).map(|rule| rule.effect).max();
        let human =
            spoken == Some(Ask) && self.policy.rules.iter().filter(matches).any(|r| r.human);
        let holds_back = self.policy.rules.iter().any(|rule| rule.effect != Allow);
        // Each part: what it would be without a mode, whether bypassing leaves it, the rule that would remember it.
        let mut parts =
            vec![(spoken.unwrap_or(Ask), spoken.is_some(), format!("Bash({} *)", call.program))];
        if call.opaque {
            parts.push((Ask, holds_back, String::new()));
        }
        if call.repeats {
            parts.push((Ask, false, "DoomLoop(Bash)".to_owned()));
        }
        for (effect, stays, rule) in &mut parts {
            *effect = match mode {
                PermissionMode::Default
                | PermissionMode::AcceptEdits
                | PermissionMode::Sandboxed => *effect,
                PermissionMode::Plan if rule.starts_with("Doom") => *effect,
                PermissionMode::Plan => Deny,
                PermissionMode::DontAsk => {
                    if *effect == Ask {
                        Deny
                    } else {
                        *effect
                    }
                }
                PermissionMode::BypassPermissions if *effect == Ask && !*stays => Allow,
                PermissionMode::BypassPermissions => *effect,
            };
        }
        let asking = parts.iter().filter(|part| part.0 == Ask);
        let mut always: Vec<_> = asking.map(|part| part.2.clone()).collect();
        if human || always.iter().any(String::is_empty) || parts.iter().any(|part| part.0 == Deny) {
            always.clear();
        }
        let mut effect = parts.iter().map(|part| part.0).max().unwrap();
        let granted = |what: &str| self.is_granted(call.session, what);
        let exactly = granted(&call.exactly());
        let keyed = !call.keys.is_empty() && call.keys.iter().all(|key| granted(key));
        let lasts = !always.is_empty();
        let covered = |(effect, _, rule): &(Effect, bool, String)| {
            let repeats = rule.starts_with("Doom");
            *effect == Allow
                || !repeats && (exactly || lasts && keyed)
                || (exactly || lasts) && granted(rule)
        };
        if effect == Ask && !human && (exactly || lasts) && parts.iter().all(covered) {
            effect = Allow;
        }
        if call.explicit {
            always.clear();
            if effect == Allow {
                effect = if mode == PermissionMode::DontAsk { Deny } else { Ask };
            }
        }
        Said { effect, human: human && effect == Ask, always }
    }

    /// Decides a call. A call that requires approval becomes pending.
    pub(super) fn check(&mut self, call: &Call) -> Said {
        let mut said = self.evaluate(call);
        if said.effect == Ask && self.waits.iter().any(|waits| waits.call.id == call.id) {
            said.effect = Deny;
        }
        if said.effect == Ask {
            let (explicit, always) = (call.explicit || said.human, said.always.clone());
            self.waits.push(Waits { call: call.clone(), explicit, always });
        }
        said
    }

    pub(super) fn pending(&self) -> Vec<ApprovalId> {
        self.waits.iter().map(|waits| waits.call.id).collect()
    }

    pub(super) fn answer(
        &mut self,
        id: ApprovalId,
        response: &ApprovalResponse,
    ) -> Option<Vec<Ended>> {
        let at = self.waits.iter().position(|waits| waits.call.id == id)?;
        let waits = self.waits.remove(at);
        let session = waits.call.session;
        let mut ended = vec![of(id, ResolutionKind::Answered, outcome(response))];
        match response {
            ApprovalResponse::Approved { scope, .. } if !waits.explicit => {
                self.remember(&waits, *scope);
            }
            ApprovalResponse::Approved { .. } | ApprovalResponse::Denied => {}
            ApprovalResponse::Rejected { .. } => {
                ended.extend(self.end(ResolutionKind::Cascade, "rejected", |waits| {
                    waits.call.session == session
                }));
            }
            ApprovalResponse::Cancelled => {
                ended.extend(self.end(ResolutionKind::Cascade, "cancelled", |waits| {
                    waits.call.session == session
                }));
            }
        }
        ended.extend(self.look_again());
        Some(ended)
    }

    fn remember(&mut self, waits: &Waits, scope: GrantScope) {
        let session = waits.call.session;
        let mut what = Vec::new();
        match scope {
            // No call of the model offers a directory.
            GrantScope::Once | GrantScope::Directory => return,
            GrantScope::Session => {
                what.push(waits.call.exactly());
                if !waits.always.is_empty() {
                    what.extend(waits.call.keys.iter().map(|key| (*key).to_owned()));
                }
                what.extend(waits.call.repeats.then(|| "DoomLoop(Bash)".to_owned()));
            }
            GrantScope::Project => what.extend(waits.always.iter().cloned()),
        }
        self.know(session);
        self.granted.extend(what.into_iter().map(|what| (session, what)));
    }

    pub(super) fn answer_group(
        &mut self,
        session: SessionId,
        group: &str,
        answer: GroupAnswer,
    ) -> Vec<Ended> {
        let all = answer == GroupAnswer::All;
        let meant = |waits: &Waits| {
            waits.call.session == session
                && waits.call.group == Some(group)
                && !(all && waits.explicit)
        };
        self.end(ResolutionKind::Answered, if all { "granted" } else { "rejected" }, meant)
    }

    pub(super) fn withdraw(&mut self, id: ApprovalId) -> Vec<Ended> {
        self.end(ResolutionKind::Withdrawn, "cancelled", |waits| waits.call.id == id)
    }

    pub(super) fn set_mode(&mut self, session: SessionId, mode: PermissionMode) -> Vec<Ended> {
        self.know(session);
        self.modes.retain(|(of, _)| *of != session);
        self.modes.push((session, mode));
        self.look_again()
    }

    pub(super) fn set_policy(&mut self, policy: NaivePolicy) -> Vec<Ended> {
        self.policy = policy;
        self.look_again()
    }

    pub(super) fn start(
        &mut self,
        parent: SessionId,
        session: SessionId,
        mode: Option<PermissionMode>,
    ) -> bool {
        let waits = self.waits.iter().any(|waits| waits.call.session == session);
        if session == parent || waits || self.known.contains(&session) {
            return false;
        }
        self.know(parent);
        self.know(session);
        self.parents.push((session, parent));
        self.modes.extend(mode.map(|mode| (session, mode)));
        true
    }

    pub(super) fn end_session(&mut self, session: SessionId) -> Vec<Ended> {
        let below: Vec<_> =
            self.parents.iter().filter(|(_, of)| *of == session).map(|(s, _)| *s).collect();
        let mut ended: Vec<_> =
            below.into_iter().flat_map(|below| self.end_session(below)).collect();
        ended.extend(
            self.end(ResolutionKind::Withdrawn, "cancelled", |waits| waits.call.session == session),
        );
        self.modes.retain(|(of, _)| *of != session);
        self.parents.retain(|(of, _)| *of != session);
        self.known.retain(|of| *of != session);
        self.granted.retain(|(of, _)| *of != session);
        ended
    }

    /// Looks at everything that waits: what evaluating allows or denies now has ended.
    fn look_again(&mut self) -> Vec<Ended> {
        let said: Vec<_> = self.waits.iter().map(|waits| self.evaluate(&waits.call)).collect();
        for (waits, said) in self.waits.iter_mut().zip(&said) {
            waits.explicit |= said.human;
        }
        let mut said = said.into_iter();
        let mut ended = Vec::new();
        self.waits.retain(|waits| match said.next().unwrap().effect {
            Ask => true,
            effect => {
                let outcome = if effect == Allow { "granted" } else { "denied" };
                ended.push(of(waits.call.id, ResolutionKind::Retroactive, outcome));
                false
            }
        });
        ended
    }

    fn end(
        &mut self,
        kind: ResolutionKind,
        outcome: &str,
        meant: impl Fn(&Waits) -> bool,
    ) -> Vec<Ended> {
        let ids: Vec<_> =
            self.waits.iter().filter(|waits| meant(waits)).map(|waits| waits.call.id).collect();
        self.waits.retain(|waits| !meant(waits));
        ids.into_iter().map(|id| of(id, kind, outcome)).collect()
    }
}

fn of(id: ApprovalId, kind: ResolutionKind, outcome: &str) -> Ended {
    Ended { id, kind: format!("{kind:?}"), outcome: outcome.to_owned() }
}

fn outcome(response: &ApprovalResponse) -> &'static str {
    match response {
        ApprovalResponse::Approved { .. } => "granted",
        ApprovalResponse::Rejected { message: Some(_) } => "corrected",
        ApprovalResponse::Rejected { message: None } | ApprovalResponse::Denied => "rejected",
        ApprovalResponse::Cancelled => "cancelled",
    }
}
