//! `sandbox run`: the kernel holds what the command line says.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use openoxide_engine::{caches, for_confined, registry, visible_temporary};
use openoxide_permission::{HomeDirectories, IN_ROOTS, hidden_secret_paths};
use openoxide_protocol::{AbsPath, Confined, Network, Temp};
use openoxide_sandbox::{
    End, Launch, Limits, Report, SandboxError, Stage, at_terminal, run_confined, supervise,
    supervise_by,
};
use openoxide_store::Environment;

use super::staged;
use crate::{
    args::{Global, SandboxRunArgs},
    commands::run::confined::{SUPERVISE, tell},
    exit::Exit,
    report,
};

/// What the whole network opens.
pub(crate) const HOST_NETWORK: &str = "it has this machine's own network: services on its loopback, the local network, the metadata of a cloud \
and every protocol are open to it";

pub(crate) fn run(args: &SandboxRunArgs, global: Global) -> Result<Exit, String> {
    let mut launch = launch(args)?;
    let stage = match args.stage.then(|| prepare(&mut launch)).transpose() {
        Ok(stage) => stage,
        Err(error) => return Ok(refused(&error)),
    };
    if launch.profile.network == Network::On {
        report::note(&HOST_NETWORK);
    }
    let report = match args.backend {
        // Who asks has threads of its own, and so cannot supervise.
        _ if args.live => run_confined(&launch, &SUPERVISE, &mut |question, gone| {
            super::live::answer(&question, &launch, global, gone)
        }),
        None => supervise(&launch),
        Some(by) => supervise_by(&launch, by.into()),
    };
    Ok(match report {
        Ok(report) => {
            let ended = ended(&launch, &report);
            stage.and_then(|stage| staged::settle(&stage, &launch.cwd, global)).unwrap_or(ended)
        }
        Err(error) => refused(&error),
    })
}

/// Has what it changes kept aside.
fn prepare(launch: &mut Launch) -> Result<Stage, SandboxError> {
    let stage = Stage::prepare(&launch.registry, &launch.profile)?;
    launch.staged = Some(stage.place()?);
    Ok(stage)
}

fn launch(args: &SandboxRunArgs) -> Result<Launch, String> {
    let cwd = real(args.cwd.as_deref().unwrap_or(Path::new(".")))?;
    let profile = profile(args, &cwd)?;
    let environment = Environment::read();
    let home = environment.home.as_ref();
    Ok(Launch {
        scratch: if args.read_only { Vec::new() } else { caches(&profile, home) },
        shown: visible_temporary(None, home),
        profile,
        changeable: BTreeSet::new(),
        staged: None,
        argv: args.command.clone(),
        environment: with(for_confined().collect(), &args.env),
        terminal: at_terminal(),
        ask: false,
        live: args.live,
        limits: Limits {
            seconds: args.time,
            memory: args.memory.map(|mebibytes| mebibytes.saturating_mul(1 << 20)),
            processes: args.processes,
        },
        registry: registry(&environment).map_err(|error| error.to_string())?,
        cwd,
    })
}

fn profile(args: &SandboxRunArgs, cwd: &AbsPath) -> Result<Confined, String> {
    let writable: BTreeSet<_> = match (args.read_only, args.root.as_slice()) {
        (true, _) => BTreeSet::new(),
        (false, []) => [cwd.clone()].into(),
        (false, roots) => roots.iter().map(|root| real(root)).collect::<Result<_, _>>()?,
    };
    if writable.contains(&AbsPath::root()) {
        return Err("`/` cannot be writable: the sandbox would have no effect".to_owned());
    }
    let protected = protected(args, &writable)?;
    let unreadable = unreadable(args, &writable)?;
    let network = args.net.clone();
    Ok(Confined { writable, protected, unreadable, network, temp: Temp::Private })
}

/// What stays as it is in writable directories, whoever says nothing; and what was said.
fn protected(
    args: &SandboxRunArgs,
    writable: &BTreeSet<AbsPath>,
) -> Result<BTreeSet<AbsPath>, String> {
    let environment = Environment::read();
    let user = environment.home_directories();
    let start_up = with_real_places(&user).protected_paths();
    let own = environment.own_directories();
    let names = writable.iter().flat_map(|root| IN_ROOTS.map(|name| root.join(name)));
    let below = |path: &AbsPath| writable.iter().any(|root| path.below(root).is_some());
    let mut protected: BTreeSet<_> = names.chain(start_up).chain(own).filter(below).collect();
    for path in &args.protect {
        protected.insert(place(path)?);
    }
    Ok(protected)
}

