//! The agents on this machine, and whether they ask OpenOxide before each call.

mod agent_version;
mod claude_code;
mod codex;
mod problem;
mod project_settings;
mod settings_file;
mod shell_profiles;
mod wired_hook;

use std::path::{Path, PathBuf};

use openoxide_adapters::claude_code::wiring::DECISION_EVENTS;
use openoxide_engine::Engine;
use openoxide_store::find_project_root;

use crate::{args::AgentName, commands::init};

pub(crate) use problem::{Fix, Problem, ProblemCode, Severity, WiringResult};
pub(crate) use wired_hook::WiredHook;

/// An agent on this machine.
#[derive(Clone, Debug)]
pub(crate) struct AgentWiring {
    pub(crate) agent: AgentName,
    /// The version, if the files of the program show it.
    pub(crate) version: Option<String>,
    /// The hooks of OpenOxide.
    pub(crate) hooks: Vec<WiredHook>,
    /// The problems that the files show.
    pub(crate) problems: Vec<Problem>,
}

/// Returns the named agents, or those that are installed, with the problems that their files show.
pub(crate) fn inspect_agents(named: Option<AgentName>, engine: &Engine) -> Vec<AgentWiring> {
    let home = engine.home().map(|home| Path::new(home.as_str()));
    // Agents read the settings of the project, and those of the directory that they start in.
    let project = find_project_root(engine.cwd(), engine.home());
    let mut projects = vec![PathBuf::from(project.as_str()), PathBuf::from(engine.cwd().as_str())];
    projects.dedup();
    let all = [AgentName::Claude, AgentName::Codex];
    let wanted = all.into_iter().filter(|agent| named.is_none_or(|named| named == *agent));
    let inspected = wanted.filter_map(|agent| {
        let settings = init::settings_directory(agent)?;
        let program = agent_version::find_program(agent);
        let is_here = named.is_some() || settings.is_dir() || program.is_some();
        is_here.then(|| AgentWiring::inspect(agent, &settings, program, &projects, home))
    });
    inspected.collect()
}

impl AgentWiring {
    fn inspect(
        agent: AgentName,
        settings: &Path,
        program: Option<PathBuf>,
        projects: &[PathBuf],
        home: Option<&Path>,
    ) -> Self {
        let version = program.and_then(|path| agent_version::program_version(agent, &path));
        let (hooks, found) = match agent {
            AgentName::Claude => {
                let managed = Path::new(claude_code::MANAGED_DIRECTORY);
                claude_code::inspect_settings(settings, projects, managed)
            }
            AgentName::Codex => codex::inspect_settings(settings, projects),
        };
        let mut problems = check_hooks(agent, &hooks);
        problems.extend(found);
        let version_problem =
            version.as_deref().and_then(|version| agent_version::check_version(agent, version));
        problems.extend(version_problem);
        problems.extend(
            home.into_iter().flat_map(|home| shell_profiles::check_shell_profiles(agent, home)),
        );
        // Hooks of the same program for several events have the same problems.
        let mut unique: Vec<Problem> = Vec::new();
        for problem in problems {
            if !unique.contains(&problem) {
                unique.push(problem);
            }
        }
        Self { agent, version, hooks, problems: unique }
    }

    pub(crate) const fn is_wired(&self) -> bool {
        !self.hooks.is_empty()
    }
}

/// Returns the problems of the hooks: a missing one, or one that is installed wrongly.
fn check_hooks(agent: AgentName, hooks: &[WiredHook]) -> Vec<Problem> {
    let init = init::init_command(agent);
    if hooks.is_empty() {
        let message = "the hook of OpenOxide is not installed";
        return vec![Problem::with_command(ProblemCode::NotWired, message, init)];
    }
    let is_missing = |event: &&str| hooks.iter().all(|hook| hook.event != *event);
    let missing = DECISION_EVENTS.into_iter().filter(is_missing).map(|event| {
        let message = format!("the hook is not installed for {event}");
        Problem::with_command(ProblemCode::EventMissing, message, &init)
    });
    missing.chain(hooks.iter().flat_map(|hook| hook.check(agent))).collect()
}

#[cfg(test)]
mod tests {
    use super::ProblemCode;

    #[test]
    fn each_code_is_in_the_guide() {
        let guide = include_str!("../../../docs/guide/src/doctor.md");
        for code in ProblemCode::ALL {
            let row = format!("| `{}` |", code.as_str());
            assert_eq!(guide.matches(&row).count(), 1, "{row}");
        }
        let rows = guide.lines().filter(|line| line.starts_with("| `")).count();
        assert_eq!(rows, ProblemCode::ALL.len());
    }
}
