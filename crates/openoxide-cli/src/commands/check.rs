//! `check`: decisions about calls that are not executed.

use std::io::Write;

use openoxide_engine::{Engine, EngineCall, WatchedEngine};
use openoxide_protocol::{AbsPath, Decision, Effect, Obligation, SCHEMA};
use openoxide_tui::{LineMode, escape_text};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    args::{CallArgs, CheckArgs, GlobalArgs},
    commands::call_operation,
    error::{CliError, call_error::RowError, stream_error::StreamError},
    exact_evaluation::ExactPolicy,
    json_lines, policy_args,
    program_exit::ProgramExit,
    terminal_color, user_messages,
};

/// Evaluates one call, or one call per line of standard input.
pub(crate) fn check_calls(args: &CheckArgs, global: GlobalArgs) -> Result<ProgramExit, CliError> {
    if args.call.exact {
        return check_exactly(args, global);
    }
    let engine = policy_args::open_engine_for_call(&args.call)?;
    // The problems were reported. The remaining rules decide, with the deny rules of the last valid
    // version of the policy, as in `run`.
    let sound = policy_args::check_policy(&engine, global);
    if let (Err(exit), true) = (sound, engine.managed_policy_error().is_some()) {
        return Ok(exit);
    }
    if args.batch {
        let mut watched = WatchedEngine::new(engine)?;
        let ended =
            batch_exit(run_batch(|row| evaluate_row(refresh_engine(&mut watched, global)?, row)));
        return Ok(if ended == ProgramExit::Success {
            sound.err().unwrap_or(ended)
        } else {
            ended
        });
    }
    check_call(&args.call, &engine, sound, global)
}

/// Returns the engine with the current policy.
///
/// # Errors
///
/// If the managed policy has errors. Nothing is decided then.
fn refresh_engine(watched: &mut WatchedEngine, global: GlobalArgs) -> Result<&Engine, RowError> {
    if watched.refresh() && policy_args::check_policy(watched.engine(), global).is_err() {
        user_messages::print_note(
            &"the policy has errors; nothing is allowed until they are fixed",
        );
    }
    match watched.engine().managed_policy_error() {
        Some(error) => Err(RowError::ManagedPolicy(error.to_owned())),
        None => Ok(watched.engine()),
    }
}

/// Reports the error of a batch, and returns the exit code.
pub(crate) fn batch_exit(batch: Result<(), StreamError>) -> ProgramExit {
    let failed = |error| {
        user_messages::print_error(&error);
        ProgramExit::Failure
    };
    batch.map_or_else(failed, |()| ProgramExit::Success)
}

/// Evaluates calls as the program of the policy would do it.
fn check_exactly(args: &CheckArgs, global: GlobalArgs) -> Result<ProgramExit, CliError> {
    let Some(exact) = ExactPolicy::from_args(&args.call, global)? else {
        return Ok(ProgramExit::Usage);
    };
    if args.batch {
        return Ok(batch_exit(run_batch(|row| evaluate_row_exactly(&exact, row))));
    }
    check_call_exactly(&args.call, &exact, global)
}

/// Evaluates one call as the program of the policy would do it.
pub(crate) fn check_call_exactly(
    args: &CallArgs,
    exact: &ExactPolicy,
    global: GlobalArgs,
) -> Result<ProgramExit, CliError> {
    let operation = call_operation::operation_from_args(args, &exact.cwd)?;
    let decision = exact
        .evaluate_call(&operation.tool, &operation.input, &operation.cwd)
        .map_err(RowError::ToolInput)?;
    let text = match args.json {
        true => render_json(&decision)?,
        false => render_text(&decision, args.script.as_deref().unwrap_or_default(), global),
    };
    Ok(user_messages::print_data(&text, exit_for_effect(decision.effect)))
}

fn evaluate_row_exactly(exact: &ExactPolicy, row: &BatchRow) -> Result<Decision, RowError> {
    let cwd = row_cwd(&exact.cwd, row.cwd.as_deref())?;
    match (&row.tool, &row.permission, &row.patterns) {
        (Some(tool), None, None) => Ok(exact.evaluate_call(tool, &row.input, &cwd)?),
        (None, Some(permission), Some(patterns)) => {
            Ok(exact.evaluate_question(permission, patterns, &cwd)?)
        }
        _ => Err(RowError::InvalidShape),
    }
}

fn check_call(
    args: &CallArgs,
    engine: &Engine,
    sound: Result<(), ProgramExit>,
    global: GlobalArgs,
) -> Result<ProgramExit, CliError> {
    let operation = call_operation::operation_from_args(args, engine.cwd())?;
    let decision = engine.evaluate(&EngineCall::from_operation(&operation)).decision;
    let exit = exit_for_policy_and_effect(sound, decision.effect);
    if args.json {
        return Ok(user_messages::print_data(&render_json(&decision)?, exit));
    }
    let text = render_text(&decision, args.script.as_deref().unwrap_or_default(), global);
    Ok(user_messages::print_data(&text, exit))
}

/// Returns the exit code of a decision. An error of the policy takes precedence over the effect.
pub(crate) fn exit_for_policy_and_effect(
    sound: Result<(), ProgramExit>,
    effect: Effect,
) -> ProgramExit {
    sound.err().unwrap_or(exit_for_effect(effect))
}

/// Returns the exit code of an effect.
pub(crate) const fn exit_for_effect(effect: Effect) -> ProgramExit {
    match effect {
        Effect::Allow => ProgramExit::Success,
        Effect::Ask => ProgramExit::Ask,
        Effect::Deny => ProgramExit::Deny,
    }
}

