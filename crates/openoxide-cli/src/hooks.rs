//! Hooks: asking them about a call, and saying which would be asked.

use std::{fs::File, io, time::Duration};

use openoxide_engine::{HookCall, ask_hooks};
use openoxide_permission::{Hook, HookEvent, after_hooks};
use openoxide_protocol::{Effect, Facts, HookAnswer, HookSaid, Operation};
use openoxide_tui::{Lines, visible};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

use crate::{policy::World, review::Signals};

/// So often is looked whether somebody wants the hooks ended.
const LOOK: Duration = Duration::from_millis(50);
/// So many descriptors a runtime needs.
const DESCRIPTORS: usize = 8;

/// Asks the hooks that a call concerns, and waits for them. Nothing if a signal to end came meanwhile: they are ended then, with all
/// that they started.
pub(crate) fn ask(hooks: &[Hook], call: &HookCall<'_>) -> Option<Vec<HookAnswer>> {
    let concerned = || hooks.iter().filter(|hook| hook.concerns(call.event, call.tool));
    if concerned().next().is_none() {
        return Some(Vec::new());
    }
    match runtime() {
        // What still runs ends with the runtime.
        Ok(runtime) => runtime.block_on(unless_interrupted(ask_hooks(hooks, call))),
        Err(error) => {
            let failed =
                |hook: &Hook| hook.answered(HookSaid::Failed, format!("no runtime: {error}"));
            Some(concerned().map(failed).collect())
        }
    }
}

/// A runtime that can start processes. The library ends the program where it lacks descriptors, so that is looked at before.
fn runtime() -> io::Result<Runtime> {
    let descriptors: Vec<_> =
        (0..DESCRIPTORS).map(|_| File::open("/dev/null")).collect::<Result<_, _>>()?;
    drop(descriptors);
    Builder::new_current_thread().enable_all().build()
}

/// Hooks are in groups of their own, which Ctrl-C in a terminal does not reach.
async fn unless_interrupted<T>(asked: impl Future<Output = T>) -> Option<T> {
    let signals = Signals::listen();
    let interrupted = async {
        while !signals.came() {
            tokio::time::sleep(LOOK).await;
        }
    };
    let answers = tokio::select! {
        answers = asked => Some(answers),
        () = interrupted => None,
    };
    answers.filter(|_| !signals.stop())
}

/// Asks the hooks about a call in the project of this world: those that a call concerns, and where a person would be asked, those that answer for
/// one. Nothing if a signal to end came meanwhile.
pub(crate) fn ask_about(
    world: &World,
    operation: &Operation,
    facts: &Facts,
) -> Option<Vec<HookAnswer>> {
    let project = world.roots.first().unwrap_or(&world.cwd);
    let before = HookCall::of(operation, project, world.mode, facts);
    let request = HookCall { event: HookEvent::PermissionRequest, ..before.clone() };
    let hooks = &world.loaded.hooks;
    let mut answers = ask(hooks, &before)?;
    if hooks.iter().any(|hook| hook.concerns(request.event, request.tool)) {
        let context = world.context_in(&operation.cwd, &world.roots);
        let policy = world.policy(&context, facts);
        if after_hooks(policy, &context, facts, &answers).effect == Effect::Ask {
            answers.extend(ask(hooks, &request)?);
        }
    }
    Some(answers)
}

fn concerned<'a>(world: &'a World, tool: &'a str) -> impl Iterator<Item = &'a Hook> {
    world.loaded.hooks.iter().filter(move |hook| hook.matcher.matches(tool))
}

/// Says in words which hooks would be asked about a tool, a line each.
pub(crate) fn in_words(world: &World, tool: &str) -> String {
    let line = |text: String| visible(&text, Lines::One);
    let hook = |hook: &Hook| {
        let place = format!("{}, {}:{}", hook.layer.as_str(), hook.file, hook.line);
        format!("  {} ({}){}\n", line(hook.command.to_string()), line(place), limits(hook))
    };
    let hooks: String = concerned(world, tool).map(hook).collect();
    match hooks.is_empty() {
        true => hooks,
        false => format!("hooks would be asked first; `explain` does not run them:\n{hooks}\n"),
    }
}

/// Says what a hook cannot do, and when it is asked.
pub(crate) fn limits(hook: &Hook) -> String {
    let request = hook.event == HookEvent::PermissionRequest;
    let limits = [
        (request, "; where a person would be asked"),
        (!hook.vouched, "; nobody vouched for it, so it is not run"),
        (hook.vouched && !hook.may_allow, "; it can only ask and deny"),
    ];
    limits.into_iter().filter(|(holds, _)| *holds).map(|(_, said)| said).collect()
}

/// Returns a hook for a program.
pub(crate) fn fields(hook: &Hook) -> Value {
    json!({
        "layer": hook.layer.as_str(),
        "file": hook.file,
        "line": hook.line,
        "event": hook.event.as_str(),
        "matcher": hook.matcher.to_string(),
        "command": hook.command.to_string(),
        "timeout": hook.timeout.as_secs(),
        "may_allow": hook.may_allow,
        "trusted": hook.vouched,
    })
}

/// Adds to an answer in JSON which hooks would be asked about a tool.
pub(crate) fn in_json(answer: &str, world: &World, tool: &str) -> Result<String, String> {
    let hooks: Vec<Value> = concerned(world, tool).map(fields).collect();
    if hooks.is_empty() {
        return Ok(answer.to_owned());
    }
    let mut value: Value = serde_json::from_str(answer).map_err(|error| error.to_string())?;
    if let Some(fields) = value.as_object_mut() {
        fields.insert("hooks".to_owned(), Value::Array(hooks));
    }
    Ok(format!("{value}\n"))
}
