//! `sandbox`: confinement alone.

mod found;
mod run;
mod status;

use crate::{
    args::{Global, SandboxVerb},
    exit::Exit,
};

/// Runs one of its verbs.
pub(crate) fn sandbox(verb: &SandboxVerb, global: Global) -> Result<Exit, String> {
    match verb {
        SandboxVerb::Run(args) => run::run(args),
        SandboxVerb::Status { json } => Ok(status::status(*json, global)),
    }
}
