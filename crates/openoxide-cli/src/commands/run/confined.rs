//! Running what was permitted, confined to what was permitted.

pub(crate) mod changes;
mod places;
mod run_context;
mod settings;
mod temporary;

use std::{
    collections::BTreeSet, ffi::OsString, io, os::unix::process::ExitStatusExt as _,
    process::ExitStatus,
};

use openoxide_engine::{ConfinementRecord, Engine, ProfileError, SandboxRestriction, real_path};
use openoxide_protocol::{AbsPath, Access, Confined, Decision, Effect};
use openoxide_sandbox::{
    self as sandbox, Ask, Backend, Denial, End, Launch, Limits, Plan, Report, SandboxError, Stage,
    at_terminal, run_confined,
};
use openoxide_store::audit::Holding;
use openoxide_tui::{Lines, visible};

use crate::{args::RunSandbox, check_host::TerminalHost, commands::sandbox::found, report};
pub(crate) use places::{caches, registry};
pub(crate) use run_context::RunContext;
pub(crate) use settings::in_words;
pub(super) use settings::{environment, limits};
pub(super) use temporary::lost;
pub(crate) use temporary::shown;

/// The words by which this program is started again, to supervise.
pub(crate) const SUPERVISE: [&str; 2] = ["sandbox", "supervise"];

/// Returns what is held of a command that may run; nothing where the person wants nothing held.
///
/// # Errors
/// When the whole file system would be writable: then nothing may be run.
pub(super) fn profile(
    engine: &Engine,
    decision: &Decision,
    explicit: RunSandbox,
) -> Result<Option<Confined>, ProfileError> {
    let restriction = match explicit {
        RunSandbox::Off => return Ok(None),
        RunSandbox::Auto => SandboxRestriction::AsDecided,
        RunSandbox::ReadOnly => SandboxRestriction::ReadOnly,
    };
    engine.sandbox_profile(decision, restriction, &TerminalHost)
}

/// Returns the files whose change was allowed by their names: of these, steering files stay writable.
pub(super) fn changeable(decision: &Decision) -> BTreeSet<AbsPath> {
    let granted = decision.parts.iter().filter(|part| part.decision != Effect::Deny);
    let edits = granted.filter_map(|part| match &part.access {
        Access::Edit(path) if !path.pattern => Some(path.resolved.as_ref().unwrap_or(&path.path)),
        _ => None,
    });
    edits.map(real_path).collect()
}

/// A command that is run confined.
pub(super) struct Run<'a> {
    pub(super) argv: Vec<OsString>,
    pub(super) cwd: &'a AbsPath,
    pub(super) profile: Confined,
    /// Steering files that it may change.
    pub(super) changeable: BTreeSet<AbsPath>,
    /// Whether what it changes is kept aside.
    pub(super) stage: bool,
    /// What it sees below the directories for temporary files.
    pub(super) shown: BTreeSet<AbsPath>,
    pub(super) environment: Vec<(OsString, OsString)>,
    pub(super) limits: Limits,
    pub(super) live: bool,
}

impl Run<'_> {
    /// Runs it, and returns what it has staged, if it was to. Hosts that the profile does not name are asked about, and changes of other
    /// files where that is wanted.
    ///
    /// # Errors
    /// Where the confinement could not be set up; nothing was run then.
    pub(super) fn go(self, ask: &mut Ask<'_>) -> Result<(Report, Option<Stage>), SandboxError> {
        let registry = registry().map_err(|error| SandboxError::Setup {
            step: "finding a place for the registry".to_owned(),
            error: io::Error::other(error),
        })?;
        let stage = self.stage.then(|| Stage::prepare(&registry, &self.profile)).transpose()?;
        let launch = Launch {
            staged: stage.as_ref().map(Stage::place).transpose()?,
            scratch: caches(&self.profile),
            shown: self.shown,
            profile: self.profile,
            changeable: self.changeable,
            argv: self.argv,
            cwd: real_path(self.cwd),
            environment: self.environment,
            terminal: at_terminal(),
            ask: true,
            live: self.live,
            limits: self.limits,
            registry,
        };
        Ok((run_confined(&launch, &SUPERVISE, ask)?, stage))
    }
}

/// Returns how a command has ended, as one that is not confined would have.
pub(super) fn status(end: End) -> io::Result<ExitStatus> {
    match end {
        End::Exited(status) => Ok(ExitStatus::from_raw(i32::from(status) << 8)),
        End::Signalled(signal) => Ok(ExitStatus::from_raw(i32::from(signal))),
        End::TimedOut => Err(io::ErrorKind::TimedOut.into()),
        End::NotFound => Err(io::ErrorKind::NotFound.into()),
        End::NotStarted(error) => Err(io::Error::from_raw_os_error(error)),
    }
}

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
