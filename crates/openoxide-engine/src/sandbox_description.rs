//! Descriptions of a confined run, for a person and for the audit log.

use openoxide_protocol::{
    AbsPath,
    escape::{LineMode, escape_text},
};
use openoxide_sandbox::{
    Enforcement, PostRunFinding, RefusedOperation, SandboxDenial, SandboxReport,
};
use openoxide_store::audit::EnforcementRecord;

use crate::{audit_log::ConfinementRecord, url_host::bracketed};

impl ConfinementRecord {
    /// Returns the record of a confined command.
    #[must_use]
    pub fn from_report(report: &SandboxReport) -> Self {
        let stricter =
            report.plan.clauses.iter().filter(|(_, held, _)| *held != Enforcement::Enforced);
        let stricter = stricter.map(|(clause, ..)| clause.as_str().to_owned()).collect();
        let backend = report.plan.backend.as_str().to_owned();
        Self {
            checkpoint: None,
            enforcement: Some(EnforcementRecord { backend, stricter }),
            denials: report.denials.iter().map(describe_denial).collect(),
            findings: report.findings.iter().map(describe_finding).collect(),
        }
    }
}

/// Returns a description of an access that the sandbox refused. Hostile text in it is escaped.
#[must_use]
pub fn describe_denial(denial: &SandboxDenial) -> String {
    match denial {
        SandboxDenial::Connect { host, port, address } => {
            let leads = address.map(|refused| format!(", which leads to {}", refused.address));
            let leads = leads.unwrap_or_default();
            let host = bracketed(&escape_text(host, LineMode::SingleLine));
            format!("a connection to {host}:{port}{leads}")
        }
        SandboxDenial::Write { path } => {
            format!("changing `{}`", escape_text(path.as_str(), LineMode::SingleLine))
        }
        SandboxDenial::Read { path } => {
            format!("reading `{}`", escape_text(path.as_str(), LineMode::SingleLine))
        }
        SandboxDenial::SshAgent { reason } => {
            format!("a request to the SSH agent: {}", escape_text(reason, LineMode::SingleLine))
        }
        SandboxDenial::UnixSocket { path } if path.starts_with("ssh-agent:") => {
            let host = path.trim_start_matches("ssh-agent:");
            let host = escape_text(host, LineMode::SingleLine);
            format!("signing in to `{host}` with the SSH agent")
        }
        SandboxDenial::UnixSocket { path } if !path.starts_with('/') => {
            format!("the socket `{}`", escape_text(path, LineMode::SingleLine))
        }
        SandboxDenial::UnreachableSocket { socket, reason } => {
            let escaped = |text| escape_text(text, LineMode::SingleLine);
            format!("the socket `{}`: {}", escaped(socket), escaped(reason))
        }
        SandboxDenial::UnixSocket { path } => {
            format!(
                "the socket of a service outside, `{}`",
                escape_text(path, LineMode::SingleLine)
            )
        }
        SandboxDenial::SystemCall { operation } => describe_operation(*operation).to_owned(),
    }
}

const fn describe_operation(operation: RefusedOperation) -> &'static str {
    match operation {
        RefusedOperation::Mount => "changing mounts or the root directory",
        RefusedOperation::Namespace => "creating or entering a namespace (a nested sandbox)",
        RefusedOperation::SetId => "setting a set-user-ID or set-group-ID mode",
        RefusedOperation::DeviceNode => "creating a device node",
        RefusedOperation::UnixDatagram => "creating a Unix socket for datagrams",
        RefusedOperation::UnusualSocket => "creating a raw socket or one of an unusual family",
        RefusedOperation::Keyring => "using a keyring of the kernel",
        RefusedOperation::PerformanceCounters => "using performance counters (perf_event_open)",
        RefusedOperation::KernelCode => "loading a module or a BPF program into the kernel",
        RefusedOperation::KernelLog => "reading the log of the kernel",
        RefusedOperation::Administration => "changing the clock, name or state of the machine",
    }
}

