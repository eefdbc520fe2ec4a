//! Asynchronous access to the gate: one task owns it, and receives messages from all others.

use std::{collections::HashMap, sync::Arc};

use openoxide_permission::{
    CheckRequest, GateOutcome, GroupAnswer, NotPendingError, OperationRefusal, PermissionGate,
    Permit, PolicyStack, ResolvedRequest,
};
use openoxide_protocol::{
    ApprovalId, ApprovalRequest, ApprovalResponse, PermissionMode, Resolution, SessionId,
};
use tokio::sync::{mpsc, oneshot};

/// The number of messages that the queue can hold before senders have to wait.
const QUEUE_CAPACITY: usize = 64;

/// The outcome of a check.
#[derive(Debug)]
pub enum GateReply {
    /// The operation may run.
    Permitted(Permit),
    /// The operation may not run.
    Refused(OperationRefusal),
    /// The operation requires approval, but no reviewer is listening for requests.
    Unanswerable(Box<ApprovalRequest>),
}

/// The session has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionClosedError;

impl std::fmt::Display for SessionClosedError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("the session has ended")
    }
}

impl std::error::Error for SessionClosedError {}

type AnswerOutcome = Result<Vec<Resolution>, NotPendingError>;

enum GateMessage {
    Check(Box<CheckRequest>, oneshot::Sender<GateReply>),
    Answer(ApprovalId, ApprovalResponse, oneshot::Sender<AnswerOutcome>),
    Change(GateChange, oneshot::Sender<Vec<Resolution>>),
    Subagent(SessionId, SessionId, Option<PermissionMode>, oneshot::Sender<bool>),
}

/// A change of the gate other than an answer: another mode, another policy, or the end of a
/// session.
type GateChange = Box<dyn FnOnce(&mut PermissionGate) -> Vec<ResolvedRequest> + Send>;

/// The task that owns a gate.
#[derive(Debug)]
pub struct GateDispatcher {
    gate: PermissionGate,
    inbox: mpsc::Receiver<GateMessage>,
    abandoned_requests: mpsc::UnboundedReceiver<ApprovalId>,
    reviewers: mpsc::UnboundedSender<ApprovalRequest>,
    pending_checks: HashMap<ApprovalId, oneshot::Sender<GateReply>>,
}

/// A handle to a [`GateDispatcher`]. Clones refer to the same dispatcher.
#[derive(Clone, Debug)]
pub struct GateHandle {
    inbox: mpsc::Sender<GateMessage>,
    abandoned_requests: mpsc::UnboundedSender<ApprovalId>,
}

/// A guard for a check whose result is awaited. Dropping it before the result arrives abandons the
/// call, and its request is withdrawn.
struct PendingCheck<'a> {
    id: ApprovalId,
    abandoned_requests: Option<&'a mpsc::UnboundedSender<ApprovalId>>,
}

impl Drop for PendingCheck<'_> {
    fn drop(&mut self) {
        if let Some(given_up) = self.abandoned_requests {
            given_up.send(self.id).ok(); // Where the loop has ended, nothing is pending.
        }
    }
}

impl std::fmt::Debug for GateMessage {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Check(question, _) => write!(out, "Check({})", question.id),
            Self::Answer(id, ..) => write!(out, "Answer({id})"),
            Self::Change(..) => out.write_str("Change"),
            Self::Subagent(_, session, ..) => write!(out, "Subagent({session})"),
        }
    }
}

impl GateDispatcher {
    /// Returns the dispatcher, a handle to it, and the receiver of the requests for reviewers.
    /// Dropping the receiver means that no reviewer is available.
    #[must_use]
    pub fn new(
        gate: PermissionGate,
    ) -> (Self, GateHandle, mpsc::UnboundedReceiver<ApprovalRequest>) {
        let (to_inbox, inbox) = mpsc::channel(QUEUE_CAPACITY);
        // The channel is unbounded, because a reviewer may wait for the dispatcher. The number of
        // pending requests limits its size.
        let (reviewers, requests) = mpsc::unbounded_channel();
        let (to_given_up, given_up) = mpsc::unbounded_channel();
        let handle = GateHandle { inbox: to_inbox, abandoned_requests: to_given_up };
        (
            Self {
                gate,
                inbox,
                abandoned_requests: given_up,
                reviewers,
                pending_checks: HashMap::new(),
            },
            handle,
            requests,
        )
    }

