//! What is done where own namespaces are refused: another backend that holds the whole profile, or nothing.

use std::io;

use openoxide_protocol::Confined;

use super::confine::Attempt;
use crate::{Backend, Launch, Plan, Refusal, Report, SandboxError, Support, choose};

/// Runs by our own namespaces. Only where the kernel refuses these it looks what else there is.
///
/// # Errors
/// Where nothing holds the profile; nothing was run then.
pub(super) fn by_any(attempt: &mut Attempt<'_>) -> Result<Report, SandboxError> {
    match attempt.by_namespaces() {
        Ok(ran) => ran,
        // Nothing else stages.
        Err(first) if attempt.launch.staged.is_some() => Err(first),
        Err(first) if attempt.launch.live => Err(needs_namespaces(first)),
        Err(first) => {
            let plan = instead(first, &attempt.launch.profile)?;
            attempt.by_bubblewrap(&plan)
        }
    }
}

/// No other backend lets us hear of calls.
fn needs_namespaces(first: SandboxError) -> SandboxError {
    match first {
        SandboxError::Setup { step, error } => SandboxError::Setup {
            step: format!("`--live` needs namespaces of our own; {step}"),
            error,
        },
        other @ SandboxError::Unavailable { .. } => other,
    }
}

fn instead(first: SandboxError, profile: &Confined) -> Result<Plan, SandboxError> {
    if !is_refusal(&first) {
        return Err(first);
    }
    match choose(profile, &Support::probe()) {
        Ok(plan) if plan.backend == Backend::Bubblewrap => Ok(plan),
        // They work: something else was refused.
        Ok(_) => Err(first),
        Err(refusal) => Err(SandboxError::Unavailable { first: Some(Box::new(first)), refusal }),
    }
}

/// What the kernel says where namespaces are forbidden, used up, or unknown to it.
fn is_refusal(error: &SandboxError) -> bool {
    const REFUSALS: [i32; 6] =
        [libc::EPERM, libc::EACCES, libc::ENOSPC, libc::EUSERS, libc::ENOSYS, libc::EINVAL];
    let SandboxError::Setup { error, .. } = error else { return false };
    error.raw_os_error().is_some_and(|number| REFUSALS.contains(&number))
}

/// Returns what a backend holds that somebody wants.
///
/// # Errors
/// It does not hold all, or is none that anything can be run by; or it cannot hold changes where they are to be asked about.
pub(super) fn wanted(backend: Backend, launch: &Launch) -> Result<Plan, SandboxError> {
    if launch.live && backend != Backend::Namespaces {
        let unsupported = SandboxError::Setup {
            step: format!("the backend `{}`", backend.as_str()),
            error: io::ErrorKind::Unsupported.into(),
        };
        return Err(needs_namespaces(unsupported));
    }
    let profile = &launch.profile;
    let support = Support::probe();
    let plan = Plan::of(backend, profile, &support);
    let runs = matches!(backend, Backend::Namespaces | Backend::Bubblewrap);
    if runs && plan.holds() {
        return Ok(plan);
    }
    let refusal = Refusal::of(vec![plan], &support);
    Err(SandboxError::Unavailable { first: None, refusal })
}
