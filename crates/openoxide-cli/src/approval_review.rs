//! Asking a person for approval, in this terminal and in any other by `openoxide approve`. The
//! first answer applies.

mod request_watch;
mod signal_watch;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    time::Duration,
};

use openoxide_engine::{
    ApprovalHistory, Engine, EngineCall, GrantUseMode, OpenError, ReviewOutcome, ReviewRecord,
};
use openoxide_protocol::{
    ApprovalRequest, ApprovalResponse, Decision, Effect, GrantScope, Operation,
};
use openoxide_store::{GrantFile, GrantLimits, UserEnvironment, audit::AnswerChannel};
use openoxide_tui::{
    AskError, AskOptions, HistoryLookup, InputMode, LineMode, ask, can_ask, escape_text,
};

use crate::{
    args::{GlobalArgs, RunArgs},
    commands::run::ask_options,
    terminal_host::TerminalHost,
    user_messages,
};
use request_watch::RequestWatch;
pub(crate) use signal_watch::SignalWatch;

/// The interval between two checks for an answer. Each check reads one number of shared memory: a
/// delay of 50 ms is not noticeable, and the cost of twenty checks per second is not measurable.
/// Notifications (inotify) would need another dependency and a database that never moves.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The ways to answer the approval requests of one `run`.
pub(crate) struct ApprovalReview<'a> {
    engine: &'a Engine,
    wait_seconds: Option<u32>,
    global: GlobalArgs,
    operation: Operation,
    at_terminal: bool,
    /// Returns true when the answer is no longer needed.
    is_abandoned: Option<&'a dyn Fn() -> bool>,
}

impl<'a> ApprovalReview<'a> {
    /// Creates a review, or returns `None` if no one can be asked.
    pub(crate) fn new(
        engine: &'a Engine,
        args: &RunArgs,
        global: GlobalArgs,
        operation: Operation,
    ) -> Option<Self> {
        let at_terminal = !global.no_input && can_ask();
        let anywhere = at_terminal || args.wait.is_some();
        let wait = args.wait;
        anywhere.then_some(Self {
            engine,
            wait_seconds: wait,
            global,
            operation,
            at_terminal,
            is_abandoned: None,
        })
    }

    /// Adds a check that ends the request when the answer is no longer needed.
    pub(crate) fn with_abandonment_check(self, gone: &'a dyn Fn() -> bool) -> Self {
        Self { is_abandoned: Some(gone), ..self }
    }

    /// Waits for an answer, or for the reason why there is none.
    pub(crate) fn ask_for_approval(&self, request: ApprovalRequest) -> ReviewRecord {
        let task = self.engine.grant_file().and_then(GrantFile::current_task).map(str::to_owned);
        let request = ApprovalRequest { task, ..request };
        let end = match (RequestWatch::register(self, &request), self.at_terminal) {
            (Ok(mut watch), here) => {
                let end = match here {
                    true => self.ask_in_terminal_and_queue(&request, &mut watch),
                    false => self.wait_for_answer(&request, &mut watch),
                };
                watch.stop(end)
            }
            (Err(error), true) => {
                user_messages::print_note(&format!("it can be answered here only: {error}"));
                self.ask_in_terminal(&request)
            }
            (Err(error), false) => ReviewOutcome::Failed(error),
        };
        ReviewRecord { request, outcome: end, can_save_grant: self.engine.grant_file().is_some() }
    }

    fn ask_in_terminal(&self, request: &ApprovalRequest) -> ReviewOutcome {
        let options =
            AskOptions { history_lookup: Some(history_callback()), ..ask_options(self.global) };
        let response = response_or_cancel(ask(request, &options));
        self.terminal_outcome(request, response)
    }

    /// Returns the outcome of a response that was given in this terminal, where no other terminal
    /// could answer.
    fn terminal_outcome(
        &self,
        request: &ApprovalRequest,
        response: ApprovalResponse,
    ) -> ReviewOutcome {
        if is_project_grant(&response) {
            save_grant(self.engine.grant_file(), request, &response);
        }
        ReviewOutcome::Answered { response, channel: AnswerChannel::Terminal, answered_by: None }
    }

