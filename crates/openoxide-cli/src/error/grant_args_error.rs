//! Errors of the arguments of `grants` and `approve`.

use openoxide_protocol::AbsPath;
use openoxide_tui::{LineMode, escape_text};
use thiserror::Error;

/// The reason that the arguments describe no grant.
#[derive(Debug, Error)]
pub(crate) enum GrantArgsError {
    /// The rule is not about commands; its text.
    #[error("`{0}` is not a command rule; only command rules can be granted for a project")]
    NotCommandRule(String),
    /// The rule cannot be saved as a grant; its text.
    #[error("`{}` is not a command rule, so it cannot be saved as a grant", escape_text(.0, LineMode::SingleLine))]
    NeedsPolicyFile(String),
    /// The name is not that of a task.
    #[error("`--task`: not a task name")]
    InvalidTask,
    /// The process belongs to no task.
    #[error("this call does not belong to a task of a script or an agent")]
    NoTask,
    /// The directory of the grant does not exist.
    #[error("`--below`: no such directory: {}", escape_text(.0.as_str(), LineMode::SingleLine))]
    NoSuchDirectory(AbsPath),
    /// A request has a task of its own, so an answer cannot name another one.
    #[error("`--task` takes no value here: the request's own task is used")]
    NamedTask,
    /// A limit is given for an approval that is not saved.
    #[error("`--rule`, `--for`, `--times`, `--below` and `--task` require `--scope project`")]
    LimitWithoutProject,
}

impl GrantArgsError {
    /// Returns what to do next, if that is known.
    pub(super) const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::InvalidTask => Some("`openoxide audit log --json` shows the names of tasks"),
            Self::NoTask => {
                Some("name a task with `--task=NAME`, as shown by `openoxide audit log --json`")
            }
            Self::NeedsPolicyFile(_) => Some(
                "add it to a policy file: `--user` (all your projects), `--project` or `--local`",
            ),
            Self::NotCommandRule(_)
            | Self::NoSuchDirectory(_)
            | Self::NamedTask
            | Self::LimitWithoutProject => None,
        }
    }
}
