//! Commands of an agent that run in the sandbox instead of in the agent's own shell.

use openoxide_adapters::{
    agent_hook::{AgentHookCall, AgentHookEvent},
    claude_code::{self, FinalDirectory},
    tool_action,
};
use openoxide_engine::{Engine, EngineCall};
use openoxide_protocol::{AbsPath, Action, Decision, NetworkAccess, SandboxRestrictions};
use openoxide_sandbox::{HostFeatures, choose_backend, is_in_sandbox};
use openoxide_store::{RunTicket, UserEnvironment};
use serde_json::Value;

use super::hook_client::HookClient;

/// The maximum length of the description of a command.
const MAX_DESCRIPTION_LENGTH: usize = 120;

/// Returns the engine that decides a call: one that confines commands if the call can be confined
/// and the policy makes use of it.
pub(super) fn engine_for_call(engine: Engine, client: HookClient, call: &AgentHookCall) -> Engine {
    if engine.replaces_questions() && can_confine(&engine, client, call) {
        engine
    } else {
        engine.without_confinement()
    }
}

fn can_confine(engine: &Engine, client: HookClient, call: &AgentHookCall) -> bool {
    client == HookClient::Claude
        && call.event == AgentHookEvent::PreToolUse
        && claude_code::find_final_directory(call) != FinalDirectory::Unknown
        && !is_in_sandbox()
        && has_sandbox()
        && find_script(call).is_some_and(|script| !are_rules_of_agent_lost(engine, call, &script))
}

/// Returns the script of a call that the sandbox can run.
fn find_script(call: &AgentHookCall) -> Option<String> {
    let leaves_sandbox = call.input.get("dangerouslyDisableSandbox");
    // A monitor runs in a shell of its own, whose input was not tried with another command.
    if call.tool == "Monitor" || leaves_sandbox.is_some_and(|value| *value != Value::Bool(false)) {
        return None;
    }
    match tool_action::parse_action(&call.tool, &call.input) {
        Action::Command { script } => Some(script),
        _ => None,
    }
}

/// Returns whether a backend enforces every restriction on this machine.
fn has_sandbox() -> bool {
    let restrictions =
        SandboxRestrictions { network: NetworkAccess::Off, ..SandboxRestrictions::default() };
    choose_backend(&restrictions, &HostFeatures::probe()).is_ok()
}

/// Returns whether a rule of the agent restricts the call. The agent would not apply it to the
/// command that replaces the call.
fn are_rules_of_agent_lost(engine: &Engine, call: &AgentHookCall, script: &str) -> bool {
    let facts =
        engine.collect_facts(&EngineCall::from_tool(&call.tool, &call.input, call.cwd.clone()));
    engine.claude_rules_restrict(script, &call.cwd, &facts)
}

/// Returns the input with which the agent runs a permitted call in the sandbox, or `None` if it may
/// run as it is.
///
/// # Errors
/// If the call has to be confined and cannot be.
pub(super) fn confined_input(
    engine: &Engine,
    client: HookClient,
    call: &AgentHookCall,
    (decision, record): (&Decision, Option<u64>),
) -> Result<Option<Value>, String> {
    if !engine.confines(decision) {
        return Ok(None);
    }
    let script = find_script(call).ok_or("the call is not a command")?;
    let description = describe_script(&script);
    let entered = match claude_code::find_final_directory(call) {
        FinalDirectory::Other(directory) => Some(directory),
        FinalDirectory::Unchanged | FinalDirectory::Unknown => None,
    };
    let ticket = engine
        .issue_run_ticket(client.name(), call, script, (record, entered))
        .map_err(|error| format!("it cannot run in the sandbox: {error}"))?;
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let program = program.to_str().ok_or("the path of OpenOxide is not valid UTF-8")?;
    let command = confined_command(program, &ticket, &description, call);
    let mut input = call.input.clone();
    let fields = input.as_object_mut().ok_or("the input is not an object")?;
    fields.insert("command".to_owned(), Value::String(command));
    Ok(Some(input))
}

/// Returns the command that replaces a script. The agent's shell changes to the directory in which
/// the script would leave it.
fn confined_command(
    program: &str,
    ticket: &str,
    description: &str,
    call: &AgentHookCall,
) -> String {
    let words = [program, "sandbox", "exec", "--ticket", ticket].map(str::to_owned);
    let command = claude_code::quote_client_words(&words);
    let change = match claude_code::find_final_directory(call) {
        FinalDirectory::Other(directory) => change_directory(&directory),
        FinalDirectory::Unchanged | FinalDirectory::Unknown => String::new(),
    };
    format!("{change}{command} # {description}")
}

fn change_directory(directory: &AbsPath) -> String {
    let words = ["cd", directory.as_str()].map(str::to_owned);
    format!("{} && ", claude_code::quote_client_words(&words))
}

/// Returns a text that shows a person which command runs. It has no characters with a meaning for
/// a shell or for the agent.
fn describe_script(script: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || " ./_=:,+@%-".contains(letter);
    let plain: String =
        script.chars().map(|letter| if is_plain(letter) { letter } else { ' ' }).collect();
    let words: Vec<_> = plain.split_whitespace().collect();
    words.join(" ").chars().take(MAX_DESCRIPTION_LENGTH).collect()
}

/// Returns whether a permission request is about a command that this hook has already permitted and
/// that runs in the sandbox.
pub(super) fn is_permitted_run(call: &AgentHookCall, environment: &UserEnvironment) -> bool {
    if call.event != AgentHookEvent::PermissionRequest || call.tool != "Bash" {
        return false;
    }
    let Some(command) = call.input.get("command").and_then(Value::as_str) else { return false };
    let Some(ticket) = command.split(" --ticket ").nth(1).and_then(|rest| rest.get(..16)) else {
        return false;
    };
    let Ok(issued) = RunTicket::read(environment, ticket) else { return false };
    let program = std::env::current_exe().ok();
    let Some(program) = program.as_deref().and_then(|path| path.to_str()) else { return false };
    let original = AgentHookCall {
        cwd: issued.cwd.clone(),
        input: serde_json::json!({ "command": issued.script }),
        ..call.clone()
    };
    let expected = confined_command(program, ticket, &describe_script(&issued.script), &original);
    call.session_id == issued.session && command == expected
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_has_no_characters_of_a_shell() {
        for (script, expected) in [
            ("cargo test --workspace", "cargo test --workspace"),
            ("a && b | c > d; $(e) `f`\n'g' \"h\" #i", "a b c d e f g h i"),
            ("\u{202e}x\u{7}", "x"),
        ] {
            assert_eq!(describe_script(script), expected);
        }
        assert_eq!(describe_script(&"a".repeat(1000)).len(), MAX_DESCRIPTION_LENGTH);
    }
}
