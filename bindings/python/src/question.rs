//! A call that is being decided, perhaps with a question to a reviewer.
//!
//! A thread checks the call and waits for the answer: from Python, or from another process that
//! answers the request in the queue. It tells Python about each event by a byte in a pipe, which an
//! event loop can watch.

use std::{
    io::{PipeReader, PipeWriter, Read as _, Write as _},
    os::fd::AsRawFd as _,
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread,
    time::Duration,
};

use openoxide_engine::{
    CheckOptions, CheckOutcome, Engine, EngineCall, EngineOptions, PendingApproval, ReviewOutcome,
    ReviewRecord, ReviewStatus, Reviewer, WaitError, WaitOptions,
};
use openoxide_permission::OperationRefusal;
use openoxide_protocol::{ApprovalRequest, ApprovalResponse, Effect, GrantScope, Operation};
use openoxide_store::audit::AnswerChannel;
use pyo3::{
    exceptions::{PyOSError, PyValueError},
    prelude::*,
};
use serde_json::{Value, json};

use crate::{fork_guard::ForkGuard, host::CallHost, json_value::to_python};

/// The settings of the wait for an answer.
pub(crate) struct AnswerSettings {
    /// The requester, as reviewers see it.
    pub(crate) requester: String,
    /// The seconds after which the request expires.
    pub(crate) timeout: Option<f64>,
}

/// A call that is being decided.
#[pyclass(module = "tool_approval._native", frozen)]
pub(crate) struct Question {
    guard: ForkGuard,
    host: Arc<CallHost>,
    reader: Mutex<PipeReader>,
    descriptor: i32,
    events: Mutex<Receiver<Value>>,
    answers: Mutex<Option<Sender<LocalAnswer>>>,
}

/// An answer of this process.
struct LocalAnswer {
    response: ApprovalResponse,
    channel: AnswerChannel,
}

impl Question {
    /// Starts to decide about a call.
    ///
    /// # Errors
    /// Returns an `OSError` if no pipe or thread can be created.
    pub(crate) fn start(
        py: Python<'_>,
        engine: EngineOptions,
        operation: Operation,
        options: CheckOptions,
        settings: AnswerSettings,
    ) -> PyResult<Self> {
        let (reader, writer) = std::io::pipe()?;
        let (event_sender, events) = mpsc::channel();
        let (answer_sender, answers) = mpsc::channel();
        let host = Arc::new(CallHost::default());
        let work = Work {
            host: Arc::clone(&host),
            events: EventSender { sender: event_sender, writer },
            settings,
        };
        let run = move || work.run(engine, operation, options, answers);
        let started = py.detach(|| thread::Builder::new().name("tool_approval".into()).spawn(run));
        drop(started.map_err(|error| PyOSError::new_err(error.to_string()))?);
        Ok(Self {
            guard: ForkGuard::new(),
            host,
            descriptor: reader.as_raw_fd(),
            reader: Mutex::new(reader),
            events: Mutex::new(events),
            answers: Mutex::new(Some(answer_sender)),
        })
    }
}

#[pymethods]
impl Question {
    /// The descriptor that becomes readable when there is an event.
    fn fileno(&self) -> i32 {
        self.descriptor
    }

    /// Return the next event. Blocks until there is one.
    fn next_event<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.guard.check(py)?;
        let event = py.detach(|| {
            let mut byte = [0];
            let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
            reader.read_exact(&mut byte)?;
            let events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
            events.try_recv().map_err(std::io::Error::other)
        });
        let event = event.unwrap_or_else(|_| failed_event("the call was not decided"));
        to_python(py, &event)
    }

    /// Answer the question. The first answer applies: this one, or that of another process.
    ///
    /// `scope` is `once`, `session` or `project`. `channel` is `terminal` or `application`.
    #[pyo3(signature = (approved, *, scope="once", channel="application"))]
    fn answer(&self, py: Python<'_>, approved: bool, scope: &str, channel: &str) -> PyResult<()> {
        self.guard.check(py)?;
        let scope = match scope {
            "once" => GrantScope::Once,
            "session" => GrantScope::Session,
            "project" => GrantScope::Project,
            _ => return Err(PyValueError::new_err(format!("unknown scope `{scope}`"))),
        };
        let channel = match channel {
            "terminal" => AnswerChannel::Terminal,
            "application" => AnswerChannel::Application,
            _ => return Err(PyValueError::new_err(format!("unknown channel `{channel}`"))),
        };
        let response = match approved {
            true => ApprovalResponse::Approved { scope, terms: None },
            // Other requests of the session are not affected.
            false => ApprovalResponse::Denied,
        };
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answers) = answers.as_ref() {
            // If the call was decided in the meantime, its last event tells how.
            drop(answers.send(LocalAnswer { response, channel }));
        }
        Ok(())
    }

    /// Stop. A pending request is withdrawn.
    fn cancel(&self) {
        self.host.cancel();
    }
}

