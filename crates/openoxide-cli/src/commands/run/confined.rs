//! Running what was permitted, confined to what was permitted.

pub(crate) mod changes;
mod run_context;
mod settings;

use openoxide_engine::{ConfinementRecord, lost_temporary};
use openoxide_protocol::{AbsPath, Decision};
use openoxide_sandbox::{self as sandbox, Backend, Denial, Plan, Report};
use openoxide_store::audit::Holding;
use openoxide_tui::{Lines, visible};

use crate::{commands::sandbox::found, report};
pub(super) use run_context::RunContext;
pub(super) use settings::environment;
pub(crate) use settings::in_words;

/// The words by which this program is started again, to supervise.
pub(crate) const SUPERVISE: [&str; 2] = ["sandbox", "supervise"];

/// Says for the record how a command was held.
pub(super) fn held(report: &Report) -> ConfinementRecord {
    let stricter =
        report.plan.clauses.iter().filter(|(_, held, _)| *held != sandbox::Held::Enforced);
    let stricter = stricter.map(|(clause, ..)| clause.as_str().to_owned()).collect();
    ConfinementRecord {
        holding: Some(Holding { backend: report.plan.backend.as_str().to_owned(), stricter }),
        refused: report.denials.iter().map(denied).collect(),
        found: report.found.iter().map(found::text).collect(),
    }
}

/// Tells a person by what it was held where that is not the best, what was refused, and what they should look at.
pub(crate) fn tell(report: &Report) {
    if Backend::HERE.first() != Some(&report.plan.backend) {
        report::note(&by_another(&report.plan));
    }
    for denial in &report.denials {
        report::say(&format!("openoxide: refused: {}{}", denied(denial), remedy(denial)));
    }
    for one in &report.found {
        report::note(&found::text(one));
    }
    if let Some(note) = listened(&report.listened) {
        report::note(&note);
    }
    if let Some(unlimited) = &report.unlimited {
        report::note(unlimited);
    }
    if let Some(why) = &report.interrupted {
        report::note(&format!(
            "the program was started and has ended, but the sandbox was interrupted, so this report is incomplete: {}",
            visible(why, Lines::One)
        ));
    }
}

/// Says that programs listened where nobody outside could connect to them.
fn listened(ports: &[u16]) -> Option<String> {
    let ports: Vec<_> = ports.iter().map(ToString::to_string).collect();
    let plural = if ports.len() == 1 { "" } else { "s" };
    (!ports.is_empty()).then(|| {
        format!(
            "a program listened on port{plural} {}: the sandbox has its own network, so programs outside cannot connect to it",
            ports.join(", ")
        )
    })
}

/// What is different under another backend than the best.
fn by_another(plan: &Plan) -> String {
    let stricter = plan.clauses.iter().filter(|(_, held, _)| *held == sandbox::Held::Stricter);
    let stricter = stricter
        .filter_map(|(clause, _, why)| Some(format!("; {}: {}", clause.as_str(), why.as_deref()?)));
    let name = plan.backend.as_str();
    stricter.fold(format!("it was confined by the backend `{name}`"), |text, one| text + &one)
}

fn denied(denial: &Denial) -> String {
    match denial {
        Denial::Connect { host, port } => {
            format!("a connection to {}:{port}", visible(host, Lines::One))
        }
        Denial::Write { path } => format!("changing `{}`", visible(path.as_str(), Lines::One)),
        Denial::Read { path } => format!("reading `{}`", visible(path.as_str(), Lines::One)),
        Denial::UnixSocket { path } => {
            format!("the socket of a service outside, `{}`", visible(path, Lines::One))
        }
    }
}

/// What would let it pass.
fn remedy(denial: &Denial) -> String {
    match denial {
        Denial::Connect { host, .. } => {
            format!("; a rule `WebFetch(domain:{})` would allow it", visible(host, Lines::One))
        }
        Denial::Write { .. } | Denial::Read { .. } | Denial::UnixSocket { .. } => String::new(),
    }
}

/// Says that what the decision changes by name below a directory for temporary files is gone afterwards, where it is not there yet.
pub(super) fn lost(decision: &Decision, roots: &[AbsPath]) -> Option<String> {
    let all = lost_temporary(decision, roots);
    let names: Vec<_> =
        all.iter().map(|path| format!("`{}`", visible(path.as_str(), Lines::One))).collect();
    (!names.is_empty()).then(|| {
        format!(
            "`/tmp` and `/var/tmp` are private to this run: {} will not be there when it has ended. To keep a result, create the file \
             first, or write it in the project",
            names.join(", ")
        )
    })
}
