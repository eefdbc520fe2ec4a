//! The async half of the gate: one loop that owns it, and everybody else sends messages.

use std::{collections::HashMap, sync::Arc};

use openoxide_permission::{
    GroupAnswer, NotPending, PermissionGate, Permit, PolicyStack, Question, Refusal, Settled, Step,
};
use openoxide_protocol::{
    ApprovalId, ApprovalRequest, ApprovalResponse, PermissionMode, Resolution, SessionId,
};
use tokio::sync::{mpsc, oneshot};

/// So many messages may wait before senders do.
const QUEUE: usize = 64;

/// How a check ended.
#[derive(Debug)]
pub enum Asked {
    /// It may run.
    Granted(Permit),
    /// It may not.
    Refused(Refusal),
    /// A person is needed, and nobody listens for questions.
    Unanswerable(Box<ApprovalRequest>),
}

/// The session has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone;

impl std::fmt::Display for Gone {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("the session has ended")
    }
}

impl std::error::Error for Gone {}

type Answered = Result<Vec<Resolution>, NotPending>;

enum Message {
    Check(Box<Question>, oneshot::Sender<Asked>),
    Answer(ApprovalId, ApprovalResponse, oneshot::Sender<Answered>),
    Change(Change, oneshot::Sender<Vec<Resolution>>),
    Subagent(SessionId, SessionId, Option<PermissionMode>, oneshot::Sender<bool>),
}

/// What happens to the gate beside answers: another mode, another policy, the end of a session.
type Change = Box<dyn FnOnce(&mut PermissionGate) -> Vec<Settled> + Send>;

/// Owns a gate and drives it.
#[derive(Debug)]
pub struct Dispatcher {
    gate: PermissionGate,
    inbox: mpsc::Receiver<Message>,
    given_up: mpsc::UnboundedReceiver<ApprovalId>,
    reviewers: mpsc::UnboundedSender<ApprovalRequest>,
    waiting: HashMap<ApprovalId, oneshot::Sender<Asked>>,
}

/// Speaks to a [`Dispatcher`]; clones speak to the same one.
#[derive(Clone, Debug)]
pub struct GateHandle {
    inbox: mpsc::Sender<Message>,
    given_up: mpsc::UnboundedSender<ApprovalId>,
}

/// Waits for the end of a check. Whoever drops it before gives the call up, and the request is taken back.
struct Wait<'a> {
    id: ApprovalId,
    given_up: Option<&'a mpsc::UnboundedSender<ApprovalId>>,
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        if let Some(given_up) = self.given_up {
            given_up.send(self.id).ok(); // Where the loop has ended, nothing is pending.
        }
    }
}

impl std::fmt::Debug for Message {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Check(question, _) => write!(out, "Check({})", question.id),
            Self::Answer(id, ..) => write!(out, "Answer({id})"),
            Self::Change(..) => out.write_str("Change"),
            Self::Subagent(_, session, ..) => write!(out, "Subagent({session})"),
        }
    }
}

impl Dispatcher {
    /// Returns the loop, a handle on it, and the questions that it will have for reviewers. Whoever drops the questions
    /// says that nobody can be asked.
    #[must_use]
    pub fn new(
        gate: PermissionGate,
    ) -> (Self, GateHandle, mpsc::UnboundedReceiver<ApprovalRequest>) {
        let (to_inbox, inbox) = mpsc::channel(QUEUE);
        // Unbounded, so that the loop never waits for a reviewer who waits for the loop; what is pending bounds it.
        let (reviewers, requests) = mpsc::unbounded_channel();
        let (to_given_up, given_up) = mpsc::unbounded_channel();
        let handle = GateHandle { inbox: to_inbox, given_up: to_given_up };
        (Self { gate, inbox, given_up, reviewers, waiting: HashMap::new() }, handle, requests)
    }

    /// Runs until every handle is dropped. Who then still waits learns that the session has ended, which is no yes.
    pub async fn run(mut self) {
        loop {
            tokio::select! {
                Some(id) = self.given_up.recv() => self.withdraw(id),
                message = self.inbox.recv() => match message {
                    Some(message) => self.take(message),
                    None => return,
                },
            }
        }
    }

    /// Who no longer listens for what came of a message does not mind.
    fn take(&mut self, message: Message) {
        match message {
            Message::Check(question, reply) => self.check(*question, reply),
            Message::Answer(id, response, reply) => drop(reply.send(self.answer(id, &response))),
            Message::Change(change, reply) => {
                let settled = change(&mut self.gate);
                drop(reply.send(self.settle_each(settled)));
            }
            Message::Subagent(parent, session, mode, reply) => {
                reply.send(self.gate.start_subagent(parent, session, mode)).ok();
            }
        }
    }

    fn check(&mut self, question: Question, reply: oneshot::Sender<Asked>) {
        if reply.is_closed() {
            return; // It was given up before its turn came.
        }
        let asked = match self.gate.check(question) {
            Step::Proceed(permit) => Asked::Granted(permit),
            Step::Refuse(refusal) => Asked::Refused(refusal),
            Step::Ask(request) => {
                let id = request.id;
                self.waiting.insert(id, reply);
                if let Err(unsent) = self.reviewers.send(*request) {
                    self.give_up(id, unsent.0);
                }
                return;
            }
        };
        drop(reply.send(asked));
    }

