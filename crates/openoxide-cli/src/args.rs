//! The command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use openoxide_protocol::PermissionMode;

use crate::formats::Program;

/// One approval and permission layer for AI agents: it decides, asks, and says why.
#[derive(Debug, Parser)]
#[command(name = "openoxide", version, after_help = EXIT_CODES)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

const EXIT_CODES: &str = "Exit codes: 0 allow or success, 1 failure, 2 usage or configuration, 3 deny, 4 ask (a person is \
needed and none can be asked). `run` passes the program's own status on; 125 OpenOxide failed, 126 refused, 127 not found.";

/// What every verb takes.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Global {
    /// When to use colour.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: When,
    /// Never ask: fail with the command to run instead.
    #[arg(long, global = true)]
    pub(crate) no_input: bool,
}

/// When to use colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    /// On a terminal, or if CLICOLOR_FORCE is set; never if NO_COLOR is.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Decide, ask if need be, and run a command.
    Run(RunArgs),
    /// Decide only; nothing runs.
    Check(CheckArgs),
    /// Say why: every layer, rule, file and line that spoke, and why the others lost.
    Explain(CallArgs),
    /// Answer one tool call of an agent: its payload on standard input, its answer on standard output.
    Hook {
        /// The agent: `claude`.
        agent: String,
    },
    /// Print the JSON Schema of a shape.
    Schema {
        /// Which shape.
        #[arg(default_value = "decision")]
        shape: Shape,
    },
    /// Print completions for a shell.
    Completions {
        /// Which shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page, of the program or of one verb.
    Man {
        /// Which verb.
        verb: Option<String>,
    },
}

/// A shape that leaves or enters the program.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Shape {
    /// The native policy file.
    Policy,
    /// The answer of `check --json`.
    Decision,
    /// A question to a reviewer.
    Request,
    /// A reviewer's answer.
    Response,
    /// What happens in a session.
    Event,
}

/// Which policy counts, and where.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct PolicyArgs {
    /// A policy file; repeatable, the most precedent first. Only these, the built-in rules and the safety floor count then.
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Vec<PathBuf>,
    /// How the policy files are written; without it their names say so.
    #[arg(long, value_name = "FORMAT", requires = "policy")]
    pub(crate) format: Option<Program>,
    /// The mode: default, accept_edits, plan, dont_ask or bypass_permissions.
    #[arg(long, value_name = "MODE", value_parser = mode)]
    pub(crate) mode: Option<PermissionMode>,
    /// The directory that relative paths count from.
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
}

fn mode(word: &str) -> Result<PermissionMode, String> {
    PermissionMode::parse(word).ok_or_else(|| {
        let known = PermissionMode::ALL.map(PermissionMode::as_str).join(", ");
        format!("known are {known}")
    })
}

/// One tool call.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct CallArgs {
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
    /// A shell script: the same as `--tool Bash --input '{"command": SCRIPT}'`.
    #[arg(short = 'c', value_name = "SCRIPT", conflicts_with = "tool")]
    pub(crate) script: Option<String>,
    /// A tool, in our spelling or in an agent's.
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,
    /// The tool's input.
    #[arg(long, value_name = "JSON", requires = "tool", conflicts_with = "script")]
    pub(crate) input: Option<String>,
    /// Answer as the program would whose policy it is, to the letter; our own analysis and safety floor do not count.
    #[arg(long, requires = "policy")]
    pub(crate) exact: bool,
    /// The agent of OpenCode whose rules hold.
    #[arg(long, value_name = "NAME", requires = "exact")]
    pub(crate) agent: Option<String>,
    /// Answer in JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) call: CallArgs,
    /// Read one call from each line of standard input, and write one answer a line.
    #[arg(long, conflicts_with_all = ["script", "tool", "input"])]
    pub(crate) batch: bool,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) policy: PolicyArgs,
    /// A shell script, run by bash.
    #[arg(short = 'c', value_name = "SCRIPT", conflicts_with = "command")]
    pub(crate) script: Option<String>,
    /// A program and its arguments, run as they are.
    #[arg(last = true, value_name = "PROG")]
    pub(crate) command: Vec<String>,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Args::command().debug_assert();
    }
}