    /// Runs until every handle is dropped. Callers that are still waiting then receive an error
    /// that the session has ended, which is not an approval.
    pub async fn run(mut self) {
        loop {
            tokio::select! {
                Some(id) = self.abandoned_requests.recv() => self.withdraw_request(id),
                message = self.inbox.recv() => match message {
                    Some(message) => self.handle_message(message),
                    None => return,
                },
            }
        }
    }

    /// Handles one message. The reply is dropped if its receiver is gone.
    fn handle_message(&mut self, message: GateMessage) {
        match message {
            GateMessage::Check(question, reply) => self.handle_check(*question, reply),
            GateMessage::Answer(id, response, reply) => {
                drop(reply.send(self.handle_answer(id, &response)));
            }
            GateMessage::Change(change, reply) => {
                let settled = change(&mut self.gate);
                drop(reply.send(self.resolve_requests(settled)));
            }
            GateMessage::Subagent(parent, session, mode, reply) => {
                reply.send(self.gate.start_subagent(parent, session, mode)).ok();
            }
        }
    }

    fn handle_check(&mut self, question: CheckRequest, reply: oneshot::Sender<GateReply>) {
        if reply.is_closed() {
            return; // It was given up before its turn came.
        }
        let asked = match self.gate.check(question) {
            GateOutcome::Proceed(permit) => GateReply::Permitted(permit),
            GateOutcome::Refuse(refusal) => GateReply::Refused(refusal),
            GateOutcome::Ask(request) => {
                let id = request.id;
                self.pending_checks.insert(id, reply);
                if let Err(unsent) = self.reviewers.send(*request) {
                    self.report_unanswerable(id, unsent.0);
                }
                return;
            }
        };
        drop(reply.send(asked));
    }

    /// Withdraws a request that no reviewer can receive, and reports this to the waiting caller.
    fn report_unanswerable(&mut self, id: ApprovalId, request: ApprovalRequest) {
        drop(self.gate.withdraw(id));
        if let Some(reply) = self.pending_checks.remove(&id) {
            drop(reply.send(GateReply::Unanswerable(Box::new(request))));
        }
    }

    fn handle_answer(&mut self, id: ApprovalId, response: &ApprovalResponse) -> AnswerOutcome {
        let settled = self.gate.answer(id, response)?;
        Ok(self.resolve_requests(settled))
    }

    fn withdraw_request(&mut self, id: ApprovalId) {
        if let Ok(settled) = self.gate.withdraw(id) {
            self.resolve_request(settled);
        }
    }

    fn resolve_requests(&mut self, settled: Vec<ResolvedRequest>) -> Vec<Resolution> {
        settled.into_iter().map(|settled| self.resolve_request(settled)).collect()
    }

    fn resolve_request(&mut self, settled: ResolvedRequest) -> Resolution {
        let ResolvedRequest { resolution, outcome } = settled;
        let asked = match outcome {
            Ok(permit) => GateReply::Permitted(permit),
            Err(refusal) => GateReply::Refused(refusal),
        };
        if let Some(reply) = self.pending_checks.remove(&resolution.id) {
            drop(reply.send(asked));
        }
        resolution
    }
}

impl GateHandle {
    /// Sends a request to the gate and waits until the gate or a reviewer has answered. Dropping
    /// the future abandons the call: its request is withdrawn, and no other request is affected.
    ///
    /// # Errors
    /// Returns an error if the session ended in the meantime.
    pub async fn check(&self, question: CheckRequest) -> Result<GateReply, SessionClosedError> {
        let (reply, answer) = oneshot::channel();
        let mut wait =
            PendingCheck { id: question.id, abandoned_requests: Some(&self.abandoned_requests) };
        let message = GateMessage::Check(Box::new(question), reply);
        self.inbox.send(message).await.map_err(|_| SessionClosedError)?;
        let asked = answer.await.map_err(|_| SessionClosedError);
        wait.abandoned_requests = None;
        asked
    }

