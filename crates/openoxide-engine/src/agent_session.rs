//! The tool calls of an agent, from their check to a permit.

use std::time::Duration;

use openoxide_adapters::tool_action;
use openoxide_permission::{EvaluationContext, OperationRefusal};
use openoxide_protocol::{
    AbsPath, ApprovalResponse, CallId, GrantScope, Operation, Principal, SessionId,
};
use openoxide_store::audit::{AnswerChannel, RequestedConfinement};
use serde_json::Value;

use crate::{
    audit_log::RecordOrigin,
    basic_host::BasicHost,
    engine::{Engine, EngineOptions},
    error::{EngineOpenError, InterruptedError},
    ids::new_session_id,
    not_permitted_error::{CancelledError, DeniedError, NotPermittedError, UnanswerableError},
    operation_check::{
        CheckOptions, CheckOutcome, ExecutionPermit, PendingApproval, warn_on_error,
    },
    queued_request::WaitOptions,
    review_record::{ReviewOutcome, ReviewRecord},
    reviewer::Reviewer,
    session_approvals::SessionApprovals,
    watched_reviewer::WatchedReviewer,
};

/// The tool calls of one agent.
///
/// Each call is decided by the [`Engine`]: hooks, rules, grants, the mode, and a reviewer if the
/// policy asks. Guarantees:
///
/// - Without a permit, a call is not permitted. Errors, interrupts, timeouts and answers that are
///   not clearly an approval give none.
/// - Each call is decided under the current policy files and saved grants.
/// - A call that needs approval is registered, so `openoxide approve` and `openoxide deny` can
///   answer it, too. If that fails, the reviewer is asked alone.
/// - Each decision and each answer is recorded in the audit log.
/// - An approval for the session covers identical calls with the same accesses. An approval for the
///   project saves its rules about commands; its other rules apply for the session, which ends with
///   this value.
///
/// The methods block until there is a decision. In an asynchronous program, call them in a thread
/// for blocking work. The session can be sent there.
///
/// ```
/// use openoxide_engine::{AgentSession, EngineOptions, FunctionReviewer};
/// use openoxide_protocol::{AbsPath, ApprovalResponse, GrantScope};
/// use serde_json::json;
/// # use openoxide_store::UserEnvironment;
/// # let directory = tempfile::tempdir()?;
/// # let below = |name: &str| Some(directory.path().join(name));
/// # let (config, state) = (below("config"), below("state"));
/// # let environment = UserEnvironment { config, state, ..UserEnvironment::default() };
///
/// let project = AbsPath::new("/work/project")?;
/// let mut session = AgentSession::open(EngineOptions::new(environment, project))?;
/// let mut count = 0;
/// let mut reviewer = FunctionReviewer::new("a test", |_| {
///     count += 1;
///     ApprovalResponse::new_approval(GrantScope::Session)
/// });
/// for _ in 0..3 {
///     let permit = session.request_permit("deploy", &json!({ "to": "staging" }), &mut reviewer)?;
///     let operation = permit.into_operation();
///     assert_eq!(operation.input["to"], "staging");
/// }
/// drop(reviewer);
/// assert_eq!(count, 1); // The approval was for the session.
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct AgentSession {
    pub(crate) engine: Engine,
    pub(crate) host: BasicHost,
    pub(crate) approvals: SessionApprovals,
    pub(crate) caller: SessionCaller,
}

/// The caller of the tools of a session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SessionCaller {
    session: SessionId,
    agent: &'static str,
    timeout: Option<Duration>,
}

impl AgentSession {
    /// Starts a session. An error in a policy file is not an error of this function: every call
    /// then needs approval ([`Engine::broken_files`]).
    ///
    /// # Errors
    /// Returns the same errors as [`Engine::open`].
    pub fn open(options: EngineOptions) -> Result<Self, EngineOpenError> {
        Ok(Self {
            engine: Engine::open(options)?,
            host: BasicHost::default(),
            approvals: SessionApprovals::default(),
            caller: SessionCaller { session: new_session_id(), agent: "agent", timeout: None },
        })
    }

