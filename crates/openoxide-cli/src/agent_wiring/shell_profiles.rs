//! Start-up files of shells that disable an agent's approvals or hooks.

use std::path::Path;

use super::{
    problem::{Problem, ProblemCode},
    settings_file::read_text,
};
use crate::args::AgentName;

const FILES: [&str; 11] = [
    ".bashrc",
    ".bash_aliases",
    ".bash_profile",
    ".bash_login",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".aliases",
    ".config/fish/config.fish",
];

/// Returns the options with which an agent runs calls without approval, or without hooks.
const fn bypass_options(agent: AgentName) -> &'static [&'static str] {
    match agent {
        AgentName::Claude => {
            &["--dangerously-skip-permissions", "--bare", "--safe-mode", "bypassPermissions"]
        }
        AgentName::Codex => &[
            "--yolo",
            "--dangerously-bypass-approvals-and-sandbox",
            "--dangerously-bypass-hook-trust",
        ],
    }
}

/// Returns a problem for each line of a start-up file that starts the agent with such an option.
pub(super) fn check_shell_profiles(agent: AgentName, home: &Path) -> Vec<Problem> {
    let mut problems = Vec::new();
    for path in FILES.map(|name| home.join(name)) {
        // A start-up file that is not text starts no agent.
        let Ok(Some(text)) = read_text(&path) else { continue };
        for (number, line) in (1..).zip(text.lines()) {
            let Some(option) = find_bypass(agent, line) else { continue };
            let place = format!("{}:{number}", path.display());
            problems.push(Problem::with_advice(
                ProblemCode::BypassAlias,
                format!("{place}: the agent is started with `{option}`"),
                format!("remove `{option}` from {place}"),
            ));
        }
    }
    problems
}

fn find_bypass(agent: AgentName, line: &str) -> Option<&'static str> {
    let line = line.trim_start();
    let names_agent = line.contains(agent.hook_name());
    if line.starts_with('#') || !names_agent {
        return None;
    }
    let is_word = |part: &str| part.split(['=', ',']).next_back().unwrap_or(part).to_owned();
    let words: Vec<_> = line.split([' ', '\t', '"', '\'', ';']).map(is_word).collect();
    bypass_options(agent).iter().copied().find(|option| words.iter().any(|word| word == option))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_found_as_words_of_the_agents_lines() {
        let claude = |line| find_bypass(AgentName::Claude, line);
        let skip = Some("--dangerously-skip-permissions");
        assert_eq!(claude("alias cc='claude --dangerously-skip-permissions'"), skip);
        assert_eq!(
            claude("cc() { claude --permission-mode=bypassPermissions \"$@\"; }"),
            Some("bypassPermissions")
        );
        assert_eq!(claude("# alias cc='claude --dangerously-skip-permissions'"), None);
        assert_eq!(claude("git init --bare"), None);
        assert_eq!(claude("alias cc='claude --barefoot'"), None);
        assert_eq!(find_bypass(AgentName::Codex, "alias cx=\"codex --yolo\""), Some("--yolo"));
    }
}
