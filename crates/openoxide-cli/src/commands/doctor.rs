//! `doctor`: test calls through the installed hooks, and the problems of the wiring.

mod machine_checks;
mod test_call;

pub(crate) use test_call::TEST_CALL_ID;

use openoxide_protocol::SCHEMA;
use openoxide_tui::{LineMode, escape_text};
use serde_json::{Value, json};

use crate::{
    agent_wiring::{AgentWiring, Fix, Problem, Severity, WiringResult, inspect_agents},
    args::{DoctorArgs, GlobalArgs, PolicyArgs},
    error::CliError,
    policy_args,
    program_exit::ProgramExit,
    terminal_color, user_messages,
};

/// Checks each installed agent, or the named one. Succeeds if every installed hook enforces the
/// policy, and there is at least one.
///
/// # Errors
///
/// If the working directory is unknown.
pub(crate) fn check_agents(args: DoctorArgs, global: GlobalArgs) -> Result<ProgramExit, CliError> {
    let engine = policy_args::open_engine_with_layers(&PolicyArgs::default())?;
    let mut agents = inspect_agents(args.agent, &engine);
    agents.iter_mut().for_each(send_test_calls);
    let machine = machine_checks::check_machine(&engine);
    let exit = exit_of(&agents, args.agent.is_some());
    let text = if args.json {
        render_json(&agents, &machine)
    } else {
        let colored = terminal_color::use_color(global.color, &std::io::stdout());
        render_text(&agents, &machine, colored)
    };
    Ok(user_messages::print_data(&text, exit))
}

fn send_test_calls(wiring: &mut AgentWiring) {
    let problems = test_call::send_test_calls(wiring.agent, &wiring.hooks);
    wiring.problems.splice(0..0, problems);
}

fn result_of(wiring: &AgentWiring) -> WiringResult {
    WiringResult::from_problems(&wiring.problems, WiringResult::Enforced)
}

fn exit_of(agents: &[AgentWiring], is_named: bool) -> ProgramExit {
    let mut counted = agents.iter().filter(|wiring| is_named || wiring.is_wired()).peekable();
    let is_empty = counted.peek().is_none();
    match !is_empty && counted.all(|wiring| result_of(wiring) == WiringResult::Enforced) {
        true => ProgramExit::Success,
        false => ProgramExit::Failure,
    }
}

/// Returns one line per agent. The problems of the machine concern each of them. Without an agent,
/// they are printed without one.
fn render_json(agents: &[AgentWiring], machine: &[Problem]) -> String {
    let line = |agent: Value, version: Value, result: WiringResult, problems: Vec<Value>| {
        let line = json!({
            "schema": SCHEMA,
            "agent": agent,
            "version": version,
            "result": result.as_str(),
            "problems": problems,
        });
        format!("{line}\n")
    };
    if agents.is_empty() {
        let problems = machine.iter().map(Problem::to_json).collect();
        return line(Value::Null, Value::Null, WiringResult::NotEnforced, problems);
    }
    let lines = agents.iter().map(|wiring| {
        let problems = wiring.problems.iter().chain(machine).map(Problem::to_json).collect();
        let name = wiring.agent.hook_name().into();
        line(name, wiring.version.clone().into(), result_of(wiring), problems)
    });
    lines.collect()
}

const GREEN: &str = "32";
const YELLOW: &str = "33";
const RED: &str = "31";

fn render_text(agents: &[AgentWiring], machine: &[Problem], colored: bool) -> String {
    let mut text = String::new();
    for wiring in agents {
        let version = wiring.version.as_deref().map_or_else(String::new, |v| format!(" {v}"));
        let version = escape_text(&version, LineMode::SingleLine);
        let (color, result) = match result_of(wiring) {
            _ if !wiring.is_wired() => (RED, "not wired"),
            WiringResult::Enforced => (GREEN, "enforced"),
            WiringResult::NotEnforced => (RED, "not enforced"),
            WiringResult::Unknown => (YELLOW, "cannot tell"),
        };
        let result = terminal_color::paint_text(colored, color, result);
        text.extend([wiring.agent.display_name(), &version, ": ", &result, "\n"]);
        text.extend(wiring.problems.iter().map(|problem| render_problem(problem, colored)));
    }
    if agents.is_empty() {
        text += "no agent was found; `openoxide init codex` or `openoxide init claude` installs the hook anyway\n";
    }
    if !machine.is_empty() {
        text += "This machine\n";
        text.extend(machine.iter().map(|problem| render_problem(problem, colored)));
    }
    text
}

/// Returns the lines of a problem, with its fix below it.
pub(super) fn render_problem(problem: &Problem, colored: bool) -> String {
    let (color, kind) = match problem.code.severity() {
        Severity::Error => (RED, "error"),
        Severity::Unknown => (YELLOW, "unknown"),
        Severity::Warning => (YELLOW, "warning"),
    };
    let kind = terminal_color::paint_text(colored, color, kind);
    let message = escape_text(&problem.message, LineMode::SingleLine);
    let fix = match &problem.fix {
        Fix::Command(command) => format!("run `{command}`"),
        Fix::Text(text) => text.clone(),
    };
    let fix = escape_text(&fix, LineMode::SingleLine);
    format!("  {kind}[{}]: {message}\n    fix: {fix}\n", problem.code.as_str())
}
