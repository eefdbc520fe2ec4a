//! The context of a run.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};

use openoxide_engine::Engine;
use openoxide_protocol::{AbsPath, SessionId};
use openoxide_sandbox::RuntimeDecision;
use openoxide_store::audit::RequestedConfinement;

use crate::args::{GlobalArgs, RunArgs, RunSandboxMode};

/// The context for decisions about the requests of a run.
pub(crate) struct RunContext<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) args: &'a RunArgs,
    pub(crate) global: GlobalArgs,
    pub(crate) session: SessionId,
    /// The paths whose change was denied while the command ran.
    pub(crate) refused_paths: RefCell<BTreeSet<AbsPath>>,
    /// The directories whose changes a person has approved until the command ends.
    pub(crate) approved_directories: RefCell<BTreeSet<AbsPath>>,
    /// The ports on which the command listens, with the answers about publishing them.
    pub(crate) reviewed_ports: RefCell<BTreeMap<u16, RuntimeDecision>>,
}

impl<'a> RunContext<'a> {
    /// Returns the context of a run in which no request was decided yet.
    pub(crate) fn new(
        engine: &'a Engine,
        args: &'a RunArgs,
        global: GlobalArgs,
        session: SessionId,
    ) -> Self {
        Self {
            engine,
            args,
            global,
            session,
            refused_paths: RefCell::default(),
            approved_directories: RefCell::default(),
            reviewed_ports: RefCell::default(),
        }
    }
}

/// Returns the confinement for the record of a decision.
pub(crate) const fn requested_confinement(args: &RunArgs) -> RequestedConfinement {
    match args.sandbox {
        RunSandboxMode::Off => RequestedConfinement::NotConfined,
        RunSandboxMode::Auto | RunSandboxMode::ReadOnly => RequestedConfinement::Confined,
    }
}