/// Returns a decision as a line of JSON.
pub(crate) fn render_json(decision: &Decision) -> Result<String, serde_json::Error> {
    let answer = DecisionLine { schema: SCHEMA, id: None, decision };
    let line = serde_json::to_string(&answer)?;
    Ok(line + "\n")
}

/// Returns a decision as text.
pub(crate) fn render_text(decision: &Decision, script: &str, global: GlobalArgs) -> String {
    let line = |text: &str| escape_text(text, LineMode::SingleLine);
    let mut lines = vec![decision_line(decision)];
    for part in &decision.parts {
        let (kind, effect) = (part.access.permission_name(), part.decision.as_str());
        lines.push(format!("  {effect:<6}{kind} {}", line(part.access.summary())));
        lines.push(match &part.rule {
            Some(rule) => {
                format!("        rule `{}`{}", line(&rule.text), format_rule_location(rule))
            }
            None => format!("        {}", line(&part.reason)),
        });
    }
    if !decision.suggested_rules.is_empty() {
        lines.push(format!("  always would add: {}", line(&decision.suggested_rules.join(", "))));
    }
    lines.extend(audit_obligation_line(decision, &[]));
    let colored = terminal_color::use_color(global.color, &std::io::stdout());
    lines.push(user_messages::render_findings(script, &decision.findings, colored));
    lines.join("\n")
}

/// Returns the effect and the reason of a decision: `allow, sandboxed: …` if the sandbox is a
/// condition of it.
pub(crate) fn decision_line(decision: &Decision) -> String {
    let reason = escape_text(&decision.reason, LineMode::SingleLine);
    let separator = if decision.obligations.contains(&Obligation::Sandboxed) { ", " } else { ": " };
    format!("{}{separator}{reason}", decision.effect.as_str())
}

/// Returns a line about the audit record that an allow requires, with the locations of that
/// requirement if they are known.
pub(crate) fn audit_obligation_line(decision: &Decision, locations: &[String]) -> Option<String> {
    let places = escape_text(&locations.join(", "), LineMode::SingleLine);
    let places = if locations.is_empty() { String::new() } else { format!(" ({places})") };
    let wanted = decision.obligations.contains(&Obligation::Audit);
    wanted.then(|| format!("  requires approval if no audit record can be written{places}"))
}

/// Returns the location of a rule.
pub(crate) fn format_rule_location(rule: &openoxide_protocol::RuleRef) -> String {
    match (&rule.file, rule.line) {
        (Some(file), Some(line)) => {
            format!(" ({}, {}:{line})", rule.layer, escape_text(file, LineMode::SingleLine))
        }
        _ => format!(" ({})", rule.layer),
    }
}

#[derive(Serialize)]
struct DecisionLine<'a> {
    schema: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a Value>,
    #[serde(flatten)]
    decision: &'a Decision,
}

/// One line of a batch: a tool call, or a bare question.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BatchRow {
    #[serde(default)]
    id: Value,
    tool: Option<String>,
    #[serde(default)]
    input: Value,
    permission: Option<String>,
    patterns: Option<Vec<String>>,
    cwd: Option<String>,
}

fn run_batch(
    mut judge: impl FnMut(&BatchRow) -> Result<Decision, RowError>,
) -> Result<(), StreamError> {
    json_lines::answer_each_line(|line, output| answer_row(&mut judge, line, output))
}

fn answer_row(
    judge: &mut impl FnMut(&BatchRow) -> Result<Decision, RowError>,
    line: &[u8],
    output: &mut dyn Write,
) -> std::io::Result<()> {
    let (id, judged) = match json_lines::parse_object::<BatchRow>(line) {
        Ok(row) => {
            let judged = judge(&row);
            (row.id, judged)
        }
        Err(error) => (row_id(line), Err(error.into())),
    };
    match judged {
        Ok(decision) => {
            let answer = DecisionLine { schema: SCHEMA, id: Some(&id), decision: &decision };
            serde_json::to_writer(&mut *output, &answer)?;
        }
        Err(error) => {
            let answer = json!({ "schema": SCHEMA, "id": id, "error": error.to_string() });
            serde_json::to_writer(&mut *output, &answer)?;
        }
    }
    output.write_all(b"\n")
}

fn evaluate_row(engine: &Engine, row: &BatchRow) -> Result<Decision, RowError> {
    let cwd = row_cwd(engine.cwd(), row.cwd.as_deref())?;
    Ok(engine.evaluate(&call_from_row(row, cwd)?).decision)
}

/// Evaluates one line as in a batch.
pub(crate) fn evaluate_line(engine: &Engine, line: &[u8]) -> Result<Decision, RowError> {
    evaluate_row(engine, &json_lines::parse_object(line)?)
}

/// Returns the id of a line that cannot be parsed as a row.
pub(crate) fn row_id(line: &[u8]) -> Value {
    let value: Option<Value> = serde_json::from_slice(line).ok();
    value.and_then(|mut row| row.get_mut("id").map(Value::take)).unwrap_or_default()
}

fn row_cwd(usual: &AbsPath, named: Option<&str>) -> Result<AbsPath, RowError> {
    match named {
        None => Ok(usual.clone()),
        Some(text) => AbsPath::new(text).map_err(RowError::InvalidDirectory),
    }
}

fn call_from_row(row: &BatchRow, cwd: AbsPath) -> Result<EngineCall, RowError> {
    match (&row.tool, &row.permission, &row.patterns) {
        (Some(name), None, None) => Ok(EngineCall::from_tool(name, &row.input, cwd)),
        (None, Some(_), Some(patterns)) if patterns.is_empty() => Err(RowError::NoPatterns),
        (None, Some(permission), Some(patterns)) => {
            Ok(EngineCall::from_question(permission, patterns, cwd))
        }
        _ => Err(RowError::InvalidShape),
    }
}
