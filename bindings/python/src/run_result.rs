//! The result of a confined command, for Python.

use openoxide_protocol::AbsPath;
use openoxide_sandbox::{CommandOutcome, PostRunFinding, SandboxDenial, SandboxReport};
use openoxide_tui::{LineMode, escape_text};
use pyo3::{
    prelude::*,
    types::{PyBytes, PyDict, PyTuple},
};

use crate::{error::ErrorClass, output_buffer::OutputBuffer, output_capture::CapturedOutput};

impl CapturedOutput {
    /// Returns the last line of the error output of a supervisor that failed, for a message.
    pub(crate) fn last_error_line(self) -> String {
        let (head, _, tail) = self.stderr.into_parts();
        let text = [head, tail].concat();
        let text = String::from_utf8_lossy(&text);
        let last = text.lines().rfind(|line| !line.trim().is_empty());
        last.map_or_else(String::new, |line| format!(" ({})", line.trim()))
    }
}

/// Returns the fields of a result.
///
/// # Errors
/// Returns a `SandboxError` if the program could not be started.
pub(crate) fn result_to_python<'py>(
    py: Python<'py>,
    report: &SandboxReport,
    output: CapturedOutput,
) -> PyResult<Bound<'py, PyDict>> {
    let (status, signal) = match report.outcome {
        CommandOutcome::Exited(status) => (Some(status), None),
        CommandOutcome::Signalled(signal) => (None, Some(signal)),
        CommandOutcome::TimedOut => (None, None),
        CommandOutcome::NotFound => return Err(not_started(py, "bash was not found")),
        CommandOutcome::NotStarted(code) => {
            let error = std::io::Error::from_raw_os_error(code);
            return Err(not_started(py, &format!("bash cannot be started: {error}")));
        }
    };
    let fields = PyDict::new(py);
    fields.set_item("exit_status", status)?;
    fields.set_item("signal", signal)?;
    fields.set_item("timed_out", report.outcome == CommandOutcome::TimedOut)?;
    fields.set_item("stdout", output_to_python(py, output.stdout)?)?;
    fields.set_item("stderr", output_to_python(py, output.stderr)?)?;
    fields.set_item("denials", report.denials.iter().map(describe_denial).collect::<Vec<_>>())?;
    fields.set_item("warnings", describe_warnings(report))?;
    Ok(fields)
}

fn not_started(py: Python<'_>, why: &str) -> PyErr {
    ErrorClass::Sandbox.with_message(py, format!("nothing was run: {why}"))
}

fn output_to_python(py: Python<'_>, output: OutputBuffer) -> PyResult<Bound<'_, PyTuple>> {
    let (head, omitted, tail) = output.into_parts();
    (PyBytes::new(py, &head), omitted, PyBytes::new(py, &tail)).into_pyobject(py)
}

/// Returns the kind and the subject of a denial.
fn describe_denial(denial: &SandboxDenial) -> (&'static str, String) {
    match denial {
        SandboxDenial::Connect { host, port, .. } => ("connect", format!("{host}:{port}")),
        SandboxDenial::Write { path } => ("write", path.to_string()),
        SandboxDenial::Read { path } => ("read", path.to_string()),
        SandboxDenial::UnixSocket { path: socket }
        | SandboxDenial::UnreachableSocket { socket, .. } => ("unix_socket", socket.clone()),
        SandboxDenial::SshAgent { reason } => ("ssh_agent", reason.clone()),
        SandboxDenial::SystemCall { .. } => {
            ("system_call", openoxide_engine::describe_denial(denial))
        }
    }
}

/// Returns what a person should know about the run.
fn describe_warnings(report: &SandboxReport) -> Vec<String> {
    let findings = report.findings.iter().map(describe_finding);
    findings.chain(report.run_error.clone()).chain(report.unenforced_limits.clone()).collect()
}

fn describe_finding(finding: &PostRunFinding) -> String {
    match finding {
        PostRunFinding::RunEnded { path } => format!(
            "the command was killed: `{}` is the second new file that makes git run something",
            display_path(path)
        ),
        PostRunFinding::RepositoryHook { path, quarantined }
        | PostRunFinding::SteeringFile { path, quarantined } => {
            let what = format!(
                "new file `{}` can configure or run programs on this machine",
                display_path(path)
            );
            match quarantined {
                Some(held) => format!("{what}; it was quarantined to `{}`", display_path(held)),
                None => format!("{what}; review it before you use tools there"),
            }
        }
        PostRunFinding::ChangedHook { path, held } => format!(
            "the git hook `{}` is unchanged; the version of the command is in `{}`",
            display_path(path),
            display_path(held)
        ),
        PostRunFinding::GitSettings { path, held, names, conflicts } => {
            let list = |names: &[String]| {
                let names = names.iter().map(|name| escape_text(name, LineMode::SingleLine));
                names.collect::<Vec<_>>().join(", ")
            };
            let changed = match conflicts.as_slice() {
                [] => String::new(),
                conflicts => format!("; another program has changed {}", list(conflicts)),
            };
            format!(
                "settings of `{}` that make git run something ({}) are in `{}`{changed}",
                display_path(path),
                list(names),
                display_path(held)
            )
        }
        PostRunFinding::HardLink { path } => format!(
            "`{}` is a hard link to a file outside the writable directories",
            display_path(path)
        ),
        PostRunFinding::UnsavedFile { path, reason } => format!(
            "`{}` exists in the private `/tmp` only, and was not copied: {}",
            display_path(path),
            escape_text(reason, LineMode::SingleLine)
        ),
        PostRunFinding::UnstagedChange { path, reason } => format!(
            "the change of `{}` was discarded, because it cannot be staged: {}",
            display_path(path),
            escape_text(reason, LineMode::SingleLine)
        ),
        PostRunFinding::UnsearchedDirectory { path } => {
            format!("`{}` could not be searched for files that run programs", display_path(path))
        }
        PostRunFinding::TooManyQuestions { count, per_minute } => format!(
            "{count} requests were refused without a question, because at most {per_minute} questions are asked in a minute; rules (`Edit(…)`, `WebFetch(…)`) answer without a question"
        ),
        PostRunFinding::Omitted { count } => format!("and {count} more"),
    }
}

fn display_path(path: &AbsPath) -> String {
    escape_text(path.as_str(), LineMode::SingleLine)
}