/// Returns a description of a finding, with advice. Hostile text in it is escaped.
#[must_use]
pub fn describe_finding(found: &PostRunFinding) -> String {
    match found {
        PostRunFinding::RunEnded { path } => {
            format!(
                "the program was killed: `{}` is the second file that makes git run something and that it created while it ran; the first one was quarantined",
                display_path(path)
            )
        }
        PostRunFinding::RepositoryHook { path, quarantined: Some(held) } => {
            let (path, held) = (display_path(path), display_path(held));
            format!(
                "new git hook or repository configuration `{path}` was quarantined to `{held}`; move it back if you created it"
            )
        }
        PostRunFinding::RepositoryHook { path, quarantined: None } => {
            format!(
                "new git hook or repository configuration `{}`: review it before you use git there",
                display_path(path)
            )
        }
        PostRunFinding::ChangedHook { path, held } => {
            let (path, held) = (display_path(path), display_path(held));
            format!(
                "the git hook `{path}` is unchanged; the version of the program is in `{held}`; replace the hook if you want it"
            )
        }
        PostRunFinding::GitSettings { path, held, names, conflicts } => {
            describe_settings(path, held, names, conflicts)
        }
        PostRunFinding::SteeringFile { path, quarantined: Some(held) } => {
            let (path, held) = (display_path(path), display_path(held));
            format!(
                "new file `{path}` can configure or run programs on this machine; it was quarantined to `{held}`; move it back if you want it"
            )
        }
        PostRunFinding::SteeringFile { path, quarantined: None } => {
            format!(
                "new file `{}` can configure or run programs on this machine and could not be quarantined; review it before you use agents, editors or tools there",
                display_path(path)
            )
        }
        PostRunFinding::HardLink { path } => {
            format!(
                "`{}` is a hard link to a file outside the writable directories: a change to one changes both",
                display_path(path)
            )
        }
        PostRunFinding::UnsavedFile { path, reason } => format!(
            "`{}` was not copied from the private directory for temporary files: {}; write it inside the project to keep it",
            display_path(path),
            escape_text(reason, LineMode::SingleLine)
        ),
        PostRunFinding::UnstagedChange { path, reason } => format!(
            "the change of `{}` was discarded, because it cannot be staged: {}",
            display_path(path),
            escape_text(reason, LineMode::SingleLine)
        ),
        PostRunFinding::TooManyQuestions { count, per_minute } => format!(
            "{count} requests were refused without a question, because at most {per_minute} questions are asked in a minute; rules (`Edit(…)`, `WebFetch(…)`) answer without a question"
        ),
        PostRunFinding::Omitted { count } => format!("and {count} more"),
        PostRunFinding::UnsearchedDirectory { path } => {
            format!(
                "`{}` could not be searched for hooks and other files that run programs: review it before you use git, agents or tools there",
                display_path(path)
            )
        }
    }
}

/// Describes changed settings of `git` that were not applied. Both lists are empty if the file is
/// not understood.
fn describe_settings(
    path: &AbsPath,
    held: &AbsPath,
    names: &[String],
    conflicts: &[String],
) -> String {
    let (path, held) = (display_path(path), display_path(held));
    let known = if names.len() == 1 { "is" } else { "are" };
    let effects = "can make git run programs, or change what it contacts, sends or deletes";
    let risky = (!names.is_empty()).then(|| {
        format!("{} {known} not known to be harmless and {effects}", display_settings(names))
    });
    let conflicting = (!conflicts.is_empty())
        .then(|| format!("{}: changed by another program, too", display_settings(conflicts)));
    let why: Vec<_> = risky.into_iter().chain(conflicting).collect();
    let what = if why.is_empty() {
        "the changes".to_owned()
    } else {
        format!("{}; the changes", why.join("; "))
    };
    format!("git configuration `{path}`: {what} are in `{held}`; replace the file if you want them")
}

fn display_settings(names: &[String]) -> String {
    let names = names.iter().take(MAX_NAMED_SETTINGS);
    let names = names.map(|name| format!("`{}`", escape_text(name, LineMode::SingleLine)));
    names.collect::<Vec<_>>().join(", ")
}

/// The maximum number of settings of `git` that are named.
const MAX_NAMED_SETTINGS: usize = 5;

fn display_path(path: &AbsPath) -> String {
    escape_text(path.as_str(), LineMode::SingleLine)
}
