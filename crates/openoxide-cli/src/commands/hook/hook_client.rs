//! The agents whose hooks are answered, and the differences between them.

use std::path::PathBuf;

use openoxide_adapters::{agent_hook::AgentHookCall, claude_code};
use openoxide_codex::{self as codex, hook::PromptOwner};
use openoxide_engine::{
    EngineOpenError, RUN_WITHOUT_SANDBOX, absolute_directory, has_own_settings,
};
use openoxide_protocol::{AbsPath, Access, Action, Decision, Effect, PermissionMode};
use openoxide_store::find_project_root;

use super::subagent_definitions::replaced_subagent_action;
use crate::error::hook_error::HookArgsError;

/// The exit status with which a hook makes Claude Code and Codex block the call.
pub(super) const BLOCK_STATUS: i32 = 2;

/// An agent whose hooks are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HookClient {
    Claude,
    Codex(PromptOwner),
}

/// Returns an opaque action if the call may leave the shell of Claude Code in a directory that has a
/// repository or settings of its own. A call that the model makes at the same time was decided
/// without them.
fn unknown_settings_action(call: &AgentHookCall) -> Option<Action> {
    let left_in = claude_code::possible_final_directories(call);
    let directory = left_in.iter().find(|directory| has_own_settings(directory, &call.cwd))?;
    let text = format!("the shell would stay in `{directory}`, which has its own settings");
    Some(Action::Opaque { text })
}

/// Returns an opaque action if the working directory does not exist any more. Claude Code then runs
/// commands in the directory in which its session started.
fn missing_directory_action(call: &AgentHookCall) -> Option<Action> {
    let exists = |path: &std::path::Path| path.is_dir();
    let cwd = std::path::Path::new(call.cwd.as_str());
    let started_in = std::env::var_os("CLAUDE_PROJECT_DIR").map(PathBuf::from);
    // Where nothing of the path exists, there is no project to run in either.
    let root = std::path::Path::new("/");
    let has_project = started_in.is_some_and(|path| exists(&path))
        || cwd.ancestors().skip(1).any(|above| above != root && exists(above));
    (!exists(cwd) && has_project).then(|| Action::Opaque {
        text: format!("the directory `{}` does not exist, so another one may be used", call.cwd),
    })
}

impl HookClient {
    /// Returns the agent with this name.
    pub(super) fn from_name(name: &str, untrusted: bool) -> Result<Self, HookArgsError> {
        match name {
            "codex" if untrusted => Ok(Self::Codex(PromptOwner::Codex)),
            _ if untrusted => Err(HookArgsError::UntrustedNotCodex),
            "claude" => Ok(Self::Claude),
            "codex" => Ok(Self::Codex(PromptOwner::Unavailable)),
            other => Err(HookArgsError::UnknownAgent(other.to_owned())),
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex(_) => "codex",
        }
    }

    /// Returns the display name of the client.
    pub(super) const fn display_name(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex(_) => "Codex",
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
                also.extend(claude_code::unnormalized_path(call));
                also.extend(unknown_settings_action(call));
                also.extend(missing_directory_action(call));
                also.extend(replaced_subagent_action(call));
                also
            }
            Self::Codex(_) => codex::find_patched_files(call)
                .into_iter()
                .chain(codex::find_shell_difference(call))
                .collect(),
        }
    }

    /// Returns the access that an approval of the call may give in addition to the call itself.
    pub(super) fn extra_access(self, call: &AgentHookCall) -> Option<Access> {
        let leaves = matches!(self, Self::Codex(_)) && codex::may_leave_sandbox(call);
        leaves.then(|| Access::CallTool { tool: RUN_WITHOUT_SANDBOX.to_owned() })
    }

    /// Returns the effect of [`Self::render_undecided`].
    pub(super) const fn undecided_effect(self) -> Effect {
        match self {
            Self::Claude => Effect::Ask,
            Self::Codex(_) => Effect::Deny,
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

    /// Returns the project directory. Claude Code names it in a variable, because its working
    /// directory changes. Codex starts its hooks in the project, because the model chooses the
    /// directory of each command.
    ///
    /// # Errors
    ///
    /// If the working directory of the hook is unknown.
    pub(super) fn project_directory(
        self,
        call: &AgentHookCall,
        home: Option<&AbsPath>,
    ) -> Result<AbsPath, EngineOpenError> {
        match self {
            Self::Claude => {
                let named = std::env::var_os("CLAUDE_PROJECT_DIR").map(PathBuf::from);
                let named = named.and_then(|path| AbsPath::new(path.to_str()?).ok());
                Ok(named.unwrap_or_else(|| find_project_root(&call.cwd, home)))
            }
            Self::Codex(_) => absolute_directory(None).map(|here| find_project_root(&here, home)),
        }
    }
}
