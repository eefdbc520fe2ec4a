//! The supervision of one confined run, from its setup to its end.

use std::{io, path::Path, time::Duration};

use openoxide_protocol::PublishedPort;

use crate::{
    backend::{EnforcementPlan, SandboxBackend, is_in_sandbox},
    interface::{LaunchConfig, SandboxError, SandboxReport, SetupContext as _},
    ipc::{MessageSocket, ProgressWriter, create_pipe},
    network::PublishedListener,
    private_layers::{LayerLease, evict_layers},
    protected_paths::{
        PlaceholderRegistry, ProtectedPaths, SnapshotCache, outermost_roots, with_aliases,
    },
    resource_limits::ControlGroup,
    supervisor::{
        backend_attempt::BackendAttempt, cleanup_process::CleanupProcess,
        directory_watches::DirectoryWatches, fallback, host_placeholders::host_placeholders,
        limit_report, review_relay::ReviewRelay, stale_runs::remove_stale,
        terminal_lease::TerminalLease,
    },
};

/// Runs a program confined, and waits for its end. Signals that would end this process are
/// forwarded to the program. If the kernel refuses new namespaces, another backend is used that
/// enforces the whole profile; the report names it.
///
/// This process must have only one thread. It has more afterwards.
///
/// # Errors
/// Returns an error if the confinement could not be set up. Nothing was run then.
pub fn supervise(launch: &LaunchConfig) -> Result<SandboxReport, SandboxError> {
    run_and_report(launch, None)
}

/// Like [`supervise`], but with this backend only.
///
/// # Errors
/// Returns an error if the backend does not enforce the whole profile on this machine or could not
/// be set up. Nothing was run then.
pub fn supervise_with_backend(
    launch: &LaunchConfig,
    backend: SandboxBackend,
) -> Result<SandboxReport, SandboxError> {
    run_and_report(launch, Some(backend))
}

/// Runs the program, and corrects the result with the records of the processes inside. All of them
/// have ended by then.
fn run_and_report(
    launch: &LaunchConfig,
    by: Option<SandboxBackend>,
) -> Result<SandboxReport, SandboxError> {
    if is_in_sandbox() {
        return Err(SandboxError::Nested);
    }
    let (reader, writer) = create_pipe().with_step(|| "making a pipe".to_owned())?;
    let result = run_with_caller(launch, by, None, &writer);
    drop(writer);
    reader.read(Duration::ZERO).correct_result(result, &launch.profile)
}

/// The maximum number of attempts to set up a run.
const MAX_ATTEMPTS: usize = 20;

/// Like [`supervise`], but asks `caller` about hosts that the profile does not name. When the
/// caller closes its end, the run is ended.
pub(crate) fn run_with_caller(
    launch: &LaunchConfig,
    by: Option<SandboxBackend>,
    caller: Option<MessageSocket>,
    progress: &ProgressWriter,
) -> Result<SandboxReport, SandboxError> {
    let mut state = AttemptState { caller, is_set_up: false };
    for _ in 1..MAX_ATTEMPTS {
        match try_run(launch, by, &mut state, progress) {
            Err(error) if !state.is_set_up && is_vanished_path(&error) => {}
            result => return result,
        }
    }
    try_run(launch, by, &mut state, progress)
}

/// The result of an attempt that the next one needs.
struct AttemptState {
    /// The process that answers questions. An attempt that was set up keeps it.
    caller: Option<MessageSocket>,
    /// True if the confinement was complete, so the program may have started.
    is_set_up: bool,
}

/// Returns whether a path was removed between the search for protected paths and the mounts, such
/// as a placeholder of a run with another registry. The next search does not find it any more.
fn is_vanished_path(error: &SandboxError) -> bool {
    matches!(error, SandboxError::Setup { error, .. } if error.kind() == io::ErrorKind::NotFound)
}

