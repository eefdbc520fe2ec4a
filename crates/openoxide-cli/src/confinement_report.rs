//! Notes for the person about a confined run.

use openoxide_engine::{describe_denial, describe_finding};
use openoxide_sandbox::{
    self as sandbox, EnforcementPlan, SandboxBackend, SandboxDenial, SandboxReport,
};
use openoxide_tui::{LineMode, escape_text};

use crate::user_messages;

/// Reports the fallback backend if one was used, the denials, and the findings to review.
pub(crate) fn print_report(report: &SandboxReport) {
    if SandboxBackend::HERE.first() != Some(&report.plan.backend) {
        user_messages::print_note(&fallback_note(&report.plan));
    }
    for denial in &report.denials {
        user_messages::print_line(&format!(
            "openoxide: refused: {}{}",
            describe_denial(denial),
            remedy_hint(denial)
        ));
    }
    for one in &report.findings {
        user_messages::print_note(&describe_finding(one));
    }
    if let Some(note) = listening_note(&report.listening_ports) {
        user_messages::print_note(&note);
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

/// Returns a note that programs listened on ports which cannot be reached from outside.
fn listening_note(ports: &[u16]) -> Option<String> {
    let ports: Vec<_> = ports.iter().map(ToString::to_string).collect();
    let plural = if ports.len() == 1 { "" } else { "s" };
    (!ports.is_empty()).then(|| {
        format!(
            "a program listened on port{plural} {}: the sandbox has its own network, so programs outside cannot connect to it",
            ports.join(", ")
        )
    })
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

/// Returns a hint at a rule that would allow the denied access.
fn remedy_hint(denial: &SandboxDenial) -> String {
    match denial {
        SandboxDenial::Connect { host, .. } => {
            format!(
                "; a rule `WebFetch(domain:{})` would allow it",
                escape_text(host, LineMode::SingleLine)
            )
        }
        SandboxDenial::Write { .. }
        | SandboxDenial::Read { .. }
        | SandboxDenial::UnixSocket { .. } => String::new(),
    }
}
