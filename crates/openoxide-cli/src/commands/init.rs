//! `init`: our hook in the settings of the agents that are here.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

use openoxide_adapters::{claude_code, wiring::WiringError};
use openoxide_codex as codex;
use openoxide_store::policy_edit::replace_file;
use openoxide_tui::{LineMode, escape_text};
use similar::TextDiff;

use crate::{
    args::{AgentName, InitArgs},
    program_exit::ProgramExit,
    user_messages,
};

/// A change of a settings file.
struct SettingsChange {
    path: PathBuf,
    before: String,
    after: String,
}

/// Puts our hook into the settings of each agent that is named, or that is here; or takes it out.
///
/// # Errors
/// When no agent is here, or settings cannot be read or written. Settings that are wrong are left as they are.
pub(crate) fn install_hooks(args: &InitArgs) -> Result<ProgramExit, String> {
    let program = env::current_exe().map_err(|error| format!("where am I? {error}"))?;
    let program = program.to_str().ok_or("the path of this program is not valid UTF-8")?;
    let agents = select_agents(args)?;
    // All of them are read before anything is written.
    let changes =
        agents.iter().map(|(agent, home)| agent_changes(*agent, home, program, args.undo));
    let changes: Vec<Vec<SettingsChange>> = changes.collect::<Result<_, String>>()?;
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
fn build_directory(program: &Path) -> Option<&Path> {
    program.ancestors().skip(1).find(|place| place.join("CACHEDIR.TAG").is_file())
}

/// Returns the agents with the directories of their settings.
fn select_agents(args: &InitArgs) -> Result<Vec<(AgentName, PathBuf)>, String> {
    let is_wanted = |agent: &AgentName| args.agents.is_empty() || args.agents.contains(agent);
    let mut agents = Vec::new();
    for agent in [AgentName::Claude, AgentName::Codex].into_iter().filter(is_wanted) {
        let home = settings_directory(agent).ok_or("no configuration directory: set HOME")?;
        if home.is_dir() || !args.agents.is_empty() {
            agents.push((agent, home));
        }
    }
    if agents.is_empty() {
        return Err("no agent is here: name one, as in `openoxide init codex`".to_owned());
    }
    Ok(agents)
}

/// Returns the directory of an agent's settings, as the agent itself finds it.
fn settings_directory(agent: AgentName) -> Option<PathBuf> {
    let (variable, name) = match agent {
        AgentName::Claude => ("CLAUDE_CONFIG_DIR", ".claude"),
        AgentName::Codex => ("CODEX_HOME", ".codex"),
    };
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
    // Codex knows a hook by the path of its file, in which it follows links if the directory was named.
    let named = set(variable).map(|path| fs::canonicalize(&path).unwrap_or_else(|_| path.into()));
    named.or_else(|| Some(PathBuf::from(set("HOME")?).join(name)))
}

fn agent_changes(
    agent: AgentName,
    home: &Path,
    program: &str,
    undo: bool,
) -> Result<Vec<SettingsChange>, String> {
    match agent {
        AgentName::Claude => claude_changes(home, program, undo),
        AgentName::Codex => codex_changes(home, program, undo),
    }
}

fn claude_changes(home: &Path, program: &str, undo: bool) -> Result<Vec<SettingsChange>, String> {
    use claude_code::wiring::{hook_wiring, with_ask_rule, without_ask_rule};
    let change = SettingsChange::from_file(home.join("settings.json"), |before| {
        let wiring = hook_wiring(program)?;
        if !undo {
            return with_ask_rule(&wiring.install(before)?.text);
        }
        // Where our hook is not, the rule that asks is the person's own.
        let taken = wiring.uninstall(before)?;
        if taken.hook_locations.is_empty() { Ok(taken.text) } else { without_ask_rule(&taken.text) }
    })?;
    Ok(vec![change])
}

fn codex_changes(home: &Path, program: &str, undo: bool) -> Result<Vec<SettingsChange>, String> {
    use codex::wiring::{hook_wiring, trust_hook, untrust_hook};
    let (file, mut places) = (home.join("hooks.json"), Vec::new());
    let name = file.to_str().ok_or("the path of Codex's settings is not valid UTF-8")?.to_owned();
    let hooks = SettingsChange::from_file(file, |before| {
        let wiring = hook_wiring(program)?;
        let wired = if undo { wiring.uninstall(before)? } else { wiring.install(before)? };
        places = wired.hook_locations;
        Ok::<_, WiringError>(wired.text)
    })?;
    let config = SettingsChange::from_file(home.join("config.toml"), |before| match undo {
        false => trust_hook(before, &name, &places, program),
        true => untrust_hook(before, &name, &places),
    })?;
    // Trust in a hook that is not installed yet is harmless. In the other order Codex would skip
    // the hook for a moment.
    Ok(vec![config, hooks])
}

impl SettingsChange {
    fn from_file<E: std::fmt::Display>(
        path: PathBuf,
        change: impl FnOnce(&str) -> Result<String, E>,
    ) -> Result<Self, String> {
        let shown = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let before = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            read => read.map_err(|error| shown(&error))?,
        };
        let after = change(&before).map_err(|error| shown(&error))?;
        Ok(Self { path, before, after })
    }

    fn is_change(&self) -> bool {
        self.before != self.after
    }

    fn apply(&self) -> Result<(), String> {
        if !self.is_change() {
            return Ok(());
        }
        replace_file(&self.path, &self.after)
            .map_err(|error| format!("{}: {error}", self.path.display()))
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
    let name = match agent {
        AgentName::Claude => "Claude Code",
        AgentName::Codex => "Codex",
    };
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