/// Makes one attempt to set up the confinement. If it succeeds, the program is run.
fn try_run(
    launch: &LaunchConfig,
    by: Option<SandboxBackend>,
    state: &mut AttemptState,
    progress: &ProgressWriter,
) -> Result<SandboxReport, SandboxError> {
    let profile =
        with_aliases(&launch.profile).with_step(|| "searching for unreadable files".to_owned())?;
    let layers = launch.layer_directory.as_ref().and_then(LayerLease::acquire);
    let layer_directory = layers.as_ref().map(|layers| layers.directory().clone());
    let launch = &LaunchConfig { profile, layer_directory, ..launch.clone() };
    let wanted = by.map(|backend| fallback::check_backend(backend, launch)).transpose()?;
    let cache = SnapshotCache::open(Path::new(launch.registry.as_str()));
    let roots = outermost_roots(&launch.profile.writable);
    let known = cache.as_ref().map(|cache| cache.load(&roots)).unwrap_or_default();
    let guarded =
        ProtectedPaths::find_with_changeable(&launch.profile, &launch.changeable_paths, known)
            .with_step(|| "searching for protected files".to_owned())?;
    let registry = PlaceholderRegistry::open(Path::new(launch.registry.as_str()));
    let registry = registry.with_step(|| "opening the registry".to_owned())?;
    remove_stale(&registry).with_step(|| "cleaning up after killed runs".to_owned())?;
    let (group, unlimited) = match ControlGroup::create(launch.limits) {
        Ok(group) => (group, None),
        Err(error) => (None, limit_report::describe_unenforced(launch.limits, &error)),
    };
    // The process that cleans up keeps this open, see `CleanupProcess::stop`.
    let watches = DirectoryWatches::new();
    // The process that removes placeholders is started before the first placeholder is created.
    let placed = host_placeholders(launch, &guarded);
    let janitor =
        CleanupProcess::start(&registry, &guarded, &placed, &launch.profile, group.as_ref());
    let janitor = janitor.with_step(|| "making a process".to_owned())?;
    let (guarded, group, wanted) = (&guarded, group.as_ref(), wanted.as_ref());
    let run =
        SupervisedRun { launch, protected_paths: guarded, group, requested_plan: wanted, progress };
    let report = run.run_with_placeholders(&registry, &placed, watches, state);
    let reached = group.map(|group| group.reached_limits(launch.limits)).unwrap_or_default();
    janitor.stop();
    // Without a stored snapshot, the next run lists everything.
    drop(cache.map(|cache| cache.store(&guarded.snapshot)));
    if let Some(layers) = layers {
        layers.release();
        evict_layers(&launch.registry);
    }
    report.map(|report| SandboxReport {
        unenforced_limits: unlimited,
        reached_limits: reached,
        ..report
    })
}

/// One run, with everything that it needs.
struct SupervisedRun<'a> {
    launch: &'a LaunchConfig,
    protected_paths: &'a ProtectedPaths,
    group: Option<&'a ControlGroup>,
    requested_plan: Option<&'a EnforcementPlan>,
    progress: &'a ProgressWriter,
}

impl SupervisedRun<'_> {
    /// Creates the placeholders, runs the program, and removes the placeholders.
    fn run_with_placeholders(
        &self,
        registry: &PlaceholderRegistry,
        placed: &ProtectedPaths,
        watches: Option<DirectoryWatches>,
        state: &mut AttemptState,
    ) -> Result<SandboxReport, SandboxError> {
        let Self { launch, protected_paths: guarded, group, requested_plan: wanted, progress } =
            *self;
        let published_listeners = bind_published_ports(launch)?;
        let placeholders =
            registry.create_placeholders(placed).with_step(|| "making placeholders".to_owned())?;
        let guards = match launch.staging_directory {
            Some(_) => guarded.staged_mount_plan(),
            None => guarded.mount_plan_without(placeholders.skipped_paths()),
        };
        let turn = TerminalLease::default();
        let questions =
            state.caller.take().and_then(|caller| ReviewRelay::new(caller, turn.clone()).ok());
        let mut attempt = BackendAttempt {
            launch,
            protected_paths: guarded,
            group,
            mount_plan: &guards,
            reviews: questions,
            progress,
            terminal_lease: turn,
            published_listeners,
            watches,
            is_set_up: false,
        };
        let report = match wanted {
            Some(plan) if plan.backend == SandboxBackend::Bubblewrap => {
                attempt.run_in_bubblewrap(plan)
            }
            Some(_) => attempt.run_in_namespaces().flatten(),
            None => fallback::run_with_fallback(&mut attempt),
        };
        state.is_set_up = attempt.is_set_up;
        if !attempt.is_set_up {
            state.caller = attempt.reviews.take().map(ReviewRelay::into_caller);
        }
        let released = placeholders.release().with_step(|| "taking placeholders away".to_owned());
        match (report, released) {
            (Ok(report), Err(error)) => {
                Ok(SandboxReport { run_error: Some(error.to_string()), ..report })
            }
            (report, _) => report,
        }
    }
}

/// Listens on the ports of the host at which ports are published. This is done after the process
/// that cleans up was started, so that only the supervisor keeps these ports open.
fn bind_published_ports(launch: &LaunchConfig) -> Result<Vec<PublishedListener>, SandboxError> {
    let bind = |port: &PublishedPort| {
        PublishedListener::bind(*port)
            .map_err(|error| SandboxError::PortUnavailable { port: *port, error })
    };
    launch.published_ports.iter().map(bind).collect()
}