    /// Submits a reviewer's answer and returns the requests that it resolved.
    ///
    /// # Errors
    /// Returns an error if the session ended in the meantime. The inner error means that the
    /// request was not pending.
    pub async fn answer(
        &self,
        id: ApprovalId,
        response: ApprovalResponse,
    ) -> Result<AnswerOutcome, SessionClosedError> {
        let (reply, answer) = oneshot::channel();
        self.inbox
            .send(GateMessage::Answer(id, response, reply))
            .await
            .map_err(|_| SessionClosedError)?;
        answer.await.map_err(|_| SessionClosedError)
    }

    /// Answers the pending requests of a group together ([`PermissionGate::answer_group`]), and
    /// returns the requests that ended with them.
    ///
    /// # Errors
    /// If the session ended in the meantime.
    pub async fn answer_group(
        &self,
        session: SessionId,
        group: String,
        answer: GroupAnswer,
    ) -> Result<Vec<Resolution>, SessionClosedError> {
        self.send_change(move |gate| gate.answer_group(session, &group, answer)).await
    }

    /// Sets the mode of a session ([`PermissionGate::set_mode`]), and returns the requests that
    /// ended.
    ///
    /// # Errors
    /// If the session ended in the meantime.
    pub async fn set_mode(
        &self,
        session: SessionId,
        mode: PermissionMode,
    ) -> Result<Vec<Resolution>, SessionClosedError> {
        self.send_change(move |gate| gate.set_mode(session, mode)).await
    }

    /// Sets the task that a session works on ([`PermissionGate::set_task`]).
    ///
    /// # Errors
    /// Returns an error if the session ended in the meantime.
    pub async fn set_task(
        &self,
        session: SessionId,
        task: Option<String>,
    ) -> Result<(), SessionClosedError> {
        let set = move |gate: &mut PermissionGate| {
            gate.set_task(session, task);
            Vec::new()
        };
        self.send_change(set).await.map(drop)
    }

    /// Puts another policy in force ([`PermissionGate::set_policy`]), and returns the requests that
    /// ended.
    ///
    /// # Errors
    /// If the session ended in the meantime.
    pub async fn set_policy(
        &self,
        policy: Arc<PolicyStack>,
        doubt: Option<String>,
    ) -> Result<Vec<Resolution>, SessionClosedError> {
        self.send_change(move |gate| gate.set_policy(policy, doubt)).await
    }

    /// Ends a session and its subagents' ([`PermissionGate::end_session`]), and returns the
    /// requests that ended.
    ///
    /// # Errors
    /// If the dispatcher has ended.
    pub async fn end_session(
        &self,
        session: SessionId,
    ) -> Result<Vec<Resolution>, SessionClosedError> {
        self.send_change(move |gate| gate.end_session(session)).await
    }

    /// Registers a session as a subagent of the session that started it
    /// ([`PermissionGate::start_subagent`]).
    ///
    /// # Errors
    /// If the session ended in the meantime.
    pub async fn start_subagent(
        &self,
        parent: SessionId,
        session: SessionId,
        mode: Option<PermissionMode>,
    ) -> Result<bool, SessionClosedError> {
        let (reply, answer) = oneshot::channel();
        let message = GateMessage::Subagent(parent, session, mode, reply);
        self.inbox.send(message).await.map_err(|_| SessionClosedError)?;
        answer.await.map_err(|_| SessionClosedError)
    }

    async fn send_change(
        &self,
        change: impl FnOnce(&mut PermissionGate) -> Vec<ResolvedRequest> + Send + 'static,
    ) -> Result<Vec<Resolution>, SessionClosedError> {
        let (reply, answer) = oneshot::channel();
        let message = GateMessage::Change(Box::new(change), reply);
        self.inbox.send(message).await.map_err(|_| SessionClosedError)?;
        answer.await.map_err(|_| SessionClosedError)
    }
}

#[cfg(test)]
mod tests;
