//! `check`: decide only.

use std::io::Write;

use openoxide_engine::{Call, Engine, WatchedEngine};
use openoxide_protocol::{AbsPath, Decision, Effect, Obligation, SCHEMA};
use openoxide_tui::{Lines, visible};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    args::{CallArgs, CheckArgs, Global},
    color,
    commands::call,
    error::CliError,
    exact::Exact,
    exit::Exit,
    lines, policy_args, report,
};

const NO_CALL: &str = "a line has `tool` and `input`, or `permission` and `patterns`";

/// Judges one call, or one on each line.
pub(crate) fn check(args: &CheckArgs, global: Global) -> Result<Exit, CliError> {
    if args.call.exact {
        return exactly(args, global);
    }
    let engine = policy_args::open(&args.call.policy)?;
    // What is wrong with the policy was said. What is left of it decides, with the denies of its last good version, as in `run`.
    let sound = policy_args::sound(&engine, global);
    if let (Err(exit), true) = (sound, engine.managed_policy_error().is_some()) {
        return Ok(exit);
    }
    if args.batch {
        let mut watched = WatchedEngine::new(engine)?;
        let ended = ended(batch(|row| judge(refreshed(&mut watched, global)?, row)));
        return Ok(if ended == Exit::Success { sound.err().unwrap_or(ended) } else { ended });
    }
    one(&args.call, &engine, sound, global)
}

/// Returns the engine with the policy as it is now.
///
/// # Errors
/// When the managed policy has errors: then nothing is decided.
fn refreshed(watched: &mut WatchedEngine, global: Global) -> Result<&Engine, String> {
    if watched.refresh() && policy_args::sound(watched.engine(), global).is_err() {
        report::note(&"the policy has errors; nothing is allowed until they are fixed");
    }
    match watched.engine().managed_policy_error() {
        Some(error) => Err(error.to_owned()),
        None => Ok(watched.engine()),
    }
}

/// Returns how a batch ended.
pub(crate) fn ended(batch: Result<(), String>) -> Exit {
    let failed = |error| {
        report::failure(&error);
        Exit::Failure
    };
    batch.map_or_else(failed, |()| Exit::Success)
}

/// As the program would answer whose policy it is.
fn exactly(args: &CheckArgs, global: Global) -> Result<Exit, CliError> {
    let Some(exact) = Exact::of(&args.call, global)? else { return Ok(Exit::Usage) };
    if args.batch {
        return Ok(ended(batch(|row| judge_exactly(&exact, row))));
    }
    one_exactly(&args.call, &exact, global)
}

/// Judges one call as the program would whose policy it is.
pub(crate) fn one_exactly(
    args: &CallArgs,
    exact: &Exact,
    global: Global,
) -> Result<Exit, CliError> {
    let operation = call::operation(args, &exact.cwd)?;
    let decision = exact.call(&operation.tool, &operation.input, &operation.cwd)?;
    let text = match args.json {
        true => in_json(&decision)?,
        false => in_words(&decision, args.script.as_deref().unwrap_or_default(), global),
    };
    Ok(report::data(text.as_bytes(), exit_of(decision.effect)))
}

fn judge_exactly(exact: &Exact, row: &Row) -> Result<Decision, String> {
    let cwd = cwd_of(&exact.cwd, row.cwd.as_deref())?;
    match (&row.tool, &row.permission, &row.patterns) {
        (Some(tool), None, None) => exact.call(tool, &row.input, &cwd),
        (None, Some(permission), Some(patterns)) => exact.question(permission, patterns, &cwd),
        _ => Err(NO_CALL.to_owned()),
    }
}

fn one(
    args: &CallArgs,
    engine: &Engine,
    sound: Result<(), Exit>,
    global: Global,
) -> Result<Exit, CliError> {
    let operation = call::operation(args, engine.cwd())?;
    let decision = engine.evaluate(&Call::from_operation(&operation)).decision;
    let exit = exit_if(sound, decision.effect);
    if args.json {
        return Ok(report::data(in_json(&decision)?.as_bytes(), exit));
    }
    let text = in_words(&decision, args.script.as_deref().unwrap_or_default(), global);
    Ok(report::data(text.as_bytes(), exit))
}

/// Returns the exit code of a decision: what is wrong with the policy goes before what was decided.
pub(crate) fn exit_if(sound: Result<(), Exit>, effect: Effect) -> Exit {
    sound.err().unwrap_or(exit_of(effect))
}

/// Returns the exit code that says what was decided.
pub(crate) const fn exit_of(effect: Effect) -> Exit {
    match effect {
        Effect::Allow => Exit::Success,
        Effect::Ask => Exit::Ask,
        Effect::Deny => Exit::Deny,
    }
}

/// Returns a decision for a program.
pub(crate) fn in_json(decision: &Decision) -> Result<String, String> {
    let answer = Answer { schema: SCHEMA, id: None, decision };
    let line = serde_json::to_string(&answer).map_err(|error| error.to_string())?;
    Ok(line + "\n")
}

