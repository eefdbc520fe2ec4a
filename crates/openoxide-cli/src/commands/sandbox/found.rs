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
                "new git hook or repository configuration `{path}` was quarantined to `{held}`; move it back if you created it"
            )
        }
        Found::RepositoryHook { path, held: None } => {
            format!(
                "new git hook or repository configuration `{}`: review it before you use git there",
                shown(path)
            )
        }
        Found::SteeringFile { path, held: Some(held) } => {
            let (path, held) = (shown(path), shown(held));
            format!(
                "new file `{path}` can configure or run programs on this machine; it was quarantined to `{held}`; move it back if you want it"
            )
        }
        Found::SteeringFile { path, held: None } => {
            format!(
                "new file `{}` can configure or run programs on this machine and could not be quarantined; review it before you use agents, editors or tools there",
                shown(path)
            )
        }
        Found::HardLink { path } => {
            format!(
                "`{}` is a hard link to a file outside the writable directories: a change to one changes both",
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
