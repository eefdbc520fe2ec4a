//! The arguments of `codex`: those of the program that it stands for.

mod review;

use std::path::PathBuf;

use clap::{Args, Subcommand};

pub(crate) use review::CodexReviewArgs;

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum CodexVerb {
    /// Its rule files.
    #[command(subcommand)]
    Execpolicy(ExecpolicyVerb),
    /// Answer the requests of a running `codex app-server` for approvals: your policy first, and what has to be asked you, here.
    Review(CodexReviewArgs),
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum ExecpolicyVerb {
    /// Check the words of a command against rule files, with the JSON and the exit codes of `codex execpolicy check`.
    Check(ExecpolicyCheckArgs),
}

#[derive(Clone, Debug, Args)]
pub(crate) struct ExecpolicyCheckArgs {
    /// A rule file; repeatable.
    #[arg(short, long, required = true, value_name = "PATH")]
    pub(crate) rules: Vec<PathBuf>,
    /// Write the JSON over many lines.
    #[arg(long)]
    pub(crate) pretty: bool,
    /// Let a rule about a program's name be about the program at a path, where `host_executable` does not say otherwise.
    #[arg(long)]
    pub(crate) resolve_host_executables: bool,
    /// The command; nothing behind its first word is an option of this program.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) command: Vec<String>,
}
