//! The last steps before the program is executed. They remove all privileges of this process.

use std::{
    ffi::CStr,
    io,
    os::{fd::OwnedFd, unix::process::CommandExt as _},
    process::Command,
};

use rustix::{
    process::{Resource, Rlimit, setrlimit, setsid},
    thread::{
        CapabilitiesSecureBits, CapabilitySet, CapabilitySets, remove_capability_from_bounding_set,
        set_capabilities, set_capabilities_secure_bits, set_no_new_privs,
    },
};

use crate::{
    init::{init_context::InitContext, landlock, program_terminal},
    interface::{CommandOutcome, LaunchConfig, ResourceLimits, SandboxError, SetupContext as _},
    ipc::{InitMessage, MessageSocket, ProgressEvent, ProgressWriter},
    network::{is_allowed_stream, namespace_setup},
    resource_limits::ResourceShares,
    seccomp::{self, FilterOptions, NotifiedChanges},
    sys,
};

/// Executes the program in this process and never returns. Errors are sent over the socket.
pub(super) fn exec_program(world: &InitContext<'_>, terminal: Option<&CStr>) -> ! {
    let InitContext { launch, progress, socket: wire, .. } = *world;
    let failed = match prepare(world, terminal).and_then(|()| record_start(progress)) {
        Err(SandboxError::Setup { step, error }) => {
            InitMessage::Failed { step, error: error.raw_os_error().unwrap_or(libc::EIO) }
        }
        Err(
            SandboxError::Nested
            | SandboxError::Unavailable { .. }
            | SandboxError::PortUnavailable { .. },
        ) => InitMessage::Ended(CommandOutcome::NotStarted(libc::EIO)),
        Ok(()) => {
            let end = outcome_from_error(&exec(launch));
            drop(progress.record(ProgressEvent::Ended(end)));
            InitMessage::Ended(end)
        }
    };
    drop(wire.send(&failed, &[]));
    sys::exit_process(1)
}

/// Records that the program is executed next. If that fails, the program is not executed.
fn record_start(progress: &ProgressWriter) -> Result<(), SandboxError> {
    progress.record(ProgressEvent::Starting).with_step(|| "recording the start".to_owned())
}

fn prepare(world: &InitContext<'_>, terminal: Option<&CStr>) -> Result<(), SandboxError> {
    let InitContext { launch, socket: wire, shares, mount_plan, address_space, .. } = *world;
    check_streams(launch).with_step(|| "relaying input and output".to_owned())?;
    std::env::set_current_dir(launch.cwd.as_str())
        .with_step(|| format!("going to `{}`", launch.cwd))?;
    match terminal {
        Some(terminal) => program_terminal::enter_foreground(terminal)
            .with_step(|| "taking the terminal".to_owned())?,
        None => _ = setsid().with_step(|| "making a session".to_owned())?,
    }
    let limits = ResourceLimits { memory: address_space, ..launch.limits };
    set_resource_limits(limits, shares).with_step(|| "setting limits".to_owned())?;
    sys::set_close_on_exec(3).with_step(|| "closing descriptors".to_owned())?;
    sys::unblock_signals();
    drop_capabilities().with_step(|| "dropping capabilities".to_owned())?;
    set_no_new_privs(true).with_step(|| "setting no_new_privs".to_owned())?;
    let landlock = landlock::restrict_self(&launch.profile, &launch.private_directories);
    let landlock = landlock.with_step(|| "restricting files with Landlock".to_owned())?;
    let has_placeholders = !mount_plan.placeholder_directories.is_empty();
    let listener = install_filter(launch.reviews_file_changes, has_placeholders)
        .with_step(|| describe_filter_step(launch.reviews_file_changes))?;
    if listener.is_none() {
        listen_without_notifications(launch, wire).with_step(|| "making a network".to_owned())?;
    }
    let listener: Vec<_> = listener.into_iter().collect();
    let said = wire.send(&InitMessage::RestrictionsApplied { landlock }, &listener);
    said.with_step(|| "reporting to the supervisor".to_owned())
}

