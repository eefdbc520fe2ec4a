//! `sandbox run`: running a program under the restrictions of the command line.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use openoxide_adapters::quote_words;
use openoxide_engine::{
    canonicalize_existing, create_state_directory, private_directories, project_directory,
    registry_directory, sandbox_env, set_retry_variables, visible_temporary_paths,
};
use openoxide_permission::{HomeDirectories, PROTECTED_ROOT_NAMES, hidden_secret_paths};
use openoxide_protocol::{AbsPath, HostPort, NetworkAccess, SandboxRestrictions, TempDirectories};
use openoxide_sandbox::{
    CommandOutcome, LaunchConfig, ResourceLimits, SandboxDenial, SandboxError, SandboxReport,
    StagingArea, has_terminal, is_in_sandbox, project_layer_directory, run_confined, supervise,
    supervise_with_backend,
};
use openoxide_store::{UserEnvironment, find_linked_repository};

use super::{live_prompt::answer_request, staged_commit};
use crate::{
    args::{GlobalArgs, SandboxRunArgs},
    confined_launch::{
        HOST_NETWORK_NOTE, SUPERVISOR_ARGS, published_ports, with_added_variables,
        withheld_variables_note,
    },
    confinement_report::{ReportedCommand, is_name_lookup, print_report, time_limit_message},
    error::sandbox_run_error::SandboxRunError,
    nested_run::report_nesting,
    program_exit::ProgramExit,
    user_messages,
};

pub(crate) fn run_in_sandbox(
    args: &SandboxRunArgs,
    global: GlobalArgs,
) -> Result<ProgramExit, SandboxRunError> {
    if is_in_sandbox() {
        return Ok(report_nesting("sandbox run"));
    }
    let mut launch = new_launch_config(args)?;
    let stage = match args.stage.then(|| prepare_staging(&mut launch)).transpose() {
        Ok(stage) => stage,
        Err(error) => return Ok(report_refusal(&error)),
    };
    if launch.profile.network == NetworkAccess::On {
        user_messages::print_note(&HOST_NETWORK_NOTE);
    }
    if let Some(note) = withheld_variables_note(&launch.environment) {
        user_messages::print_note(&note);
    }
    Ok(match launch_program(&launch, args, global) {
        Ok(report) => {
            let ended = exit_for_report(&launch, &report);
            stage.and_then(|stage| commit_changes(&stage, &launch, global)).unwrap_or(ended)
        }
        Err(error) => report_refusal(&error),
    })
}

fn launch_program(
    launch: &LaunchConfig,
    args: &SandboxRunArgs,
    global: GlobalArgs,
) -> Result<SandboxReport, SandboxError> {
    let mut approved = BTreeSet::new();
    match args.backend {
        // Asking needs additional threads, so this process cannot supervise.
        _ if args.live => run_confined(launch, &SUPERVISOR_ARGS, &mut |question, gone| {
            answer_request(&question, launch, &mut approved, global, gone)
        }),
        None => supervise(launch),
        Some(by) => supervise_with_backend(launch, by.into()),
    }
}

/// Commits the changes of the program. Returns the exit if it differs from that of the program.
fn commit_changes(
    stage: &StagingArea,
    launch: &LaunchConfig,
    global: GlobalArgs,
) -> Option<ProgramExit> {
    let words: Vec<String> = launch.argv.iter().map(|word| word.to_string_lossy().into()).collect();
    staged_commit::review_and_commit(stage, &quote_words(&words), &launch.cwd, global)
}

/// Sets up a staging area for the program's changes.
fn prepare_staging(launch: &mut LaunchConfig) -> Result<StagingArea, SandboxError> {
    let stage = StagingArea::prepare(&launch.registry, &launch.profile)?;
    launch.staging_directory = Some(stage.directory()?);
    Ok(stage)
}

