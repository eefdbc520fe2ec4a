//! Messages of the server, and the state that is kept of them.

use std::collections::VecDeque;

use openoxide_codex::{
    app_server::{
        ApprovalParams, ItemId, RequestId, ServerMessage, ServerRequest, StartedCall,
        parse_server_message,
    },
    file_change::FileUpdateChange,
};

use super::{
    CodexReviewer, ReviewStop,
    review_lines::{print_line, report_answered_elsewhere},
};

/// The maximum number of messages that are read before other work is done.
const MAX_MESSAGES_PER_POLL: usize = 500;
/// The maximum number of queued requests. Further requests are left to other clients.
const MAX_QUEUED_REQUESTS: usize = 200;
/// The maximum number of items whose changes are kept. They arrive right before their request.
const MAX_CHANGED_ITEMS: usize = 16;
/// The maximum number of running tool calls. The oldest ones are forgotten first.
const MAX_RUNNING_CALLS: usize = 64;

/// The most recently reported file changes.
#[derive(Debug, Default)]
pub(super) struct ItemChanges(VecDeque<(ItemId, Vec<FileUpdateChange>)>);

impl ItemChanges {
    fn insert(&mut self, item: ItemId, changes: Vec<FileUpdateChange>) {
        self.0.retain(|(kept, _)| *kept != item);
        self.0.push_back((item, changes));
        if self.0.len() > MAX_CHANGED_ITEMS {
            self.0.pop_front();
        }
    }

    pub(super) fn find_for_request(&self, asked: &ApprovalParams) -> Option<&[FileUpdateChange]> {
        let meant =
            |item: &ItemId| item.item == asked.call_name() && item.thread == asked.thread_id();
        self.0.iter().find(|(item, _)| meant(item)).map(|(_, changes)| changes.as_slice())
    }
}

/// The calls of tools that run.
#[derive(Debug, Default)]
pub(super) struct RunningCalls(VecDeque<(ItemId, StartedCall)>);

impl RunningCalls {
    fn insert(&mut self, item: ItemId, call: StartedCall) {
        self.remove(&item);
        self.0.push_back((item, call));
        if self.0.len() > MAX_RUNNING_CALLS {
            self.0.pop_front();
        }
    }

    fn remove(&mut self, item: &ItemId) {
        self.0.retain(|(running, _)| running != item);
    }

    pub(super) fn calls_of_thread(&self, thread: &str) -> Vec<&StartedCall> {
        let own = self.0.iter().filter(|(item, _)| item.thread == thread);
        own.map(|(_, call)| call).collect()
    }
}

impl CodexReviewer<'_> {
    /// Listens to the server for a moment.
    pub(super) fn poll_server(&mut self) -> Result<(), ReviewStop> {
        for _ in 0..MAX_MESSAGES_PER_POLL {
            if self
                .signals
                .as_ref()
                .is_some_and(crate::approval_review::SignalWatch::is_interrupted)
            {
                return Err(ReviewStop::Interrupted);
            }
            let Some(message) = self.server.receive_message().map_err(ReviewStop::Disconnected)?
            else {
                break;
            };
            self.handle_message(parse_server_message(message))?;
        }
        self.threads.attach_pending(&mut self.server).map_err(ReviewStop::Disconnected)
    }

    fn handle_message(&mut self, heard: ServerMessage) -> Result<(), ReviewStop> {
        match heard {
            ServerMessage::ApprovalRequest(request) => self.enqueue_request(*request),
            ServerMessage::UnsupportedRequest(method) => {
                print_line(&format!("left to the other client: `{method}` is not supported here"));
            }
            ServerMessage::RequestResolved(id) => self.resolve_request(&id),
            ServerMessage::FileChangeStarted(item, changes) => {
                self.file_changes.insert(item, changes);
            }
            ServerMessage::ToolCallStarted(item, call) => self.running_calls.insert(item, call),
            ServerMessage::ItemCompleted(item) => self.running_calls.remove(&item),
            ServerMessage::ThreadEvent(thread) => self.threads.insert(thread),
            ServerMessage::CallResponse(call, answer) => {
                let taken = self.threads.handle_answer(&mut self.server, call, answer);
                taken.map_err(ReviewStop::Disconnected)?;
            }
            ServerMessage::Ignored => {}
        }
        Ok(())
    }

    /// Adds a request to the queue, unless it is known. The server repeats open requests.
    fn enqueue_request(&mut self, request: ServerRequest) {
        let id = &request.id;
        let known = self.current_request.as_ref() == Some(id)
            || self.answered_requests.contains(id)
            || self.queued_requests.iter().any(|waiting| waiting.id == *id);
        if known {
            return;
        }
        if self.queued_requests.len() >= MAX_QUEUED_REQUESTS {
            return print_line("left to the other client: too many requests wait");
        }
        self.queued_requests.push_back(request);
    }

    /// Takes a request away that was answered: one of ours, the one that is shown, or one that waits.
    fn resolve_request(&mut self, id: &RequestId) {
        if self.answered_requests.remove(id) {
            return;
        }
        if self.current_request.as_ref() == Some(id) {
            self.resolved_elsewhere.insert(id.clone());
        }
        let meant = |request: &ServerRequest| request.id == *id;
        let at = self.queued_requests.iter().position(meant);
        if let Some(request) = at.and_then(|at| self.queued_requests.remove(at)) {
            report_answered_elsewhere(request.params.call_name());
        }
    }
}
