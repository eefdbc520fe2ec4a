//! One attempt to confine a program, by one backend.

use std::{io, path::Path};

use openoxide_protocol::Network;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use super::{
    aftermath::Aftermath,
    attendant::{self, Attendant},
    questions::Questions,
    streams::Streams,
    turn::Turn,
};
use crate::{
    Found, Guarded, Launch, Plan, Report, beside,
    control_group::ControlGroup,
    error::{SandboxError, Step as _},
    inside::{self, Owner},
    progress::ProgressWriter,
    protect::Mounted,
    shares::Shares,
    sys,
    wire::Wire,
};

/// What is needed for it.
pub(super) struct Attempt<'a> {
    pub(super) launch: &'a Launch,
    pub(super) guarded: &'a Guarded,
    /// What bounds memory and processes, where there is one.
    pub(super) group: Option<&'a ControlGroup>,
    pub(super) guards: &'a Mounted,
    pub(super) questions: Option<Questions>,
    /// Where the program's start and end are recorded.
    pub(super) progress: &'a ProgressWriter,
    /// Whose turn it is at the terminal.
    pub(super) turn: Turn,
}

/// The process that is started first.
#[derive(Clone, Copy)]
struct First {
    namespaces: sys::Namespaces,
    run: fn(&inside::World<'_>) -> i32,
    /// What it is ended with.
    end: Signal,
}

impl Attempt<'_> {
    /// Runs the program in our own namespaces.
    ///
    /// # Errors
    /// The outer one says that the sandbox never stood: then this process has one thread still, nothing was read of its input, and
    /// it can be tried otherwise.
    pub(super) fn by_namespaces(&mut self) -> Result<Result<Report, SandboxError>, SandboxError> {
        let network = !matches!(self.launch.profile.network, Network::On);
        let namespaces = sys::Namespaces::all(network);
        self.confine(First { namespaces, run: inside::run, end: Signal::KILL })
    }

    /// Runs the program under `bwrap`, which holds what this plan says.
    ///
    /// # Errors
    /// Where the confinement could not be set up; nothing was run then.
    pub(super) fn by_bubblewrap(&mut self, plan: &Plan) -> Result<Report, SandboxError> {
        if self.launch.staged.is_some() {
            let why = || "the backend `bubblewrap` cannot stage changes".to_owned();
            return Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP)).step(why);
        }
        let namespaces = sys::Namespaces::NONE;
        // It sees to it that all the others end before it does.
        let first = First { namespaces, run: beside::run, end: Signal::TERM };
        let report = self.confine(first)??;
        Ok(Report { plan: plan.clone(), ..report })
    }

    fn confine(&mut self, by: First) -> Result<Result<Report, SandboxError>, SandboxError> {
        let (wire, inner) = Wire::pair().step(|| "making a socket".to_owned())?;
        let signals = sys::signal_descriptor(attendant::HEARD);
        let signals = signals.step(|| "hearing of signals".to_owned())?;
        let streams = Streams::make(self.launch.terminal)
            .step(|| "looking at the standard streams".to_owned())?;
        let owner = Owner::current();
        let shares = Shares::take(Path::new(self.launch.registry.as_str()));
        let first = match self.group {
            Some(group) => group.fork_into(by.namespaces),
            None => sys::fork_into(by.namespaces),
        };
        let Some(first) = first.step(|| "making namespaces".to_owned())? else {
            drop((wire, self.questions.take()));
            let (launch, guards, progress) = (self.launch, self.guards, self.progress);
            let shares = &shares;
            let world = inside::World { launch, guards, owner, wire: &inner, progress, shares };
            sys::end(streams.enter().map_or(1, |()| (by.run)(&world)));
        };
        drop(inner);
        let turn = self.turn.clone();
        let staged = self.launch.staged.is_some();
        let aftermath = Aftermath::start(self.guarded, &self.launch.profile, staged);
        let mut attendant = Attendant::new(self.launch, wire, signals, &mut self.questions);
        let relayed = attendant
            .stand()
            .and_then(|()| streams.relay(&turn).step(|| "making a thread".to_owned()));
        let ran = relayed.map(|relayed| (attendant.watch(), relayed));
        _ = kill_process(first, by.end);
        reap(first);
        let (end, relayed) = match ran {
            Ok(ran) => ran,
            Err(error) => {
                aftermath.forget();
                return Err(error);
            }
        };
        attendant.clear();
        Ok(end.map(|end| {
            let tail = relayed.finish(end);
            let mut found = aftermath.find();
            // A staged run writes no file under its other names.
            found.retain(|one| !(staged && matches!(one, Found::HardLink { .. })));
            Report { found, ..attendant.report(end, tail.as_ref()) }
        }))
    }
}

fn reap(first: Pid) {
    _ = rustix::io::retry_on_intr(|| waitpid(Some(first), WaitOptions::empty()));
}