fn new_launch_config(args: &SandboxRunArgs) -> Result<LaunchConfig, SandboxRunError> {
    let cwd = resolve_directory(args.cwd.as_deref().unwrap_or(Path::new(".")))?;
    let profile = new_restrictions(args, &cwd)?;
    if profile.network == NetworkAccess::On && !args.publish.is_empty() {
        return Err(SandboxRunError::PublishOnHostNetwork);
    }
    let environment = UserEnvironment::from_process();
    let home = environment.home.as_ref();
    let registry = registry_directory(&environment)?;
    let mut variables = with_added_variables(sandbox_env().collect(), &args.env);
    set_retry_variables(&mut variables, &profile.network);
    Ok(LaunchConfig {
        private_directories: match args.read_only {
            true => Vec::new(),
            false => private_directories(&profile, home, None),
        },
        private_base: home.and_then(canonicalize_existing),
        layer_directory: project_directory(&profile, &cwd)
            .and_then(|project| project_layer_directory(&registry, &project)),
        visible_paths: visible_temporary_paths(None, home),
        saved_files: BTreeSet::new(),
        profile,
        changeable_paths: BTreeSet::new(),
        staging_directory: None,
        argv: args.command.clone(),
        environment: variables,
        terminal: has_terminal(),
        has_reviewer: false,
        granted_sockets: BTreeSet::new(),
        ssh_agent: None,
        readable_copies: BTreeSet::new(),
        reviews_file_changes: args.live,
        private_hosts: exact_hosts(&args.net),
        published_ports: published_ports(&args.publish)?,
        published_on_listen: BTreeSet::new(),
        limits: resource_limits(args),
        registry,
        cwd,
    })
}

fn resource_limits(args: &SandboxRunArgs) -> ResourceLimits {
    ResourceLimits {
        seconds: args.time,
        memory: args.memory.map(|mebibytes| mebibytes.saturating_mul(1 << 20)),
        processes: args.processes,
    }
}

fn new_restrictions(
    args: &SandboxRunArgs,
    cwd: &AbsPath,
) -> Result<SandboxRestrictions, SandboxRunError> {
    let writable: BTreeSet<_> = match (args.read_only, args.root.as_slice()) {
        (true, _) => BTreeSet::new(),
        (false, []) => [cwd.clone()].into(),
        (false, roots) => {
            roots.iter().map(|root| resolve_directory(root)).collect::<Result<_, _>>()?
        }
    };
    if writable.contains(&AbsPath::root()) {
        return Err(SandboxRunError::RootWritable);
    }
    let protected = protected_paths(args, &writable)?;
    let unreadable = unreadable_paths(args, &writable)?;
    let repositories = writable.iter().filter_map(find_linked_repository).collect::<Vec<_>>();
    let writable = writable.into_iter().chain(repositories).collect();
    let network = args.net.clone();
    Ok(SandboxRestrictions {
        writable,
        protected,
        unreadable,
        network,
        temp: TempDirectories::Private,
    })
}

/// Returns the hosts that `--net` names exactly. Only their names may lead to private addresses.
fn exact_hosts(network: &NetworkAccess) -> BTreeSet<HostPort> {
    let NetworkAccess::Hosts(hosts) = network else { return BTreeSet::new() };
    hosts.iter().filter(|host| !host.host().starts_with("*.")).cloned().collect()
}

/// Returns the protected paths in writable directories: the default ones, and those of the
/// arguments.
fn protected_paths(
    args: &SandboxRunArgs,
    writable: &BTreeSet<AbsPath>,
) -> Result<BTreeSet<AbsPath>, SandboxRunError> {
    let environment = UserEnvironment::from_process();
    let user = environment.home_directories();
    let start_up = with_resolved_directories(&user).protected_paths();
    let own = environment.openoxide_directories();
    let names = writable.iter().flat_map(|root| PROTECTED_ROOT_NAMES.map(|name| root.join(name)));
    let below = |path: &AbsPath| writable.iter().any(|root| path.strip_prefix(root).is_some());
    let mut protected: BTreeSet<_> = names.chain(start_up).chain(own).filter(below).collect();
    for path in &args.protect {
        protected.insert(resolve_parent(path)?);
    }
    Ok(protected)
}

/// Adds the resolved paths of home directories.
fn with_resolved_directories(user: &HomeDirectories) -> HomeDirectories {
    let resolve = |path: &AbsPath| resolve_directory(Path::new(path.as_str())).ok();
    let homes = user.homes.iter().filter_map(resolve).chain(user.homes.clone()).collect();
    let relocated = user.relocated.iter();
    let relocated = relocated.filter_map(|(name, path)| Some((*name, resolve(path)?)));
    let relocated = relocated.chain(user.relocated.clone()).collect();
    HomeDirectories { homes, relocated }
}

