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
    /// Print Codex's decisions about calls of its shell tool: one JSON object per line on standard
    /// input, one answer per line on standard output.
    Decide(CodexDecideArgs),
    /// Codex's rule files.
    #[command(subcommand)]
    Execpolicy(ExecpolicyCommand),
    /// Answer the approval requests of a running `codex app-server`, first by your policy and then
    /// by asking you.
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
    /// Print indented JSON.
    #[arg(long)]
    pub(crate) pretty: bool,
    /// Apply rules for a program's name to an absolute path of that program, unless
    /// `host_executable` excludes it.
    #[arg(long)]
    pub(crate) resolve_host_executables: bool,
    /// The command. Words after its first word are not options of this program.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) command: Vec<String>,
}

impl ExecpolicyCheckArgs {
    /// Parses the arguments of `codex execpolicy check` alone, which takes less time than the
    /// parser of all commands. Returns `None` for invalid arguments, so that the full parser
    /// reports them.
    pub(crate) fn parse(words: impl IntoIterator<Item = OsString>) -> Option<Self> {
        let command = Self::augment_args(clap::Command::new("check").no_binary_name(true));
        let found = command.try_get_matches_from(words).ok()?;
        Self::from_arg_matches(&found).ok()
    }
}

#[derive(Clone, Debug, Args)]
pub(crate) struct CodexDecideArgs {
    /// The version of Codex: `0.169` or `0.145`.
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
    /// The administrator's file with additional rules: `requirements.toml`.
    #[arg(long, value_name = "PATH")]
    pub(crate) requirements: Option<PathBuf>,
    /// The directory that Codex is started in.
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// A directory that a patch may write to, in addition to that one, `/tmp` and `TMPDIR`;
    /// repeatable.
    #[arg(long, value_name = "DIR")]
    pub(crate) writable: Vec<PathBuf>,
    /// The shell that runs the commands.
    #[arg(long, default_value = "/bin/bash", value_name = "PATH")]
    pub(crate) shell: String,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct CodexAmendArgs {
    /// Codex's home directory [default: `CODEX_HOME`, or `~/.codex`].
    #[arg(long, value_name = "DIR")]
    pub(crate) home: Option<PathBuf>,
    /// The first words of the commands to allow.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) prefix: Vec<String>,
}
