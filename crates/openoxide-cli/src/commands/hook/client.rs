//! The agents whose hooks are answered, and what differs between them.

use std::path::PathBuf;

use openoxide_adapters::{
    claude_code,
    codex::{self, hook::Asks},
    hook::Call,
};
use openoxide_engine::has_own_settings;
use openoxide_protocol::{AbsPath, Action, Decision, PermissionMode};
use openoxide_store::project_root;

use crate::policy_args::directory;

/// An agent, with its contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Client {
    Claude,
    Codex(Asks),
}

/// Returns the doubt that a call leaves the shell of Claude Code where a repository or settings of another kind count: a call that
/// the model makes at the same time was decided without them.
fn left_among_settings(call: &Call) -> Option<Action> {
    let left_in = claude_code::directories_left_in(call);
    let directory = left_in.iter().find(|directory| has_own_settings(directory, &call.cwd))?;
    let text = format!("the shell stays in `{directory}`, which has settings of its own");
    Some(Action::Opaque { text })
}

impl Client {
    /// Finds an agent by its name.
    pub(super) fn named(name: &str, untrusted: bool) -> Result<Self, String> {
        match name {
            "codex" if untrusted => Ok(Self::Codex(Asks::Codex)),
            _ if untrusted => Err("`--untrusted` is about `codex`".to_owned()),
            "claude" => Ok(Self::Claude),
            "codex" => Ok(Self::Codex(Asks::Nobody)),
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
    pub(super) const fn seconds(self) -> u64 {
        match self {
            Self::Claude => 10,
            Self::Codex(_) => 600,
        }
    }

    pub(super) fn answer(self, call: &Call, decision: &Decision) -> Option<String> {
        match self {
            Self::Claude => claude_code::answer(call, decision),
            Self::Codex(asks) => codex::hook::answer(call, decision, asks),
        }
    }

    /// Returns what the agent does, or may do, beside what the call says.
    pub(super) fn besides(self, call: &Call) -> Vec<Action> {
        match self {
            Self::Claude => {
                // The hook inherits the environment of its client.
                let is_exported = |name: &str| std::env::var_os(name).is_some();
                let mut also = claude_code::shell_doubts(call, is_exported);
                also.extend(claude_code::also_read(call));
                also.extend(left_among_settings(call));
                also
            }
            Self::Codex(_) => {
                codex::patched(call).into_iter().chain(codex::shell_doubt(call)).collect()
            }
        }
    }

    pub(super) fn undecided(self, why: &str) -> String {
        match self {
            Self::Claude => claude_code::undecided(why),
            Self::Codex(_) => codex::hook::undecided(why),
        }
    }

    /// Returns the mode that the person chose in the client. What Codex calls `bypassPermissions` is that nobody is asked, and
    /// no wish that everything be allowed.
    pub(super) fn mode(self, call: &Call) -> Option<PermissionMode> {
        match self {
            Self::Claude => call.mode.filter(|mode| *mode != PermissionMode::Default),
            Self::Codex(_) => None,
        }
    }

    /// Returns the project. Claude Code names it, and its working directory wanders; Codex starts its hooks in it, and lets the
    /// model choose the directory of each command: where the first is not known, nothing is.
    pub(super) fn project(self, call: &Call, home: Option<&AbsPath>) -> Result<AbsPath, String> {
        match self {
            Self::Claude => {
                let named = std::env::var_os("CLAUDE_PROJECT_DIR").map(PathBuf::from);
                let named = named.and_then(|path| AbsPath::new(path.to_str()?).ok());
                Ok(named.unwrap_or_else(|| project_root(&call.cwd, home)))
            }
            Self::Codex(_) => directory(None).map(|here| project_root(&here, home)),
        }
    }
}