/// Returns the unreadable paths: those of the command line, secret files, and OpenOxide's own
/// files. A writable root below such a directory, or `--allow-read`, leaves that directory
/// readable, except for OpenOxide's own files.
fn unreadable_paths(
    args: &SandboxRunArgs,
    writable: &BTreeSet<AbsPath>,
) -> Result<BTreeSet<AbsPath>, SandboxRunError> {
    let each = |paths: &[PathBuf]| -> Result<Vec<_>, SandboxRunError> {
        Ok(paths.iter().map(|path| path_and_target(path)).collect::<Result<Vec<_>, _>>()?.concat())
    };
    let allowed = each(&args.allow_read)?;
    let needed = |hidden: &AbsPath| {
        let open = allowed.iter().chain(writable);
        open.into_iter().any(|path| path.strip_prefix(hidden).is_some())
    };
    let environment = UserEnvironment::from_process();
    create_state_directory(&environment);
    let program = args.command.first().and_then(|name| Path::new(name).file_name()?.to_str());
    let secrets = hidden_secret_paths(&environment.home_directories(), program);
    let secrets = secrets.iter().filter_map(canonicalize_existing);
    let own = environment.openoxide_directories();
    let own = own.iter().filter_map(canonicalize_existing);
    let hidden = secrets.filter(|path| !needed(path)).chain(own);
    Ok(each(&args.deny_read)?.into_iter().chain(hidden).collect())
}

/// Returns an unreadable path, and its target if it is a link.
fn path_and_target(path: &Path) -> Result<Vec<AbsPath>, SandboxRunError> {
    let end = fs::canonicalize(path).ok().map(|end| to_absolute_path(&end)).transpose()?;
    Ok(end.into_iter().chain([resolve_parent(path)?]).collect())
}

/// Returns the real path of a directory. The kernel is given real paths, because links could be
/// replaced.
fn resolve_directory(path: &Path) -> Result<AbsPath, SandboxRunError> {
    let real = fs::canonicalize(path)
        .map_err(|error| SandboxRunError::Unresolved { path: path.to_owned(), error })?;
    if !real.is_dir() {
        return Err(SandboxRunError::NotADirectory(path.to_owned()));
    }
    to_absolute_path(&real)
}

/// Returns a path with its directory resolved. The file itself is not resolved, and need not exist.
fn resolve_parent(path: &Path) -> Result<AbsPath, SandboxRunError> {
    let absolute_path = std::path::absolute(path).map_err(SandboxRunError::NotAbsolute)?;
    let (mut above, mut below) = (absolute_path.as_path(), PathBuf::new());
    while let (Some(parent), Some(name)) = (above.parent(), above.file_name()) {
        below =
            if below.as_os_str().is_empty() { name.into() } else { Path::new(name).join(below) };
        above = parent;
        if let Ok(real) = fs::canonicalize(above) {
            return to_absolute_path(&real.join(below));
        }
    }
    to_absolute_path(&absolute_path)
}

fn to_absolute_path(path: &Path) -> Result<AbsPath, SandboxRunError> {
    let text = path.to_str().ok_or_else(|| SandboxRunError::NotUtf8(path.to_owned()))?;
    Ok(AbsPath::new(text)?)
}

fn exit_for_report(launch: &LaunchConfig, report: &SandboxReport) -> ProgramExit {
    print_report(report, ReportedCommand::SandboxRun, &connection_hint);
    let program =
        || launch.argv.first().map_or_else(String::new, |name| name.to_string_lossy().into());
    match report.outcome {
        CommandOutcome::Exited(status) => ProgramExit::Program(status),
        CommandOutcome::Signalled(signal) => ProgramExit::Program(128_u8.saturating_add(signal)),
        CommandOutcome::TimedOut => {
            user_messages::print_line(&time_limit_message(launch.limits.seconds, "`--time`"));
            ProgramExit::TimedOut
        }
        CommandOutcome::NotFound => {
            user_messages::print_error(&format!("`{}` was not found", program()));
            ProgramExit::NotFound
        }
        CommandOutcome::NotStarted(error) => {
            let error = std::io::Error::from_raw_os_error(error);
            user_messages::print_error(&format!("`{}` cannot be started: {error}", program()));
            ProgramExit::Refused
        }
    }
}

fn report_refusal(error: &SandboxError) -> ProgramExit {
    user_messages::print_error(&format!("nothing was run: {error}"));
    ProgramExit::RunFailed
}

/// Returns a hint at the option that would allow a denied connection.
fn connection_hint(denial: &SandboxDenial) -> String {
    let SandboxDenial::Connect { host, port, address } = denial else { return String::new() };
    if is_name_lookup(denial) {
        return "; a program looked up a name: `--net NAME` would allow that host".to_owned();
    }
    let own = address.filter(|refused| !refused.is_neighbour);
    let host = own.map_or_else(|| host.clone(), |refused| refused.address.to_string());
    match format_host_port(&host, *port) {
        Some(option) => format!("; `--net {option}` would allow it"),
        None => String::new(),
    }
}

/// Returns a host with its port as `--net` expects it.
fn format_host_port(host: &str, port: u16) -> Option<HostPort> {
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    format!("{host}:{port}").parse().ok()
}
