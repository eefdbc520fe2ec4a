//! The async half of the gate: one loop that owns it, and everybody else sends messages.

use std::collections::HashMap;

use openoxide_permission::{NotPending, PermissionGate, Permit, Question, Refusal, Settled, Step};
use openoxide_protocol::{ApprovalId, ApprovalRequest, ApprovalResponse, Resolution};
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

/// The loop has ended: the session is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone;

impl std::fmt::Display for Gone {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("the session is over")
    }
}

impl std::error::Error for Gone {}

type Answered = Result<Vec<Resolution>, NotPending>;

enum Message {
    Check(Box<Question>, oneshot::Sender<Asked>),
    Answer(ApprovalId, ApprovalResponse, oneshot::Sender<Answered>),
}

/// Owns a gate and drives it.
#[derive(Debug)]
pub struct Dispatcher {
    gate: PermissionGate,
    inbox: mpsc::Receiver<Message>,
    reviewers: mpsc::UnboundedSender<ApprovalRequest>,
    waiting: HashMap<ApprovalId, oneshot::Sender<Asked>>,
}

/// Speaks to a [`Dispatcher`]; clones speak to the same one.
#[derive(Clone, Debug)]
pub struct GateHandle {
    inbox: mpsc::Sender<Message>,
}

impl std::fmt::Debug for Message {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Check(question, _) => write!(out, "Check({})", question.id),
            Self::Answer(id, ..) => write!(out, "Answer({id})"),
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
        let waiting = HashMap::new();
        (Self { gate, inbox, reviewers, waiting }, GateHandle { inbox: to_inbox }, requests)
    }

    /// Runs until every handle is dropped. Who then still waits learns that the session is over, which is no yes.
    pub async fn run(mut self) {
        while let Some(message) = self.inbox.recv().await {
            match message {
                Message::Check(question, reply) => self.check(*question, reply),
                Message::Answer(id, response, reply) => {
                    let answered = self.answer(id, &response);
                    drop(reply.send(answered)); // Who no longer listens does not mind.
                }
            }
        }
    }

    fn check(&mut self, question: Question, reply: oneshot::Sender<Asked>) {
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
        drop(self.gate.answer(id, &ApprovalResponse::Denied));
        if let Some(reply) = self.waiting.remove(&id) {
            drop(reply.send(Asked::Unanswerable(Box::new(request))));
        }
    }

    fn answer(&mut self, id: ApprovalId, response: &ApprovalResponse) -> Answered {
        let settled = self.gate.answer(id, response)?;
        Ok(settled.into_iter().map(|settled| self.settle(settled)).collect())
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
    /// Asks the gate, and waits until it or a reviewer has answered.
    ///
    /// # Errors
    /// When the session ended meanwhile.
    pub async fn check(&self, question: Question) -> Result<Asked, Gone> {
        let (reply, answer) = oneshot::channel();
        let message = Message::Check(Box::new(question), reply);
        self.inbox.send(message).await.map_err(|_| Gone)?;
        answer.await.map_err(|_| Gone)
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
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use openoxide_permission::{PolicyStack, default_layer};
    use openoxide_protocol::{
        AbsPath, Action, CallId, GrantScope, Operation, PermissionMode, Principal, SessionId,
    };

    use super::*;
    use crate::{digest, facts, new_approval_id, new_session_id, present, title};

    fn question(session: SessionId, script: &str) -> Question {
        let operation = Operation {
            session,
            call: CallId::default(),
            principal: Principal::Agent,
            tool: "Bash".to_owned(),
            action: Action::Command { script: script.to_owned() },
            input: serde_json::json!({ "command": script }),
            cwd: AbsPath::new("/p").unwrap(),
        };
        Question {
            facts: facts(&operation, None),
            digest: digest(&operation),
            id: new_approval_id(),
            presentation: present(&operation),
            title: title(&operation),
            group: None,
            explicit_yes_required: false,
            hooks: Vec::new(),
            operation,
        }
    }

    fn start() -> (GateHandle, mpsc::UnboundedReceiver<ApprovalRequest>) {
        let (handle, requests, _) = start_loop();
        (handle, requests)
    }

    fn start_loop()
    -> (GateHandle, mpsc::UnboundedReceiver<ApprovalRequest>, tokio::task::JoinHandle<()>) {
        let policy = Arc::new(PolicyStack::compile(&[default_layer()]).unwrap());
        let roots = vec![AbsPath::new("/p").unwrap()];
        let gate = PermissionGate::new(policy, PermissionMode::Default, roots);
        let (dispatcher, handle, requests) = Dispatcher::new(gate);
        (handle, requests, tokio::spawn(dispatcher.run()))
    }

    #[tokio::test]
    async fn a_yes_for_a_prefix_wakes_everyone_it_covers() {
        let (handle, mut requests) = start();
        let session = new_session_id();
        let ask = |script: &str| {
            let (handle, question) = (handle.clone(), question(session, script));
            tokio::spawn(async move { handle.check(question).await })
        };
        let first = ask("npm install a");
        let first_request = requests.recv().await.unwrap();
        let second = ask("npm install b");
        requests.recv().await.unwrap();
        let response = ApprovalResponse::Approved { scope: GrantScope::Project };
        let ended = handle.answer(first_request.id, response).await.unwrap().unwrap();
        assert_eq!(ended.len(), 2);
        assert!(matches!(first.await.unwrap(), Ok(Asked::Granted(_))));
        assert!(matches!(second.await.unwrap(), Ok(Asked::Granted(_))));
    }

    #[tokio::test]
    async fn a_rejection_wakes_the_whole_session() {
        let (handle, mut requests) = start();
        let session = new_session_id();
        let waiting: Vec<_> = ["npm install a", "cargo publish"]
            .map(|script| {
                let (handle, question) = (handle.clone(), question(session, script));
                tokio::spawn(async move { handle.check(question).await })
            })
            .into();
        let first = requests.recv().await.unwrap();
        requests.recv().await.unwrap();
        let response = ApprovalResponse::Rejected { message: None };
        drop(handle.answer(first.id, response).await.unwrap());
        for one in waiting {
            assert!(matches!(one.await.unwrap(), Ok(Asked::Refused(Refusal::Rejected))));
        }
    }

    #[tokio::test]
    async fn without_a_listener_nobody_waits_for_ever() {
        let (handle, requests) = start();
        drop(requests);
        let asked = handle.check(question(new_session_id(), "npm install")).await;
        assert!(matches!(asked, Ok(Asked::Unanswerable(_))));
    }

    #[tokio::test]
    async fn the_end_of_the_session_is_no_yes() {
        let (handle, mut requests, session) = start_loop();
        let waiting = {
            let (handle, question) = (handle.clone(), question(new_session_id(), "npm install"));
            tokio::spawn(async move { handle.check(question).await })
        };
        requests.recv().await.unwrap();
        session.abort();
        assert!(matches!(waiting.await.unwrap(), Err(Gone)));
    }

    #[tokio::test]
    async fn a_stale_answer_is_an_error() {
        let (handle, _requests) = start();
        let stale = handle.answer(new_approval_id(), ApprovalResponse::Denied).await.unwrap();
        assert!(stale.is_err());
    }
}
