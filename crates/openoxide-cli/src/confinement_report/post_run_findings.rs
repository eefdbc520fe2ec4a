//! Messages to a person after a confined run.

use openoxide_protocol::AbsPath;
use openoxide_sandbox::PostRunFinding;
use openoxide_tui::{LineMode, escape_text};

/// Returns a description of a finding, with advice.
pub(crate) fn describe_finding(found: &PostRunFinding) -> String {
    match found {
        PostRunFinding::RunEnded { path } => {
            format!(
                "the program was killed: `{}` is the second file that makes git run something and that it created while it ran; the first one was quarantined",
                display_path(path)
            )
        }
        PostRunFinding::RepositoryHook { path, quarantined: Some(held) } => {
            let (path, held) = (display_path(path), display_path(held));
            format!(
                "new git hook or repository configuration `{path}` was quarantined to `{held}`; move it back if you created it"
            )
        }
        PostRunFinding::RepositoryHook { path, quarantined: None } => {
            format!(
                "new git hook or repository configuration `{}`: review it before you use git there",
                display_path(path)
            )
        }
        PostRunFinding::SteeringFile { path, quarantined: Some(held) } => {
            let (path, held) = (display_path(path), display_path(held));
            format!(
                "new file `{path}` can configure or run programs on this machine; it was quarantined to `{held}`; move it back if you want it"
            )
        }
        PostRunFinding::SteeringFile { path, quarantined: None } => {
            format!(
                "new file `{}` can configure or run programs on this machine and could not be quarantined; review it before you use agents, editors or tools there",
                display_path(path)
            )
        }
        PostRunFinding::HardLink { path } => {
            format!(
                "`{}` is a hard link to a file outside the writable directories: a change to one changes both",
                display_path(path)
            )
        }
        PostRunFinding::Omitted { count } => format!("and {count} more"),
        PostRunFinding::UnsearchedDirectory { path } => {
            format!(
                "`{}` could not be searched for hooks and other files that run programs: review it before you use git, agents or tools there",
                display_path(path)
            )
        }
    }
}

fn display_path(path: &AbsPath) -> String {
    escape_text(path.as_str(), LineMode::SingleLine)
}
