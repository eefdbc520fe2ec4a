//! What the gate knows of each session: its mode, whose subagent it is, and what was granted in it.

use std::collections::HashMap;

use openoxide_protocol::{PermissionMode, SessionId};

use crate::{grant::Grants, mode::inherited};

/// One session.
#[derive(Debug, Default)]
struct Session {
    /// The mode that was chosen for it.
    chosen: Option<PermissionMode>,
    parent: Option<SessionId>,
    subagents: Vec<SessionId>,
    grants: Grants,
}

/// The sessions of which there is anything to know.
#[derive(Debug)]
pub(super) struct Sessions {
    /// The mode of a session for which none was chosen.
    usual: PermissionMode,
    known: HashMap<SessionId, Session>,
}

impl Sessions {
    pub(super) fn new(usual: PermissionMode) -> Self {
        Self { usual, known: HashMap::new() }
    }

    /// Returns the mode of a session: that of the first agent above it, handed down step by step.
    pub(super) fn mode(&self, session: SessionId) -> PermissionMode {
        let mut line = Vec::new();
        let mut at = self.known.get(&session);
        while let Some(session) = at {
            line.push(session);
            at = session.parent.and_then(|parent| self.known.get(&parent));
        }
        let first = line.pop().and_then(|first| first.chosen).unwrap_or(self.usual);
        line.into_iter().rev().fold(first, |mode, session| inherited(mode, session.chosen))
    }

    pub(super) fn set_mode(&mut self, session: SessionId, mode: PermissionMode) {
        self.known.entry(session).or_default().chosen = Some(mode);
    }

    /// Puts a new session below another; says no where it is known already, so that no session can leave its parent.
    pub(super) fn start(
        &mut self,
        parent: SessionId,
        session: SessionId,
        chosen: Option<PermissionMode>,
    ) -> bool {
        if session == parent || self.known.contains_key(&session) {
            return false;
        }
        self.known.entry(parent).or_default().subagents.push(session);
        let new = Session { chosen, parent: Some(parent), ..Session::default() };
        self.known.insert(session, new);
        true
    }

    /// Returns a session and all that were started below it.
    pub(super) fn family(&self, session: SessionId) -> Vec<SessionId> {
        let mut family = vec![session];
        let mut at = 0;
        while let Some(next) = family.get(at) {
            let below = self.known.get(next).map(|session| session.subagents.clone());
            family.extend(below.unwrap_or_default());
            at += 1;
        }
        family
    }

    /// Forgets a session and all below it; returns them.
    pub(super) fn end(&mut self, session: SessionId) -> Vec<SessionId> {
        let family = self.family(session);
        let parent = self.known.get(&session).and_then(|session| session.parent);
        if let Some(parent) = parent.and_then(|parent| self.known.get_mut(&parent)) {
            parent.subagents.retain(|of| *of != session);
        }
        for session in &family {
            self.known.remove(session);
        }
        family
    }

    pub(super) fn grants(&self, session: SessionId) -> Option<&Grants> {
        self.known.get(&session).map(|session| &session.grants)
    }

    pub(super) fn grants_mut(&mut self, session: SessionId) -> &mut Grants {
        &mut self.known.entry(session).or_default().grants
    }
}
