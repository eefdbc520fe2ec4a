//! A tiny agent with three tools: it runs shell commands in the sandbox, reads files, and sends
//! messages. Run it in a directory with a `README.md`.
//!
//! The model is a script. The policy is that of the user and the project, with one more rule. A
//! function of the program reviews what the policy asks about.
#![expect(clippy::print_stdout, reason = "the output of the example")]
#![expect(clippy::indexing_slicing, reason = "a missing field of a JSON value is null")]

use std::{error::Error, fs, process::ExitCode};

use openoxide_engine::{
    AgentSession, CommandRunError, EngineOptions, FunctionReviewer, NotPermittedError, Reviewer,
    describe_denial, run_as_supervisor,
};
use openoxide_protocol::{
    ApprovalRequest, ApprovalResponse, Effect, GrantScope,
    escape::{LineMode, escape_text},
};
use serde_json::{Value, json};

/// The command that the reviewer approves.
const BUILD: &str = "mkdir -p build && echo done > build/log.txt";

fn main() -> ExitCode {
    // The sandbox starts this program again.
    if let Some(exit) = run_as_supervisor() {
        return exit;
    }
    match run_agent() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run_agent() -> Result<(), Box<dyn Error>> {
    let mut options = EngineOptions::from_process()?;
    options.extra_rules = vec![(Effect::Deny, "Bash(git push *)".to_owned())];
    let mut session = AgentSession::open(options)?.with_agent("example agent");
    let mut reviewer = FunctionReviewer::new("example program", review);
    for (tool, input) in call_model() {
        println!("model calls {tool} {}", escape_text(&input.to_string(), LineMode::SingleLine));
        match call_tool(&mut session, tool, &input, &mut reviewer) {
            Ok(result) => println!("  result: {result}"),
            Err(error) if error.ends_turn() => {
                println!("  stopped: {error}");
                break;
            }
            // The model is told, and continues.
            Err(error) => println!("  not permitted: {error}"),
        }
    }
    for warning in session.host().take_warnings() {
        println!("warning: {warning}");
    }
    Ok(())
}

/// Returns the calls of the model. A real one would read each result before its next call.
fn call_model() -> Vec<(&'static str, Value)> {
    vec![
        ("read_file", json!({ "path": "README.md" })),
        ("run_command", json!({ "command": "wc -l < README.md" })),
        ("run_command", json!({ "command": BUILD })),
        ("run_command", json!({ "command": "git push origin main" })),
        ("run_command", json!({ "command": "cat ~/.ssh/id_ed25519" })),
        ("send_message", json!({ "to": "ann", "text": "The build is done." })),
        ("send_message", json!({ "to": "everyone", "text": "The build is done." })),
    ]
}

/// Answers a question of the policy. An approval compares the whole input: after a prefix of a
/// command, anything could follow.
fn review(request: &ApprovalRequest) -> ApprovalResponse {
    println!("  asked: {}", escape_text(&request.decision.reason, LineMode::SingleLine));
    let content = &request.presentation.content;
    let is_approved = match request.tool.as_str() {
        "send_message" => parse_receiver(content).as_deref() == Some("ann"),
        _ => content == BUILD,
    };
    if is_approved {
        return ApprovalResponse::new_approval(GrantScope::Once);
    }
    ApprovalResponse::Rejected { message: Some("work without it".to_owned()) }
}

/// Returns the receiver of a message. The input of a tool of the program is shown as JSON.
fn parse_receiver(content: &str) -> Option<String> {
    let input: Value = serde_json::from_str(content).ok()?;
    Some(input.get("to")?.as_str()?.to_owned())
}

fn call_tool(
    session: &mut AgentSession,
    tool: &str,
    input: &Value,
    reviewer: &mut dyn Reviewer,
) -> Result<String, NotPermittedError> {
    match tool {
        "run_command" => run_command(session, input, reviewer),
        "read_file" => {
            let operation = session.request_permit(tool, input, reviewer)?.into_operation();
            Ok(read_file(operation.input["path"].as_str().unwrap_or_default()))
        }
        _ => {
            let operation = session.request_permit(tool, input, reviewer)?.into_operation();
            Ok(format!("sent to {}", operation.input["to"]))
        }
    }
}

/// Decides about a command and runs it in the sandbox.
fn run_command(
    session: &mut AgentSession,
    input: &Value,
    reviewer: &mut dyn Reviewer,
) -> Result<String, NotPermittedError> {
    let script = input["command"].as_str().unwrap_or_default();
    let result = match session.run_command(script, reviewer) {
        Ok(result) => result,
        Err(CommandRunError::NotPermitted(error)) => return Err(error),
        Err(error) => return Ok(format!("error: {error}")),
    };
    let denials = result.report.iter().flat_map(|report| &report.denials);
    let denials = denials.map(|denial| format!(", refused: {}", describe_denial(denial)));
    let (status, denials) = (result.status, denials.collect::<String>());
    let output = result.output.to_text();
    let lines = output.lines().map(|line| escape_text(line, LineMode::SingleLine));
    let lines = lines.map(|line| format!("\n  {line}")).collect::<String>();
    Ok(format!("{status}{denials}{lines}"))
}

fn read_file(path: &str) -> String {
    match fs::read_to_string(path) {
        Ok(text) => format!("{} lines", text.lines().count()),
        Err(error) => format!("error: {error}"),
    }
}
