//! The agents whose hooks are answered, and what differs between them.

use std::path::PathBuf;

use openoxide_adapters::{agent_hook::AgentHookCall, claude_code};
use openoxide_codex::{self as codex, hook::PromptOwner};
use openoxide_engine::has_own_settings;
use openoxide_protocol::{AbsPath, Action, Decision, PermissionMode};
use openoxide_store::find_project_root;

use crate::policy_args::absolute_directory_or_cwd;

/// The exit status with which a hook makes Claude Code and Codex block the call.
pub(super) const BLOCK_STATUS: i32 = 2;

/// An agent, with its contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HookClient {
    Claude,
    Codex(PromptOwner),
}

/// Returns the doubt that a call leaves the shell of Claude Code where a repository or settings of another kind count: a call that
/// the model makes at the same time was decided without them.
fn left_among_settings(call: &AgentHookCall) -> Option<Action> {
    let left_in = claude_code::possible_final_directories(call);
    let directory = left_in.iter().find(|directory| has_own_settings(directory, &call.cwd))?;
    let text = format!("the shell stays in `{directory}`, which has settings of its own");
    Some(Action::Opaque { text })
}

impl HookClient {
    /// Finds an agent by its name.
    pub(super) fn from_name(name: &str, untrusted: bool) -> Result<Self, String> {
        match name {
            "codex" if untrusted => Ok(Self::Codex(PromptOwner::Codex)),
            _ if untrusted => Err("`--untrusted` is about `codex`".to_owned()),
            "claude" => Ok(Self::Claude),
            "codex" => Ok(Self::Codex(PromptOwner::Unavailable)),
            other => {
                Err(format!("no agent is called `{other}` here; known are `claude` and `codex`"))
            }
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex(_) => "codex",
        }
    }

    /// Returns how long the client waits for its hook, in seconds, as `init` wires it.
    pub(super) const fn timeout_seconds(self) -> u64 {
        match self {
            Self::Claude => 10,
            Self::Codex(_) => 600,
        }
    }

    pub(super) fn render_answer(self, call: &AgentHookCall, decision: &Decision) -> Option<String> {
        match self {
            Self::Claude => claude_code::render_hook_answer(call, decision),
            Self::Codex(asks) => codex::hook::render_hook_answer(call, decision, asks),
        }
    }

    /// Returns the actions that the agent takes, or may take, in addition to the call itself.
    pub(super) fn extra_action(self, call: &AgentHookCall) -> Vec<Action> {
        match self {
            Self::Claude => {
                // The hook inherits the environment of its client.
                let is_exported = |name: &str| std::env::var_os(name).is_some();
                let mut also = claude_code::find_shell_differences(call, is_exported);
                also.extend(claude_code::alternative_screenshot_paths(call));
                also.extend(left_among_settings(call));
                also
            }
            Self::Codex(_) => codex::find_patched_files(call)
                .into_iter()
                .chain(codex::find_shell_difference(call))
                .collect(),
        }
    }

    pub(super) fn render_undecided(self, why: &str) -> String {
        match self {
            Self::Claude => claude_code::render_undecided(why),
            Self::Codex(_) => codex::hook::render_undecided(why),
        }
    }

    /// Returns the mode that the person chose in the client. Codex's `bypassPermissions` only means
    /// that no one is asked. It is not a request to allow everything.
    pub(super) fn selected_mode(self, call: &AgentHookCall) -> Option<PermissionMode> {
        match self {
            Self::Claude => call.mode.filter(|mode| *mode != PermissionMode::Default),
            Self::Codex(_) => None,
        }
    }

    /// Returns the project. Claude Code names it, and its working directory wanders; Codex starts its hooks in it, and lets the
    /// model choose the directory of each command: where the first is not known, nothing is.
    pub(super) fn project_directory(
        self,
        call: &AgentHookCall,
        home: Option<&AbsPath>,
    ) -> Result<AbsPath, String> {
        match self {
            Self::Claude => {
                let named = std::env::var_os("CLAUDE_PROJECT_DIR").map(PathBuf::from);
                let named = named.and_then(|path| AbsPath::new(path.to_str()?).ok());
                Ok(named.unwrap_or_else(|| find_project_root(&call.cwd, home)))
            }
            Self::Codex(_) => {
                absolute_directory_or_cwd(None).map(|here| find_project_root(&here, home))
            }
        }
    }
}
