//! `sandbox`: confinement alone.

pub(crate) mod found;
mod live;
mod run;
mod staged;
mod status;

pub(crate) use run::{HOST_NETWORK, with};

use openoxide_sandbox::supervise_as_called;

use crate::{
    args::{Global, SandboxVerb},
    exit::Exit,
    report,
};

/// Runs one of its verbs.
pub(crate) fn sandbox(verb: &SandboxVerb, global: Global) -> Result<Exit, String> {
    match verb {
        SandboxVerb::Run(args) => run::run(args, global),
        SandboxVerb::Supervise { launch, wire } => Ok(match supervise_as_called(launch, wire) {
            Ok(()) => Exit::Success,
            Err(error) => {
                report::failure(&error);
                Exit::RunFailed
            }
        }),
        SandboxVerb::Status { json } => Ok(status::status(*json, global)),
    }
}
