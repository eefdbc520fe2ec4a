//! From the arguments to the engine, and what is wrong with its policy in words.

use std::path::Path;

use openoxide_engine::{Engine, EngineOptions, TaskSource, absolute_directory};
use openoxide_protocol::{AbsPath, Effect, SessionId};
use openoxide_store::{Environment, Source};

use crate::{
    args::{Global, PolicyArgs},
    error::CliError,
    exact::worktree,
    exit::Exit,
    formats::Program,
    report,
};

/// Opens the engine for commands that execute nothing.
pub(crate) fn open(args: &PolicyArgs) -> Result<Engine, CliError> {
    Ok(Engine::open(options(args, None)?)?)
}

/// Opens the engine with the layers of the policy, for commands that show them.
pub(crate) fn open_with_layers(args: &PolicyArgs) -> Result<Engine, CliError> {
    Ok(Engine::open(EngineOptions { read_layers: true, ..options(args, None)? })?)
}

/// Opens the engine for something that is executed: the managed policy is in force beside files that a person named, and grants for a
/// task of the session are valid.
pub(crate) fn open_for_execution(
    args: &PolicyArgs,
    session: Option<SessionId>,
) -> Result<Engine, CliError> {
    Ok(Engine::open(EngineOptions { with_managed: true, ..options(args, session)? })?)
}

fn options(args: &PolicyArgs, session: Option<SessionId>) -> Result<EngineOptions, CliError> {
    let cwd = absolute_directory(args.cwd.as_deref())?;
    let lists =
        [(Effect::Deny, &args.deny), (Effect::Ask, &args.ask), (Effect::Allow, &args.allow)];
    let rules = lists
        .into_iter()
        .flat_map(|(effect, texts)| texts.iter().map(move |text| (effect, text.clone())));
    let added = args.add_dir.iter().map(|path| absolute_directory(Some(path)));
    Ok(EngineOptions {
        named: named(args, &cwd)?,
        rules: rules.collect(),
        mode: args.mode,
        added: added.collect::<Result<_, _>>()?,
        task: TaskSource::ShellJob(session),
        ..EngineOptions::new(Environment::read(), cwd)
    })
}

/// Reports everything that is wrong with the policy. Where something is, nothing should be decided on its grounds.
pub(crate) fn sound(engine: &Engine, global: Global) -> Result<(), Exit> {
    for note in engine.notes() {
        report::note(note);
    }
    for broken in engine.broken_files() {
        report::broken(broken, global.color);
    }
    if let (Some(problem), true) = (engine.policy_problem(), engine.broken_files().is_empty()) {
        report::failure(&problem);
    }
    if engine.is_sound() { Ok(()) } else { Err(Exit::Usage) }
}

/// Returns the files that a person named.
pub(crate) fn named(args: &PolicyArgs, cwd: &AbsPath) -> Result<Vec<Source>, String> {
    args.policy.iter().map(|path| named_file(path, args.format, cwd)).collect()
}

/// Returns one file that a person named. The hooks of a settings file are programs of the project that it lies in, but for those in the
/// person's own home.
pub(crate) fn named_file(
    path: &Path,
    format: Option<Program>,
    cwd: &AbsPath,
) -> Result<Source, String> {
    let program = Program::of(path, format)?;
    let path = std::path::absolute(path).map_err(|error| error.to_string())?;
    let mut source = Source { format: program.format(), ..Source::named(path) };
    // OpenCode counts from the root of the repository, Claude Code from what holds `.claude`.
    match program {
        Program::Native | Program::Codex | Program::LlmDo => {}
        Program::Opencode => source.base = worktree(cwd).unwrap_or_else(AbsPath::root),
        Program::Claude => {
            let own = own_settings();
            if source.base.name() == Some(".claude") {
                source.base = source.base.parent().unwrap_or_else(AbsPath::root);
            }
            source.hooks_of = (source.path.parent() != own.as_deref()).then(|| source.base.clone());
        }
    }
    Ok(source)
}

/// Returns the directory of a person's own settings of Claude Code.
fn own_settings() -> Option<std::path::PathBuf> {
    Environment::read().home.map(|home| Path::new(home.as_str()).join(".claude"))
}

/// Returns the directory that a person named, or the one that the program was started in.
pub(crate) fn directory(named: Option<&Path>) -> Result<AbsPath, String> {
    absolute_directory(named).map_err(|error| error.to_string())
}