impl Drop for Question {
    fn drop(&mut self) {
        self.host.cancel();
    }
}

/// The sending end of the events.
struct EventSender {
    sender: Sender<Value>,
    writer: PipeWriter,
}

impl EventSender {
    /// Sends an event. The receiver may be gone.
    fn send(&mut self, event: Value) {
        if self.sender.send(event).is_ok() {
            drop(self.writer.write_all(&[1]));
        }
    }
}

/// The thread that decides about a call.
struct Work {
    host: Arc<CallHost>,
    events: EventSender,
    settings: AnswerSettings,
}

impl Work {
    fn run(
        mut self,
        engine: EngineOptions,
        operation: Operation,
        options: CheckOptions,
        answers: Receiver<LocalAnswer>,
    ) {
        let event = match Engine::open(engine) {
            Ok(engine) => self.decide(&engine, operation, options, answers),
            Err(error) => failed_event(&error.to_string()),
        };
        self.events.send(event);
    }

    fn decide(
        &mut self,
        engine: &Engine,
        operation: Operation,
        options: CheckOptions,
        answers: Receiver<LocalAnswer>,
    ) -> Value {
        let host = Arc::clone(&self.host);
        let Ok(outcome) = engine.check(operation.clone(), options, &*host) else {
            return json!({ "event": "cancelled" });
        };
        let CheckOutcome::NeedsApproval(pending) = outcome else {
            return outcome_event(outcome, &operation, None, &host);
        };
        let request = pending.request();
        self.events.send(json!({
            "event": "question",
            "id": request.id,
            "title": request.title,
            "reason": request.decision.reason,
            "requires_explicit_approval": request.requires_explicit_approval,
            "request": request,
        }));
        let denial_reason = || current_denial_reason(engine, &operation);
        let mut reviewer = LocalReviewer {
            answers,
            channel: AnswerChannel::Application,
            denial_reason: &denial_reason,
            overruled: None,
        };
        let review = self.review(&pending, &mut reviewer);
        let outcome = pending.answer(&review, &*host);
        match reviewer.overruled {
            Some(reason) => json!({ "event": "blocked", "reason": reason }),
            None => outcome_event(outcome, &operation, Some(&review), &host),
        }
    }

    /// Waits for the first answer: of this process, or of another one.
    fn review(
        &self,
        pending: &PendingApproval<'_>,
        reviewer: &mut LocalReviewer<'_>,
    ) -> ReviewRecord {
        let is_abandoned = || self.host.is_cancelled();
        let timeout = self.settings.timeout.filter(|seconds| *seconds >= 0.0);
        let options = WaitOptions {
            requester: &self.settings.requester,
            client: None,
            timeout: timeout.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
            is_abandoned: Some(&is_abandoned),
        };
        match pending.register(options, &*self.host) {
            Ok(queued) => queued.wait_with(reviewer),
            Err(error) => self.review_here(pending, reviewer, error.into()),
        }
    }

    /// Waits for an answer of this process, because no other one can see the request.
    fn review_here(
        &self,
        pending: &PendingApproval<'_>,
        reviewer: &mut LocalReviewer<'_>,
        error: WaitError,
    ) -> ReviewRecord {
        loop {
            match reviewer.answers.recv_timeout(POLL_INTERVAL) {
                Ok(answer) => {
                    let response = reviewer.take_answer(answer);
                    return pending.review(response, reviewer.channel, &*self.host);
                }
                Err(RecvTimeoutError::Timeout) if !self.host.is_cancelled() => {}
                Err(_) => return pending.failed_review_record(error),
            }
        }
    }
}

const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The reviewer of this process, whose answers come from Python.
struct LocalReviewer<'a> {
    answers: Receiver<LocalAnswer>,
    channel: AnswerChannel,
    /// Returns the reason for which the current policy denies the call, if it does.
    denial_reason: &'a dyn Fn() -> Option<String>,
    /// The reason for which an approval does not apply: the policy has become stricter.
    overruled: Option<String>,
}

