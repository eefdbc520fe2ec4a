//! `init`: our hook in the settings of the agents that are here.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

use openoxide_adapters::{claude_code, codex};
use openoxide_store::edit::replace;
use openoxide_tui::{Lines, visible};
use similar::TextDiff;

use crate::{
    args::{Agent, InitArgs},
    exit::Exit,
    report,
};

/// A file that is to say something else.
struct Change {
    path: PathBuf,
    before: String,
    after: String,
}

/// Puts our hook into the settings of each agent that is named, or that is here; or takes it out.
///
/// # Errors
/// When no agent is here, or settings cannot be read or written. Settings that are wrong are left as they are.
pub(crate) fn init(args: &InitArgs) -> Result<Exit, String> {
    let program = env::current_exe().map_err(|error| format!("where am I? {error}"))?;
    let program = program.to_str().ok_or("the path of this program is not valid UTF-8")?;
    let agents = agents(args)?;
    // All of them are read before anything is written.
    let changes = agents.iter().map(|(agent, home)| changes(*agent, home, program, args.undo));
    let changes: Vec<Vec<Change>> = changes.collect::<Result<_, String>>()?;
    if let Some(directory) = build_directory(Path::new(program)).filter(|_| !args.undo) {
        report::note(&format!(
            "`{}` is a build directory: when it is cleaned, the agents block every call. Install the program elsewhere \
             (`cargo install --path crates/openoxide-cli`) and run `openoxide init` from there",
            directory.display()
        ));
    }
    if args.dry_run {
        let text: String = changes.iter().flatten().map(Change::shown).collect();
        return Ok(report::data(text.as_bytes(), Exit::Success));
    }
    for ((agent, _), changes) in agents.iter().zip(&changes) {
        changes.iter().try_for_each(Change::make)?;
        tell(*agent, changes, args.undo);
    }
    Ok(Exit::Success)
}

/// Returns the build directory that a program is in, if it is in one: Cargo marks these as caches.
fn build_directory(program: &Path) -> Option<&Path> {
    program.ancestors().skip(1).find(|place| place.join("CACHEDIR.TAG").is_file())
}

/// Returns the agents, and where their settings lie.
fn agents(args: &InitArgs) -> Result<Vec<(Agent, PathBuf)>, String> {
    let is_wanted = |agent: &Agent| args.agents.is_empty() || args.agents.contains(agent);
    let mut agents = Vec::new();
    for agent in [Agent::Claude, Agent::Codex].into_iter().filter(is_wanted) {
        let home = home(agent).ok_or("no configuration directory: set HOME")?;
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
fn home(agent: Agent) -> Option<PathBuf> {
    let (variable, name) = match agent {
        Agent::Claude => ("CLAUDE_CONFIG_DIR", ".claude"),
        Agent::Codex => ("CODEX_HOME", ".codex"),
    };
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
    // Codex knows a hook by the path of its file, in which it follows links if the directory was named.
    let named = set(variable).map(|path| fs::canonicalize(&path).unwrap_or_else(|_| path.into()));
    named.or_else(|| Some(PathBuf::from(set("HOME")?).join(name)))
}

fn changes(agent: Agent, home: &Path, program: &str, undo: bool) -> Result<Vec<Change>, String> {
    match agent {
        Agent::Claude => claude(home, program, undo),
        Agent::Codex => codex(home, program, undo),
    }
}

fn claude(home: &Path, program: &str, undo: bool) -> Result<Vec<Change>, String> {
    use claude_code::wiring::{asking, not_asking, wiring};
    let change = Change::of(home.join("settings.json"), |before| {
        let wiring = wiring(program)?;
        if !undo {
            return asking(&wiring.put(before)?.text);
        }
        // Where our hook is not, the rule that asks is the person's own.
        let taken = wiring.take(before)?;
        if taken.places.is_empty() { Ok(taken.text) } else { not_asking(&taken.text) }
    })?;
    Ok(vec![change])
}

fn codex(home: &Path, program: &str, undo: bool) -> Result<Vec<Change>, String> {
    use codex::wiring::{forgotten, trusted, wiring};
    let (file, mut places) = (home.join("hooks.json"), Vec::new());
    let name = file.to_str().ok_or("the path of Codex's settings is not valid UTF-8")?.to_owned();
    let hooks = Change::of(file, |before| {
        let wiring = wiring(program)?;
        let wired = if undo { wiring.take(before)? } else { wiring.put(before)? };
        places = wired.places;
        Ok(wired.text)
    })?;
    let config = Change::of(home.join("config.toml"), |before| match undo {
        false => trusted(before, &name, &places, program),
        true => forgotten(before, &name, &places),
    })?;
    // What is trusted before it is there harms nobody; the other way round Codex would leave it out for a moment.
    Ok(vec![config, hooks])
}

impl Change {
    fn of(
        path: PathBuf,
        change: impl FnOnce(&str) -> Result<String, String>,
    ) -> Result<Self, String> {
        let shown = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let before = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            read => read.map_err(|error| shown(&error))?,
        };
        let after = change(&before).map_err(|error| shown(&error))?;
        Ok(Self { path, before, after })
    }

    fn changes(&self) -> bool {
        self.before != self.after
    }

    fn make(&self) -> Result<(), String> {
        if !self.changes() {
            return Ok(());
        }
        replace(&self.path, &self.after)
            .map_err(|error| format!("{}: {error}", self.path.display()))
    }

    fn shown(&self) -> String {
        let name = self.path.display().to_string();
        let difference = TextDiff::from_lines(&self.before, &self.after);
        visible(&difference.unified_diff().header(&name, &name).to_string(), Lines::Many)
    }
}

fn tell(agent: Agent, changes: &[Change], undo: bool) {
    let name = match agent {
        Agent::Claude => "Claude Code",
        Agent::Codex => "Codex",
    };
    let files: Vec<String> = changes
        .iter()
        .filter(|change| change.changes())
        .map(|change| visible(&change.path.to_string_lossy(), Lines::One))
        .collect();
    let what = match (files.is_empty(), undo) {
        (true, false) => "hook already installed".to_owned(),
        (true, true) => "hook not installed".to_owned(),
        (false, false) => {
            format!("hook installed; takes effect in the next session: {}", files.join(", "))
        }
        (false, true) => format!("hook removed: {}", files.join(", ")),
    };
    report::say(&format!("openoxide: {name} {what}"));
}
