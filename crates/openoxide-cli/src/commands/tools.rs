//! `tools`: the tools that the policy in force hides from the model.

use std::io::Read as _;

use openoxide_adapters::tool_action;
use openoxide_permission::HiddenReason;
use openoxide_protocol::{Action, SCHEMA};
use openoxide_tui::{LineMode, escape_text};
use serde_json::{Value, json};

use crate::{
    args::{GlobalArgs, ToolsCommand},
    error::{CliError, stream_error::StreamError},
    policy_args,
    program_exit::ProgramExit,
    user_messages,
};

/// The maximum size of the list of names.
const MAX_INPUT_BYTES: u64 = 1 << 20;

/// Prints the names of hidden tools in the order of the input; as JSON, all tools.
pub(crate) fn run_tools_command(
    verb: &ToolsCommand,
    global: GlobalArgs,
) -> Result<ProgramExit, CliError> {
    let ToolsCommand::Filter { policy, tools, json } = verb;
    let engine = policy_args::open_engine_with_layers(policy)?;
    let sound = policy_args::check_policy(&engine, global);
    let tools = if tools.is_empty() { read_tool_names()? } else { tools.clone() };
    let mut text = String::new();
    for tool in &tools {
        let why = engine.hidden_reason(tool, &sample_action(tool));
        if *json {
            text += &render_json(tool, why.as_ref());
        } else if why.is_some() {
            text += &escape_text(tool, LineMode::SingleLine);
            text.push('\n');
        }
    }
    // Problems were already reported. The denials of the remaining rules are still shown.
    Ok(user_messages::print_data(&text, sound.err().unwrap_or(ProgramExit::Success)))
}

fn read_tool_names() -> Result<Vec<String>, StreamError> {
    let mut text = String::new();
    let read = std::io::stdin().lock().take(MAX_INPUT_BYTES + 1).read_to_string(&mut text);
    read.map_err(StreamError::Unreadable)?;
    if text.len() as u64 > MAX_INPUT_BYTES {
        return Err(StreamError::TooLong(MAX_INPUT_BYTES));
    }
    Ok(text.lines().map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

/// Returns the action of a call of a tool, with an input that every tool accepts.
fn sample_action(tool: &str) -> Action {
    let patch = "*** Begin Patch\n*** Add File: x\n+x\n*** End Patch";
    let input = json!({ "command": patch, "path": "x", "url": "https://x", "pattern": "x" });
    tool_action::parse_action(tool, &input)
}

fn render_json(tool: &str, why: Option<&HiddenReason>) -> String {
    let reason = why.map_or(Value::Null, |why| why.reason.clone().into());
    let rule = why.and_then(|why| why.rule.as_ref());
    let line = json!({
        "schema": SCHEMA, "tool": tool, "hidden": why.is_some(), "reason": reason, "rule": rule,
    });
    format!("{line}\n")
}
