//! A person answers in another terminal, with `openoxide approve` or `openoxide deny`: for agents
//! without a terminal, such as services and jobs.
#![expect(clippy::print_stdout, reason = "the output of the example")]
#![expect(clippy::indexing_slicing, reason = "a missing field of a JSON value is null")]

use std::{error::Error, time::Duration};

use openoxide_engine::{AgentSession, EngineOptions, QueueReviewer};
use serde_json::json;

fn main() -> Result<(), Box<dyn Error>> {
    let mut session = AgentSession::open(EngineOptions::from_process()?)?
        .with_agent("release bot")
        .with_timeout(Duration::from_secs(600));
    let mut queue = QueueReviewer::new(|request| {
        println!("waiting for approval: {}", request.title);
        println!("run in another terminal: openoxide approve {}", request.id);
    });
    match session.request_permit("publish", &json!({ "release": "1.0" }), &mut queue) {
        Ok(permit) => println!("published {}", permit.into_operation().input["release"]),
        Err(error) => println!("not permitted: {error}"),
    }
    Ok(())
}