    fn wait_for_answer(
        &self,
        request: &ApprovalRequest,
        watch: &mut RequestWatch<'_>,
    ) -> ReviewOutcome {
        let id = request.id;
        user_messages::print_line(&format!(
            "openoxide: waiting for approval: {}",
            escape_text(&request.decision.reason, LineMode::SingleLine)
        ));
        user_messages::print_line(&format!(
            "openoxide: it waits for `openoxide approve {id}` or `openoxide deny {id}` in a terminal"
        ));
        loop {
            if let Some(end) = watch.poll_end() {
                return end;
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Asks in this terminal, while the others may answer, too.
    fn ask_in_terminal_and_queue(
        &self,
        request: &ApprovalRequest,
        watch: &mut RequestWatch<'_>,
    ) -> ReviewOutcome {
        let withdrawn = Arc::new(AtomicBool::new(false));
        let options = AskOptions {
            withdrawn: Some(Arc::clone(&withdrawn)),
            history_lookup: Some(history_callback()),
            ..ask_options(self.global)
        };
        let lines = options.input == InputMode::Lines;
        let (said, here) = mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(|| drop(said.send(ask(request, &options))));
            loop {
                match here.recv_timeout(POLL_INTERVAL) {
                    Ok(Ok(response)) => return watch.submit_answer(request, response),
                    Ok(Err(error)) => return self.terminal_lost_outcome(&error, watch),
                    Err(RecvTimeoutError::Disconnected) => {
                        return watch.withdraw(ReviewOutcome::Interrupted);
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                }
                if let Some(end) = watch.poll_end() {
                    withdrawn.store(true, Ordering::Relaxed);
                    if lines {
                        report_answered_elsewhere(&end);
                    }
                    drop(here.recv());
                    return end;
                }
            }
        })
    }

    /// Withdraws the request and cancels it. A lost terminal is not an answer, so other requests of
    /// the session are not affected.
    fn terminal_lost_outcome(
        &self,
        error: &AskError,
        watch: &mut RequestWatch<'_>,
    ) -> ReviewOutcome {
        user_messages::print_error(error);
        let (response, channel) = (ApprovalResponse::Cancelled, AnswerChannel::Terminal);
        watch.withdraw(ReviewOutcome::Answered { response, channel, answered_by: None })
    }

    /// Returns the current decision of the policy. A grant or a deny may have been added since the
    /// request was made.
    fn current_decision(&self, usage: GrantUseMode) -> Result<Decision, OpenError> {
        let facts = self.engine.collect_facts(&EngineCall::from_operation(&self.operation));
        self.engine.reevaluate(&self.operation, &facts, usage, &TerminalHost)
    }
}

/// Returns a callback that reads the audit journal only when the history is displayed.
fn history_callback() -> HistoryLookup {
    HistoryLookup::new(|request| {
        ApprovalHistory::read(&UserEnvironment::from_process()).choice_histories(request)
    })
}

fn response_or_cancel(asked: Result<ApprovalResponse, AskError>) -> ApprovalResponse {
    asked.unwrap_or_else(|error| {
        user_messages::print_error(&error);
        ApprovalResponse::Cancelled
    })
}

/// Tells the person that the request was answered elsewhere. In line mode the prompt ends only with
/// the next line of input.
fn report_answered_elsewhere(end: &ReviewOutcome) {
    if matches!(end, ReviewOutcome::Interrupted) {
        #[expect(clippy::exit, reason = "the thread that reads the line cannot be woken")]
        std::process::exit(crate::program_exit::ProgramExit::Interrupted.code().into());
    }
    user_messages::print_line("\nopenoxide: answered elsewhere; press Enter");
}

pub(crate) const fn is_project_grant(response: &ApprovalResponse) -> bool {
    matches!(response, ApprovalResponse::Approved { scope: GrantScope::Project, .. })
}

/// Saves the chosen rules, which must be among those offered, before the approval takes effect. If
/// saving fails, the approval applies once.
fn save_grant(grants: Option<&GrantFile>, request: &ApprovalRequest, response: &ApprovalResponse) {
    let Some(terms) = request.granted_terms(response) else {
        return user_messages::print_note(&"only offered rules can be saved; approved once");
    };
    let bound = |terms| GrantLimits::from_terms(terms, request.task.as_deref());
    match grants.map(|grants| grants.add_limited(&terms.rules, &bound(&terms))) {
        Some(Ok(())) => {}
        Some(Err(error)) => {
            user_messages::print_error(&format!("the grant was not saved: {error}"));
        }
        None => user_messages::print_note(&"grants are not saved with `--policy`; approved once"),
    }
}

/// Returns whether the policy now allows or denies the request, or `None` if it still asks.
const fn allowed_by_policy(decision: &Decision) -> Option<bool> {
    match decision.effect {
        Effect::Allow => Some(true),
        Effect::Deny => Some(false),
        Effect::Ask => None,
    }
}
