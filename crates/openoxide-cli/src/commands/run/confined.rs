//! Running what was permitted, confined to what was permitted.

mod hosts;
mod places;
mod settings;

use std::{ffi::OsString, io, os::unix::process::ExitStatusExt as _, process::ExitStatus};

use openoxide_permission::{Ground, confine};
use openoxide_protocol::{AbsPath, Confined, Decision, SandboxProfile};
use openoxide_sandbox::{
    self as sandbox, Denial, End, Launch, Limits, NetworkAnswer, Report, SandboxError, at_terminal,
    run_confined,
};
use openoxide_session::seen;
use openoxide_store::{Environment, NetworkSetting, audit::Holding};
use openoxide_tui::{Lines, visible};

use crate::{args::RunSandbox, commands::sandbox::found, policy::World, record::Held, report};
pub(crate) use hosts::Hosts;
pub(crate) use places::registry;
pub(crate) use settings::in_words;
pub(super) use settings::{environment, limits};

/// The words by which this program is started again, to supervise.
pub(crate) const SUPERVISE: [&str; 2] = ["sandbox", "supervise"];

/// Returns what is held of a command that may run; nothing where the person wants nothing held.
///
/// # Errors
/// When a place cannot be looked at: then nothing may be run.
pub(super) fn profile(
    world: &World,
    decision: &Decision,
    explicit: RunSandbox,
) -> Result<Option<Confined>, String> {
    if explicit == RunSandbox::Off {
        return Ok(None);
    }
    let (own, said) = (own(), &world.loaded.sandbox);
    let writable: Vec<AbsPath> = said.writable.iter().cloned().collect();
    let ground = Ground {
        policy: &world.loaded.policy,
        layers: &world.loaded.layers,
        context: world.context(),
        home: world.home.as_ref(),
        own: &own,
        seen: &[],
        kept: &[],
        writable: &writable,
        all_hosts: said.network == Some(NetworkSetting::On),
    };
    let seen = seen(&ground);
    if seen.more {
        report::note(&settings::NOT_ALL_SEEN);
    }
    let ground = Ground { seen: &seen.unreadable, kept: &seen.kept, ..ground };
    let derived = confine(&ground, decision);
    let open = derived.confined().map(|held| held.writable.clone()).unwrap_or_default();
    let derived = derived.intersect(&settings::profile(said, &open));
    let explicit = match explicit {
        RunSandbox::Auto | RunSandbox::Off => SandboxProfile::DangerFullAccess,
        RunSandbox::ReadOnly => {
            let network = derived.confined().map(|held| held.network.clone()).unwrap_or_default();
            SandboxProfile::Confined(Confined { network, ..Confined::default() })
        }
    };
    derived.intersect(&explicit).confined().map(places::resolved).transpose()
}

/// Where this program keeps its settings and its state.
fn own() -> Vec<AbsPath> {
    let Environment { config, state, cache, .. } = Environment::read();
    let ours = [config, state, cache].into_iter().flatten().map(|path| path.join("openoxide"));
    ours.filter_map(|path| AbsPath::new(path.to_str()?).ok()).collect()
}

/// A command that is run confined.
pub(super) struct Run<'a> {
    pub(super) argv: Vec<OsString>,
    pub(super) cwd: &'a AbsPath,
    pub(super) profile: Confined,
    pub(super) environment: Vec<(OsString, OsString)>,
    pub(super) limits: Limits,
}

impl Run<'_> {
    /// Runs it. Hosts that the profile does not name are asked about.
    ///
    /// # Errors
    /// Where the confinement could not be set up; nothing was run then.
    pub(super) fn go(
        self,
        ask: &mut dyn FnMut(&str, u16) -> NetworkAnswer,
    ) -> Result<Report, SandboxError> {
        let registry = registry().map_err(|error| SandboxError::Setup {
            step: "finding a place for the registry".to_owned(),
            error: io::Error::other(error),
        })?;
        let launch = Launch {
            profile: self.profile,
            argv: self.argv,
            cwd: places::real(self.cwd),
            environment: self.environment,
            terminal: at_terminal(),
            ask: true,
            limits: self.limits,
            registry,
        };
        run_confined(&launch, &SUPERVISE, ask)
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
pub(super) fn held(report: &Report) -> Held {
    let stricter =
        report.plan.clauses.iter().filter(|(_, held, _)| *held != sandbox::Held::Enforced);
    let stricter = stricter.map(|(clause, ..)| clause.as_str().to_owned()).collect();
    Held {
        holding: Some(Holding { backend: report.plan.backend.as_str().to_owned(), stricter }),
        refused: report.denials.iter().map(denied).collect(),
        found: report.found.iter().map(found::text).collect(),
    }
}

/// Tells a person what was refused, and what they should look at.
pub(crate) fn tell(report: &Report) {
    for denial in &report.denials {
        report::say(&format!("openoxide: refused: {}{}", denied(denial), remedy(denial)));
    }
    for one in &report.found {
        report::note(&found::text(one));
    }
}

fn denied(denial: &Denial) -> String {
    match denial {
        Denial::Connect { host, port } => {
            let host = visible(host, Lines::One);
            format!(
                "a connection to {host}:{port} (a rule `WebFetch(domain:{host})` would allow it)"
            )
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