impl LocalReviewer<'_> {
    /// Returns the response of an answer. A deny that was added in the meantime wins over an
    /// approval.
    fn take_answer(&mut self, answer: LocalAnswer) -> ApprovalResponse {
        self.channel = answer.channel;
        if matches!(answer.response, ApprovalResponse::Approved { .. }) {
            self.overruled = (self.denial_reason)();
        }
        if self.overruled.is_some() { ApprovalResponse::Denied } else { answer.response }
    }
}

/// Returns the reason for which the current policy denies an operation. A policy that cannot be
/// loaded denies it.
fn current_denial_reason(engine: &Engine, operation: &Operation) -> Option<String> {
    match engine.reopen() {
        Ok(current) => {
            let decision = current.evaluate(&EngineCall::from_operation(operation)).decision;
            (decision.effect == Effect::Deny).then_some(decision.reason)
        }
        Err(error) => Some(error.to_string()),
    }
}

impl Reviewer for LocalReviewer<'_> {
    fn channel(&self) -> AnswerChannel {
        self.channel
    }

    fn name(&self) -> &str {
        "the program that asks"
    }

    fn poll_answer(&mut self, timeout: Duration) -> ReviewStatus {
        match self.answers.recv_timeout(timeout) {
            Ok(answer) => ReviewStatus::Answered(self.take_answer(answer)),
            Err(RecvTimeoutError::Timeout) => ReviewStatus::Pending,
            Err(RecvTimeoutError::Disconnected) => ReviewStatus::Closed,
        }
    }

    fn close(&mut self, _outcome: &ReviewOutcome) {}
}

fn failed_event(why: &str) -> Value {
    json!({ "event": "failed", "reason": why })
}

/// Returns the last event of a call.
fn outcome_event(
    outcome: CheckOutcome<'_>,
    operation: &Operation,
    review: Option<&ReviewRecord>,
    host: &CallHost,
) -> Value {
    let mut event = match outcome {
        CheckOutcome::Allowed(permit) => {
            let reason = permit.decision().reason.clone();
            if permit.redeem_for(operation) && !host.is_cancelled() {
                json!({ "event": "approved", "reason": reason })
            } else {
                json!({ "event": "cancelled" })
            }
        }
        CheckOutcome::Denied(refusal) => refusal_event(&refusal, review),
        CheckOutcome::NeedsApproval(pending) => {
            let ApprovalRequest { decision, .. } = pending.abandon(host);
            failed_event(&format!("no audit record could be written: {}", decision.reason))
        }
    };
    if let Some(review) = review {
        add_answer(&mut event, review);
    }
    set_field(&mut event, "warnings", Value::from(host.take_warnings()));
    event
}

fn refusal_event(refusal: &OperationRefusal, review: Option<&ReviewRecord>) -> Value {
    match review.map(ReviewRecord::outcome) {
        Some(ReviewOutcome::Expired) => return json!({ "event": "expired" }),
        Some(ReviewOutcome::Interrupted | ReviewOutcome::Failed(WaitError::Abandoned)) => {
            return json!({ "event": "cancelled" });
        }
        Some(ReviewOutcome::Failed(error)) => return failed_event(&error.to_string()),
        Some(ReviewOutcome::Denied(decision)) => {
            return json!({ "event": "blocked", "reason": decision.reason });
        }
        Some(ReviewOutcome::Answered { .. }) | None => {}
    }
    match refusal {
        OperationRefusal::Denied(decision) => {
            json!({ "event": "blocked", "reason": decision.reason })
        }
        OperationRefusal::Corrected { message } => {
            json!({ "event": "denied", "message": message })
        }
        OperationRefusal::Rejected | OperationRefusal::Cancelled => json!({ "event": "denied" }),
    }
}

/// Adds who answered, and for which calls.
fn add_answer(event: &mut Value, review: &ReviewRecord) {
    let ReviewOutcome::Answered { response, answered_by, .. } = review.outcome() else { return };
    if let ApprovalResponse::Approved { scope, .. } = response {
        set_field(event, "scope", json!(scope));
    }
    if let Some(by) = answered_by {
        set_field(event, "answered_by", Value::from(by.as_str()));
    }
}

fn set_field(event: &mut Value, name: &str, value: Value) {
    if let Value::Object(fields) = event {
        fields.insert(name.to_owned(), value);
    }
}
