//! The state of each session: its mode, its parent, and its grants.

use std::collections::HashMap;

use openoxide_protocol::{GrantTerms, PermissionMode, SessionId};

use crate::{session_grants::SessionGrants, subagent_mode::inherit_mode};

/// The state of one session.
#[derive(Debug, Default)]
struct SessionState {
    /// The mode that was set for the session.
    mode: Option<PermissionMode>,
    parent: Option<SessionId>,
    subagents: Vec<SessionId>,
    grants: SessionGrants,
    task: Option<TaskGrants>,
}

/// The current task of a session, and the grants for it.
#[derive(Debug)]
struct TaskGrants {
    name: String,
    grants: SessionGrants,
}

/// The sessions that have a state.
#[derive(Debug)]
pub(super) struct SessionRegistry {
    /// The mode of a session for which none was set.
    default_mode: PermissionMode,
    sessions: HashMap<SessionId, SessionState>,
}

impl SessionRegistry {
    pub(super) fn new(default_mode: PermissionMode) -> Self {
        Self { default_mode, sessions: HashMap::new() }
    }

    /// Returns the mode of a session: the mode of its topmost ancestor, inherited step by step.
    pub(super) fn mode(&self, session: SessionId) -> PermissionMode {
        let mut line = Vec::new();
        let mut at = self.sessions.get(&session);
        while let Some(session) = at {
            line.push(session);
            at = session.parent.and_then(|parent| self.sessions.get(&parent));
        }
        let first = line.pop().and_then(|first| first.mode).unwrap_or(self.default_mode);
        line.into_iter().rev().fold(first, |mode, session| inherit_mode(mode, session.mode))
    }

    pub(super) fn set_mode(&mut self, session: SessionId, mode: PermissionMode) {
        self.sessions.entry(session).or_default().mode = Some(mode);
    }

    /// Adds a new session as a subagent of another one. Returns false if the session is already
    /// known, so that no session can leave its parent.
    pub(super) fn add_subagent(
        &mut self,
        parent: SessionId,
        session: SessionId,
        chosen: Option<PermissionMode>,
    ) -> bool {
        if session == parent || self.sessions.contains_key(&session) {
            return false;
        }
        self.sessions.entry(parent).or_default().subagents.push(session);
        let new = SessionState { mode: chosen, parent: Some(parent), ..SessionState::default() };
        self.sessions.insert(session, new);
        true
    }

    /// Returns a session and all of its direct and indirect subagents.
    pub(super) fn session_tree(&self, session: SessionId) -> Vec<SessionId> {
        let mut family = vec![session];
        let mut at = 0;
        while let Some(next) = family.get(at) {
            let below = self.sessions.get(next).map(|session| session.subagents.clone());
            family.extend(below.unwrap_or_default());
            at += 1;
        }
        family
    }

    /// Removes a session and its subagents, and returns them.
    pub(super) fn remove(&mut self, session: SessionId) -> Vec<SessionId> {
        let family = self.session_tree(session);
        let parent = self.sessions.get(&session).and_then(|session| session.parent);
        if let Some(parent) = parent.and_then(|parent| self.sessions.get_mut(&parent)) {
            parent.subagents.retain(|of| *of != session);
        }
        for session in &family {
            self.sessions.remove(session);
        }
        family
    }

    /// Starts another task and removes the grants of the previous one.
    pub(super) fn begin_task(&mut self, session: SessionId, name: Option<String>) {
        if name.is_none() && !self.sessions.contains_key(&session) {
            return;
        }
        let of = self.sessions.entry(session).or_default();
        if of.task.as_ref().map(|task| &task.name) != name.as_ref() {
            of.task = name.map(|name| TaskGrants { name, grants: SessionGrants::default() });
        }
    }

    pub(super) fn task(&self, session: SessionId) -> Option<String> {
        self.sessions.get(&session)?.task.as_ref().map(|task| task.name.clone())
    }

    /// Returns the grants of the session and of its task.
    pub(super) fn grants(&self, session: SessionId) -> impl Iterator<Item = &SessionGrants> {
        let known = self.sessions.get(&session);
        let task = known.and_then(|session| session.task.as_ref()).map(|task| &task.grants);
        known.map(|session| &session.grants).into_iter().chain(task)
    }

    /// Returns the grants in which an approval with these terms is remembered. Returns `None` if
    /// the task has ended, or if the terms include an expiry, a use limit or a directory. Such
    /// grants are stored elsewhere, and the approval is valid once here.
    pub(super) fn grants_for_terms(
        &mut self,
        session: SessionId,
        terms: &GrantTerms,
        task: Option<&str>,
    ) -> Option<&mut SessionGrants> {
        if terms.expires_in_seconds.is_some()
            || terms.max_uses.is_some()
            || terms.directory.is_some()
        {
            return None;
        }
        let of = self.sessions.entry(session).or_default();
        match &mut of.task {
            _ if !terms.until_task_end => Some(&mut of.grants),
            Some(now) if Some(now.name.as_str()) == task => Some(&mut now.grants),
            _ => None,
        }
    }

    pub(super) fn grants_mut(&mut self, session: SessionId) -> &mut SessionGrants {
        &mut self.sessions.entry(session).or_default().grants
    }
}
