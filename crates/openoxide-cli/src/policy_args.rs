//! Conversion of the arguments into an engine, and of policy problems into messages.

use std::path::Path;

use openoxide_engine::{Engine, EngineOptions, TaskSource, absolute_directory};
use openoxide_protocol::{AbsPath, Effect, SessionId};
use openoxide_store::{PolicySource, UserEnvironment};

use crate::{
    args::{GlobalArgs, PolicyArgs},
    error::{CliError, policy_file_error::PolicyFileError},
    policy_formats::PolicyProgram,
    program_exit::ProgramExit,
    user_messages,
    worktree::find_worktree,
};

/// Opens the engine for commands that execute nothing.
pub(crate) fn open_engine(args: &PolicyArgs) -> Result<Engine, CliError> {
    Ok(Engine::open(engine_options(args, None)?)?)
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
) -> Result<Vec<PolicySource>, PolicyFileError> {
    args.policy.iter().map(|path| named_source(path, args.format, cwd)).collect()
}

/// Returns the policy source for one file that a person named. The hooks of a settings file are
/// programs of the project that contains it, except for the file in the person's own home.
pub(crate) fn named_source(
    path: &Path,
    format: Option<PolicyProgram>,
    cwd: &AbsPath,
) -> Result<PolicySource, PolicyFileError> {
    let program = PolicyProgram::detect(path, format)?;
    let path = std::path::absolute(path)
        .map_err(|error| PolicyFileError::NotAbsolute { path: path.to_owned(), error })?;
    let mut source =
        PolicySource { format: program.policy_format(), ..PolicySource::from_command_line(path) };
    // OpenCode resolves paths from the root of the repository, Claude Code from the directory that
    // contains `.claude`.
    match program {
        PolicyProgram::Native | PolicyProgram::Codex | PolicyProgram::LlmDo => {}
        PolicyProgram::Opencode => source.base = find_worktree(cwd).unwrap_or_else(AbsPath::root),
        PolicyProgram::Claude => {
            let own = user_settings_directory();
            if source.base.file_name() == Some(".claude") {
                source.base = source.base.parent().unwrap_or_else(AbsPath::root);
            }
            source.hook_project =
                (source.path.parent() != own.as_deref()).then(|| source.base.clone());
        }
    }
    Ok(source)
}

/// Returns the directory of a person's own settings of Claude Code.
fn user_settings_directory() -> Option<std::path::PathBuf> {
    UserEnvironment::from_process().home.map(|home| Path::new(home.as_str()).join(".claude"))
}
