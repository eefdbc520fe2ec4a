//! A reviewer that is a function which waits for a person.

use std::{
    fmt, io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use openoxide_protocol::{ApprovalRequest, ApprovalResponse};
use openoxide_store::audit::AnswerChannel;

use crate::{
    review_record::ReviewOutcome,
    reviewer::{ReviewStatus, Reviewer},
};

/// A reviewer that is a function which waits for a person: a prompt, a page, a message.
///
/// The function runs in a thread of its own, so the question can be answered elsewhere in the
/// meantime. The flag that it receives is then set, and it has to return soon: the wait ends when
/// it has returned. What it returns after that is ignored. `None` means that no one can be asked.
///
/// ```
/// use std::{sync::atomic::Ordering, thread, time::Duration};
///
/// use openoxide_engine::{AnswerChannel, BlockingReviewer};
/// use openoxide_protocol::ApprovalResponse;
///
/// # fn read_reply() -> Option<ApprovalResponse> { None }
/// let reviewer = BlockingReviewer::new("chat", AnswerChannel::Application, |request, withdrawn| {
///     // Send `request` to a person, and wait for the reply.
///     while !withdrawn.load(Ordering::Relaxed) {
///         if let Some(reply) = read_reply() {
///             return Some(reply);
///         }
///         thread::sleep(Duration::from_millis(100));
///     }
///     None
/// });
/// ```
pub struct BlockingReviewer<F> {
    name: String,
    channel: AnswerChannel,
    function: Arc<F>,
    question: Option<OpenQuestion>,
}

/// A question whose thread runs.
struct OpenQuestion {
    answer: Receiver<Option<ApprovalResponse>>,
    withdrawn: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl<F> BlockingReviewer<F>
where
    F: Fn(&ApprovalRequest, Arc<AtomicBool>) -> Option<ApprovalResponse> + Send + Sync + 'static,
{
    /// Returns the reviewer. The name is for other processes and the audit log.
    #[must_use]
    pub fn new(name: impl Into<String>, channel: AnswerChannel, function: F) -> Self {
        Self { name: name.into(), channel, function: Arc::new(function), question: None }
    }

    fn start(&self, request: ApprovalRequest) -> io::Result<OpenQuestion> {
        let (sender, answer) = mpsc::channel();
        let withdrawn = Arc::new(AtomicBool::new(false));
        let (function, flag) = (Arc::clone(&self.function), Arc::clone(&withdrawn));
        let ask = move || drop(sender.send(function(&request, flag)));
        let thread = thread::Builder::new().name("reviewer".to_owned()).spawn(ask)?;
        Ok(OpenQuestion { answer, withdrawn, thread })
    }
}

impl<F> Reviewer for BlockingReviewer<F>
where
    F: Fn(&ApprovalRequest, Arc<AtomicBool>) -> Option<ApprovalResponse> + Send + Sync + 'static,
{
    fn channel(&self) -> AnswerChannel {
        self.channel
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn open(&mut self, request: &ApprovalRequest) {
        self.question = self.start(request.clone()).ok();
    }

    fn poll_answer(&mut self, timeout: Duration) -> ReviewStatus {
        let Some(question) = &self.question else { return ReviewStatus::Unreachable };
        let status = match question.answer.recv_timeout(timeout) {
            Ok(Some(response)) => ReviewStatus::Answered(response),
            Ok(None) => ReviewStatus::Unreachable,
            // The function has panicked.
            Err(RecvTimeoutError::Disconnected) => ReviewStatus::Closed,
            Err(RecvTimeoutError::Timeout) => return ReviewStatus::Pending,
        };
        self.question = None;
        status
    }

    fn close(&mut self, _outcome: &ReviewOutcome) {
        if let Some(question) = self.question.take() {
            question.withdrawn.store(true, Ordering::Relaxed);
            drop(question.thread.join());
        }
    }
}

impl<F> Drop for BlockingReviewer<F> {
    fn drop(&mut self) {
        if let Some(question) = &self.question {
            question.withdrawn.store(true, Ordering::Relaxed);
        }
    }
}

impl<F> fmt::Debug for BlockingReviewer<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockingReviewer").field("name", &self.name).finish_non_exhaustive()
    }
}
