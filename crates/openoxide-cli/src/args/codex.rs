//! The arguments of `codex`, modeled on those of the Codex program.

mod review;

use std::{ffi::OsString, path::PathBuf};

use clap::{Args, FromArgMatches as _, Subcommand};
use openoxide_codex::exact_semantics::{AskForApproval, CodexDialect, SandboxMode};

pub(crate) use review::CodexReviewArgs;

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum CodexCommand {
    /// Allow commands that begin with these words permanently: add the line to `default.rules` that Codex itself would add.
    Amend(CodexAmendArgs),
    /// Print what Codex would decide about calls of its shell tool: one JSON object per line on
    /// standard input, one answer per line on standard output.
    Decide(CodexDecideArgs),
    /// Its rule files.
    #[command(subcommand)]
    Execpolicy(ExecpolicyCommand),
    /// Answer the requests of a running `codex app-server` for approvals: your policy first, and what has to be asked you, here.
    Review(CodexReviewArgs),
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum ExecpolicyCommand {
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
    /// Apply rules for a program's name to an absolute path of that program, unless
    /// `host_executable` excludes it.
    #[arg(long)]
    pub(crate) resolve_host_executables: bool,
    /// The command; nothing behind its first word is an option of this program.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) command: Vec<String>,
}

impl ExecpolicyCheckArgs {
    /// Reads what follows `codex execpolicy check`, if that is all there is to read. It takes less time than the arguments of the
    /// whole program do, and every mistake is left to them.
    pub(crate) fn parse(words: impl IntoIterator<Item = OsString>) -> Option<Self> {
        let command = Self::augment_args(clap::Command::new("check").no_binary_name(true));
        let found = command.try_get_matches_from(words).ok()?;
        Self::from_arg_matches(&found).ok()
    }
}

#[derive(Clone, Debug, Args)]
pub(crate) struct CodexDecideArgs {
    /// The version that it shall be: `0.169` or `0.145`.
    #[arg(long, default_value = "0.169", value_name = "VERSION")]
    pub(crate) dialect: CodexDialect,
    /// The approval policy: `untrusted`, `on-request`, `never`, or
    /// `{"granular":{"sandbox_approval":true,"rules":true}}`.
    #[arg(long, value_name = "POLICY")]
    pub(crate) policy: AskForApproval,
    /// The sandbox mode: `read-only`, `workspace-write` or `danger-full-access`.
    #[arg(long, value_name = "MODE")]
    pub(crate) sandbox: SandboxMode,
    /// A rule file; repeatable.
    #[arg(short, long, value_name = "PATH")]
    pub(crate) rules: Vec<PathBuf>,
    /// The file of the administrator, whose rules are added: `requirements.toml`.
    #[arg(long, value_name = "PATH")]
    pub(crate) requirements: Option<PathBuf>,
    /// The directory that it is started in.
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// A directory that a patch may write to, besides that one, `/tmp` and `TMPDIR`; repeatable.
    #[arg(long, value_name = "DIR")]
    pub(crate) writable: Vec<PathBuf>,
    /// The shell that it runs commands with.
    #[arg(long, default_value = "/bin/bash", value_name = "PATH")]
    pub(crate) shell: String,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct CodexAmendArgs {
    /// Codex's folder; `CODEX_HOME`, or `~/.codex`.
    #[arg(long, value_name = "DIR")]
    pub(crate) home: Option<PathBuf>,
    /// The first words of the commands.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) prefix: Vec<String>,
}
