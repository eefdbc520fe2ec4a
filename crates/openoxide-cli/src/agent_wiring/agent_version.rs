//! The versions of installed agents, as their files show them. No agent is started.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::args::AgentName;

use super::problem::{Problem, ProblemCode};

/// The versions that the tests run.
const TESTED_CLAUDE: &str = "2.1.330";
const TESTED_CODEX: &str = "0.169.0";

/// Returns the path of an agent's program in PATH.
pub(crate) fn find_program(agent: AgentName) -> Option<PathBuf> {
    let name = agent_program(agent);
    let directories = env::var_os("PATH")?;
    env::split_paths(&directories).map(|place| place.join(name)).find(|path| path.is_file())
}

const fn agent_program(agent: AgentName) -> &'static str {
    match agent {
        AgentName::Claude => "claude",
        AgentName::Codex => "codex",
    }
}

/// Returns the version of an installed program: from its npm package, or from the path of a native
/// installation (`…/versions/2.1.330`).
pub(crate) fn program_version(agent: AgentName, program: &Path) -> Option<String> {
    let package = match agent {
        AgentName::Claude => "@anthropic-ai/claude-code",
        AgentName::Codex => "@openai/codex",
    };
    let real = fs::canonicalize(program).ok()?;
    let from_package = |directory: &Path| {
        let text = fs::read(directory.join("package.json")).ok()?;
        let value: Value = serde_json::from_slice(&text).ok()?;
        let is_agent = value.get("name").and_then(Value::as_str) == Some(package);
        Some(value.get("version")?.as_str()?.to_owned()).filter(|_| is_agent)
    };
    let from_name = || {
        let name = real.file_name()?.to_str()?;
        version_numbers(name).map(|_| name.to_owned())
    };
    real.ancestors().skip(1).take(3).find_map(from_package).or_else(from_name)
}

fn version_numbers(text: &str) -> Option<[u64; 3]> {
    let release = text.split(['-', '+']).next()?;
    let mut numbers = release.split('.').map(|number| number.parse().ok());
    let found = [numbers.next()??, numbers.next()??, numbers.next()??];
    numbers.next().is_none().then_some(found)
}

/// Returns a problem if a version is older than the tested one, or belongs to a newer series.
pub(crate) fn check_version(agent: AgentName, version: &str) -> Option<Problem> {
    let tested = match agent {
        AgentName::Claude => TESTED_CLAUDE,
        AgentName::Codex => TESTED_CODEX,
    };
    let ([major, minor, _], found) = (version_numbers(tested)?, version_numbers(version)?);
    let [found_major, found_minor, _] = found;
    let code = ProblemCode::VersionUntested;
    if found < version_numbers(tested)? {
        let message = format!("version {version} is older than {tested}, the tested version");
        Some(Problem::with_advice(code, message, "update the agent"))
    } else if (found_major, found_minor) > (major, minor) {
        let message = format!("version {version} is newer than {tested}, the tested version");
        Some(Problem::with_advice(code, message, "update OpenOxide when a newer version exists"))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The end-to-end tests install these packages.
    #[test]
    fn tested_versions_are_those_of_the_pinned_packages() {
        for (package, version, text) in [
            (
                "@anthropic-ai/claude-code",
                TESTED_CLAUDE,
                include_str!("../../../../xtask/agents/claude-code/package.json"),
            ),
            (
                "@openai/codex",
                TESTED_CODEX,
                include_str!("../../../../xtask/agents/codex/package.json"),
            ),
        ] {
            let manifest: Value = serde_json::from_str(text).unwrap();
            assert_eq!(manifest["dependencies"][package], version);
        }
    }

    #[test]
    fn versions_are_compared_by_number() {
        let has_problem = |version| check_version(AgentName::Claude, version).is_some();
        assert!(!has_problem("2.1.330") && !has_problem("2.1.1000"));
        assert!(has_problem("2.1.99") && has_problem("2.10.0") && has_problem("3.0.0-beta.1"));
        assert_eq!(version_numbers("claude.exe"), None);
    }
}
