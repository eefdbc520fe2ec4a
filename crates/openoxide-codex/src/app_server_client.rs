//! A client of a Codex app server that answers approval requests.
//!
//! The client connects, attaches to the conversations, and stores the items that requests refer to.
//! It makes no decisions: a [`RequestReviewer`] reviews each request. The first answer of all
//! clients applies, so the reviewer lets the client read messages ([`AppServerClient::poll`]) while
//! it waits.

mod client_event;
mod connection;
mod reported_items;
mod thread_registry;

use std::collections::{BTreeSet, VecDeque};

use openoxide_protocol::{AbsPath, SessionId};

use self::{
    reported_items::{ItemChanges, RunningCalls},
    thread_registry::ThreadRegistry,
};
use crate::{
    app_server::{ApprovalParams, RequestId, ServerMessage, ServerRequest, parse_server_message},
    approval_review::{CodexAnswer, ReviewRequest, ThreadContext, parse_review_request},
};

pub use self::{
    client_event::ClientEvent,
    connection::{AppServer, ConnectError, ServerError},
};

/// The maximum number of messages that are read before other work is done.
const MAX_MESSAGES_PER_POLL: usize = 500;
/// The maximum number of queued requests. Further requests are left to other clients.
const MAX_QUEUED_REQUESTS: usize = 200;

/// A reviewer of requests. It also reports events, and can stop the client.
pub trait RequestReviewer {
    /// Reviews a request, and answers it with [`AppServerClient::send_answer`] or leaves it to
    /// other clients.
    ///
    /// # Errors
    /// Returns the reason for which the client stops.
    fn review(
        &mut self,
        client: &mut AppServerClient,
        request: &ServerRequest,
    ) -> Result<RequestDisposition, ReviewStop>;

    /// Reports an event.
    fn report(&mut self, event: &ClientEvent);

    /// Returns whether the person has requested the client to stop.
    fn is_interrupted(&self) -> bool;
}

/// The reason for which the client stops.
#[derive(Debug)]
pub enum ReviewStop {
    /// The person stopped the client.
    Interrupted,
    /// The server is no longer available.
    Disconnected(ServerError),
}

/// The result of the review of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestDisposition {
    /// This client has answered.
    AnsweredHere,
    /// Another client has answered.
    AnsweredElsewhere,
    /// The request is left to other clients.
    LeftToOthers,
}

/// A client with the messages that it has read and not yet handled.
#[derive(Debug)]
pub struct AppServerClient {
    server: AppServer,
    threads: ThreadRegistry,
    queued_requests: VecDeque<ServerRequest>,
    /// The request that is being reviewed.
    current_request: Option<RequestId>,
    /// The requests that were answered here, until the server confirms them.
    answered_requests: BTreeSet<RequestId>,
    /// The current request, if another client has answered it.
    resolved_elsewhere: BTreeSet<RequestId>,
    file_changes: ItemChanges,
    running_calls: RunningCalls,
}

impl AppServerClient {
    /// Requests the server's conversations, or only the named one.
    ///
    /// # Errors
    /// Returns an error if the server is no longer available.
    pub fn new(mut server: AppServer, thread: Option<&str>) -> Result<Self, ServerError> {
        let threads = ThreadRegistry::request_threads(&mut server, thread)?;
        Ok(Self {
            server,
            threads,
            queued_requests: VecDeque::new(),
            current_request: None,
            answered_requests: BTreeSet::new(),
            resolved_elsewhere: BTreeSet::new(),
            file_changes: ItemChanges::default(),
            running_calls: RunningCalls::default(),
        })
    }

    /// Waits for the next request of a known conversation, and passes it to the reviewer.
    ///
    /// # Errors
    /// Returns the reason for which the client stops.
    pub fn review_next(
        &mut self,
        reviewer: &mut impl RequestReviewer,
    ) -> Result<RequestDisposition, ReviewStop> {
        loop {
            self.poll(reviewer)?;
            let Some(request) = self.next_request() else { continue };
            self.current_request = Some(request.id.clone());
            let disposition = reviewer.review(self, &request)?;
            self.current_request = None;
            self.resolved_elsewhere.clear();
            return Ok(disposition);
        }
    }

    /// Returns the oldest request of a known conversation, whose directory is needed for the rules.
    fn next_request(&mut self) -> Option<ServerRequest> {
        let known = |request: &ServerRequest| self.project(&request.params).is_some();
        let at = self.queued_requests.iter().position(known)?;
        self.queued_requests.remove(at)
    }

