//! The supervisor of the sandbox, in programs that use this crate.

use std::{
    env,
    process::ExitCode,
    sync::atomic::{AtomicBool, Ordering},
};

use openoxide_sandbox::{handle_file_size_signal, raise_stack_limit, supervisor_main};

/// The arguments with which a program starts itself as a supervisor.
pub(crate) const SUPERVISOR_ARGS: [&str; 1] = ["--openoxide-supervisor"];

/// True if this program starts a supervisor when it is called with [`SUPERVISOR_ARGS`].
static IS_READY: AtomicBool = AtomicBool::new(false);

/// Runs this process as the supervisor of a sandbox if it was started as one, and returns its exit
/// code then.
///
/// [`AgentSession::run_command`](crate::AgentSession::run_command) starts the program again as a
/// supervisor, with arguments that this function detects. Call it first in `main`, before any
/// thread is started and before anything is read or printed:
///
/// ```no_run
/// use std::process::ExitCode;
///
/// fn main() -> ExitCode {
///     if let Some(exit) = openoxide_engine::run_as_supervisor() {
///         return exit;
///     }
///     // The agent.
///     ExitCode::SUCCESS
/// }
/// ```
pub fn run_as_supervisor() -> Option<ExitCode> {
    IS_READY.store(true, Ordering::Relaxed);
    let words: Option<Vec<String>> =
        env::args_os().skip(1).map(|word| word.into_string().ok()).collect();
    let words = words?;
    let [first, launch, socket] = words.as_slice() else { return None };
    (SUPERVISOR_ARGS == [first]).then(|| supervise(launch, socket))
}

fn supervise(launch: &str, socket: &str) -> ExitCode {
    handle_file_size_signal();
    if raise_stack_limit() && supervisor_main(launch, socket).is_ok() {
        return ExitCode::SUCCESS;
    }
    ExitCode::FAILURE
}

/// Returns whether the program can be started as a supervisor. Otherwise starting it would start
/// the agent again.
pub(crate) fn is_supervisor_ready() -> bool {
    IS_READY.load(Ordering::Relaxed)
}