    /// Sets the name of the agent, for reviewers and the audit log [default: `agent`].
    #[must_use]
    pub fn with_agent(mut self, agent: &'static str) -> Self {
        self.caller.agent = agent;
        self
    }

    /// Sets the time after which a question expires [default: never].
    #[must_use]
    pub const fn with_timeout(mut self, timeout: Duration) -> Self {
        self.caller.timeout = Some(timeout);
        self
    }

    /// Returns the engine, with the policy of the last call.
    #[must_use]
    pub const fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Returns the host, which has the warnings of the engine and can be interrupted from another
    /// thread.
    #[must_use]
    pub const fn host(&self) -> &BasicHost {
        &self.host
    }

    /// Returns the id of the session, as the audit log has it.
    #[must_use]
    pub const fn id(&self) -> SessionId {
        self.caller.session
    }

    /// Decides about a call of a tool, and asks the reviewer if the policy asks. The input is the
    /// one that the model sent.
    ///
    /// The names and inputs of the tools of common agents are understood, such as `Bash`, `Read`,
    /// `Edit`, `Write` and `WebFetch`. Any other name is a tool of the program: a rule allows or
    /// denies it by its name, and without a rule the reviewer is asked.
    ///
    /// # Errors
    /// Returns an error if the call may not be executed. Its text is for the model, and
    /// [`NotPermittedError::ends_turn`] tells whether the agent should stop.
    pub fn request_permit(
        &mut self,
        tool: &str,
        input: &Value,
        reviewer: &mut dyn Reviewer,
    ) -> Result<ExecutionPermit, NotPermittedError> {
        let operation = self.new_operation(tool, input);
        let options = self.check_options(RequestedConfinement::NotConfined);
        self.request_permit_for(&operation, options, reviewer)
    }

    /// Decides about an operation as [`Self::request_permit`] does, with options: a title and a
    /// presentation for the reviewer, additional actions, or a question for every call.
    ///
    /// # Errors
    /// Returns the same errors as [`Self::request_permit`].
    pub fn request_permit_for(
        &mut self,
        operation: &Operation,
        options: CheckOptions,
        reviewer: &mut dyn Reviewer,
    ) -> Result<ExecutionPermit, NotPermittedError> {
        self.reload()?;
        let Self { engine, host, approvals, caller } = self;
        let wait = caller.wait_options();
        let review = SessionReview { host, approvals, wait, reviewer };
        review.check(engine, operation, options).permit
    }

    /// Returns the operation of a call, for [`Self::request_permit_for`].
    #[must_use]
    pub fn new_operation(&self, tool: &str, input: &Value) -> Operation {
        self.caller.new_operation(tool, input.clone(), self.engine.cwd().clone())
    }

    /// Returns the default options of a check, for [`Self::request_permit_for`].
    #[must_use]
    pub fn check_options(&self, confinement: RequestedConfinement) -> CheckOptions {
        self.caller.check_options(confinement)
    }

    /// Puts the current policy in force.
    fn reload(&mut self) -> Result<(), NotPermittedError> {
        let reopened = self.engine.reopen();
        self.engine = reopened.map_err(|error| DeniedError::from_reason(&error.to_string()))?;
        Ok(())
    }
}

impl SessionCaller {
    pub(crate) fn new_operation(&self, tool: &str, input: Value, cwd: AbsPath) -> Operation {
        Operation {
            session: self.session,
            call: CallId::default(),
            principal: Principal::Agent,
            tool: tool.to_owned(),
            action: tool_action::parse_action(tool, &input),
            input,
            cwd,
        }
    }

    pub(crate) fn check_options(&self, confinement: RequestedConfinement) -> CheckOptions {
        let origin = RecordOrigin { agent: self.agent, ..RecordOrigin::LIBRARY };
        CheckOptions::new(origin, confinement)
    }

