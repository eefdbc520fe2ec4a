//! Asking the person in this terminal while reading from the server.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, TryRecvError},
    },
    thread,
};

use openoxide_codex::{
    app_server::RequestId,
    app_server_client::{AppServerClient, ReviewStop},
    approval_review::{CodexAnswer, CodexAnswerOption, CodexAnswerOptions},
};
use openoxide_protocol::{ApprovalRequest, Decision};
use openoxide_tui::{AnswerOption, AskError, AskOptions, InputMode, ask_choice};

use super::reviewer::CodexReviewer;
use crate::{program_exit::ProgramExit, prompt_options::ask_options, user_messages};

/// The result of a prompt.
pub(super) enum PromptEnd {
    /// The person answered.
    Chosen(CodexAnswer),
    /// Another client has answered.
    AnsweredElsewhere,
    /// The person cannot be asked.
    Unavailable(AskError),
}

impl CodexReviewer<'_> {
    /// Asks the person, and continues to read from the server. New requests are queued, and
    /// requests that are answered elsewhere are removed.
    pub(super) fn ask_person(
        &mut self,
        client: &mut AppServerClient,
        id: &RequestId,
        request: &ApprovalRequest,
        offers: &CodexAnswerOptions,
    ) -> Result<PromptEnd, ReviewStop> {
        let request = without_own_choices(request);
        let list: Vec<_> = offers.options.iter().map(to_answer_option).collect();
        let withdrawn = Arc::new(AtomicBool::new(false));
        let raised = Some(Arc::clone(&withdrawn));
        let options = AskOptions { withdrawn: raised, ..ask_options(self.global) };
        let (said, here) = mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(|| drop(said.send(ask_choice(&request, &list, &options))));
            loop {
                match here.try_recv() {
                    Ok(chosen) => return prompt_end_from_choice(chosen, offers),
                    Err(TryRecvError::Disconnected) => return Err(ReviewStop::Interrupted),
                    Err(TryRecvError::Empty) => {}
                }
                let Some(over) = self.poll_prompt_end(client, id) else { continue };
                withdrawn.store(true, Ordering::Relaxed);
                if options.input == InputMode::Lines {
                    print_press_enter(&over);
                }
                drop(here.recv());
                return over;
            }
        })
    }

    /// Reads from the server for a moment, and returns the result of the prompt if it has ended.
    fn poll_prompt_end(
        &mut self,
        client: &mut AppServerClient,
        id: &RequestId,
    ) -> Option<Result<PromptEnd, ReviewStop>> {
        match client.poll(self) {
            Err(stop) => Some(Err(stop)),
            Ok(()) => client.is_answered_elsewhere(id).then_some(Ok(PromptEnd::AnsweredElsewhere)),
        }
    }
}

fn prompt_end_from_choice(
    chosen: Result<Option<usize>, AskError>,
    offers: &CodexAnswerOptions,
) -> Result<PromptEnd, ReviewStop> {
    match chosen {
        Ok(chosen) => {
            let offered = chosen.and_then(|at| offers.options.get(at));
            offered
                .map(|offered| PromptEnd::Chosen(offered.answer.clone()))
                .ok_or(ReviewStop::Interrupted)
        }
        Err(AskError::HungUp | AskError::Withdrawn) => Err(ReviewStop::Interrupted),
        Err(error) => Ok(PromptEnd::Unavailable(error)),
    }
}

/// Tells the person to press Enter. In line mode the prompt ends only with the next line of input.
fn print_press_enter(over: &Result<PromptEnd, ReviewStop>) {
    let why = match over {
        Ok(_) => "answered elsewhere".to_owned(),
        Err(ReviewStop::Disconnected(lost)) => lost.to_string(),
        Err(ReviewStop::Interrupted) => {
            #[expect(clippy::exit, reason = "the thread that reads the line cannot be woken")]
            std::process::exit(ProgramExit::Interrupted.code().into());
        }
    };
    user_messages::print_line(&format!("\nopenoxide: {why}; press Enter"));
}

/// Returns the request without OpenOxide's rule choices. Codex's own options replace them.
fn without_own_choices(request: &ApprovalRequest) -> ApprovalRequest {
    let decision = Decision { suggested_rules: Vec::new(), ..request.decision.clone() };
    ApprovalRequest { decision, alternatives: Vec::new(), ..request.clone() }
}

fn to_answer_option(offered: &CodexAnswerOption) -> AnswerOption {
    let CodexAnswerOption { keys, meaning, needs_caution: careful, .. } = offered;
    AnswerOption { keys: keys.clone(), meaning: meaning.clone(), is_risky: *careful }
}
