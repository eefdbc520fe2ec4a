//! Two reviewers are asked at once: a person in this terminal, and a time limit that rejects for the
//! person. The first answer applies. `two_reviewers SECONDS` sets the limit.
#![expect(clippy::print_stdout, reason = "the output of the example")]
#![expect(clippy::indexing_slicing, reason = "a missing field of a JSON value is null")]

use std::{
    env,
    error::Error,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use openoxide_engine::{
    AgentSession, AnswerChannel, BlockingReviewer, EngineOptions, ReviewerGroup,
};
use openoxide_protocol::{ApprovalRequest, ApprovalResponse};
use openoxide_tui::{AskOptions, InputMode, TextStyle, ask};
use serde_json::json;

fn main() -> Result<(), Box<dyn Error>> {
    let limit = Duration::from_secs(env::args().nth(1).map_or(Ok(60), |text| text.parse())?);
    let mut session = AgentSession::open(EngineOptions::from_process()?)?;
    let mut terminal =
        BlockingReviewer::new("the prompt", AnswerChannel::Terminal, ask_in_terminal);
    let mut clock = BlockingReviewer::new(
        "the time limit",
        AnswerChannel::Application,
        move |_: &ApprovalRequest, withdrawn| reject_later(limit, &withdrawn),
    );
    let mut both = ReviewerGroup::new([&mut terminal, &mut clock]);
    match session.request_permit("publish", &json!({ "release": "1.0" }), &mut both) {
        Ok(permit) => println!("published {}", permit.into_operation().input["release"]),
        Err(error) => println!("not permitted: {error}"),
    }
    Ok(())
}

fn ask_in_terminal(
    request: &ApprovalRequest,
    withdrawn: Arc<AtomicBool>,
) -> Option<ApprovalResponse> {
    let input = InputMode::from_term(env::var("TERM").ok().as_deref());
    let (style, withdrawn) = (TextStyle::Ansi, Some(withdrawn));
    ask(request, &AskOptions { style, input, withdrawn, history_lookup: None }).ok()
}

/// Waits, and rejects with an instruction for the model, which then continues.
fn reject_later(limit: Duration, withdrawn: &AtomicBool) -> Option<ApprovalResponse> {
    let start = Instant::now();
    while start.elapsed() < limit {
        if withdrawn.load(Ordering::Relaxed) {
            return None;
        }
        thread::sleep(Duration::from_millis(50));
    }
    let message = Some("no one answered in time; continue without publishing".to_owned());
    Some(ApprovalResponse::Rejected { message })
}
