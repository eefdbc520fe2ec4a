//! `init`: the OpenOxide hook in the settings of the installed agents.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

use openoxide_adapters::claude_code;
use openoxide_codex as codex;
use openoxide_store::{FileReadError, policy_edit::replace_file};
use openoxide_tui::{LineMode, escape_text};
use similar::TextDiff;

use crate::{
    args::{AgentName, InitArgs},
    error::{
        CliError,
        file_error::{FileError, FileProblem},
        init_error::InitError,
    },
    program_exit::ProgramExit,
    user_messages,
};

/// A change of a settings file.
struct SettingsChange {
    path: PathBuf,
    before: String,
    after: String,
}

/// Installs the hook into the settings of each named agent, or of each agent that is found; or
/// removes it.
///
/// # Errors
///
/// If no agent is found, or settings cannot be read or written. Settings with errors are not
/// changed.
pub(crate) fn install_hooks(args: &InitArgs) -> Result<ProgramExit, CliError> {
    let program = env::current_exe().map_err(InitError::UnknownProgram)?;
    let program = program.to_str().ok_or(InitError::ProgramNotUtf8)?;
    let agents = select_agents(args)?;
    // All of them are read before anything is written.
    let changes =
        agents.iter().map(|(agent, home)| agent_changes(*agent, home, program, args.undo));
    let changes: Vec<Vec<SettingsChange>> = changes.collect::<Result<_, CliError>>()?;
    if let Some(directory) = build_directory(Path::new(program)).filter(|_| !args.undo) {
        user_messages::print_note(&format!(
            "`{}` is a build directory: when it is cleaned, the agents block every call. Install the program elsewhere \
             (`cargo install --path crates/openoxide-cli`) and run `openoxide init` from there",
            directory.display()
        ));
    }
    if args.dry_run {
        let text: String = changes.iter().flatten().map(SettingsChange::to_diff).collect();
        return Ok(user_messages::print_data(text.as_bytes(), ProgramExit::Success));
    }
    for ((agent, _), changes) in agents.iter().zip(&changes) {
        changes.iter().try_for_each(SettingsChange::apply)?;
        print_summary(*agent, changes, args.undo);
    }
    Ok(ProgramExit::Success)
}

/// Returns the build directory that a program is in, if it is in one: Cargo marks these as caches.
pub(crate) fn build_directory(program: &Path) -> Option<&Path> {
    program.ancestors().skip(1).find(|place| place.join("CACHEDIR.TAG").is_file())
}

/// Returns the agents with the directories of their settings.
fn select_agents(args: &InitArgs) -> Result<Vec<(AgentName, PathBuf)>, InitError> {
    let is_wanted = |agent: &AgentName| args.agents.is_empty() || args.agents.contains(agent);
    let mut agents = Vec::new();
    for agent in [AgentName::Claude, AgentName::Codex].into_iter().filter(is_wanted) {
        let home = settings_directory(agent).ok_or(InitError::NoHome)?;
        if home.is_dir() || !args.agents.is_empty() {
            agents.push((agent, home));
        }
    }
    if agents.is_empty() {
        return Err(InitError::NoAgent);
    }
    Ok(agents)
}

/// Returns the directory of an agent's settings, as the agent itself finds it.
pub(crate) fn settings_directory(agent: AgentName) -> Option<PathBuf> {
    let (variable, name) = match agent {
        AgentName::Claude => ("CLAUDE_CONFIG_DIR", ".claude"),
        AgentName::Codex => ("CODEX_HOME", ".codex"),
    };
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
    // Codex identifies a hook by the path of its file, and resolves links in a directory that a
    // variable names.
    let named = set(variable).map(|path| fs::canonicalize(&path).unwrap_or_else(|_| path.into()));
    named.or_else(|| Some(PathBuf::from(set("HOME")?).join(name)))
}

fn agent_changes(
    agent: AgentName,
    home: &Path,
    program: &str,
    undo: bool,
) -> Result<Vec<SettingsChange>, CliError> {
    match agent {
        AgentName::Claude => Ok(claude_changes(home, program, undo)?),
        AgentName::Codex => codex_changes(home, program, undo),
    }
}

fn claude_changes(
    home: &Path,
    program: &str,
    undo: bool,
) -> Result<Vec<SettingsChange>, FileError> {
    use claude_code::wiring::{hook_wiring, with_ask_rule, without_ask_rule};
    let change = SettingsChange::from_file(home.join("settings.json"), |before| {
        let wiring = hook_wiring(program)?;
        if !undo {
            return Ok(with_ask_rule(&wiring.install(before)?.text)?);
        }
        // Without the hook, the ask rule is the person's own.
        let removed = wiring.uninstall(before)?;
        match removed.hook_locations.is_empty() {
            true => Ok(removed.text),
            false => Ok(without_ask_rule(&removed.text)?),
        }
    })?;
    Ok(vec![change])
}

fn codex_changes(home: &Path, program: &str, undo: bool) -> Result<Vec<SettingsChange>, CliError> {
    use codex::wiring::{hook_wiring, trust_hook, untrust_hook};
    let (file, mut places) = (home.join("hooks.json"), Vec::new());
    let name = file.to_str().ok_or(InitError::SettingsNotUtf8)?.to_owned();
    let hooks = SettingsChange::from_file(file, |before| {
        let wiring = hook_wiring(program)?;
        let wired = if undo { wiring.uninstall(before)? } else { wiring.install(before)? };
        places = wired.hook_locations;
        Ok(wired.text)
    })?;
    let config = SettingsChange::from_file(home.join("config.toml"), |before| {
        Ok(match undo {
            false => trust_hook(before, &name, &places, program)?,
            true => untrust_hook(before, &name, &places)?,
        })
    })?;
    // Trust in a hook that is not installed yet is harmless. In the other order Codex would skip
    // the hook for a moment.
    Ok(vec![config, hooks])
}

impl SettingsChange {
    fn from_file(
        path: PathBuf,
        change: impl FnOnce(&str) -> Result<String, FileProblem>,
    ) -> Result<Self, FileError> {
        let before = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            read => read.map_err(|error| FileError::new(&path, FileReadError::Io(error)))?,
        };
        let after = change(&before).map_err(|problem| FileError::new(&path, problem))?;
        Ok(Self { path, before, after })
    }

    fn is_change(&self) -> bool {
        self.before != self.after
    }

    fn apply(&self) -> Result<(), FileError> {
        if !self.is_change() {
            return Ok(());
        }
        replace_file(&self.path, &self.after)
            .map_err(|error| FileError::new(&self.path, FileProblem::Unwritable(error)))
    }

    fn to_diff(&self) -> String {
        let name = self.path.display().to_string();
        let difference = TextDiff::from_lines(&self.before, &self.after);
        escape_text(
            &difference.unified_diff().header(&name, &name).to_string(),
            LineMode::MultiLine,
        )
    }
}

fn print_summary(agent: AgentName, changes: &[SettingsChange], undo: bool) {
    let name = agent.display_name();
    let files: Vec<String> = changes
        .iter()
        .filter(|change| change.is_change())
        .map(|change| escape_text(&change.path.to_string_lossy(), LineMode::SingleLine))
        .collect();
    let what = match (files.is_empty(), undo) {
        (true, false) => "hook already installed".to_owned(),
        (true, true) => "hook not installed".to_owned(),
        (false, false) => {
            format!("hook installed; takes effect in the next session: {}", files.join(", "))
        }
        (false, true) => format!("hook removed: {}", files.join(", ")),
    };
    user_messages::print_line(&format!("openoxide: {name} {what}"));
}