/// Listens on the ports that rules name, if no listener can be added later.
fn listen_without_notifications(launch: &LaunchConfig, wire: &MessageSocket) -> io::Result<()> {
    let reserved = launch.published_ports.iter().map(|published| published.port()).collect();
    let listeners = namespace_setup::listen_without_notifications(
        &launch.profile.network,
        launch.has_reviewer,
        &reserved,
    )?;
    if listeners.is_empty() {
        return Ok(());
    }
    wire.send(&InitMessage::Listeners { request: None }, &listeners)
}

/// Checks that the program may have the standard streams. It gets them as they were outside of the
/// sandbox.
pub(crate) fn check_streams(launch: &LaunchConfig) -> io::Result<()> {
    let network = &launch.profile.network;
    let fine = is_allowed_stream(io::stdin(), network)
        && is_allowed_stream(io::stdout(), network)
        && is_allowed_stream(io::stderr(), network);
    fine.then_some(()).ok_or_else(|| io::Error::from_raw_os_error(libc::EACCES))
}

/// Installs the seccomp filter. A chain of filters can have only one listener. If there is one
/// already, connections cause no notifications, and more is refused. If file changes must be
/// reviewed, no program is run then.
fn install_filter(live: bool, has_placeholders: bool) -> io::Result<Option<OwnedFd>> {
    // The first process inside is not under the filter. It has capabilities that the program lacks,
    // it is undumpable, and it is outside of the program's Landlock domain. Each of these prevents
    // tracing it.
    let options = FilterOptions {
        notify_connect: true,
        notified_changes: match (live, has_placeholders) {
            (true, _) => NotifiedChanges::All,
            (false, true) => NotifiedChanges::DirectoryRemoval,
            (false, false) => NotifiedChanges::None,
        },
        allow_tracing: true,
    };
    let unnotified =
        FilterOptions { notify_connect: false, notified_changes: NotifiedChanges::None, ..options };
    match sys::install_filter(&seccomp::build_filter(options), true) {
        Err(error) if error.raw_os_error() == Some(libc::EBUSY) && !live => {
            sys::install_filter(&seccomp::build_filter(unnotified), false)
        }
        listener => listener,
    }
}

fn describe_filter_step(live: bool) -> String {
    let what = if live {
        "installing the seccomp listener for file changes (`--live`), of which only one can exist"
    } else {
        "installing the system call filter"
    };
    what.to_owned()
}

/// Drops every capability, and all ways to regain one, so that root has no special rights here.
fn drop_capabilities() -> io::Result<()> {
    let locked = CapabilitiesSecureBits::NO_ROOT
        | CapabilitiesSecureBits::NO_ROOT_LOCKED
        | CapabilitiesSecureBits::NO_SETUID_FIXUP
        | CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED
        | CapabilitiesSecureBits::KEEP_CAPS_LOCKED
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED;
    set_capabilities_secure_bits(locked)?;
    for number in 0..64 {
        let one = CapabilitySet::from_bits_retain(1 << number);
        if remove_capability_from_bounding_set(one).is_err() {
            break; // Past the last one that this kernel knows.
        }
    }
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    Ok(set_capabilities(None, sets)?)
}

/// Sets the resource limits. Core files are disabled, because the host's handler would receive the
/// memory of a confined process.
pub(crate) fn set_resource_limits(
    limits: ResourceLimits,
    shares: &ResourceShares,
) -> io::Result<()> {
    let set = |resource, to: Option<u64>| match to {
        Some(to) => setrlimit(resource, Rlimit { current: Some(to), maximum: Some(to) }),
        None => Ok(()),
    };
    set(Resource::Core, Some(0))?;
    set(Resource::As, limits.memory)?;
    set(Resource::Nproc, limits.processes)?;
    set(Resource::Sigpending, shares.pending_signals)?;
    Ok(())
}

/// Executes the program in this process. Returns the error if that failed.
fn exec(launch: &LaunchConfig) -> io::Error {
    let Some((program, arguments)) = launch.argv.split_first() else {
        return io::Error::from_raw_os_error(libc::EINVAL);
    };
    let mut command = Command::new(program);
    command.args(arguments).env_clear();
    command.envs(launch.environment.iter().map(|(name, value)| (name, value)));
    command.exec()
}

fn outcome_from_error(error: &io::Error) -> CommandOutcome {
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::ENOTDIR) => CommandOutcome::NotFound,
        other => CommandOutcome::NotStarted(other.unwrap_or(libc::EIO)),
    }
}
