//! Conversion of the arguments into an engine, and of policy problems into messages.

use std::path::PathBuf;

use openoxide_engine::{Engine, EngineOptions, TaskSource, absolute_directory};
use openoxide_formats::{NamedPolicyError, named_policy_source};
use openoxide_protocol::{AbsPath, Effect, SessionId};
use openoxide_store::{PolicySource, UserEnvironment};

use crate::{
    args::{CallArgs, GlobalArgs, PolicyArgs, RunArgs, RunSandboxMode},
    error::CliError,
    program_exit::ProgramExit,
    user_messages,
};

/// Opens the engine for commands that execute nothing.
pub(crate) fn open_engine(args: &PolicyArgs) -> Result<Engine, CliError> {
    Ok(Engine::open(engine_options(args, None)?)?)
}

/// Opens the engine that decides a call for a caller with or without a sandbox.
pub(crate) fn open_engine_for_call(args: &CallArgs) -> Result<Engine, CliError> {
    let options = engine_options(&args.policy, None)?;
    Ok(Engine::open(EngineOptions { confines_commands: !args.no_sandbox, ..options })?)
}

/// Opens the engine as [`open_engine_for_call`] does, with the layers of the policy.
pub(crate) fn open_engine_to_explain(args: &CallArgs) -> Result<Engine, CliError> {
    let options = EngineOptions { read_layers: true, ..engine_options(&args.policy, None)? };
    Ok(Engine::open(EngineOptions { confines_commands: !args.no_sandbox, ..options })?)
}

/// Opens the engine with the layers of the policy, for commands that show them.
pub(crate) fn open_engine_with_layers(args: &PolicyArgs) -> Result<Engine, CliError> {
    Ok(Engine::open(EngineOptions { read_layers: true, ..engine_options(args, None)? })?)
}

/// Opens the engine for an operation that is executed. The managed policy is in force in addition
/// to files that a person named, and grants for a task of the session are valid.
pub(crate) fn open_engine_for_execution(
    args: &PolicyArgs,
    session: Option<SessionId>,
) -> Result<Engine, CliError> {
    Ok(Engine::open(EngineOptions { include_managed: true, ..engine_options(args, session)? })?)
}

/// Opens the engine for a command of `run`, as [`open_engine_for_execution`] does.
pub(crate) fn open_engine_for_run(args: &RunArgs) -> Result<Engine, CliError> {
    let confines_commands = args.sandbox != RunSandboxMode::Off;
    let options = engine_options(&args.policy, args.session)?;
    Ok(Engine::open(EngineOptions { include_managed: true, confines_commands, ..options })?)
}

fn engine_options(
    args: &PolicyArgs,
    session: Option<SessionId>,
) -> Result<EngineOptions, CliError> {
    let cwd = absolute_directory(args.cwd.as_deref())?;
    let lists =
        [(Effect::Deny, &args.deny), (Effect::Ask, &args.ask), (Effect::Allow, &args.allow)];
    let rules = lists
        .into_iter()
        .flat_map(|(effect, texts)| texts.iter().map(move |text| (effect, text.clone())));
    let added = args.add_dir.iter().map(|path| absolute_directory(Some(path)));
    Ok(EngineOptions {
        policy_files: named_sources(args, &cwd)?,
        extra_rules: rules.collect(),
        mode: args.mode,
        extra_directories: added.collect::<Result<_, _>>()?,
        task: TaskSource::ShellJob(session),
        ..EngineOptions::new(UserEnvironment::from_process(), cwd)
    })
}

/// Reports all problems of the policy.
///
/// # Errors
///
/// If the policy has errors. No decision should be based on it then.
pub(crate) fn check_policy(engine: &Engine, global: GlobalArgs) -> Result<(), ProgramExit> {
    for note in engine.policy_notes() {
        user_messages::print_note(note);
    }
    for broken in engine.broken_files() {
        user_messages::print_broken_file(broken, global.color);
    }
    if let (Some(problem), true) = (engine.policy_error(), engine.broken_files().is_empty()) {
        user_messages::print_error(&problem);
    }
    if engine.is_policy_valid() { Ok(()) } else { Err(ProgramExit::Usage) }
}

/// Returns the files that a person named.
pub(crate) fn named_sources(
    args: &PolicyArgs,
    cwd: &AbsPath,
) -> Result<Vec<PolicySource>, NamedPolicyError> {
    let source = |path: &PathBuf| named_policy_source(path, args.format, cwd);
    args.policy.iter().map(source).collect()
}