    pub(crate) const fn wait_options(&self) -> WaitOptions<'static> {
        WaitOptions {
            requester: self.agent,
            client: None,
            timeout: self.timeout,
            is_abandoned: None,
        }
    }
}

/// The result of a check, with the review if there was one.
pub(crate) struct ReviewedCheck {
    pub(crate) permit: Result<ExecutionPermit, NotPermittedError>,
    pub(crate) review: Option<ReviewRecord>,
}

/// The means to review one operation of a session.
pub(crate) struct SessionReview<'a> {
    pub(crate) host: &'a BasicHost,
    pub(crate) approvals: &'a mut SessionApprovals,
    pub(crate) wait: WaitOptions<'a>,
    pub(crate) reviewer: &'a mut dyn Reviewer,
}

impl SessionReview<'_> {
    /// Checks an operation, and asks until the outcome is final. If a required audit record cannot
    /// be written, a second question follows.
    pub(crate) fn check(
        mut self,
        engine: &Engine,
        operation: &Operation,
        options: CheckOptions,
    ) -> ReviewedCheck {
        let Some(mut outcome) = self.start_check(engine, operation, options) else {
            return ReviewedCheck { permit: Err(CancelledError.into()), review: None };
        };
        let mut review = None;
        loop {
            let permit = match outcome {
                CheckOutcome::Allowed(_) if self.host.is_interrupted() => {
                    Err(CancelledError.into())
                }
                CheckOutcome::Allowed(permit) => Ok(permit),
                CheckOutcome::Denied(refusal) => Err(refusal_error(refusal, review.as_ref())),
                CheckOutcome::NeedsApproval(pending) => {
                    let answer = self.review(&pending, engine);
                    outcome = pending.answer(&answer.record, self.host);
                    review = Some(answer);
                    continue;
                }
            };
            if let (Ok(_), Some(review)) = (&permit, &review) {
                self.approvals.remember(&review.record, &engine.session_context());
            }
            return ReviewedCheck { permit, review: review.map(|review| review.record) };
        }
    }

    /// Checks an operation, or records that this was interrupted.
    fn start_check<'e>(
        &self,
        engine: &'e Engine,
        operation: &Operation,
        options: CheckOptions,
    ) -> Option<CheckOutcome<'e>> {
        let origin = options.origin;
        let outcome = match self.host.is_interrupted() {
            true => Err(InterruptedError),
            false => engine.check(operation.clone(), options, self.host),
        };
        if outcome.is_err() {
            let written = engine.audit_log().record_interruption(origin, operation);
            warn_on_error(written, self.host);
        }
        outcome.ok()
    }

    fn review(&mut self, pending: &PendingApproval<'_>, engine: &Engine) -> SessionAnswer {
        let mut reviewer = WatchedReviewer::new(self.reviewer);
        let record = if self.approvals.covers(pending.request(), &engine.session_context()) {
            pending.review_record(ReviewOutcome::Answered {
                response: ApprovalResponse::new_approval(GrantScope::Once),
                channel: AnswerChannel::Application,
                answered_by: Some("an approval for the session".to_owned()),
            })
        } else {
            pending.ask_reviewer(&mut reviewer, self.wait, self.host)
        };
        SessionAnswer { record, is_unreachable: reviewer.is_unreachable() }
    }
}

impl Engine {
    fn session_context(&self) -> EvaluationContext<'_> {
        self.directory_context(self.cwd(), &self.roots)
    }
}

/// The review of one question.
struct SessionAnswer {
    record: ReviewRecord,
    /// True if the reviewer could not be reached.
    is_unreachable: bool,
}

fn refusal_error(refusal: OperationRefusal, review: Option<&SessionAnswer>) -> NotPermittedError {
    match review {
        Some(SessionAnswer { record, is_unreachable: true }) => {
            UnanswerableError { request: Box::new(record.request().clone()) }.into()
        }
        review => NotPermittedError::from_review(refusal, review.map(|review| &review.record)),
    }
}

#[cfg(test)]
mod tests;
