//! What a person is told after a confined run.

use openoxide_protocol::AbsPath;
use openoxide_sandbox::Found;
use openoxide_tui::{Lines, visible};

/// Says what should be looked at, and why.
pub(crate) fn text(found: &Found) -> String {
    match found {
        Found::RepositoryHook { path, held: Some(held) } => {
            let (path, held) = (shown(path), shown(held));
            format!(
                "`{path}` is new, and git would run what it says: it was moved to `{held}`. Move it back if it is yours"
            )
        }
        Found::RepositoryHook { path, held: None } => {
            format!(
                "`{}` is new, and git runs what it says: look at it before you use git there",
                shown(path)
            )
        }
        Found::AgentSettings { path } => {
            format!(
                "`{}` is new or was changed: an agent that is started there takes commands from it",
                shown(path)
            )
        }
        Found::HardLink { path } => {
            format!(
                "`{}` has another name outside of the writable directories: who writes one writes both",
                shown(path)
            )
        }
        Found::More { count } => format!("and {count} more"),
        Found::Unsearched { path } => {
            format!("not all below `{}` was searched for hooks of repositories", shown(path))
        }
    }
}

fn shown(path: &AbsPath) -> String {
    visible(path.as_str(), Lines::One)
}
