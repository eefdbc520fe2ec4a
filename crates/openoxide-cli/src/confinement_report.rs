//! Notes for the person about a confined run.

use std::net::IpAddr;

use openoxide_engine::{describe_denial, describe_finding};
use openoxide_protocol::PublishedPort;
use openoxide_sandbox::{
    self as sandbox, CommandOutcome, EnforcementPlan, ReachedLimit, RefusedOperation,
    SandboxBackend, SandboxDenial, SandboxReport,
};
use openoxide_tui::{LineMode, escape_text};

use crate::user_messages;

/// The command that printed a report. Hints name what this command reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReportedCommand {
    /// `run`, which reads policies.
    Run,
    /// `sandbox run`, which reads only options.
    SandboxRun,
}

/// Reports the fallback backend if one was used, the denials, and the findings to review.
/// `connection_hint` returns what would allow a denied connection to a host or a socket.
pub(crate) fn print_report(
    report: &SandboxReport,
    command: ReportedCommand,
    connection_hint: &dyn Fn(&SandboxDenial) -> String,
) {
    if SandboxBackend::HERE.first() != Some(&report.plan.backend) {
        user_messages::print_note(&fallback_note(&report.plan));
    }
    // Many programs try such a system call and work without it. Then there is nothing to explain.
    let succeeded = report.outcome == CommandOutcome::Exited(0);
    for denial in report.denials.iter().filter(|one| one.is_conclusive() || !succeeded) {
        user_messages::print_line(&format!(
            "openoxide: refused: {}{}",
            describe_denial(denial),
            remedy_hint(denial, command, connection_hint)
        ));
    }
    for one in &report.findings {
        user_messages::print_note(&describe_finding(one));
    }
    if let Some(note) = listening_note(&report.listening_ports, command) {
        user_messages::print_note(&note);
    }
    for limit in &report.reached_limits {
        user_messages::print_line(&reached_limit_message(*limit, command));
    }
    if let Some(unlimited) = &report.unenforced_limits {
        user_messages::print_note(unlimited);
    }
    if let Some(why) = &report.run_error {
        user_messages::print_note(&format!(
            "the program was started and has ended, but the sandbox was interrupted, so this report is incomplete: {}",
            escape_text(why, LineMode::SingleLine)
        ));
    }
}

/// Returns a message about a limit that stopped a process, with what raises it.
fn reached_limit_message(limit: ReachedLimit, command: ReportedCommand) -> String {
    let setting = |name: &str| match command {
        ReportedCommand::Run => format!("`{name}` in `[sandbox.limits]` of your policy"),
        ReportedCommand::SandboxRun => format!("`--{name}`"),
    };
    match limit {
        ReachedLimit::Memory(bytes) => format!(
            "openoxide: a process was killed, because the command used {} MiB of memory, its \
             limit; a higher {} allows more",
            bytes >> 20,
            setting("memory")
        ),
        ReachedLimit::Processes(count) => format!(
            "openoxide: a process was not started, because {count} were running, the limit of the \
             command; a higher {} allows more",
            setting("processes")
        ),
    }
}

/// Returns a message about a program that was killed because its time was over. `setting` names
/// what set the limit.
pub(crate) fn time_limit_message(seconds: Option<u64>, setting: &str) -> String {
    match seconds {
        Some(seconds) => format!(
            "openoxide: killed after {seconds} s, its time limit; a higher {setting} allows more"
        ),
        None => "openoxide: killed: it did not end within five seconds after a termination signal"
            .to_owned(),
    }
}

/// Returns a note that programs listened on ports which cannot be reached from outside, with the
/// option that publishes the first.
fn listening_note(ports: &[u16], command: ReportedCommand) -> Option<String> {
    let first = *ports.first()?;
    let plural = if ports.len() == 1 { "" } else { "s" };
    let names: Vec<_> = ports.iter().map(ToString::to_string).collect();
    let hint = match command {
        ReportedCommand::Run => publish_hint(first),
        ReportedCommand::SandboxRun => format!("`--publish {first}`"),
    };
    Some(format!(
        "a program listened on port{plural} {}, reachable only inside the sandbox; {hint} \
         publishes a port on this machine",
        names.join(", ")
    ))
}

/// Returns a note that a program listens on a port which cannot be reached from outside.
pub(crate) fn unpublished_port_note(port: u16) -> String {
    format!(
        "a program listens on port {port}, reachable only inside the sandbox; {} publishes a port \
         on this machine",
        publish_hint(port)
    )
}

fn publish_hint(port: u16) -> String {
    format!("`--publish {port}` or `publish = [{port}]` in `[sandbox]` of your policy")
}

/// Returns a note that a port of the policy could not be published.
pub(crate) fn unavailable_port_note(port: PublishedPort, reason: &str) -> String {
    format!("port {} is not published: {}", port.port(), escape_text(reason, LineMode::SingleLine))
}

/// Returns a note about the differences of a fallback backend.
fn fallback_note(plan: &EnforcementPlan) -> String {
    let stricter =
        plan.clauses.iter().filter(|(_, held, _)| *held == sandbox::Enforcement::Stricter);
    let stricter = stricter
        .filter_map(|(clause, _, why)| Some(format!("; {}: {}", clause.as_str(), why.as_deref()?)));
    let name = plan.backend.as_str();
    stricter.fold(format!("confined by the backend `{name}`"), |text, one| text + &one)
}

/// Returns a hint at the rule or option that would allow the denied access, if there is one.
fn remedy_hint(
    denial: &SandboxDenial,
    command: ReportedCommand,
    connection_hint: &dyn Fn(&SandboxDenial) -> String,
) -> String {
    let quoted = |text: &str| escape_text(text, LineMode::SingleLine);
    match (denial, command) {
        (SandboxDenial::Connect { .. }, _) => connection_hint(denial),
        (SandboxDenial::Read { path }, ReportedCommand::SandboxRun) => {
            format!("; `--allow-read {}` would allow it", quoted(path.as_str()))
        }
        (SandboxDenial::SystemCall { operation: RefusedOperation::Namespace }, _) => {
            "; a sandbox inside of this one is not possible, so run the program without its own \
             (Chromium: `--no-sandbox`)"
                .to_owned()
        }
        (SandboxDenial::SystemCall { .. }, ReportedCommand::Run) => {
            "; no rule allows it in the sandbox (`--sandbox off` runs the command without one)"
                .to_owned()
        }
        (SandboxDenial::SystemCall { .. }, ReportedCommand::SandboxRun) => {
            "; no option allows it".to_owned()
        }
        (SandboxDenial::UnixSocket { .. }, ReportedCommand::Run) => connection_hint(denial),
        (
            SandboxDenial::Write { .. }
            | SandboxDenial::Read { .. }
            | SandboxDenial::UnixSocket { .. }
            | SandboxDenial::UnreachableSocket { .. }
            | SandboxDenial::SshAgent { .. },
            _,
        ) => String::new(),
    }
}

/// Returns whether a denied connection is a lookup of a name at the name server of this machine.
/// Without a network, the name is not known.
pub(crate) fn is_name_lookup(denial: &SandboxDenial) -> bool {
    matches!(denial, SandboxDenial::Connect { host, port: 53, .. } if host.parse::<IpAddr>().is_ok())
}
