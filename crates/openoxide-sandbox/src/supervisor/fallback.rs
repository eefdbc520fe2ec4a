//! The fallback if new namespaces are refused: another backend that enforces the whole profile, or
//! an error.

use std::io;

use openoxide_protocol::SandboxRestrictions;

use crate::{
    backend::{EnforcementPlan, HostFeatures, NoBackendError, SandboxBackend, choose_backend},
    interface::{LaunchConfig, SandboxError, SandboxReport},
    supervisor::backend_attempt::BackendAttempt,
};

/// Runs the program in new namespaces, and with another backend only if the kernel refuses
/// namespaces.
///
/// # Errors
/// Returns an error if no backend enforces the profile. Nothing was run then.
pub(super) fn run_with_fallback(
    attempt: &mut BackendAttempt<'_>,
) -> Result<SandboxReport, SandboxError> {
    match attempt.run_in_namespaces() {
        Ok(ran) => ran,
        // No other backend supports staged changes.
        Err(first) if attempt.launch.staging_directory.is_some() => Err(first),
        Err(first) => match option_for_namespaces(attempt.launch) {
            Some(option) => Err(namespaces_required_error(option, first)),
            None => {
                let plan = choose_fallback(first, &attempt.launch.profile)?;
                attempt.run_in_bubblewrap(&plan)
            }
        },
    }
}

/// Returns the option of a launch that no other backend supports, if there is one: file changes
/// need seccomp notifications, and published ports need a process inside that creates sockets.
fn option_for_namespaces(launch: &LaunchConfig) -> Option<&'static str> {
    if launch.reviews_file_changes {
        Some("--live")
    } else {
        (!launch.published_ports.is_empty()).then_some("--publish")
    }
}

/// Returns the error for a run whose option no other backend supports.
fn namespaces_required_error(option: &str, first: SandboxError) -> SandboxError {
    match first {
        SandboxError::Setup { step, error } => SandboxError::Setup {
            step: format!("`{option}` requires the backend `namespaces`; {step}"),
            error,
        },
        other @ (SandboxError::Nested
        | SandboxError::Unavailable { .. }
        | SandboxError::PortUnavailable { .. }) => other,
    }
}

fn choose_fallback(
    first: SandboxError,
    profile: &SandboxRestrictions,
) -> Result<EnforcementPlan, SandboxError> {
    if !is_namespace_refusal(&first) {
        return Err(first);
    }
    match choose_backend(profile, &HostFeatures::probe()) {
        Ok(plan) if plan.backend == SandboxBackend::Bubblewrap => Ok(plan),
        // Namespaces work, so something else was refused.
        Ok(_) => Err(first),
        Err(refusal) => Err(SandboxError::Unavailable { first: Some(Box::new(first)), refusal }),
    }
}

/// Returns whether the error means that namespaces are forbidden, used up, or unknown to the
/// kernel.
fn is_namespace_refusal(error: &SandboxError) -> bool {
    const REFUSALS: [i32; 6] =
        [libc::EPERM, libc::EACCES, libc::ENOSPC, libc::EUSERS, libc::ENOSYS, libc::EINVAL];
    let SandboxError::Setup { error, .. } = error else { return false };
    error.raw_os_error().is_some_and(|number| REFUSALS.contains(&number))
}

/// Returns the plan of a backend that was requested.
///
/// # Errors
/// Returns an error if the backend does not enforce the whole profile, if it cannot run programs,
/// or if it does not support an option of the launch.
pub(super) fn check_backend(
    backend: SandboxBackend,
    launch: &LaunchConfig,
) -> Result<EnforcementPlan, SandboxError> {
    let option = option_for_namespaces(launch);
    if let Some(option) = option.filter(|_| backend != SandboxBackend::Namespaces) {
        let unsupported = SandboxError::Setup {
            step: format!("the backend `{}`", backend.as_str()),
            error: io::ErrorKind::Unsupported.into(),
        };
        return Err(namespaces_required_error(option, unsupported));
    }
    let profile = &launch.profile;
    let support = HostFeatures::probe();
    let plan = EnforcementPlan::for_profile(backend, profile, &support);
    let runs = matches!(backend, SandboxBackend::Namespaces | SandboxBackend::Bubblewrap);
    if runs && plan.is_fully_enforced() {
        return Ok(plan);
    }
    let refusal = NoBackendError::from_plans(vec![plan], &support);
    Err(SandboxError::Unavailable { first: None, refusal })
}
