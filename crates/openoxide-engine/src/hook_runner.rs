//! Running the hooks of a policy about one call.

use std::{fs::File, io, time::Duration};

use openoxide_permission::Hook;
use openoxide_protocol::{HookAnswer, HookDecision};
use tokio::runtime::{Builder, Runtime};

use crate::{
    check_host::{CheckHost, InterruptWatch},
    error::InterruptedError,
    hooks::{HookCall, ask_hooks},
};

/// The interval at which the runner checks for an interrupt.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// The number of file descriptors that a runtime needs.
const RUNTIME_DESCRIPTORS: usize = 8;

/// Runs the hooks that apply to a call, and waits for their answers. If no hook applies, no runtime
/// is started.
///
/// # Errors
/// If it was interrupted. The hooks are killed then, with all processes that they started.
pub(crate) fn run_hooks(
    hooks: &[Hook],
    call: &HookCall<'_>,
    host: &dyn CheckHost,
) -> Result<Vec<HookAnswer>, InterruptedError> {
    let concerned = || hooks.iter().filter(|hook| hook.applies_to(call.event, call.tool));
    if concerned().next().is_none() {
        return Ok(Vec::new());
    }
    match build_runtime() {
        // Remaining tasks end with the runtime.
        Ok(runtime) => runtime
            .block_on(run_unless_interrupted(ask_hooks(hooks, call), host.watch_interrupts())),
        Err(error) => {
            let failed =
                |hook: &Hook| hook.to_answer(HookDecision::Failed, format!("no runtime: {error}"));
            Ok(concerned().map(failed).collect())
        }
    }
}

/// Returns a runtime that can start processes. Tokio panics if there are not enough file
/// descriptors, so this is checked first.
fn build_runtime() -> io::Result<Runtime> {
    let descriptors: Vec<_> =
        (0..RUNTIME_DESCRIPTORS).map(|_| File::open("/dev/null")).collect::<Result<_, _>>()?;
    drop(descriptors);
    Builder::new_current_thread().enable_all().build()
}

/// Runs the hooks until they have answered or an interrupt arrives. Hooks have their own process
/// groups, so Ctrl-C in a terminal does not reach them.
async fn run_unless_interrupted<T>(
    answers: impl Future<Output = T>,
    watch: Box<dyn InterruptWatch + '_>,
) -> Result<T, InterruptedError> {
    let interrupted = async {
        while !watch.is_interrupted() {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    };
    let answers = tokio::select! {
        answers = answers => Some(answers),
        () = interrupted => None,
    };
    answers.filter(|_| !watch.stop()).ok_or(InterruptedError)
}
