//! `sandbox`: confinement alone.

mod run;

use crate::{args::SandboxVerb, exit::Exit};

/// Runs one of its verbs.
pub(crate) fn sandbox(verb: &SandboxVerb) -> Result<Exit, String> {
    match verb {
        SandboxVerb::Run(args) => run::run(args),
    }
}