    /// Nobody listens: the request is taken back, and the one who waits is told.
    fn give_up(&mut self, id: ApprovalId, request: ApprovalRequest) {
        drop(self.gate.withdraw(id));
        if let Some(reply) = self.waiting.remove(&id) {
            drop(reply.send(Asked::Unanswerable(Box::new(request))));
        }
    }

    fn answer(&mut self, id: ApprovalId, response: &ApprovalResponse) -> Answered {
        let settled = self.gate.answer(id, response)?;
        Ok(self.settle_each(settled))
    }

    fn withdraw(&mut self, id: ApprovalId) {
        if let Ok(settled) = self.gate.withdraw(id) {
            self.settle(settled);
        }
    }

    fn settle_each(&mut self, settled: Vec<Settled>) -> Vec<Resolution> {
        settled.into_iter().map(|settled| self.settle(settled)).collect()
    }

    fn settle(&mut self, settled: Settled) -> Resolution {
        let Settled { resolution, outcome } = settled;
        let asked = match outcome {
            Ok(permit) => Asked::Granted(permit),
            Err(refusal) => Asked::Refused(refusal),
        };
        if let Some(reply) = self.waiting.remove(&resolution.id) {
            drop(reply.send(asked));
        }
        resolution
    }
}

impl GateHandle {
    /// Asks the gate, and waits until it or a reviewer has answered. To drop the wait is to give the call up: its request is
    /// taken back, and no other falls with it.
    ///
    /// # Errors
    /// When the session ended meanwhile.
    pub async fn check(&self, question: Question) -> Result<Asked, Gone> {
        let (reply, answer) = oneshot::channel();
        let mut wait = Wait { id: question.id, given_up: Some(&self.given_up) };
        let message = Message::Check(Box::new(question), reply);
        self.inbox.send(message).await.map_err(|_| Gone)?;
        let asked = answer.await.map_err(|_| Gone);
        wait.given_up = None;
        asked
    }

    /// Hands over a reviewer's answer; returns what ended with it.
    ///
    /// # Errors
    /// When the session ended meanwhile. The inner error says that the request was not pending.
    pub async fn answer(
        &self,
        id: ApprovalId,
        response: ApprovalResponse,
    ) -> Result<Answered, Gone> {
        let (reply, answer) = oneshot::channel();
        self.inbox.send(Message::Answer(id, response, reply)).await.map_err(|_| Gone)?;
        answer.await.map_err(|_| Gone)
    }

    /// Answers the pending requests of a group together ([`PermissionGate::answer_group`]); returns what ended with it.
    ///
    /// # Errors
    /// When the session ended meanwhile.
    pub async fn answer_group(
        &self,
        session: SessionId,
        group: String,
        answer: GroupAnswer,
    ) -> Result<Vec<Resolution>, Gone> {
        self.change(move |gate| gate.answer_group(session, &group, answer)).await
    }

    /// Sets the mode of a session ([`PermissionGate::set_mode`]); returns what ended with it.
    ///
    /// # Errors
    /// When the session ended meanwhile.
    pub async fn set_mode(
        &self,
        session: SessionId,
        mode: PermissionMode,
    ) -> Result<Vec<Resolution>, Gone> {
        self.change(move |gate| gate.set_mode(session, mode)).await
    }

    /// Says which task a session is about ([`PermissionGate::set_task`]).
    ///
    /// # Errors
    /// When the session ended meanwhile.
    pub async fn set_task(&self, session: SessionId, task: Option<String>) -> Result<(), Gone> {
        let set = move |gate: &mut PermissionGate| {
            gate.set_task(session, task);
            Vec::new()
        };
        self.change(set).await.map(drop)
    }

    /// Puts another policy in force ([`PermissionGate::set_policy`]); returns what ended with it.
    ///
    /// # Errors
    /// When the session ended meanwhile.
    pub async fn set_policy(
        &self,
        policy: Arc<PolicyStack>,
        doubt: Option<String>,
    ) -> Result<Vec<Resolution>, Gone> {
        self.change(move |gate| gate.set_policy(policy, doubt)).await
    }

    /// Ends a session and its subagents' ([`PermissionGate::end_session`]); returns what ended with it.
    ///
    /// # Errors
    /// When the loop has ended already.
    pub async fn end_session(&self, session: SessionId) -> Result<Vec<Resolution>, Gone> {
        self.change(move |gate| gate.end_session(session)).await
    }

    /// Puts a new session below the one that started it ([`PermissionGate::start_subagent`]).
    ///
    /// # Errors
    /// When the session ended meanwhile.
    pub async fn start_subagent(
        &self,
        parent: SessionId,
        session: SessionId,
        mode: Option<PermissionMode>,
    ) -> Result<bool, Gone> {
        let (reply, answer) = oneshot::channel();
        let message = Message::Subagent(parent, session, mode, reply);
        self.inbox.send(message).await.map_err(|_| Gone)?;
        answer.await.map_err(|_| Gone)
    }

    async fn change(
        &self,
        change: impl FnOnce(&mut PermissionGate) -> Vec<Settled> + Send + 'static,
    ) -> Result<Vec<Resolution>, Gone> {
        let (reply, answer) = oneshot::channel();
        let message = Message::Change(Box::new(change), reply);
        self.inbox.send(message).await.map_err(|_| Gone)?;
        answer.await.map_err(|_| Gone)
    }
}

#[cfg(test)]
mod tests;
