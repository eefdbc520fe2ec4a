//! Asking a person for approval, in this terminal and in any other by `openoxide approve`. The
//! engine waits for the first answer.

mod prompt_reviewer;

use std::{
    sync::{Arc, atomic::AtomicBool, mpsc},
    time::Duration,
};

use openoxide_engine::{
    ApprovalHistory, PendingApproval, QueuedRequest, ReviewRecord, WaitError, WaitOptions,
};
use openoxide_protocol::ApprovalResponse;
use openoxide_store::{UserEnvironment, audit::AnswerChannel};
use openoxide_tui::{AskOptions, HistoryLookup, LineMode, ask, can_ask, escape_text};

use crate::{
    args::GlobalArgs, prompt_options::ask_options, terminal_host::TerminalHost, user_messages,
};
use prompt_reviewer::PromptReviewer;

/// The ways to answer the approval requests of one `run`.
pub(crate) struct ApprovalReview<'a> {
    wait_seconds: Option<u32>,
    global: GlobalArgs,
    at_terminal: bool,
    /// Returns true when the answer is no longer needed.
    is_abandoned: Option<&'a dyn Fn() -> bool>,
}

impl<'a> ApprovalReview<'a> {
    /// Creates a review, or returns `None` if no one can be asked.
    pub(crate) fn new(wait_seconds: Option<u32>, global: GlobalArgs) -> Option<Self> {
        let at_terminal = !global.no_input && can_ask();
        let can_answer = at_terminal || wait_seconds.is_some();
        can_answer.then_some(Self { wait_seconds, global, at_terminal, is_abandoned: None })
    }

    /// Adds a check that ends the request when the answer is no longer needed.
    pub(crate) fn with_abandonment_check(self, gone: &'a dyn Fn() -> bool) -> Self {
        Self { is_abandoned: Some(gone), ..self }
    }

    /// Waits for an answer, or for the reason why there is none.
    pub(crate) fn ask_for_approval(&self, pending: &PendingApproval<'_>) -> ReviewRecord {
        let options = WaitOptions {
            requester: "person",
            client: None,
            timeout: self.wait_seconds.map(|seconds| Duration::from_secs(seconds.into())),
            is_abandoned: self.is_abandoned,
        };
        match (pending.register(options, &TerminalHost), self.at_terminal) {
            (Ok(queued), true) => self.ask_in_terminal_and_queue(queued),
            (Ok(queued), false) => wait_for_answer(queued),
            (Err(error), true) => {
                user_messages::print_note(&format!(
                    "the request can only be answered here: {error}"
                ));
                self.ask_in_terminal(pending)
            }
            (Err(error), false) => pending.failed_review_record(WaitError::Store(error)),
        }
    }

    fn ask_in_terminal(&self, pending: &PendingApproval<'_>) -> ReviewRecord {
        let options = self.prompt_options(None);
        let response = ask(pending.request(), &options).unwrap_or_else(|error| {
            user_messages::print_error(&error);
            ApprovalResponse::Cancelled
        });
        pending.review(response, AnswerChannel::Terminal, &TerminalHost)
    }

    /// Asks in this terminal. Other terminals can answer at the same time.
    fn ask_in_terminal_and_queue(&self, queued: QueuedRequest<'_>) -> ReviewRecord {
        let withdrawn = Arc::new(AtomicBool::new(false));
        let options = self.prompt_options(Some(Arc::clone(&withdrawn)));
        let (sender, answers) = mpsc::channel();
        let mut prompt = PromptReviewer { answers, withdrawn, input: options.input };
        let request = queued.request().clone();
        std::thread::scope(|scope| {
            scope.spawn(move || drop(sender.send(ask(&request, &options))));
            queued.wait_with(&mut prompt)
        })
    }

    fn prompt_options(&self, withdrawn: Option<Arc<AtomicBool>>) -> AskOptions {
        let history_lookup = Some(history_callback());
        AskOptions { withdrawn, history_lookup, ..ask_options(self.global) }
    }
}

fn wait_for_answer(queued: QueuedRequest<'_>) -> ReviewRecord {
    let request = queued.request();
    let id = request.id;
    user_messages::print_line(&format!(
        "openoxide: waiting for approval: {}",
        escape_text(&request.decision.reason, LineMode::SingleLine)
    ));
    user_messages::print_line(&format!(
        "openoxide: to answer, run `openoxide approve {id}` or `openoxide deny {id}` in a \
         terminal"
    ));
    queued.wait()
}

/// Returns a callback that reads the audit journal only when the history is displayed.
fn history_callback() -> HistoryLookup {
    HistoryLookup::new(|request| {
        ApprovalHistory::read(&UserEnvironment::from_process()).choice_histories(request)
    })
}
