//! A person answers in this terminal, in the inline prompt of `openoxide run`.
//!
//! While the prompt is open, `openoxide approve` in another terminal can answer, too. The prompt
//! then closes. `terminal_reviewer RELEASE…` asks about several
//! releases.
#![expect(clippy::print_stdout, reason = "the output of the example")]
#![expect(clippy::indexing_slicing, reason = "a missing field of a JSON value is null")]

use std::{
    env,
    error::Error,
    sync::{Arc, atomic::AtomicBool},
};

use openoxide_engine::{AgentSession, AnswerChannel, BlockingReviewer, EngineOptions};
use openoxide_protocol::{ApprovalRequest, ApprovalResponse};
use openoxide_tui::{AskOptions, InputMode, TextStyle, ask};
use serde_json::json;

fn main() -> Result<(), Box<dyn Error>> {
    let mut session = AgentSession::open(EngineOptions::from_process()?)?;
    let mut terminal =
        BlockingReviewer::new("the prompt", AnswerChannel::Terminal, ask_in_terminal);
    let mut releases: Vec<String> = env::args().skip(1).collect();
    if releases.is_empty() {
        releases.push("1.0".to_owned());
    }
    for release in releases {
        let call = json!({ "release": release });
        match session.request_permit("publish", &call, &mut terminal) {
            Ok(permit) => println!("published {}", permit.into_operation().input["release"]),
            Err(error) => println!("not permitted: {error}"),
        }
    }
    Ok(())
}

/// Shows the prompt until the person has answered, or the question is withdrawn.
fn ask_in_terminal(
    request: &ApprovalRequest,
    withdrawn: Arc<AtomicBool>,
) -> Option<ApprovalResponse> {
    let input = InputMode::from_term(env::var("TERM").ok().as_deref());
    let (style, withdrawn) = (TextStyle::Ansi, Some(withdrawn));
    ask(request, &AskOptions { style, input, withdrawn, history_lookup: None }).ok()
}
