//! One call of the hook, and the time that it takes.

use std::{
    fs,
    io::{self, Read as _, Write as _},
    path::Path,
    process::{ChildStdin, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use super::{payloads::Payload, world::World};

/// The duration of one call of the hook.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CallTime {
    /// Of the clock, which other work on the machine lengthens.
    pub(super) clock: Duration,
    /// Of the processors.
    pub(super) processor: Duration,
    /// True if the time limit of the hook ended the call, so that it would have taken longer.
    pub(super) is_ended_early: bool,
}

/// The text in the hook's answer after its time limit.
const TIMEOUT_REASON: &str = "deciding took too long";

/// Runs the hook on one payload, and returns the time that it took.
///
/// # Errors
/// When it does not print a single answer.
pub(super) fn run_hook(
    program: &Path,
    world: &World,
    case: u64,
    payload: &Payload,
) -> Result<CallTime, String> {
    let since = Instant::now();
    let (output, processor) = answer(program, world, payload)?;
    let clock = since.elapsed();
    let answer: serde_json::Value = serde_json::from_slice(&output)
        .map_err(|error| format!("case {case} has no single answer: {error}"))?;
    let text = |name: &str| {
        answer.pointer(&format!("/hookSpecificOutput/{name}")).and_then(serde_json::Value::as_str)
    };
    let reason = text("permissionDecisionReason").unwrap_or_default();
    let is_ended_early = reason.contains(TIMEOUT_REASON);
    match text("permissionDecision") {
        Some("allow" | "ask" | "deny") => Ok(CallTime { clock, processor, is_ended_early }),
        _ => Err(format!("case {case} has another answer: {answer}")),
    }
}

/// Returns what the hook prints, and its processor time.
fn answer(program: &Path, world: &World, payload: &Payload) -> Result<(Vec<u8>, Duration), String> {
    let failed = |error: io::Error| format!("cannot run the hook: {error}");
    let mut hook = Command::new(program);
    hook.args(["hook", "claude"]).current_dir(world.project()).env_clear();
    hook.env("HOME", world.home()).env("XDG_CONFIG_HOME", world.config());
    hook.env("PATH", "/usr/bin:/bin").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut hook = hook.stderr(Stdio::null()).spawn().map_err(failed)?;
    let input = hook.stdin.take();
    // A payload that does not end is open until the hook has answered.
    let open = input.map(|input| send(input, payload)).transpose().map_err(failed)?;
    let mut output = Vec::new();
    if let Some(mut printed) = hook.stdout.take() {
        printed.read_to_end(&mut output).map_err(failed)?;
    }
    drop(open);
    let processor = processor_time_of_ended(hook.id())?;
    hook.wait().map_err(failed)?;
    Ok((output, processor))
}

/// Writes a payload, and returns the pipe if it stays open.
fn send(mut input: ChildStdin, payload: &Payload) -> io::Result<Option<ChildStdin>> {
    let Some(pause) = payload.pause else {
        return input.write_all(payload.text.as_bytes()).map(|()| None);
    };
    let bytes = payload.text.as_bytes();
    let (first, rest) = bytes.split_at_checked(bytes.len() / 2).unwrap_or((bytes, &[]));
    input.write_all(first)?;
    if !payload.ends {
        return Ok(Some(input));
    }
    thread::sleep(pause);
    input.write_all(rest).map(|()| None)
}

/// Waits until a child has ended, and returns the processor time of all its threads (proc(5), `stat`). The child is not
/// waited for, so that its number stays its own.
fn processor_time_of_ended(child: u32) -> Result<Duration, String> {
    let failed =
        |error: &dyn std::fmt::Display| format!("cannot read the time of the hook: {error}");
    loop {
        let text =
            fs::read_to_string(format!("/proc/{child}/stat")).map_err(|error| failed(&error))?;
        let fields: Vec<&str> =
            text.rsplit(") ").next().unwrap_or_default().split_whitespace().collect();
        if fields.first() == Some(&"Z") {
            let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok());
            let (Some(user), Some(system)) = (ticks(11), ticks(12)) else {
                return Err(failed(&"it has no times"));
            };
            let all_threads = Duration::from_millis((user + system) * 10);
            return Ok(all_threads.max(main_thread_time(child)));
        }
        thread::sleep(Duration::from_micros(200));
    }
}

/// Returns the processor time of the main thread, which does almost all of the work. It is counted
/// in nanoseconds, and the ticks of `stat` are ten milliseconds long.
fn main_thread_time(child: u32) -> Duration {
    let text = fs::read_to_string(format!("/proc/{child}/schedstat")).unwrap_or_default();
    let nanos = text.split_whitespace().next().and_then(|field| field.parse().ok());
    Duration::from_nanos(nanos.unwrap_or(0))
}
