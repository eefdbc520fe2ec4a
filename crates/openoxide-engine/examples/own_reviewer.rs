//! A reviewer of the program: an approval desk that receives requests as messages and answers them
//! later, as a page, a chat or a ticket system would.
#![expect(clippy::print_stdout, reason = "the output of the example")]
#![expect(clippy::indexing_slicing, reason = "a missing field of a JSON value is null")]

use std::{
    error::Error,
    sync::mpsc::{self, Receiver, RecvTimeoutError, Sender},
    thread,
    time::Duration,
};

use openoxide_engine::{
    AgentSession, AnswerChannel, EngineOptions, ReviewOutcome, ReviewStatus, Reviewer,
};
use openoxide_protocol::{ApprovalId, ApprovalRequest, ApprovalResponse, GrantScope};
use serde_json::json;

/// The reviewer: sends each request to the desk, and receives the answers.
struct DeskReviewer {
    requests: Sender<ApprovalRequest>,
    answers: Receiver<(ApprovalId, ApprovalResponse)>,
    open: Option<ApprovalId>,
}

impl Reviewer for DeskReviewer {
    fn channel(&self) -> AnswerChannel {
        AnswerChannel::Application
    }

    fn name(&self) -> &str {
        "the approval desk"
    }

    fn open(&mut self, request: &ApprovalRequest) {
        self.open = self.requests.send(request.clone()).ok().map(|()| request.id);
    }

    fn poll_answer(&mut self, timeout: Duration) -> ReviewStatus {
        match self.answers.recv_timeout(timeout) {
            // A late answer to a question that was answered elsewhere is not an answer to this one.
            Ok((id, response)) if self.open == Some(id) => ReviewStatus::Answered(response),
            Ok(_) | Err(RecvTimeoutError::Timeout) => ReviewStatus::Pending,
            Err(RecvTimeoutError::Disconnected) => ReviewStatus::Unreachable,
        }
    }

    fn close(&mut self, _outcome: &ReviewOutcome) {
        self.open = None;
    }
}

/// The desk. It approves refunds up to 100, and gives an instruction for others.
fn work_at_desk(
    requests: &Receiver<ApprovalRequest>,
    answers: &Sender<(ApprovalId, ApprovalResponse)>,
) {
    for request in requests {
        let input: serde_json::Value =
            serde_json::from_str(&request.presentation.content).unwrap_or_default();
        let response = match input["amount"].as_u64() {
            Some(..=100) => ApprovalResponse::new_approval(GrantScope::Once),
            _ => ApprovalResponse::Rejected { message: Some("refund at most 100".to_owned()) },
        };
        if answers.send((request.id, response)).is_err() {
            return;
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let (requests, inbox) = mpsc::channel();
    let (outbox, answers) = mpsc::channel();
    thread::spawn(move || work_at_desk(&inbox, &outbox));
    let mut desk = DeskReviewer { requests, answers, open: None };
    let mut session = AgentSession::open(EngineOptions::from_process()?)?;
    for amount in [40, 4000] {
        let call = json!({ "customer": "ann", "amount": amount });
        match session.request_permit("refund", &call, &mut desk) {
            Ok(permit) => println!("refunded {}", permit.into_operation().input["amount"]),
            Err(error) => println!("not permitted: {error}"),
        }
    }
    Ok(())
}
