//! The arguments of `codex review`.

use std::path::PathBuf;

use clap::Args;

#[derive(Clone, Debug, Args)]
pub(crate) struct CodexReviewArgs {
    /// The socket of the server [default: `app-server-control/app-server-control.sock` in
    /// `$CODEX_HOME` or `~/.codex`].
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
    /// Only this conversation [default: all that the server has loaded].
    #[arg(long, value_name = "ID")]
    pub(crate) thread: Option<String>,
    /// A policy file; repeatable, highest precedence first. Only these files, the built-in rules and the safety floor apply.
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Vec<PathBuf>,
    /// End after one request: 0 if it was answered here, 1 if it was answered elsewhere, 4 if it was left to another client.
    #[arg(long)]
    pub(crate) once: bool,
}
