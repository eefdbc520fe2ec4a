//! The prompt of this terminal, as a reviewer that the engine polls.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError},
    },
    time::Duration,
};

use openoxide_engine::{ReviewOutcome, ReviewStatus, Reviewer};
use openoxide_protocol::ApprovalResponse;
use openoxide_store::audit::AnswerChannel;
use openoxide_tui::{AskError, InputMode};

use crate::{program_exit::ProgramExit, user_messages};

/// A prompt that is open in another thread.
pub(super) struct PromptReviewer {
    /// Receives the result of the prompt.
    pub(super) answers: Receiver<Result<ApprovalResponse, AskError>>,
    /// Closes the prompt.
    pub(super) withdrawn: Arc<AtomicBool>,
    pub(super) input: InputMode,
}

impl Reviewer for PromptReviewer {
    fn channel(&self) -> AnswerChannel {
        AnswerChannel::Terminal
    }

    fn name(&self) -> &str {
        "the prompt"
    }

    fn poll_answer(&mut self, timeout: Duration) -> ReviewStatus {
        match self.answers.recv_timeout(timeout) {
            Ok(Ok(response)) => ReviewStatus::Answered(response),
            Ok(Err(error)) => {
                user_messages::print_error(&error);
                ReviewStatus::Unreachable
            }
            Err(RecvTimeoutError::Disconnected) => ReviewStatus::Closed,
            Err(RecvTimeoutError::Timeout) => ReviewStatus::Pending,
        }
    }

    fn close(&mut self, outcome: &ReviewOutcome) {
        self.withdrawn.store(true, Ordering::Relaxed);
        if self.input == InputMode::Lines {
            report_answered_elsewhere(outcome);
        }
        drop(self.answers.recv());
    }
}

/// Tells the person that the request was answered elsewhere. In line mode the prompt ends only with
/// the next line of input.
fn report_answered_elsewhere(outcome: &ReviewOutcome) {
    if matches!(outcome, ReviewOutcome::Interrupted) {
        #[expect(clippy::exit, reason = "the thread that reads the line cannot be woken")]
        std::process::exit(ProgramExit::Interrupted.code().into());
    }
    user_messages::print_line("\nopenoxide: answered elsewhere; press Enter");
}