    /// Returns the directory of the conversation that sent a request, if the client has attached to
    /// it.
    fn project(&self, request: &ApprovalParams) -> Option<&AbsPath> {
        self.threads.cwd(request.thread_id())
    }

    /// Translates a request into the operation and the question to review. Returns them with the
    /// directory of the conversation, whose rules apply. `session` is used if the id of the
    /// conversation is not a valid session.
    ///
    /// # Errors
    /// Returns the reason for which the request is left to other clients.
    pub fn parse_request(
        &self,
        request: &ApprovalParams,
        session: SessionId,
    ) -> Result<(ReviewRequest, AbsPath), &'static str> {
        let cwd = self.project(request).ok_or("unknown conversation")?;
        let changes = self.file_changes.find_for_request(request);
        let started = self.running_calls.calls_of_thread(request.thread_id());
        let context = ThreadContext { cwd, changes, started_calls: &started, session };
        Ok((parse_review_request(request, &context)?, cwd.clone()))
    }

    /// Answers a request.
    ///
    /// # Errors
    /// Returns an error if the server is no longer available.
    pub fn send_answer(&mut self, id: &RequestId, answer: &CodexAnswer) -> Result<(), ReviewStop> {
        self.server.send_message(&answer.render_line(id)).map_err(ReviewStop::Disconnected)?;
        self.answered_requests.insert(id.clone());
        Ok(())
    }

    /// Returns whether another client has answered the request that is being reviewed.
    #[must_use]
    pub fn is_answered_elsewhere(&self, id: &RequestId) -> bool {
        self.resolved_elsewhere.contains(id)
    }

    /// Reads the messages of the server for a short time.
    ///
    /// # Errors
    /// Returns the reason for which the client stops.
    pub fn poll(&mut self, reviewer: &mut impl RequestReviewer) -> Result<(), ReviewStop> {
        for _ in 0..MAX_MESSAGES_PER_POLL {
            if reviewer.is_interrupted() {
                return Err(ReviewStop::Interrupted);
            }
            let Some(message) = self.server.receive_message().map_err(ReviewStop::Disconnected)?
            else {
                break;
            };
            if let Some(event) = self.handle_message(parse_server_message(message))? {
                reviewer.report(&event);
            }
        }
        self.threads.attach_pending(&mut self.server).map_err(ReviewStop::Disconnected)
    }

    fn handle_message(
        &mut self,
        message: ServerMessage,
    ) -> Result<Option<ClientEvent>, ReviewStop> {
        match message {
            ServerMessage::ApprovalRequest(request) => return Ok(self.enqueue_request(*request)),
            ServerMessage::UnsupportedRequest(method) => {
                return Ok(Some(ClientEvent::UnsupportedRequest(method)));
            }
            ServerMessage::RequestResolved(id) => return Ok(self.resolve_request(&id)),
            ServerMessage::FileChangeStarted(item, changes) => {
                self.file_changes.insert(item, changes);
            }
            ServerMessage::ToolCallStarted(item, call) => self.running_calls.insert(item, call),
            ServerMessage::ItemCompleted(item) => self.running_calls.remove(&item),
            ServerMessage::ThreadEvent(thread) => self.threads.insert(thread),
            ServerMessage::CallResponse(call, answer) => {
                let event = self.threads.handle_answer(&mut self.server, call, answer);
                return event.map_err(ReviewStop::Disconnected);
            }
            ServerMessage::Ignored => {}
        }
        Ok(None)
    }

    /// Adds a request to the queue, unless it is known. The server repeats open requests.
    fn enqueue_request(&mut self, request: ServerRequest) -> Option<ClientEvent> {
        let id = &request.id;
        let known = self.current_request.as_ref() == Some(id)
            || self.answered_requests.contains(id)
            || self.queued_requests.iter().any(|waiting| waiting.id == *id);
        if known {
            return None;
        }
        if self.queued_requests.len() >= MAX_QUEUED_REQUESTS {
            return Some(ClientEvent::QueueFull);
        }
        self.queued_requests.push_back(request);
        None
    }

    /// Removes an answered request: one that this client has answered, the current one, or a queued
    /// one.
    fn resolve_request(&mut self, id: &RequestId) -> Option<ClientEvent> {
        if self.answered_requests.remove(id) {
            return None;
        }
        if self.current_request.as_ref() == Some(id) {
            self.resolved_elsewhere.insert(id.clone());
        }
        let meant = |request: &ServerRequest| request.id == *id;
        let at = self.queued_requests.iter().position(meant)?;
        let request = self.queued_requests.remove(at)?;
        Some(ClientEvent::AnsweredElsewhere(request.params.call_name().to_owned()))
    }
}
