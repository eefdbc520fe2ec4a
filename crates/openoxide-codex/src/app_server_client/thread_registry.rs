//! The conversations of a server, and attaching to them.
//!
//! A client can attach to a conversation after its first turn has started. Before that the server
//! cannot resume it, and the client tries again.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use openoxide_protocol::AbsPath;
use serde_json::{Value, json};

use super::{
    client_event::ClientEvent,
    connection::{AppServer, ServerError},
};
use crate::app_server::ServerCallError;

/// The interval between two attempts to attach.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// The maximum number of conversations. A person could not follow more at once.
const MAX_THREADS: usize = 1000;

/// The known conversations.
#[derive(Debug)]
pub(super) struct ThreadRegistry {
    /// The only conversation to attach to, if one was selected.
    selected_thread: Option<String>,
    threads: BTreeMap<String, ThreadState>,
    pending_calls: BTreeMap<i64, PendingServerCall>,
    last_attempt: Option<Instant>,
    /// The conversations for which a failed attempt was reported.
    reported_threads: BTreeSet<String>,
}

#[derive(Debug)]
enum ThreadState {
    /// A conversation that cannot be attached to yet.
    NotStarted,
    /// A conversation with a pending attempt to attach.
    Attaching,
    /// An attached conversation, with its directory. The client receives its requests.
    Attached(AbsPath),
}

/// A call of this client that waits for the server's response.
#[derive(Debug)]
enum PendingServerCall {
    List,
    Resume(String),
}

impl ThreadRegistry {
    /// Requests the list of conversations, or only the selected one.
    ///
    /// # Errors
    /// Returns an error if the server is no longer available.
    pub(super) fn request_threads(
        server: &mut AppServer,
        only: Option<&str>,
    ) -> Result<Self, ServerError> {
        let mut threads = Self {
            selected_thread: only.map(str::to_owned),
            threads: BTreeMap::new(),
            pending_calls: BTreeMap::new(),
            last_attempt: None,
            reported_threads: BTreeSet::new(),
        };
        match only {
            Some(only) => threads.insert(only.to_owned()),
            None => threads.request_list(server, None)?,
        }
        Ok(threads)
    }

    /// Returns the directory of an attached conversation.
    pub(super) fn cwd(&self, thread: &str) -> Option<&AbsPath> {
        match self.threads.get(thread) {
            Some(ThreadState::Attached(cwd)) => Some(cwd),
            _ => None,
        }
    }

    /// Adds a conversation.
    pub(super) fn insert(&mut self, thread: String) {
        let wanted = self.selected_thread.as_ref().is_none_or(|only| *only == thread);
        if wanted && self.threads.len() < MAX_THREADS {
            self.threads.entry(thread).or_insert(ThreadState::NotStarted);
        }
    }

    /// Attaches to all conversations that are not attached yet.
    ///
    /// # Errors
    /// Returns an error if the server is no longer available.
    pub(super) fn attach_pending(&mut self, server: &mut AppServer) -> Result<(), ServerError> {
        if self.last_attempt.is_some_and(|tried| tried.elapsed() < RETRY_INTERVAL) {
            return Ok(());
        }
        self.last_attempt = Some(Instant::now());
        for (name, thread) in &mut self.threads {
            if matches!(thread, ThreadState::NotStarted) {
                // The history is not needed, and its size is not limited.
                let params = json!({ "threadId": name, "excludeTurns": true });
                let call = server.send_call("thread/resume", &params)?;
                self.pending_calls.insert(call, PendingServerCall::Resume(name.clone()));
                *thread = ThreadState::Attaching;
            }
        }
        Ok(())
    }

    /// Handles the response to a call. Returns the event to report, if any.
    ///
    /// # Errors
    /// Returns an error if the server is no longer available.
    pub(super) fn handle_answer(
        &mut self,
        server: &mut AppServer,
        call: i64,
        answer: Result<Value, ServerCallError>,
    ) -> Result<Option<ClientEvent>, ServerError> {
        match (self.pending_calls.remove(&call), answer) {
            (Some(PendingServerCall::List), Ok(list)) => {
                self.handle_list(server, &list).map(|()| None)
            }
            (Some(PendingServerCall::List), Err(error)) => {
                Err(ServerError::CallRefused(error.to_string()))
            }
            (Some(PendingServerCall::Resume(thread)), Ok(resumed)) => {
                Ok(self.handle_attached(thread, &resumed))
            }
            (Some(PendingServerCall::Resume(thread)), Err(error)) => {
                Ok(self.retry_later(thread, error.to_string()))
            }
            (None, _) => Ok(None),
        }
    }

    fn request_list(
        &mut self,
        server: &mut AppServer,
        cursor: Option<&str>,
    ) -> Result<(), ServerError> {
        let call = server.send_call("thread/loaded/list", &json!({ "cursor": cursor }))?;
        self.pending_calls.insert(call, PendingServerCall::List);
        Ok(())
    }

    fn handle_list(&mut self, server: &mut AppServer, list: &Value) -> Result<(), ServerError> {
        let names = list.get("data").and_then(Value::as_array).into_iter().flatten();
        names.filter_map(Value::as_str).for_each(|name| self.insert(name.to_owned()));
        match list.get("nextCursor").and_then(Value::as_str) {
            Some(cursor) if self.threads.len() < MAX_THREADS => {
                self.request_list(server, Some(cursor))
            }
            _ => Ok(()),
        }
    }

    fn handle_attached(&mut self, thread: String, resumed: &Value) -> Option<ClientEvent> {
        let cwd = resumed.get("cwd").and_then(Value::as_str);
        let Some(cwd) = cwd.and_then(|cwd| AbsPath::new(cwd).ok()) else {
            return self.retry_later(thread, "its directory cannot be determined".to_owned());
        };
        self.threads.insert(thread.clone(), ThreadState::Attached(cwd.clone()));
        Some(ClientEvent::ThreadAttached { thread, cwd })
    }

    /// Marks a conversation for another attempt, and reports the first failure. A conversation
    /// without a turn cannot be resumed yet.
    fn retry_later(&mut self, thread: String, reason: String) -> Option<ClientEvent> {
        self.threads.insert(thread.clone(), ThreadState::NotStarted);
        let is_first = self.reported_threads.insert(thread.clone());
        is_first.then_some(ClientEvent::ThreadNotStarted { thread, reason })
    }
}