/// Returns a decision for a person.
pub(crate) fn in_words(decision: &Decision, script: &str, global: Global) -> String {
    let line = |text: &str| visible(text, Lines::One);
    let mut lines = vec![format!("{}: {}", decision.effect.as_str(), line(&decision.reason))];
    for part in &decision.parts {
        let (kind, effect) = (part.access.permission(), part.decision.as_str());
        lines.push(format!("  {effect:<6}{kind} {}", line(part.access.summary())));
        lines.push(match &part.rule {
            Some(rule) => format!("        rule `{}`{}", line(&rule.text), place(rule)),
            None => format!("        {}", line(&part.reason)),
        });
    }
    if !decision.always.is_empty() {
        lines.push(format!("  always would add: {}", line(&decision.always.join(", "))));
    }
    lines.extend(audited(decision, &[]));
    let colored = color::wanted(global.color, &std::io::stdout());
    lines.push(report::findings(script, &decision.findings, colored));
    lines.join("\n")
}

/// Says that an allow counts only if it is written down, and where that is said, if it is.
pub(crate) fn audited(decision: &Decision, said: &[String]) -> Option<String> {
    let places = visible(&said.join(", "), Lines::One);
    let places = if said.is_empty() { String::new() } else { format!(" ({places})") };
    let wanted = decision.obligations.contains(&Obligation::Audit);
    wanted.then(|| format!("  what cannot be written down is asked about{places}"))
}

/// Returns where a rule stands.
pub(crate) fn place(rule: &openoxide_protocol::RuleRef) -> String {
    match (&rule.file, rule.line) {
        (Some(file), Some(line)) => {
            format!(" ({}, {}:{line})", rule.layer, visible(file, Lines::One))
        }
        _ => format!(" ({})", rule.layer),
    }
}

#[derive(Serialize)]
struct Answer<'a> {
    schema: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a Value>,
    #[serde(flatten)]
    decision: &'a Decision,
}

/// One line of a batch: a tool call, or a bare question.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    #[serde(default)]
    id: Value,
    tool: Option<String>,
    #[serde(default)]
    input: Value,
    permission: Option<String>,
    patterns: Option<Vec<String>>,
    cwd: Option<String>,
}

fn batch(mut judge: impl FnMut(&Row) -> Result<Decision, String>) -> Result<(), String> {
    lines::each(|line, output| answer_row(&mut judge, line, output))
}

fn answer_row(
    judge: &mut impl FnMut(&Row) -> Result<Decision, String>,
    line: &[u8],
    output: &mut dyn Write,
) -> std::io::Result<()> {
    let (id, judged) = match lines::object::<Row>(line) {
        Ok(row) => {
            let judged = judge(&row);
            (row.id, judged)
        }
        Err(error) => (id_of(line), Err(error)),
    };
    match judged {
        Ok(decision) => {
            let answer = Answer { schema: SCHEMA, id: Some(&id), decision: &decision };
            serde_json::to_writer(&mut *output, &answer)?;
        }
        Err(error) => {
            let answer = json!({ "schema": SCHEMA, "id": id, "error": error });
            serde_json::to_writer(&mut *output, &answer)?;
        }
    }
    output.write_all(b"\n")
}

fn judge(engine: &Engine, row: &Row) -> Result<Decision, String> {
    let cwd = cwd_of(engine.cwd(), row.cwd.as_deref())?;
    Ok(engine.evaluate(&call_of_row(row, cwd)?).decision)
}

/// Judges one line, as a batch would.
pub(crate) fn line(engine: &Engine, line: &[u8]) -> Result<Decision, String> {
    judge(engine, &lines::object(line)?)
}

/// Returns the id of a line that is wrong otherwise.
pub(crate) fn id_of(line: &[u8]) -> Value {
    let value: Option<Value> = serde_json::from_slice(line).ok();
    value.and_then(|mut row| row.get_mut("id").map(Value::take)).unwrap_or_default()
}

fn cwd_of(usual: &AbsPath, named: Option<&str>) -> Result<AbsPath, String> {
    match named {
        None => Ok(usual.clone()),
        Some(text) => AbsPath::new(text).map_err(|error| format!("`cwd`: {error}")),
    }
}

fn call_of_row(row: &Row, cwd: AbsPath) -> Result<Call, String> {
    match (&row.tool, &row.permission, &row.patterns) {
        (Some(name), None, None) => Ok(Call::from_tool(name, &row.input, cwd)),
        (None, Some(_), Some(patterns)) if patterns.is_empty() => {
            Err("`patterns` is empty: nothing is asked".to_owned())
        }
        (None, Some(permission), Some(patterns)) => {
            Ok(Call::from_question(permission, patterns, cwd))
        }
        _ => Err(NO_CALL.to_owned()),
    }
}
