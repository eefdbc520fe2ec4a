//! The hooks in the settings of an agent, and the problems of those that start OpenOxide.

use std::{
    env, fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use openoxide_adapters::wiring::{hook_command_words, starts_openoxide, timeout_for_wait};
use serde_json::Value;

use crate::{args::AgentName, commands::init};

use super::problem::{Problem, ProblemCode};

/// A hook in a settings file.
#[derive(Clone, Debug)]
pub(crate) struct WiredHook {
    pub(crate) file: PathBuf,
    pub(crate) event: &'static str,
    /// The index of the group, and the index of the hook in it.
    pub(crate) location: (usize, usize),
    pub(crate) matcher: Option<String>,
    /// The hook, exactly as the file contains it.
    pub(crate) hook: Value,
}

/// Returns the hooks of a settings file for some events.
pub(super) fn read_hooks(
    file: &Path,
    settings: &Value,
    events: [&'static str; 2],
) -> Vec<WiredHook> {
    let mut found = Vec::new();
    for event in events {
        let groups = settings.get("hooks").and_then(|hooks| hooks.get(event));
        for (at, group) in groups.and_then(Value::as_array).into_iter().flatten().enumerate() {
            let matcher = group.get("matcher").and_then(Value::as_str).map(str::to_owned);
            let hooks = group.get("hooks").and_then(Value::as_array).into_iter().flatten();
            found.extend(hooks.enumerate().map(|(index, hook)| WiredHook {
                file: file.to_owned(),
                event,
                location: (at, index),
                matcher: matcher.clone(),
                hook: hook.clone(),
            }));
        }
    }
    found
}

impl WiredHook {
    /// Returns whether the hook starts OpenOxide for this agent.
    pub(crate) fn is_ours(&self, agent: AgentName) -> bool {
        starts_openoxide(&self.hook, agent.hook_name())
    }

    /// Returns the shell command, or the program if the hook has a list of arguments.
    pub(crate) fn command(&self) -> &str {
        self.hook.get("command").and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns the arguments of a program that is started without a shell.
    pub(crate) fn args(&self) -> Option<Vec<&str>> {
        Some(self.hook.get("args")?.as_array()?.iter().filter_map(Value::as_str).collect())
    }

    fn words(&self) -> Vec<String> {
        hook_command_words(&self.hook).unwrap_or_default()
    }

    /// Returns whether the hook leaves calls that need approval to the agent.
    pub(crate) fn leaves_questions_to_agent(&self) -> bool {
        self.words().iter().any(|word| word == "--untrusted")
    }

    /// Returns the time after which the agent continues without an answer, in seconds.
    pub(crate) fn timeout(&self) -> u64 {
        self.hook.get("timeout").and_then(Value::as_u64).unwrap_or(600)
    }

    /// Returns the time that the hook itself assumes, in seconds.
    fn assumed_timeout(&self, agent: AgentName) -> u64 {
        let words = self.words();
        let number = |option: &str| {
            let mut values = words.iter().zip(words.iter().skip(1));
            let named = values.find(|(name, _)| *name == option).map(|(_, value)| value.as_str());
            let joined =
                || words.iter().find_map(|word| word.strip_prefix(option)?.strip_prefix('='));
            named.and_then(|value| value.parse().ok()).or_else(|| joined()?.parse::<u32>().ok())
        };
        let waiting = || number("--wait").map(timeout_for_wait);
        let named = number("--client-timeout").or_else(waiting);
        named.map_or(
            match agent {
                AgentName::Claude => 10,
                AgentName::Codex => 600,
            },
            u64::from,
        )
    }

    /// Returns the problem that a hook of another program is.
    pub(super) fn to_other_hook_problem(&self) -> Problem {
        let (file, event, command) = (self.file.display(), self.event, self.command());
        Problem::with_advice(
            ProblemCode::OtherHooks,
            format!(
                "{file}: the hook `{command}` also answers {event}; it may approve or change calls"
            ),
            format!("check that `{command}` only denies, or remove it from {file}"),
        )
    }

    /// Returns the problems of this hook. `init` fixes most of them.
    pub(super) fn check(&self, agent: AgentName) -> Vec<Problem> {
        let init = init::init_command(agent);
        let fixed_by_init = |code, message: String| Problem::with_command(code, message, &init);
        let place = format!("{} in {}", self.event, self.file.display());
        let mut problems = self.check_program(&init);
        if self.matcher.as_deref().is_some_and(|matcher| !matches!(matcher, "" | "*" | ".*")) {
            let matcher = self.matcher.as_deref().unwrap_or_default();
            let message = format!("{place}: only tools that match `{matcher}` call the hook");
            problems.push(fixed_by_init(ProblemCode::MatcherNarrow, message));
        }
        let (actual, assumed) = (self.timeout(), self.assumed_timeout(agent));
        if actual < assumed {
            let message = format!(
                "{place}: the agent waits {actual} s, but the hook assumes {assumed} s, and the agent continues without an answer"
            );
            problems.push(fixed_by_init(ProblemCode::ShortTimeout, message));
        }
        if !blocks_on_failure(self) {
            let message = format!("{place}: the agent continues if the hook cannot be started");
            problems.push(fixed_by_init(ProblemCode::FailsOpen, message));
        }
        problems
    }

    /// Returns the problems of the program that the hook starts. They are the same for all hooks of
    /// a file that start the same program.
    fn check_program(&self, init: &str) -> Vec<Problem> {
        let words = self.words();
        let Some(program) = words.first().map(Path::new) else { return Vec::new() };
        let hook = format!("{}: the hook starts `{}`", self.file.display(), program.display());
        let fixed_by_init =
            |code, what: &str| Problem::with_command(code, hook.clone() + what, init);
        if program.is_relative() {
            return vec![fixed_by_init(ProblemCode::ProgramRelative, ", which PATH determines")];
        }
        let runs = |meta: fs::Metadata| meta.is_file() && meta.permissions().mode() & 0o111 != 0;
        if !fs::metadata(program).is_ok_and(runs) {
            let what = ", which does not exist or is not executable";
            return vec![fixed_by_init(ProblemCode::ProgramMissing, what)];
        }
        let mut problems = Vec::new();
        if let Some(directory) = init::build_directory(program) {
            let message = format!(
                "{hook} in the build directory `{}`; if it is cleaned, every call is blocked",
                directory.display()
            );
            problems.push(Problem::with_command(ProblemCode::BuildDirectory, message, init));
        }
        let this = env::current_exe().and_then(fs::canonicalize).ok();
        if this.is_some_and(|this| fs::canonicalize(program).is_ok_and(|wired| wired != this)) {
            let what = ", which is not the program that checks it";
            problems.push(fixed_by_init(ProblemCode::OtherProgram, what));
        }
        problems
    }
}

/// Returns whether a shell turns every failure of the program into the status that blocks.
fn blocks_on_failure(hook: &WiredHook) -> bool {
    let command = hook.command();
    hook.args().is_none()
        && command.split_once("||").is_some_and(|(_, otherwise)| {
            let otherwise = otherwise.trim().trim_end_matches(['}', ';', ' ']);
            otherwise.ends_with("exit 2")
        })
}