/// Adds where home directories really are.
fn with_real_places(user: &HomeDirectories) -> HomeDirectories {
    let resolve = |path: &AbsPath| real(Path::new(path.as_str())).ok();
    let homes = user.homes.iter().filter_map(resolve).chain(user.homes.clone()).collect();
    let relocated = user.relocated.iter();
    let relocated = relocated.filter_map(|(name, path)| Some((*name, resolve(path)?)));
    let relocated = relocated.chain(user.relocated.clone()).collect();
    HomeDirectories { homes, relocated }
}

/// Returns what must not be read: what the command line says, files that usually hold secrets, and this program's own files.
/// A writable root below such a directory, or `--allow-read`, leaves that directory readable; this program's own files never are.
fn unreadable(
    args: &SandboxRunArgs,
    writable: &BTreeSet<AbsPath>,
) -> Result<BTreeSet<AbsPath>, String> {
    let each = |paths: &[PathBuf]| -> Result<Vec<_>, String> {
        Ok(paths.iter().map(|path| places(path)).collect::<Result<Vec<_>, _>>()?.concat())
    };
    let allowed = each(&args.allow_read)?;
    let needed = |hidden: &AbsPath| {
        let open = allowed.iter().chain(writable);
        open.into_iter().any(|path| path.below(hidden).is_some())
    };
    let environment = Environment::read();
    let program = args.command.first().and_then(|name| Path::new(name).file_name()?.to_str());
    let secrets = hidden_secret_paths(&environment.home_directories(), program);
    let secrets = secrets.into_iter().filter_map(|path| existing(&path));
    let own = environment.own_directories().into_iter().filter_map(|path| existing(&path));
    let hidden = secrets.filter(|path| !needed(path)).chain(own);
    Ok(each(&args.deny_read)?.into_iter().chain(hidden).collect())
}

/// Returns where a path leads, if something is there.
fn existing(path: &AbsPath) -> Option<AbsPath> {
    absolute(&fs::canonicalize(path.as_str()).ok()?).ok()
}

/// The places of something that is not to be read: itself, and where it leads.
fn places(path: &Path) -> Result<Vec<AbsPath>, String> {
    let end = fs::canonicalize(path).ok().map(|end| absolute(&end)).transpose()?;
    Ok(end.into_iter().chain([place(path)?]).collect())
}

/// Where a directory really is. The kernel is told places, not links that somebody could turn.
fn real(path: &Path) -> Result<AbsPath, String> {
    let real = fs::canonicalize(path).map_err(|error| format!("`{}`: {error}", path.display()))?;
    if !real.is_dir() {
        return Err(format!("`{}` is not a directory", path.display()));
    }
    absolute(&real)
}

/// The place of something that need not be there: its directory is resolved, and it itself is not.
fn place(path: &Path) -> Result<AbsPath, String> {
    let absolute_path = std::path::absolute(path).map_err(|error| error.to_string())?;
    let (mut above, mut below) = (absolute_path.as_path(), PathBuf::new());
    while let (Some(parent), Some(name)) = (above.parent(), above.file_name()) {
        below =
            if below.as_os_str().is_empty() { name.into() } else { Path::new(name).join(below) };
        above = parent;
        if let Ok(real) = fs::canonicalize(above) {
            return absolute(&real.join(below));
        }
    }
    absolute(&absolute_path)
}

fn absolute(path: &Path) -> Result<AbsPath, String> {
    let text = path.to_str().ok_or_else(|| format!("`{}` is not UTF-8", path.display()))?;
    AbsPath::new(text).map_err(|error| error.to_string())
}

/// What passes of the environment, and what the person adds.
pub(crate) fn with(
    mut environment: Vec<(OsString, OsString)>,
    added: &[String],
) -> Vec<(OsString, OsString)> {
    for one in added {
        let (name, value) = match one.split_once('=') {
            Some((name, value)) => (name, Some(OsString::from(value))),
            None => (one.as_str(), std::env::var_os(one)),
        };
        environment.retain(|(known, _)| known != name);
        environment.extend(value.map(|value| (OsString::from(name), value)));
    }
    environment
}

fn ended(launch: &Launch, report: &Report) -> Exit {
    tell(report);
    let program =
        || launch.argv.first().map_or_else(String::new, |name| name.to_string_lossy().into());
    match report.end {
        End::Exited(status) => Exit::Program(status),
        End::Signalled(signal) => Exit::Program(128_u8.saturating_add(signal)),
        End::TimedOut => {
            report::say("openoxide: timed out; killed");
            Exit::Program(124)
        }
        End::NotFound => {
            report::failure(&format!("`{}` was not found", program()));
            Exit::NotFound
        }
        End::NotStarted(error) => {
            let error = std::io::Error::from_raw_os_error(error);
            report::failure(&format!("`{}` cannot be started: {error}", program()));
            Exit::Refused
        }
    }
}

fn refused(error: &SandboxError) -> Exit {
    report::failure(&format!("nothing was run: {error}"));
    Exit::RunFailed
}
