//! A confined command, for Python.
//!
//! The supervisor of the sandbox must be a process with one thread. It is another Python
//! interpreter, which only loads this module and calls [`supervise`].

use std::{
    ffi::OsString,
    io::{self, PipeReader, PipeWriter, Write as _},
    os::{fd::AsRawFd as _, unix::process::CommandExt as _},
    process::{Command, Stdio},
    sync::{Mutex, PoisonError},
    thread::{self, JoinHandle},
};

use openoxide_protocol::Effect;
use openoxide_sandbox::{
    ConfinedRun as SandboxRun, LaunchConfig, RunCanceller, RuntimeDecision, SandboxError,
    SandboxReport, handle_file_size_signal, supervisor_main,
};
use pyo3::{
    exceptions::{PyRuntimeError, PyValueError},
    prelude::*,
    types::PyDict,
};

use crate::{
    error::ErrorClass,
    fork_guard::ForkGuard,
    json_value::to_json,
    launch_plan::{LaunchOptions, ProfilePermissions, plan_launch},
    output_capture::{CaptureStop, CapturedOutput, OutputCapture},
    run_result::result_to_python,
    shell_policy::{ShellPolicy, blocked_command},
};

/// A confined command that is running.
#[pyclass(module = "tool_approval._native", frozen)]
pub(crate) struct ConfinedRun {
    guard: ForkGuard,
    canceller: RunCanceller,
    /// The end of a pipe that is readable when the command has ended.
    ended: PipeReader,
    waiting: Mutex<Option<JoinHandle<FinishedRun>>>,
}

/// A command that has ended.
struct FinishedRun {
    report: Result<SandboxReport, SandboxError>,
    output: CapturedOutput,
}

/// Start a command in the OS sandbox.
///
/// `profile` has the fields of an `OSProfile`. `supervisor` is the program that calls `supervise`
/// with its last two arguments. `max_output` limits each of the two outputs.
#[pyfunction]
#[pyo3(signature = (policy, command, *, profile, argv, variables, seconds, max_output, supervisor))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub(crate) fn start_command(
    py: Python<'_>,
    policy: &ShellPolicy,
    command: &str,
    profile: &Bound<'_, PyDict>,
    argv: Vec<String>,
    variables: Vec<(OsString, OsString)>,
    seconds: Option<u64>,
    max_output: usize,
    supervisor: Vec<OsString>,
) -> PyResult<ConfinedRun> {
    let permissions = ProfilePermissions::from_json(&to_json(profile.as_any())?)
        .ok_or_else(|| PyValueError::new_err("invalid profile"))?;
    let options = LaunchOptions { argv, variables, seconds };
    let sandbox_error = |message: String| {
        ErrorClass::Sandbox.with_message(py, format!("nothing was run: {message}"))
    };
    let decision = py.detach(|| policy.decide(command));
    let decision = decision.map_err(|message| ErrorClass::Policy.with_message(py, message))?;
    if decision.effect == Effect::Deny {
        return Err(blocked_command(py, &decision));
    }
    let started = py.detach(|| {
        let launch = plan_launch(policy, &decision, &permissions, options)?;
        start(&launch, &supervisor, max_output).map_err(|error| error.to_string())
    });
    started.map_err(sandbox_error)
}

/// Run as the supervisor of a confined command. The numbers are the last two arguments of this
/// process, which must have one thread.
#[pyfunction]
pub(crate) fn supervise(launch: &str, socket: &str) -> PyResult<()> {
    handle_file_size_signal();
    supervisor_main(launch, socket).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// Starts the supervisor, and a thread that waits for it.
fn start(
    launch: &LaunchConfig,
    supervisor: &[OsString],
    max_output: usize,
) -> Result<ConfinedRun, SandboxError> {
    let step = |error| SandboxError::Setup { step: "starting the supervisor".to_owned(), error };
    let (stdout, stdout_writer) = io::pipe().map_err(step)?;
    let (stderr, stderr_writer) = io::pipe().map_err(step)?;
    let (ended, end) = io::pipe().map_err(step)?;
    let capture = OutputCapture::new([stdout, stderr], max_output).map_err(step)?;
    let command = supervisor_command(supervisor, stdout_writer, stderr_writer);
    let run = SandboxRun::start(launch, command)?;
    let canceller = run.canceller();
    let wait = move || wait_for_end(run, capture, end);
    let waiting = thread::Builder::new().name("tool_approval".to_owned()).spawn(wait);
    let waiting = waiting.inspect_err(|_| canceller.cancel()).map_err(step)?;
    let (guard, waiting) = (ForkGuard::new(), Mutex::new(Some(waiting)));
    Ok(ConfinedRun { guard, canceller, ended, waiting })
}

/// Returns the command of the supervisor. It is in a process group of its own, so that a Ctrl-C in
/// the terminal reaches only this process, which then cancels the run.
fn supervisor_command(words: &[OsString], stdout: PipeWriter, stderr: PipeWriter) -> Command {
    let mut words = words.iter();
    let mut command = Command::new(words.next().cloned().unwrap_or_default());
    command.args(words).stdin(Stdio::null()).stdout(stdout).stderr(stderr).process_group(0);
    command
}

/// Reads the output, waits for the end, and then writes to the pipe `end`.
fn wait_for_end(
    run: SandboxRun,
    (capture, stop): (OutputCapture, CaptureStop),
    mut end: PipeWriter,
) -> FinishedRun {
    let (report, output) = thread::scope(|scope| {
        let output = scope.spawn(move || capture.run());
        let report = run.wait(&mut |_, _| RuntimeDecision::Rejected);
        stop.stop();
        (report, output.join().unwrap_or_default())
    });
    // If the other end is closed, nothing waits.
    drop(end.write_all(&[0]));
    FinishedRun { report, output }
}

#[pymethods]
impl ConfinedRun {
    /// The descriptor that becomes readable when the command has ended.
    fn fileno(&self) -> i32 {
        self.ended.as_raw_fd()
    }

    /// Kill all processes of the command.
    fn cancel(&self) {
        self.canceller.cancel();
    }

    /// Kill all processes of the command, and wait until they have ended.
    fn end(&self, py: Python<'_>) -> PyResult<()> {
        self.guard.check(py)?;
        self.canceller.cancel();
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).take();
        py.detach(|| drop(waiting.map(JoinHandle::join)));
        Ok(())
    }

    /// Wait for the end, and return the result. It can be called once.
    fn result<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.guard.check(py)?;
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).take();
        let finished = py.detach(|| waiting.and_then(|thread| thread.join().ok()));
        let taken = || PyRuntimeError::new_err("the result was taken already");
        let FinishedRun { report, output } = finished.ok_or_else(taken)?;
        match report {
            Ok(report) => result_to_python(py, &report, output),
            Err(error) => {
                let message = format!("nothing was run: {error}{}", output.last_error_line());
                Err(ErrorClass::Sandbox.with_message(py, message))
            }
        }
    }
}

impl Drop for ConfinedRun {
    /// Kills a command that nothing waits for.
    fn drop(&mut self) {
        if self.guard.is_own_process() {
            self.canceller.cancel();
        }
    }
}
