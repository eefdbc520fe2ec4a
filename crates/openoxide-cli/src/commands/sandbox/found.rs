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
        Found::SteeringFile { path, held: Some(held) } => {
            let (path, held) = (shown(path), shown(held));
            format!(
                "`{path}` is new and could configure or run programs on this machine: it was moved to `{held}`. Move it back if you want it"
            )
        }
        Found::SteeringFile { path, held: None } => {
            format!(
                "`{}` is new and could configure or run programs on this machine, and it could not be moved away: review it before you use agents, editors or tools there",
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
            format!(
                "`{}` could not be searched for hooks and other files that run programs: review it before you use git, agents or tools there",
                shown(path)
            )
        }
    }
}

fn shown(path: &AbsPath) -> String {
    visible(path.as_str(), Lines::One)
}
