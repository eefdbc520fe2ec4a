//! What the server says, and what is kept of it.

use std::collections::VecDeque;

use openoxide_adapters::codex::wire::{
    Asked, BegunCall, Change, Heard, Item, Request, RequestId, heard,
};

use super::{
    Reviewer, Stop,
    lines::{elsewhere, say},
};

/// So many messages are read before something else is looked at.
const AT_ONCE: usize = 500;
/// So many requests wait; more are left to others.
const MOST_WAITING: usize = 200;
/// The changes of so many items are kept: they come right before their request.
const MOST_CHANGES: usize = 16;
/// So many calls of tools run at a time; those that began before are forgotten.
const MOST_CALLS: usize = 64;

/// The changes of files that were told last.
#[derive(Debug, Default)]
pub(super) struct Changes(VecDeque<(Item, Vec<Change>)>);

impl Changes {
    fn keep(&mut self, item: Item, changes: Vec<Change>) {
        self.0.retain(|(kept, _)| *kept != item);
        self.0.push_back((item, changes));
        if self.0.len() > MOST_CHANGES {
            self.0.pop_front();
        }
    }

    pub(super) fn of(&self, asked: &Asked) -> Option<&[Change]> {
        let meant = |item: &Item| item.item == asked.call() && item.thread == asked.thread();
        self.0.iter().find(|(item, _)| meant(item)).map(|(_, changes)| changes.as_slice())
    }
}

/// The calls of tools that run.
#[derive(Debug, Default)]
pub(super) struct Calls(VecDeque<(Item, BegunCall)>);

impl Calls {
    fn begin(&mut self, item: Item, call: BegunCall) {
        self.end(&item);
        self.0.push_back((item, call));
        if self.0.len() > MOST_CALLS {
            self.0.pop_front();
        }
    }

    fn end(&mut self, item: &Item) {
        self.0.retain(|(running, _)| running != item);
    }

    pub(super) fn of(&self, thread: &str) -> Vec<&BegunCall> {
        let own = self.0.iter().filter(|(item, _)| item.thread == thread);
        own.map(|(_, call)| call).collect()
    }
}

impl Reviewer<'_> {
    /// Listens to the server for a moment.
    pub(super) fn listen(&mut self) -> Result<(), Stop> {
        for _ in 0..AT_ONCE {
            if self.signals.as_ref().is_some_and(crate::review::Signals::came) {
                return Err(Stop::Interrupted);
            }
            let Some(message) = self.server.hear().map_err(Stop::Lost)? else { break };
            self.take(heard(message))?;
        }
        self.threads.tend(&mut self.server).map_err(Stop::Lost)
    }

    fn take(&mut self, heard: Heard) -> Result<(), Stop> {
        match heard {
            Heard::Asked(request) => self.wait(*request),
            Heard::Other(method) => {
                say(&format!("left to the other client: `{method}` is not supported here"));
            }
            Heard::Resolved(id) => self.resolve(&id),
            Heard::Changes(item, changes) => self.changes.keep(item, changes),
            Heard::Call(item, call) => self.calls.begin(item, call),
            Heard::Ended(item) => self.calls.end(&item),
            Heard::Thread(thread) => self.threads.heard(thread),
            Heard::Answered(call, answer) => {
                let taken = self.threads.answered(&mut self.server, call, answer);
                taken.map_err(Stop::Lost)?;
            }
            Heard::Nothing => {}
        }
        Ok(())
    }

    /// Puts a request behind those that wait, unless it is known: the server says again what is open.
    fn wait(&mut self, request: Request) {
        let id = &request.id;
        let known = self.current.as_ref() == Some(id)
            || self.answered.contains(id)
            || self.waiting.iter().any(|waiting| waiting.id == *id);
        if known {
            return;
        }
        if self.waiting.len() >= MOST_WAITING {
            return say("left to the other client: too many requests wait");
        }
        self.waiting.push_back(request);
    }

    /// Takes a request away that was answered: one of ours, the one that is shown, or one that waits.
    fn resolve(&mut self, id: &RequestId) {
        if self.answered.remove(id) {
            return;
        }
        if self.current.as_ref() == Some(id) {
            self.resolved.insert(id.clone());
        }
        let meant = |request: &Request| request.id == *id;
        let at = self.waiting.iter().position(meant);
        if let Some(request) = at.and_then(|at| self.waiting.remove(at)) {
            elsewhere(request.asked.call());
        }
    }
}
