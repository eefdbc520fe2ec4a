//! The operation of a tool call that the arguments describe.

use openoxide_adapters::tool_action;
use openoxide_engine::new_session_id;
use openoxide_protocol::{AbsPath, Action, CallId, Operation, Principal};
use serde_json::{Value, json};

use crate::{args::CallArgs, error::call_error::CallArgsError};

/// Returns the operation of the call that the arguments describe.
pub(crate) fn operation_from_args(
    args: &CallArgs,
    cwd: &AbsPath,
) -> Result<Operation, CallArgsError> {
    let (tool, input) = match (&args.script, &args.tool) {
        (Some(script), None) => ("Bash".to_owned(), json!({ "command": script })),
        (None, Some(tool)) => (tool.clone(), parse_input(args.input.as_deref())?),
        _ => return Err(CallArgsError::NoCall),
    };
    let action = tool_action::parse_action(&tool, &input);
    Ok(new_person_operation(tool, action, input, cwd))
}

fn parse_input(text: Option<&str>) -> Result<Value, CallArgsError> {
    let text = text.unwrap_or("{}");
    serde_json::from_str(text).map_err(CallArgsError::InvalidInput)
}

/// Returns the operation of a person's own call.
pub(crate) fn new_person_operation(
    tool: String,
    action: Action,
    input: Value,
    cwd: &AbsPath,
) -> Operation {
    Operation {
        session: new_session_id(),
        call: CallId::default(),
        principal: Principal::Person,
        tool,
        action,
        input,
        cwd: cwd.clone(),
    }
}
